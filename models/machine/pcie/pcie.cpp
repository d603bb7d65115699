#include "models/machine/pcie/pcie.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <stdexcept>

#include "tlm/base/border.h"

namespace hcasim {
namespace {

const pcie_config& checked(const pcie_config& c) {
  const auto power = [](std::uint64_t v) { return std::has_single_bit(v); };
  if (!power(c.mps) || !power(c.mrrs) || !power(c.rcb) || (c.completion_payload && !power(c.completion_payload)))
    throw std::invalid_argument("pcie: mps, mrrs, rcb and completion_payload must be powers of two");
  if (c.generation < 1 || c.generation > 6) throw std::invalid_argument("pcie: no such generation");
  if (!has_pcie_lanes(c.lanes)) throw std::invalid_argument("pcie: lanes must be 1, 2, 4, 8, 12 or 16");
  if (c.completion_payload && (c.completion_payload < c.rcb || c.completion_payload > c.mps))
    throw std::invalid_argument("pcie: completion_payload must lie between rcb and mps");
  if (c.posted_data * credit_bytes < c.mps || c.device_posted_data * credit_bytes < c.mps)
    throw std::invalid_argument("pcie: data credits must hold one TLP of mps");
  return c;
}

}  // namespace

pcie::pcie(const sc_core::sc_module_name& n, const pcie_config& config, unsigned devices)
    : unit(n),
      config_(checked(config)),
      map_(config.memory_top),
      tree_(timing_),
      bursts_(cpu),
      delivery_(memory, interrupts, bursts_, completions_),
      completions_(timing_, tree_, bursts_, requests_),
      requests_(timing_, tree_, bursts_, delivery_) {
  cpu.register_nb_transport_fw(this, &pcie::from_host);
  cpu.register_transport_dbg(this, &pcie::host_debug);
  memory.register_nb_transport_bw(this, &pcie::backward);
  interrupts.register_nb_transport_bw(this, &pcie::backward);
  for (unsigned i = 0; i < devices; ++i) {
    devices_.push_back(std::make_unique<pcie_device>(timing_, i));
    pcie_port& p = devices_.back()->sockets;
    p.up.register_nb_transport_fw(this, &pcie::from_device, static_cast<int>(i));
    p.up.register_transport_dbg(this, &pcie::device_debug, static_cast<int>(i));
    p.down.register_nb_transport_bw(this, &pcie::device_backward, static_cast<int>(i));
    own(p.up);
    own(p.down);
    devices_.back()->list(stats_, signals_);
  }
  own(cpu);
  own(memory);
  own(interrupts);
  tree_.list(stats_, signals_);
  stats_.add("mmio_writes", "1", "register writes by host software", requests_.mmio_writes);
  stats_.add("mmio_reads", "1", "register reads by host software", requests_.mmio_reads);
  stats_.add("mmio_errors", "1", "register accesses to no device", mmio_errors_);
}

pcie::~pcie() = default;

void pcie::end_of_elaboration() {
  delivery_.learn_borders();
  for (const auto& d : devices_) {
    d->up_abroad = leads_abroad(d->sockets.up);
    d->down_abroad = leads_abroad(d->sockets.down);
  }
}

void pcie::map_bar(unsigned device, std::uint64_t base, std::uint64_t size, std::uint64_t offset) {
  if (device >= devices() || !map_.add(device, base, size, offset))
    throw std::invalid_argument("pcie: a BAR is empty, overlaps another one or has no device");
}

pcie_route pcie::to_requester(std::uint16_t requester) const {
  for (unsigned i = 0; i < devices(); ++i) {
    if (devices_[i]->requester == requester) return {pcie_place::device, i, 0};
  }
  return {};
}

pcie_burst& pcie::begin(tlm::tlm_generic_payload& p, const pcie_extension* extension, pcie_device* from, const pcie_route& r,
                        ps t) {
  pcie_burst& b = bursts_.begin(p, extension, from, t);
  b.place = r.place;
  b.to = target(r);
  b.offset = r.offset;
  return b;
}

tlm::tlm_sync_enum pcie::from_device(int i, tlm::tlm_generic_payload& p, tlm::tlm_phase& phase, sc_core::sc_time& delay) {
  if (phase != tlm::BEGIN_REQ) return tlm::TLM_COMPLETED;
  const ps t = std::max(from_delay(delay), now());
  pcie_device& d = *devices_[static_cast<unsigned>(i)];
  const pcie_extension* extension = p.get_extension<pcie_extension>();
  const bool message = extension && extension->message != pcie_message::none;
  const pcie_route route = message ? pcie_route{pcie_place::memory, 0, p.get_address()}
                                   : map_.of_device(p.get_address(), p.get_data_length(), p.is_write());
  pcie_burst& b = begin(p, extension, &d, route, t);
  if (b.place == pcie_place::nowhere) ++d.unreachable;
  if (b.place == pcie_place::device) ++d.peer_bursts;
  if (b.place == pcie_place::interrupts) ++d.messages;
  phase = tlm::END_REQ;
  if (t > now()) {
    take_step<&pcie_requests::enter>(queue_, &requests_, b, t);
  } else {
    requests_.enter(b);
  }
  return tlm::TLM_UPDATED;
}

tlm::tlm_sync_enum pcie::from_host(tlm::tlm_generic_payload& p, tlm::tlm_phase& phase, sc_core::sc_time& delay) {
  if (phase != tlm::BEGIN_REQ) return tlm::TLM_COMPLETED;
  const pcie_extension* extension = p.get_extension<pcie_extension>();
  const bool message = extension && extension->message != pcie_message::none;
  const pcie_route r = message ? to_requester(extension->requester) : map_.of_cpu(p.get_address(), p.get_data_length());
  const pcie_device* const to = target(r);
  if (!to || !to->function.link_up()) {
    if (const auto answer = config_access(p)) return from_registers(*answer, p, phase, delay);
    ++mmio_errors_;
    delay += to_sc(2 * config_.root_mmio_latency);
    p.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
    return tlm::TLM_COMPLETED;
  }
  const ps t = std::max(from_delay(delay), now());
  take_step<&pcie_requests::send_mmio>(queue_, &requests_, begin(p, extension, nullptr, r, t), t + config_.root_mmio_latency);
  if (p.is_write()) return tlm::TLM_ACCEPTED;  // until the link takes the write
  phase = tlm::END_REQ;
  return tlm::TLM_UPDATED;
}

// The answer pushes the device's writes before it, as any completion does [PCIe ordering rules].
tlm::tlm_sync_enum pcie::from_registers(const config_answer& a, tlm::tlm_generic_payload& p, tlm::tlm_phase& phase,
                                        sc_core::sc_time& delay) {
  const pushed_writes& pushed = a.device.pushed;
  if (pushed.all_done()) {
    delay += to_sc(a.way);
    return tlm::TLM_COMPLETED;
  }
  pcie_burst& b = begin(p, nullptr, nullptr, {pcie_place::device, a.device.number, 0}, now());
  b.behind = pushed.begun();
  const ps t = std::max(from_delay(delay), now()) + a.way;
  take_step<&pcie_completions::answer_software>(queue_, &completions_, b, t);
  phase = tlm::END_REQ;
  return tlm::TLM_UPDATED;
}

std::optional<pcie::config_answer> pcie::config_access(tlm::tlm_generic_payload& p) {
  const std::uint64_t at = p.get_address() - PCI_CONFIG_WINDOW;
  const unsigned bytes = p.get_data_length();
  const auto offset = static_cast<std::uint32_t>(at % PCI_CONFIG_BYTES);
  if (p.get_address() < PCI_CONFIG_WINDOW || at >= devices() * PCI_CONFIG_BYTES || (bytes != 4 && bytes != 8) ||
      offset % 4 != 0)
    return std::nullopt;
  pcie_device& d = *devices_[at / PCI_CONFIG_BYTES];
  if (!d.function.link_up()) return std::nullopt;
  const ps way = 2 * (config_.root_mmio_latency + config_.link_latency + (config_.has_switch ? config_.switch_latency : 0_ps));
  for (unsigned i = 0; i < bytes / 4; ++i) {
    std::uint32_t word = 0;
    if (p.is_write()) {
      std::memcpy(&word, p.get_data_ptr() + std::size_t{i} * 4, sizeof word);
      d.function.write(offset + i * 4, word);
    } else {
      word = d.function.read(offset + i * 4);
      std::memcpy(p.get_data_ptr() + std::size_t{i} * 4, &word, sizeof word);
    }
  }
  p.set_response_status(tlm::TLM_OK_RESPONSE);
  return config_answer{d, std::max(way, d.landed - now())};
}

tlm::tlm_sync_enum pcie::backward(tlm::tlm_generic_payload& p, tlm::tlm_phase& phase, sc_core::sc_time& delay) {
  if (phase != tlm::BEGIN_RESP) return tlm::TLM_ACCEPTED;
  delivery_.on_answer(*p.get_extension<pcie_burst>(), from_delay(delay));
  return tlm::TLM_COMPLETED;
}

tlm::tlm_sync_enum pcie::device_backward(int, tlm::tlm_generic_payload& p, tlm::tlm_phase& phase, sc_core::sc_time& delay) {
  return backward(p, phase, delay);
}

unsigned pcie::device_debug(int, tlm::tlm_generic_payload& p) {
  const pcie_route r = map_.of_device(p.get_address(), p.get_data_length(), p.is_write());
  return delivery_.debug(r.place, target(r), r.offset, p);
}

unsigned pcie::host_debug(tlm::tlm_generic_payload& p) {
  const pcie_route r = map_.of_cpu(p.get_address(), p.get_data_length());
  return delivery_.debug(r.place, target(r), r.offset, p);
}

void pcie::inject(std::size_t kind, const fault_request& r) {
  pcie_device& d = *devices_.front();
  const auto bursts = static_cast<std::uint32_t>(r.count);
  const std::string_view name = pcie_fault_kinds.at(kind).name;
  if (name == "function_reset") return d.function.write(PCI_EXPRESS_CONTROL, PCI_FUNCTION_RESET);
  if (name == "receiver_error") return d.down.garble(bursts);
  if (name == "replay_timeout") return d.up.lose_acknowledges(bursts);
  if (name != "surprise_removal") return d.function.ask(static_cast<pcie_fate>(kind + 1), r.count);
  // Nothing of the device gets through until the link is up again; outstanding accesses are lost. The device has lost its
  // power, and begins as after a reset.
  d.function.lose_link();
  bursts_.contain(d);
  if (d.function.reset.run) d.function.reset();
  queue_.at(now() + (r.length > 0_ps ? r.length : config_.retraining), call<&pcie_function::link_is_back>(&d.function));
}

std::uint64_t pcie::to_come(std::size_t kind) const {
  const pcie_device& d = *devices_.front();
  const std::string_view name = pcie_fault_kinds.at(kind).name;
  if (name == "receiver_error") return d.down.to_garble();
  if (name == "replay_timeout") return d.up.acknowledges_to_lose();
  return d.function.to_come(static_cast<pcie_fate>(kind + 1));
}

void pcie::withdraw() {
  pcie_device& d = *devices_.front();
  d.function.withdraw();
  d.up.withdraw();
  d.down.withdraw();
}

bit_rate pcie::write_limit(std::uint64_t address, std::uint64_t bytes) const {
  const ps t = timing_.wire_time(split_write(address, bytes, config_.mps), config_.request_header);
  return {static_cast<double>(bytes) * 8e12 / static_cast<double>(t.count())};
}

bit_rate pcie::read_limit(std::uint64_t address, std::uint64_t bytes) const {
  const ps up = timing_.wire_time(split_read(address, bytes, config_.mrrs), config_.request_header);
  const ps down = timing_.wire_time(split_completions(address, bytes, config_.mrrs, config_.rcb, timing_.completion_payload),
                                    config_.completion_header);
  return {static_cast<double>(bytes) * 8e12 / static_cast<double>(std::max(up, down).count())};
}

void pcie::list_waiting(waiting_list& list) const {
  bursts_.each([&](const pcie_burst& b) {
    const std::string from = b.from ? "device " + std::to_string(b.from->number) : "software";
    std::string to = nearest("host");
    if (b.to) to = b.to->number == 0 ? nearest("hca") : nearest(("peer" + std::to_string(b.to->number - 1)).c_str());
    list.add({.kind = b.from ? (b.read ? "PCIe read" : "PCIe write") : (b.read ? "register read" : "register write"),
              .text = std::to_string(b.bytes) + " B at " + hex_text(b.address) + ", from " + from,
              .since = b.begun,
              .at = spot(from),
              .waits_for = {to, nearest("iommu")}});
  });
}

}  // namespace hcasim
