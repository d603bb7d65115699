#include "tlm/rtl/axi_master.h"

#include <algorithm>
#include <string>

#include "tlm/access.h"

namespace hcasim::rtl {
namespace {

constexpr unsigned slverr = 2, decerr = 3;

unsigned response_of(tlm::tlm_response_status s) {
  if (s == tlm::TLM_OK_RESPONSE) return 0;
  return s == tlm::TLM_ADDRESS_ERROR_RESPONSE ? decerr : slverr;
}

}  // namespace

axi_master::axi_master(const sc_core::sc_module_name& name, const axi_config& config, const clock_domain& clock,
                       design_factory make, const shell_options& options)
    : shell(name, clock, make, options),
      config_(checked(config)),
      b_(into("b", config.id_bits + 2)),
      r_(into("r", config.id_bits + config.data_bits + 2 + (config.lite ? 0U : 1U))),
      aw_(out_of("aw", address_width(config))),
      w_(out_of("w", config.data_bits + config.data_bits / 8 + (config.lite ? 0U : 1U))),
      ar_(out_of("ar", address_width(config))),
      writing_(std::size_t{1} << config.id_bits),
      reading_(std::size_t{1} << config.id_bits) {
  memory.register_nb_transport_bw(this, &axi_master::answered);
  aw_.on_transfer = [this](const payload& p, std::uint64_t, ps t) { address(p, true, t); };
  ar_.on_transfer = [this](const payload& p, std::uint64_t, ps t) { address(p, false, t); };
  w_.on_transfer = [this](const payload& p, std::uint64_t, ps t) {
    beats_.push_back(p);
    take_beats(t);
  };
  b_.on_transfer = [this](const payload&, std::uint64_t, ps) { await(-1); };
  r_.on_transfer = [this](const payload&, std::uint64_t last, ps) { await(last != 0 ? -1 : 0); };
}

std::uint64_t axi_master::beat_at(const burst& b, unsigned n) {
  return n == 0 ? b.address : b.address / b.size * b.size + std::uint64_t{n} * b.size;
}

void axi_master::address(const payload& p, bool write, ps t) {
  reader in(p);
  const stream& s = write ? aw_ : ar_;
  burst& b = pool_.get();
  b.write = write;
  b.id = config_.id_bits > 0 ? in.get32(config_.id_bits) : 0;
  b.address = in.get(config_.address_bits);
  b.beats = config_.lite ? 1 : in.get32(8) + 1;
  b.size = config_.lite ? bus_bytes() : 1U << in.get32(3);
  b.moved = 0;
  b.left = 1;
  b.status = tlm::TLM_OK_RESPONSE;
  const unsigned kind = config_.lite ? axi_incrementing : in.get32(2);
  const std::string who = "stream " + s.name() + ": a burst at " + std::to_string(b.address) + " ";
  if (kind != axi_incrementing) return violation(who + "is not INCR");
  if (b.size > bus_bytes())
    return violation(who + "has beats of " + std::to_string(b.size) + " bytes, the bus has " + std::to_string(bus_bytes()));
  if (b.beats > config_.longest_burst && !config_.lite)
    return violation(who + "has " + std::to_string(b.beats) + " beats, " + std::to_string(config_.longest_burst) +
                     " are allowed");
  const std::uint64_t last = beat_at(b, b.beats - 1) / b.size * b.size + b.size - 1;
  if (b.address / axi_boundary != last / axi_boundary) return violation(who + "crosses 4 KiB");
  ++bursts_;
  await(1);
  b.bytes.assign(last - b.address + 1, 0);
  b.strobes.assign(write ? b.bytes.size() : 0, false);
  (write ? writing_ : reading_)[b.id].push_back(&b);
  if (!write) return send(b, t);
  collecting_.push_back(&b);
  take_beats(t);
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
  const std::uint64_t lane0 = first / bus_bytes() * bus_bytes();
  for (unsigned i = 0; i < bus_bytes(); ++i) {
    if (!p.get(config_.data_bits + i, 1)) continue;
    if (lane0 + i < first || lane0 + i >= end) {
      violation("stream w: beat " + std::to_string(b.moved + 1) + " of a burst at " + std::to_string(b.address) +
                " has a strobe outside it, on byte " + std::to_string(i));
      return false;
    }
    b.bytes[lane0 + i - b.address] = static_cast<unsigned char>(p.get(8 * i, 8));
    b.strobes[lane0 + i - b.address] = true;
  }
  ++b.moved;
  if (config_.lite || (p.get(config_.data_bits + bus_bytes(), 1) != 0) == (b.moved == b.beats)) return true;
  violation("stream w: `last` is wrong on beat " + std::to_string(b.moved) + " of " + std::to_string(b.beats));
  return false;
}

// `left` counts the burst itself while its accesses go out, since they may be answered in the call.
void axi_master::send(burst& b, ps t) {
  if (!b.write) {
    send(b, 0, b.bytes.size(), t);
  } else {
    for (auto first = b.strobes.begin(); (first = std::find(first, b.strobes.end(), true)) != b.strobes.end();) {
      const auto end = std::find(first, b.strobes.end(), false);
      send(b, static_cast<std::size_t>(first - b.strobes.begin()), static_cast<std::size_t>(end - first), t);
      first = end;
    }
  }
  if (--b.left == 0) answer_in_order((b.write ? writing_ : reading_)[b.id], t);
}

void axi_master::send(burst& b, std::size_t first, std::size_t n, ps t) {
  access& a = accesses_.get();
  a.of = &b;
  ++b.left;
  set_access(a, b.write ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND, b.address + first, b.bytes.data() + first, n);
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
  accesses_.put(a);
  if (--b.left == 0) answer_in_order((b.write ? writing_ : reading_)[b.id], from_delay(delay));
  return tlm::TLM_COMPLETED;
}

void axi_master::answer_in_order(std::deque<burst*>& of_id, ps t) {
  while (!of_id.empty() && of_id.front()->left == 0) {
    burst& b = *of_id.front();
    of_id.pop_front();
    answer(b, t);
    pool_.put(b);
  }
}

void axi_master::answer(burst& b, ps t) {
  t = newest_ = std::max(newest_, t);  // nothing gets between the beats of a burst
  const unsigned response = response_of(b.status);
  const auto begun = [&](payload& p) {
    writer w(p);
    if (config_.id_bits > 0) w.put(b.id, config_.id_bits);
    return w;
  };
  if (b.write) {
    payload p;
    begun(p).put(response, 2);
    return push(b_, p, t);
  }
  for (unsigned n = 0; n < b.beats; ++n) {
    payload p;
    writer w = begun(p);
    const std::uint64_t first = beat_at(b, n);
    const std::uint64_t end = first / b.size * b.size + b.size;
    const std::uint64_t lane0 = first / bus_bytes() * bus_bytes();
    for (unsigned i = 0; i < bus_bytes(); ++i) {
      const bool in_beat = lane0 + i >= first && lane0 + i < end;
      w.put(in_beat ? b.bytes[lane0 + i - b.address] : 0, 8);
    }
    w.put(response, 2);
    const bool last = n + 1 == b.beats;
    if (!config_.lite) w.put(last, 1);
    push(r_, p, t, last);
  }
}

}  // namespace hcasim::rtl
