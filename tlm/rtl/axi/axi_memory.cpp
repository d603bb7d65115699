#include "tlm/rtl/axi/axi_memory.h"

#include <algorithm>
#include <bit>
#include <stdexcept>

namespace hcasim::rtl {
namespace {

// Returns the number of ids; the upper bits of wider ids stay 0.
unsigned ids_of(field id) {
  return 1U << std::min(id.bits, 8U);
}

}  // namespace

axi_memory::axi_memory(const sc_core::sc_module_name& name, shell& of, const axi_memory_options& options)
    : sc_module(name),
      endpoint(of, options.endpoint.empty() ? basename() : options.endpoint, "axi4", true),
      options_(options),
      aw_(channel("aw", true)),
      w_(channel("w", true)),
      b_(channel("b", false)),
      ar_(channel("ar", true)),
      r_(channel("r", false)),
      awf_(aw_),
      arf_(ar_) {
  if (options.longest_burst < 1 || options.longest_burst > 256)
    throw std::invalid_argument(who() + ": longest_burst: 1 to 256");
  memory.register_nb_transport_fw(this, &axi_memory::begin);
  if (aw_) {
    w_data_ = w_->find("data");
    w_strb_ = w_->find("strb");
    w_last_ = w_->find("last");
    w_id_ = w_->find("id");
    b_id_ = b_->find("id");
    b_resp_ = b_->find("resp");
    bus_ = w_data_.bits / 8;
    writing_.resize(ids_of(awf_.id));
    aw_->on_transfer = [this](const payload&, std::uint64_t, ps) { owe(1); };
    w_->on_transfer = [this](const payload&, std::uint64_t, ps) {
      burst& b = *sending_.front();
      if (++b.moved == b.beats) sending_.pop_front();
    };
    b_->on_transfer = [this](const payload& p, std::uint64_t, ps t) { written(p, t); };
  }
  if (ar_) {
    r_id_ = r_->find("id");
    r_data_ = r_->find("data");
    r_resp_ = r_->find("resp");
    r_last_ = r_->find("last");
    bus_ = r_data_.bits / 8;
    reading_.resize(ids_of(arf_.id));
    ar_->on_transfer = [this](const payload&, std::uint64_t, ps) { owe(1); };
    r_->on_transfer = [this](const payload& p, std::uint64_t, ps t) { came(p, t); };
  }
}

tlm::tlm_sync_enum axi_memory::begin(tlm::tlm_generic_payload& p, tlm::tlm_phase& phase, sc_core::sc_time& delay) {
  if (phase != tlm::BEGIN_REQ) return tlm::TLM_COMPLETED;
  access& a = accesses_.get();
  a = access{};
  a.payload = &p;
  a.asks = p.get_extension<axi_extension>();
  a.write = p.is_write();
  if (const auto status = understand(a); status != tlm::TLM_OK_RESPONSE) {
    accesses_.put(a);
    p.set_response_status(status);
    return tlm::TLM_COMPLETED;
  }
  waiting_.push_back(&a);
  start_waiting(from_delay(delay));
  phase = tlm::END_REQ;
  return tlm::TLM_UPDATED;
}

tlm::tlm_response_status axi_memory::understand(access& a) const {
  const tlm::tlm_generic_payload& p = *a.payload;
  if (a.write ? !aw_ : !ar_) return tlm::TLM_COMMAND_ERROR_RESPONSE;
  const axi_address_fields& f = a.write ? awf_ : arf_;
  const std::uint64_t n = p.get_data_length();
  const std::uint64_t width = p.get_streaming_width();
  if (n == 0 || width == 0) return tlm::TLM_BURST_ERROR_RESPONSE;
  a.first = p.get_address();
  a.last = a.first + std::min(n, width) - 1;
  if (a.last < a.first || (f.addr.bits < 64 && a.last >> f.addr.bits != 0)) return tlm::TLM_ADDRESS_ERROR_RESPONSE;
  const unsigned asked = a.asks ? a.asks->beat_bytes : 0;
  if (asked != 0 && !std::has_single_bit(asked)) return tlm::TLM_BURST_ERROR_RESPONSE;
  a.size = f.size && asked != 0 ? std::min(asked, bus_) : bus_;
  if (width < n) {
    a.kind = axi_kind::fixed;
    const bool whole = std::has_single_bit(width) && width < a.size && a.first % width == 0;
    if (whole && f.size && asked == 0) a.size = static_cast<unsigned>(width);
    a.items = n / width;
    if (n % width != 0 || a.first / a.size != a.last / a.size || !f.burst) return tlm::TLM_BURST_ERROR_RESPONSE;
  }
  const bool whole_beats = a.first % a.size == 0 && (a.last + 1) % a.size == 0;
  if (a.write && !w_strb_ && (!whole_beats || p.get_byte_enable_ptr())) return tlm::TLM_BYTE_ENABLE_ERROR_RESPONSE;
  if (a.asks && a.asks->wrap) {
    const bool good = a.kind == axi_kind::incrementing && std::has_single_bit(n) && a.first % n == 0 &&
                      a.asks->first >= a.first && a.asks->first <= a.last;
    if (!good) return tlm::TLM_BURST_ERROR_RESPONSE;
    const std::uint64_t beats = n / a.size;
    const bool possible = f.burst && beats >= 2 && beats <= 16 && beats <= std::uint64_t{1} << f.len.bits;
    if (possible && a.asks->first % a.size == 0) a.kind = axi_kind::wrapping;
  }
  return a.asks && a.asks->exclusive ? understand_exclusive(a) : tlm::TLM_OK_RESPONSE;
}

// One burst of a power of two of bytes, aligned to them.
tlm::tlm_response_status axi_memory::understand_exclusive(const access& a) const {
  const axi_address_fields& f = a.write ? awf_ : arf_;
  const std::uint64_t n = a.payload->get_data_length();
  if (!f.lock || !(a.write ? b_resp_ : r_resp_)) return tlm::TLM_COMMAND_ERROR_RESPONSE;
  const bool good = a.kind != axi_kind::fixed && std::has_single_bit(n) && n <= axi_exclusive_bytes && a.first % n == 0 &&
                    n >= a.size && n / a.size <= 16 && n / a.size <= std::uint64_t{1} << f.len.bits;
  return good ? tlm::TLM_OK_RESPONSE : tlm::TLM_BURST_ERROR_RESPONSE;
}

void axi_memory::start_waiting(ps t) {
  while (!waiting_.empty()) {
    access& a = *waiting_.front();
    const bool meets = std::any_of(active_.begin(), active_.end(), [&](const access* o) {
      return (o->write || a.write) && o->first <= a.last && a.first <= o->last;
    });
    if (meets) return;
    waiting_.pop_front();
    active_.push_back(&a);
    start(a, t);
  }
}

void axi_memory::start(access& a, ps t) {
  t = newest_ = std::max(newest_, t);
  const std::uint64_t most = std::uint64_t{1} << (a.write ? awf_ : arf_).len.bits;
  if (a.kind == axi_kind::wrapping) return start_burst(a, a.asks->first, 0, a.payload->get_data_length() / a.size, t);
  if (a.kind == axi_kind::fixed) {
    for (std::uint64_t item = 0; item < a.items;) {
      const std::uint64_t beats = std::min({a.items - item, most, std::uint64_t{16}});
      start_burst(a, a.first / a.size * a.size, item, beats, t);
      item += beats;
    }
    return;
  }
  const bool exclusive = a.asks && a.asks->exclusive;
  const std::uint64_t end = a.last / a.size;  // in beats, the last one
  const std::uint64_t page = axi_boundary / a.size;
  for (std::uint64_t at = a.first / a.size; at <= end;) {
    const std::uint64_t beats =
        std::min({end - at + 1, most, std::uint64_t{exclusive ? 16 : options_.longest_burst}, page - at % page});
    start_burst(a, at * a.size, 0, beats, t);
    at += beats;
  }
}

void axi_memory::start_burst(access& a, std::uint64_t address, std::uint64_t item, std::uint64_t beats, ps t) {
  burst& b = burst_pool_.get();
  b = {&a, address, item, static_cast<unsigned>(beats), 0};
  ++a.bursts_left;
  ++bursts_;
  auto& by_id = a.write ? writing_ : reading_;
  const auto id = static_cast<unsigned>(next_id_++ % by_id.size());
  push_address(id, b, t);
  by_id[id].push_back(&b);
  if (a.write) push_data(b, id, t);
}

void axi_memory::push_address(unsigned id, const burst& b, ps t) {
  const access& a = *b.of;
  const axi_address_fields& f = a.write ? awf_ : arf_;
  payload p;
  set_field(p, f.id, id);
  set_field(p, f.addr, b.address);
  set_field(p, f.len, b.beats - 1);
  set_field(p, f.size, log_of(a.size));
  set_field(p, f.burst, static_cast<unsigned>(a.kind));
  if (a.asks) {
    set_field(p, f.lock, a.asks->exclusive);
    set_field(p, f.cache, a.asks->cache);
    set_field(p, f.prot, a.asks->prot);
    set_field(p, f.qos, a.asks->qos);
    set_field(p, f.region, a.asks->region);
    if (f.user) p.set(f.user.at, std::min(f.user.bits, 64U), a.asks->user);
  }
  push(a.write ? *aw_ : *ar_, p, t);
}

axi_memory::beat_bytes axi_memory::beat(const burst& b, unsigned n) {
  const access& a = *b.of;
  if (a.kind == axi_kind::fixed) return {b.address, (b.item + n) * (a.last - a.first + 1)};
  if (a.kind == axi_kind::incrementing) return {b.address + std::uint64_t{n} * a.size, 0};
  return {a.first + (b.address - a.first + std::uint64_t{n} * a.size) % (a.last - a.first + 1), 0};
}

void axi_memory::push_data(burst& b, unsigned id, ps t) {
  const access& a = *b.of;
  const tlm::tlm_generic_payload& gp = *a.payload;
  const unsigned enables = gp.get_byte_enable_length();
  for (unsigned n = 0; n < b.beats; ++n) {
    const beat_bytes where = beat(b, n);
    payload p;
    for (unsigned i = 0; i < a.size; ++i) {
      const std::uint64_t at = where.at + i;
      if (at < a.first || at > a.last) continue;
      const std::uint64_t from = where.place + at - a.first;
      const auto lane = static_cast<unsigned>(at % bus_);
      p.set(w_data_.at + 8 * lane, 8, gp.get_data_ptr()[from]);
      if (w_strb_ && (!gp.get_byte_enable_ptr() || gp.get_byte_enable_ptr()[from % enables])) p.set(w_strb_.at + lane, 1, 1);
    }
    set_field(p, w_last_, n + 1 == b.beats);
    set_field(p, w_id_, id);
    push(*w_, p, t);
  }
  sending_.push_back(&b);
}

void axi_memory::note(access& a, unsigned response, const stream& s) {
  const bool exclusive = a.asks && a.asks->exclusive;
  const auto r = static_cast<axi_response>(response);
  if (r == axi_response::exokay && !exclusive) violation("stream " + s.name() + " answers EXOKAY, and nothing was exclusive");
  a.exclusive_done &= r == axi_response::exokay;
  if (response >= 2 && a.status == tlm::TLM_OK_RESPONSE)
    a.status = r == axi_response::slverr ? tlm::TLM_GENERIC_ERROR_RESPONSE : tlm::TLM_ADDRESS_ERROR_RESPONSE;
}

void axi_memory::written(const payload& p, ps t) {
  const std::uint64_t id = get_field(p, b_id_);
  if (id >= writing_.size() || writing_[id].empty())
    return violation("stream " + b_->name() + " answers id " + std::to_string(id) + ", which has written nothing");
  burst& b = *writing_[id].front();
  if (b.moved < b.beats)
    return violation("stream " + b_->name() + " answers id " + std::to_string(id) + " before its last beat was taken");
  writing_[id].pop_front();
  note(*b.of, static_cast<unsigned>(get_field(p, b_resp_)), *b_);
  finish(b, t);
}

void axi_memory::came(const payload& p, ps t) {
  const std::uint64_t id = get_field(p, r_id_);
  if (id >= reading_.size() || reading_[id].empty())
    return violation("stream " + r_->name() + " answers id " + std::to_string(id) + ", which has read nothing");
  burst& b = *reading_[id].front();
  access& a = *b.of;
  tlm::tlm_generic_payload& gp = *a.payload;
  const unsigned enables = gp.get_byte_enable_length();
  const beat_bytes where = beat(b, b.moved);
  for (unsigned i = 0; i < a.size; ++i) {
    const std::uint64_t at = where.at + i;
    if (at < a.first || at > a.last) continue;
    const std::uint64_t to = where.place + at - a.first;
    if (gp.get_byte_enable_ptr() && !gp.get_byte_enable_ptr()[to % enables]) continue;
    gp.get_data_ptr()[to] = static_cast<unsigned char>(p.get(r_data_.at + 8 * static_cast<unsigned>(at % bus_), 8));
  }
  ++b.moved;
  note(a, static_cast<unsigned>(get_field(p, r_resp_)), *r_);
  if (r_last_ && (get_field(p, r_last_) != 0) != (b.moved == b.beats)) {
    return violation("stream " + r_->name() + ": `last` is wrong on beat " + std::to_string(b.moved) + " of " +
                     std::to_string(b.beats));
  }
  if (b.moved < b.beats) return;
  reading_[id].pop_front();
  finish(b, t);
}

void axi_memory::finish(burst& b, ps t) {
  owe(-1);
  access& a = *b.of;
  burst_pool_.put(b);
  if (--a.bursts_left > 0) return;
  active_.erase(std::find(active_.begin(), active_.end(), &a));
  answer(a, t);
  start_waiting(t);
}

void axi_memory::answer(access& a, ps t) {
  tlm::tlm_generic_payload& gp = *a.payload;
  gp.set_response_status(a.status);
  if (a.asks && a.asks->exclusive) a.asks->exclusive_done = a.exclusive_done;
  accesses_.put(a);
  tlm::tlm_phase phase = tlm::BEGIN_RESP;
  sc_core::sc_time delay = to_delay(t);
  memory->nb_transport_bw(gp, phase, delay);
}

// Accesses that the RTL had are answered as an error; those that have not reached it go there after the reset.
void axi_memory::was_reset(ps t, std::vector<lost>& losses) {
  owe_and_await_nothing();
  for (auto* by_id : {&writing_, &reading_}) {
    for (auto& of_id : *by_id) {
      for (burst* b : of_id) burst_pool_.put(*b);
      of_id.clear();
    }
  }
  sending_.clear();
  std::vector<access*> ended;
  ended.swap(active_);
  if (!ended.empty()) losses.push_back({who() + ": accesses", ended.size()});
  for (access* a : ended) {
    a->status = tlm::TLM_GENERIC_ERROR_RESPONSE;
    a->exclusive_done = false;
    answer(*a, t);
  }
  start_waiting(t);
}

}  // namespace hcasim::rtl
