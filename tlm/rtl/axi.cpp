#include "tlm/rtl/axi.h"

#include <algorithm>
#include <bit>
#include <stdexcept>

namespace hcasim::rtl {
const axi_config& checked(const axi_config& c) {
  const auto demand = [](bool ok, const char* what) {
    if (!ok) throw std::invalid_argument(std::string("axi_config: ") + what);
  };
  demand(c.address_bits >= 1 && c.address_bits <= 64, "address_bits: 1 to 64");
  demand(std::has_single_bit(c.data_bits) && c.data_bits >= 8 && c.data_bits <= 1024, "data_bits: a power of two, 8 to 1024");
  demand(c.id_bits <= (c.lite ? 0U : 8U), "id_bits: 0 to 8, and 0 for AXI-Lite");
  demand(c.longest_burst >= 1 && c.longest_burst <= 256, "longest_burst: 1 to 256");
  return c;
}
unsigned address_width(const axi_config& c) {
  return c.id_bits + c.address_bits + (c.lite ? 0U : 13U);
}

axi_memory::axi_memory(const sc_core::sc_module_name& name, const axi_config& config, const clock_domain& clock,
                       design_factory make, const shell_options& options)
    : shell(name, clock, make, options),
      config_(checked(config)),
      aw_(into("aw", address_width(config))),
      w_(into("w", config.data_bits + config.data_bits / 8 + (config.lite ? 0U : 1U))),
      b_(out_of("b", config.id_bits + 2)),
      ar_(into("ar", address_width(config))),
      r_(out_of("r", config.id_bits + config.data_bits + 2 + (config.lite ? 0U : 1U))),
      writing_(std::size_t{1} << config.id_bits),
      reading_(std::size_t{1} << config.id_bits) {
  memory.register_nb_transport_fw(this, &axi_memory::begin);
  aw_.on_transfer = [this](const payload&, std::uint64_t, ps) { owe(1); };
  ar_.on_transfer = [this](const payload&, std::uint64_t, ps) { owe(1); };
  w_.on_transfer = [this](const payload&, std::uint64_t, ps t) { taken_data(t); };
  b_.on_transfer = [this](const payload& p, std::uint64_t, ps t) { written(p, t); };
  r_.on_transfer = [this](const payload& p, std::uint64_t, ps t) { read(p, t); };
}

tlm::tlm_sync_enum axi_memory::begin(tlm::tlm_generic_payload& p, tlm::tlm_phase& phase, sc_core::sc_time& delay) {
  if (phase != tlm::BEGIN_REQ) return tlm::TLM_COMPLETED;
  const std::uint64_t n = p.get_data_length();
  const std::uint64_t last = p.get_address() + n - 1;
  const bool beyond = last < p.get_address() || (config_.address_bits < 64 && last >> config_.address_bits != 0);
  if (n == 0 || beyond || p.get_streaming_width() < n) {
    p.set_response_status(beyond ? tlm::TLM_ADDRESS_ERROR_RESPONSE : tlm::TLM_BURST_ERROR_RESPONSE);
    return tlm::TLM_COMPLETED;
  }
  access& a = accesses_.get();
  a = {&p, p.get_address(), last, p.is_write(), 0, tlm::TLM_OK_RESPONSE};
  waiting_.push_back(&a);
  start_waiting(from_delay(delay));
  phase = tlm::END_REQ;
  return tlm::TLM_UPDATED;
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
  const std::uint64_t beat = beat_bytes();
  const std::uint64_t most = config_.lite ? 1 : config_.longest_burst;
  const std::uint64_t end = a.last / beat;  // in beats, the last one
  for (std::uint64_t at = a.first / beat; at <= end;) {
    const std::uint64_t to_boundary = axi_boundary / beat - at % (axi_boundary / beat);
    burst& b = burst_pool_.get();
    b = {&a, at * beat, static_cast<unsigned>(std::min({end - at + 1, most, to_boundary})), 0};
    at += b.beats;
    ++a.bursts_left;
    ++bursts_;
    const unsigned id = next_id_++ % (1U << config_.id_bits);
    push_address(a.write ? aw_ : ar_, id, b, t);
    (a.write ? writing_ : reading_)[id].push_back(&b);
    if (a.write) push_data(b, t);
  }
}

void axi_memory::push_address(stream& s, unsigned id, const burst& b, ps t) {
  payload p;
  writer w(p);
  if (config_.id_bits > 0) w.put(id, config_.id_bits);
  w.put(b.address, config_.address_bits);
  if (!config_.lite)
    w.put(b.beats - 1, 8)
        .put(static_cast<unsigned>(std::countr_zero(beat_bytes())), 3)
        .put(static_cast<unsigned>(axi_kind::incrementing), 2);
  push(s, p, t);
}

void axi_memory::push_data(burst& b, ps t) {
  const tlm::tlm_generic_payload& gp = *b.of->payload;
  const unsigned enables = gp.get_byte_enable_length();
  for (unsigned beat = 0; beat < b.beats; ++beat) {
    payload p;
    for (unsigned i = 0; i < beat_bytes(); ++i) {
      const std::uint64_t at = b.address + beat * beat_bytes() + i;
      if (at < b.of->first || at > b.of->last) continue;
      const std::uint64_t n = at - b.of->first;
      p.set(8 * i, 8, gp.get_data_ptr()[n]);
      if (!gp.get_byte_enable_ptr() || gp.get_byte_enable_ptr()[n % enables]) p.set(config_.data_bits + i, 1, 1);
    }
    if (!config_.lite) p.set(config_.data_bits + beat_bytes(), 1, beat + 1 == b.beats);
    push(w_, p, t);
  }
  sending_.push_back(&b);
}

void axi_memory::taken_data(ps) {
  burst& b = *sending_.front();
  if (++b.moved == b.beats) sending_.pop_front();
}

void axi_memory::note(access& a, unsigned response, const stream& s) {
  if (response == 1) violation("stream " + s.name() + " answers EXOKAY, and nothing was exclusive");
  if (response >= 2 && a.status == tlm::TLM_OK_RESPONSE)
    a.status = response == 2 ? tlm::TLM_GENERIC_ERROR_RESPONSE : tlm::TLM_ADDRESS_ERROR_RESPONSE;
}

void axi_memory::written(const payload& p, ps t) {
  reader in(p);
  const unsigned id = config_.id_bits > 0 ? in.get32(config_.id_bits) : 0;
  if (writing_[id].empty()) return violation("stream b answers id " + std::to_string(id) + ", which has written nothing");
  burst& b = *writing_[id].front();
  if (b.moved < b.beats) return violation("stream b answers id " + std::to_string(id) + " before its last beat was taken");
  writing_[id].pop_front();
  note(*b.of, in.get32(2), b_);
  finish(b, t);
}

void axi_memory::read(const payload& p, ps t) {
  reader in(p);
  const unsigned id = config_.id_bits > 0 ? in.get32(config_.id_bits) : 0;
  if (reading_[id].empty()) return violation("stream r answers id " + std::to_string(id) + ", which has read nothing");
  burst& b = *reading_[id].front();
  access& a = *b.of;
  tlm::tlm_generic_payload& gp = *a.payload;
  const unsigned enables = gp.get_byte_enable_length();
  for (unsigned i = 0; i < beat_bytes(); ++i) {
    const auto byte = static_cast<unsigned char>(in.get(8));
    const std::uint64_t at = b.address + b.moved * beat_bytes() + i;
    if (at < a.first || at > a.last) continue;
    const std::uint64_t n = at - a.first;
    if (!gp.get_byte_enable_ptr() || gp.get_byte_enable_ptr()[n % enables]) gp.get_data_ptr()[n] = byte;
  }
  ++b.moved;
  note(a, in.get32(2), r_);
  if (!config_.lite && in.get(1) != (b.moved == b.beats)) {
    return violation("stream r: `last` is wrong on beat " + std::to_string(b.moved) + " of " + std::to_string(b.beats));
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
  tlm::tlm_generic_payload& gp = *a.payload;
  gp.set_response_status(a.status);
  active_.erase(std::find(active_.begin(), active_.end(), &a));
  accesses_.put(a);
  tlm::tlm_phase phase = tlm::BEGIN_RESP;
  sc_core::sc_time delay = to_delay(t);
  memory->nb_transport_bw(gp, phase, delay);
  start_waiting(t);
}

}  // namespace hcasim::rtl
