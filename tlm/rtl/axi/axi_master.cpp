#include "tlm/rtl/axi/axi_master.h"

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <string>

#include "tlm/access.h"
#include "tlm/rtl/text.h"

namespace hcasim::rtl {

axi_master::axi_master(const sc_core::sc_module_name& name, shell& of, const axi_master_options& options)
    : sc_module(name),
      endpoint(of, options.endpoint.empty() ? basename() : options.endpoint, "axi4", false),
      options_(options),
      b_(channel("b", true)),
      r_(channel("r", true)),
      aw_(channel("aw", false)),
      w_(channel("w", false)),
      ar_(channel("ar", false)),
      awf_(aw_),
      arf_(ar_),
      choice_(seed(), who()) {
  if (options.longest_burst < 1 || options.longest_burst > 256)
    throw std::invalid_argument(who() + ": longest_burst: 1 to 256");
  memory.register_nb_transport_bw(this, &axi_master::answered);
  if (aw_) {
    w_data_ = w_->find("data");
    w_strb_ = w_->find("strb");
    w_last_ = w_->find("last");
    b_id_ = b_->find("id");
    b_resp_ = b_->find("resp");
    bus_ = w_data_.bits / 8;
    aw_->on_transfer = [this](const payload& p, std::uint64_t, ps t) { address(p, true, t); };
    w_->on_transfer = [this](const payload& p, std::uint64_t, ps t) {
      beats_.push_back(p);
      take_beats(t);
    };
    b_->on_transfer = [this](const payload&, std::uint64_t, ps) { await(-1); };
  }
  if (ar_) {
    r_id_ = r_->find("id");
    r_data_ = r_->find("data");
    r_resp_ = r_->find("resp");
    r_last_ = r_->find("last");
    bus_ = r_data_.bits / 8;
    ar_->on_transfer = [this](const payload& p, std::uint64_t, ps t) { address(p, false, t); };
    r_->on_transfer = [this](const payload&, std::uint64_t last, ps t) {
      if (last != 0) await(-1);
      next_beat(t);
    };
  }
}

std::uint64_t axi_master::beat_at(const burst& b, unsigned n) {
  if (n == 0 || b.kind == axi_kind::fixed) return b.address;
  if (b.kind == axi_kind::incrementing) return b.address / b.size * b.size + std::uint64_t{n} * b.size;
  const std::uint64_t base = wrap_base(b);
  return base + (b.address - base + std::uint64_t{n} * b.size) % (std::uint64_t{b.beats} * b.size);
}

std::uint64_t axi_master::place_of(const burst& b, unsigned n) {
  if (b.kind == axi_kind::fixed) return n * (b.size - b.address % b.size);
  return beat_at(b, n) - (b.kind == axi_kind::wrapping ? wrap_base(b) : b.address);
}

std::string axi_master::refusal(const burst& b) const {
  if (b.kind == axi_kind::reserved) return "is of a kind that is reserved";
  if (b.size > bus_) return "has beats of " + std::to_string(b.size) + " bytes, the bus has " + std::to_string(bus_);
  if (b.beats > options_.longest_burst)
    return "has " + std::to_string(b.beats) + " beats, " + std::to_string(options_.longest_burst) + " are allowed";
  if (b.kind == axi_kind::fixed && b.beats > 16) return "is FIXED and has " + std::to_string(b.beats) + " beats, more than 16";
  if (b.kind == axi_kind::wrapping) {
    if (b.address % b.size != 0) return "is WRAP and not aligned to its beats of " + std::to_string(b.size) + " bytes";
    if (b.beats != 2 && b.beats != 4 && b.beats != 8 && b.beats != 16)
      return "is WRAP and has " + std::to_string(b.beats) + " beats, not 2, 4, 8 or 16";
  }
  if (b.kind == axi_kind::incrementing && b.address / axi_boundary != beat_at(b, b.beats - 1) / axi_boundary)
    return "crosses 4 KiB";
  const std::uint64_t whole = std::uint64_t{b.beats} * b.size;
  if (b.asks.exclusive && (!std::has_single_bit(whole) || whole > axi_exclusive_bytes || b.beats > 16))
    return "is exclusive and has " + std::to_string(whole) + " bytes in " + std::to_string(b.beats) +
           " beats, not a power of two up to 128 in at most 16";
  if (b.asks.exclusive && b.kind != axi_kind::wrapping && b.address % whole != 0)
    return "is exclusive and not aligned to its " + std::to_string(whole) + " bytes";
  return {};
}

void axi_master::address(const payload& p, bool write, ps t) {
  const stream& s = write ? *aw_ : *ar_;
  const axi_address_fields& f = write ? awf_ : arf_;
  burst& b = pool_.get();
  b.write = write;
  b.gone = false;
  b.id = static_cast<std::uint32_t>(get_field(p, f.id));
  b.address = get_field(p, f.addr);
  b.beats = static_cast<unsigned>(get_field(p, f.len)) + 1;
  b.size = 1U << get_field(p, f.size, log_of(bus_));
  b.kind = static_cast<axi_kind>(get_field(p, f.burst, static_cast<unsigned>(axi_kind::incrementing)));
  b.asks.wrap = b.kind == axi_kind::wrapping;
  b.asks.first = b.address;
  b.asks.beat_bytes = b.size == bus_ ? 0 : b.size;
  b.asks.exclusive = (get_field(p, f.lock) & 1) != 0;
  b.asks.id = b.id;
  b.asks.cache = static_cast<std::uint8_t>(get_field(p, f.cache));
  b.asks.prot = static_cast<std::uint8_t>(get_field(p, f.prot));
  b.asks.qos = static_cast<std::uint8_t>(get_field(p, f.qos));
  b.asks.region = static_cast<std::uint8_t>(get_field(p, f.region));
  b.asks.user = f.user ? p.get(f.user.at, std::min(f.user.bits, 64U)) : 0;
  b.moved = 0;
  b.left = 1;
  b.exclusive_done = b.asks.exclusive;
  b.status = tlm::TLM_OK_RESPONSE;
  if (const std::string why = refusal(b); !why.empty())
    return violation("stream " + s.name() + ": a burst at " + hexadecimal(b.address) + " " + why);
  ++bursts_;
  await(1);
  const std::uint64_t whole = std::uint64_t{b.beats} * b.size;
  b.bytes.assign(b.kind == axi_kind::wrapping ? whole
                 : b.kind == axi_kind::fixed  ? place_of(b, b.beats)
                                              : whole - b.address % b.size,
                 0);
  b.strobes.assign(write ? b.bytes.size() : 0, TLM_BYTE_DISABLED);
  queue_of(write ? writing_ : reading_, b.id).push_back(&b);
  if (!write) return send(b, t);
  collecting_.push_back(&b);
  take_beats(t);
}

std::deque<axi_master::burst*>& axi_master::queue_of(std::vector<of_id>& all, std::uint32_t id) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const of_id& q) { return q.id == id; });
  return found != all.end() ? found->bursts : all.emplace_back(of_id{id, {}}).bursts;
}

// Beats belong to the writes in the order of their addresses.
void axi_master::take_beats(ps t) {
  while (!beats_.empty() && !collecting_.empty()) {
    burst& b = *collecting_.front();
    if (!take_beat(b, beats_.front())) return;
    beats_.pop_front();
    if (b.moved < b.beats) continue;
    collecting_.pop_front();
    send(b, t);
  }
}

bool axi_master::take_beat(burst& b, const payload& p) {
  const std::uint64_t first = beat_at(b, b.moved);
  const std::uint64_t end = first / b.size * b.size + b.size;
  const std::uint64_t lane0 = first / bus_ * bus_;
  for (unsigned i = 0; i < bus_; ++i) {
    const bool outside = lane0 + i < first || lane0 + i >= end;
    if (w_strb_ ? p.get(w_strb_.at + i, 1) == 0 : outside) continue;
    if (outside) {
      violation("stream " + w_->name() + ": beat " + std::to_string(b.moved + 1) + " of a burst at " + hexadecimal(b.address) +
                " has a strobe outside it, on byte " + std::to_string(i));
      return false;
    }
    const std::uint64_t place = place_of(b, b.moved) + lane0 + i - first;
    b.bytes[place] = static_cast<unsigned char>(p.get(w_data_.at + 8 * i, 8));
    b.strobes[place] = TLM_BYTE_ENABLED;
  }
  ++b.moved;
  if (!w_last_ || (get_field(p, w_last_) != 0) == (b.moved == b.beats)) return true;
  violation("stream " + w_->name() + ": `last` is wrong on beat " + std::to_string(b.moved) + " of " + std::to_string(b.beats));
  return false;
}

// `left` counts the burst itself while its accesses go out, since they may be answered in the call.
void axi_master::send(burst& b, ps t) {
  if (b.kind == axi_kind::fixed) {
    const std::size_t beat = b.bytes.size() / b.beats;
    for (unsigned n = 0; n < b.beats; ++n) send_part(b, n * beat, beat, b.address, t);
  } else {
    send_part(b, 0, b.bytes.size(), b.kind == axi_kind::wrapping ? wrap_base(b) : b.address, t);
  }
  if (--b.left == 0) answer_in_order(b, t);
}

// Bytes [first, first + n) of a burst, of a write those that have strobes, to the address `to`.
void axi_master::send_part(burst& b, std::size_t first, std::size_t n, std::uint64_t to, ps t) {
  if (!b.write || b.asks.exclusive) return send(b, first, n, to, t);
  const auto begin = b.strobes.begin() + static_cast<std::ptrdiff_t>(first);
  const auto end = begin + static_cast<std::ptrdiff_t>(n);
  for (auto run = begin; (run = std::find(run, end, TLM_BYTE_ENABLED)) != end;) {
    const auto behind = std::find(run, end, TLM_BYTE_DISABLED);
    const auto skipped = static_cast<std::size_t>(run - begin);
    send(b, first + skipped, static_cast<std::size_t>(behind - run), to + skipped, t);
    run = behind;
  }
}

void axi_master::send(burst& b, std::size_t first, std::size_t n, std::uint64_t to, ps t) {
  access& a = accesses_.get();
  a.of = &b;
  ++b.left;
  set_access(a, b.write ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND, to, b.bytes.data() + first, n);
  a.asks = b.asks;
  a.asks.wrap = b.asks.wrap && n == b.bytes.size();
  a.set_extension(&a.asks);
  if (options_.requester) {
    a.pcie = {};
    a.pcie.requester = *options_.requester;
    a.set_extension(&a.pcie);
  }
  if (b.write && b.asks.exclusive && std::find(b.strobes.begin(), b.strobes.end(), TLM_BYTE_DISABLED) != b.strobes.end()) {
    a.set_byte_enable_ptr(b.strobes.data() + first);
    a.set_byte_enable_length(static_cast<unsigned>(n));
  }
  tlm::tlm_phase phase = tlm::BEGIN_REQ;
  sc_core::sc_time delay = to_delay(t);
  const tlm::tlm_sync_enum status = memory->nb_transport_fw(a, phase, delay);
  if (status == tlm::TLM_COMPLETED || (status == tlm::TLM_UPDATED && phase == tlm::BEGIN_RESP)) answered(a, phase, delay);
}

tlm::tlm_sync_enum axi_master::answered(tlm::tlm_generic_payload& p, tlm::tlm_phase& phase, sc_core::sc_time& delay) {
  if (phase == tlm::END_REQ) return tlm::TLM_ACCEPTED;
  access& a = static_cast<access&>(p);
  burst& b = *a.of;
  if (b.status == tlm::TLM_OK_RESPONSE) b.status = a.get_response_status();
  b.exclusive_done &= a.asks.exclusive_done;
  a.clear_extension(&a.asks);
  a.clear_extension(&a.pcie);
  accesses_.put(a);
  if (--b.left > 0) return tlm::TLM_COMPLETED;
  if (b.gone) {
    pool_.put(b);
  } else {
    answer_in_order(b, from_delay(delay));
  }
  return tlm::TLM_COMPLETED;
}

void axi_master::answer_in_order(burst& b, ps t) {
  std::deque<burst*>& of_its_id = queue_of(b.write ? writing_ : reading_, b.id);
  while (!of_its_id.empty() && of_its_id.front()->left == 0) {
    burst& done = *of_its_id.front();
    of_its_id.pop_front();
    done.answered_at = newest_ = std::max(newest_, t);
    if (done.write) {
      answer_write(done, newest_);
      pool_.put(done);
      continue;
    }
    done.moved = 0;
    returning_.push_back(&done);
    if (r_->empty()) next_beat(newest_);
  }
}

unsigned axi_master::response_of(const burst& b) const {
  if (b.status == tlm::TLM_OK_RESPONSE)
    return static_cast<unsigned>(b.exclusive_done ? axi_response::exokay : axi_response::okay);
  return static_cast<unsigned>(b.status == tlm::TLM_ADDRESS_ERROR_RESPONSE ? axi_response::decerr : axi_response::slverr);
}

void axi_master::answer_write(const burst& b, ps t) {
  payload p;
  set_field(p, b_id_, b.id);
  set_field(p, b_resp_, response_of(b));
  push(*b_, p, t);
}

// The first of the reads that go back is next, or, interleaved, the first one of any id.
void axi_master::next_beat(ps t) {
  if (returning_.empty()) return;
  auto at = returning_.begin();
  if (options_.interleave && returning_.size() > 1) {
    const std::uint32_t id = returning_[choice_.below(returning_.size())]->id;
    at = std::find_if(returning_.begin(), returning_.end(), [&](const burst* b) { return b->id == id; });
  }
  burst& b = **at;
  const unsigned n = b.moved++;
  payload p;
  set_field(p, r_id_, b.id);
  const std::uint64_t first = beat_at(b, n);
  const std::uint64_t end = first / b.size * b.size + b.size;
  for (std::uint64_t byte = first; byte < end; ++byte)
    p.set(r_data_.at + 8 * static_cast<unsigned>(byte % bus_), 8, b.bytes[place_of(b, n) + byte - first]);
  set_field(p, r_resp_, response_of(b));
  const bool last = b.moved == b.beats;
  set_field(p, r_last_, last);
  push(*r_, p, std::max(b.answered_at, t), last);
  if (!last) return;
  returning_.erase(at);
  pool_.put(b);
}

void axi_master::was_reset(ps, std::vector<lost>& losses) {
  owe_and_await_nothing();
  std::uint64_t ended = returning_.size();
  for (burst* b : returning_) pool_.put(*b);
  returning_.clear();
  for (auto* all : {&writing_, &reading_}) {
    for (of_id& q : *all) {
      ended += q.bursts.size();
      for (burst* b : q.bursts) {
        const bool collecting = std::find(collecting_.begin(), collecting_.end(), b) != collecting_.end();
        b->gone = true;  // its accesses may still be answered
        if (collecting || b->left == 0) pool_.put(*b);
      }
      q.bursts.clear();
    }
  }
  collecting_.clear();
  beats_.clear();
  if (ended > 0) losses.push_back({who() + ": bursts", ended});
  run();
}

}  // namespace hcasim::rtl
