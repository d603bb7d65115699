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
  if (b.size > bus_bytes())
    return "has beats of " + std::to_string(b.size) + " bytes, the bus has " + std::to_string(bus_bytes());
  if (b.beats > config_.longest_burst && !config_.lite)
    return "has " + std::to_string(b.beats) + " beats, " + std::to_string(config_.longest_burst) + " are allowed";
  if (b.kind == axi_kind::fixed && b.beats > 16) return "is FIXED and has " + std::to_string(b.beats) + " beats, more than 16";
  if (b.kind == axi_kind::wrapping) {
    if (b.address % b.size != 0) return "is WRAP and not aligned to its beats of " + std::to_string(b.size) + " bytes";
    if (b.beats != 2 && b.beats != 4 && b.beats != 8 && b.beats != 16)
      return "is WRAP and has " + std::to_string(b.beats) + " beats, not 2, 4, 8 or 16";
  }
  if (b.kind == axi_kind::incrementing && b.address / axi_boundary != beat_at(b, b.beats - 1) / axi_boundary)
    return "crosses 4 KiB";
  return {};
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
  b.kind = config_.lite ? axi_kind::incrementing : static_cast<axi_kind>(in.get32(2));
  if (const std::string why = refusal(b); !why.empty())
    return violation("stream " + s.name() + ": a burst at " + std::to_string(b.address) + " " + why);
  ++bursts_;
  await(1);
  const std::uint64_t whole = std::uint64_t{b.beats} * b.size;
  b.bytes.assign(b.kind == axi_kind::wrapping ? whole
                 : b.kind == axi_kind::fixed  ? place_of(b, b.beats)
                                              : whole - b.address % b.size,
                 0);
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
    const std::uint64_t place = place_of(b, b.moved) + lane0 + i - first;
    b.bytes[place] = static_cast<unsigned char>(p.get(8 * i, 8));
    b.strobes[place] = true;
  }
  ++b.moved;
  if (config_.lite || (p.get(config_.data_bits + bus_bytes(), 1) != 0) == (b.moved == b.beats)) return true;
  violation("stream w: `last` is wrong on beat " + std::to_string(b.moved) + " of " + std::to_string(b.beats));
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
  if (--b.left == 0) answer_in_order((b.write ? writing_ : reading_)[b.id], t);
}

// Bytes [first, first + n) of a burst, of a write those that have strobes, to the address `to`.
void axi_master::send_part(burst& b, std::size_t first, std::size_t n, std::uint64_t to, ps t) {
  if (!b.write) return send(b, first, n, to, t);
  const auto begin = b.strobes.begin() + static_cast<std::ptrdiff_t>(first);
  const auto end = begin + static_cast<std::ptrdiff_t>(n);
  for (auto run = begin; (run = std::find(run, end, true)) != end;) {
    const auto behind = std::find(run, end, false);
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
      w.put(in_beat ? b.bytes[place_of(b, n) + lane0 + i - first] : 0, 8);
    }
    w.put(response, 2);
    const bool last = n + 1 == b.beats;
    if (!config_.lite) w.put(last, 1);
    push(r_, p, t, last);
  }
}

}  // namespace hcasim::rtl
