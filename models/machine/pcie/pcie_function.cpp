// A device's configuration registers, and faults between it and the root complex.
#include <algorithm>
#include <bit>
#include <cstring>

#include "models/machine/pcie/pcie.h"
#include "tlm/base/delegate.h"

namespace hcasim {

namespace {

// Returns the specification's error bit for a fate; 0 = not noted.
std::uint32_t error_of(pcie_fate f) {
  switch (f) {
    case pcie_fate::poisoned_read:
    case pcie_fate::poisoned_write:
      return PCI_ERROR_POISONED;
    case pcie_fate::unsupported:
      return PCI_ERROR_UNSUPPORTED;
    case pcie_fate::aborted:
      return PCI_ERROR_COMPLETER_ABORT;
    case pcie_fate::completion_timeout:
      return PCI_ERROR_COMPLETION_TIMEOUT;
    case pcie_fate::malformed:
      return PCI_ERROR_MALFORMED;
    case pcie_fate::ordinary:
      break;
  }
  return 0;
}

bool fits(pcie_fate f, bool read) {
  switch (f) {
    case pcie_fate::poisoned_read:
    case pcie_fate::completion_timeout:
      return read;
    case pcie_fate::poisoned_write:
      return !read;
    default:
      return true;
  }
}

}  // namespace

void pcie::inject(std::size_t kind, const fault_request& r) {
  lane& l = *lanes_.front();
  const std::string_view name = pcie_fault_kinds.at(kind).name;
  if (name == "surprise_removal") return link_down(l, r.length > 0_ps ? r.length : config_.retraining);
  if (name == "function_reset") return write_config(l, PCI_EXPRESS_CONTROL, PCI_FUNCTION_RESET);
  if (name == "receiver_error" || name == "replay_timeout") {
    (name == "receiver_error" ? l.down.garbled : l.up.unacknowledged) += static_cast<std::uint32_t>(r.count);
    return;
  }
  if (r.count == 0) return;
  const auto fate = static_cast<pcie_fate>(kind + 1);
  if (l.asked.empty() || l.asked.back().fate != fate) l.asked.push_back({fate, 0});
  l.asked.back().left += r.count;
  look(l);
}

void pcie::withdraw() {
  lane& l = *lanes_.front();
  l.asked.clear();
  l.down.garbled = l.up.unacknowledged = 0;
  look(l);
}

// The link layer's retransmissions. Garbled TLPs are asked for again after their arrival. TLPs sent meanwhile are dropped too,
// so the link is lost until the TLPs come again. TLPs without an acknowledge have arrived, and take the link once more when the
// sender's timer has run out.
link_schedule::span pcie::replay(direction& d, ps t, ps work) {
  ++d.replays;
  if (d.garbled != 0) {
    --d.garbled;
    d.corrected |= PCI_CORRECTED_RECEIVER;
    const link_schedule::span s = d.link.book(t, 2 * work + 2 * config_.link_latency, now());
    return {s.end - work, s.end};
  }
  --d.unacknowledged;
  d.corrected |= PCI_CORRECTED_REPLAY_TIMEOUT;
  const link_schedule::span s = d.link.book(t, work, now());
  d.link.book(s.end + config_.replay_timer, work, now());
  return s;
}

bool pcie::disturb(lane& l, burst& b) {
  if (l.down_now || (l.command & PCI_BUS_MASTER) == 0) {
    ++l.blocked;
    return true;
  }
  if (b.empty || b.route.place == pcie_place::interrupts) return false;
  const auto it = std::find_if(l.asked.begin(), l.asked.end(), [&](const pcie_fault& f) { return fits(f.fate, b.read); });
  if (it == l.asked.end()) return false;
  b.fate = it->fate;
  if (--it->left == 0) l.asked.erase(it);
  look(l);
  ++l.faults;
  note(l, error_of(b.fate), b);
  return false;
}

// The first error keeps its place in the log until software has cleared it.
void pcie::note(lane& l, std::uint32_t error, const burst& b) {
  if (l.errors == 0)
    l.log = {static_cast<std::uint32_t>(std::countr_zero(error)), b.address, static_cast<std::uint32_t>(b.bytes)};
  l.errors |= error;
}

void pcie::refuse(burst& b) {
  b.payload().set_response_status(tlm::TLM_COMMAND_ERROR_RESPONSE);
  later<&pcie::respond>(b, now());
}

// Applies a fault at the burst's destination; true = the burst ends here, with its status set.
bool pcie::spoil_arrival(burst& b) {
  switch (b.fate) {
    case pcie_fate::poisoned_read:
    case pcie_fate::completion_timeout:
    case pcie_fate::ordinary:
      return false;
    case pcie_fate::unsupported:
      b.payload().set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
      break;
    default:
      b.payload().set_response_status(tlm::TLM_GENERIC_ERROR_RESPONSE);
      break;
  }
  lane& l = *lanes_[b.source];
  if ((l.command & PCI_BUS_MASTER) != 0 && (!b.read || b.fate == pcie_fate::malformed)) contain(l);
  return true;
}

// A read gets its error as an answer. The loss of a write is not reported, and the device's next action may tell software that
// the bytes are there. So, as with downstream port containment, the port lets nothing more of the device pass until software
// has reacted.
void pcie::contain(lane& l) {
  l.command &= ~std::uint32_t{PCI_BUS_MASTER};
  look(l);
  bursts_.each_in_use([&](const burst& on_its_way) {
    auto& b = const_cast<burst&>(on_its_way);  // NOLINT(cppcoreguidelines-pro-type-const-cast): ours
    if (b.source == from_cpu || lanes_[b.source].get() != &l || b.fate != pcie_fate::ordinary) return;
    b.fate = b.read ? pcie_fate::completion_timeout : pcie_fate::aborted;
  });
}

// Applies a fault to a completion; true = no completion leaves.
bool pcie::spoil_completion(burst& b) {
  if (b.source == from_cpu) return false;
  if (b.fate == pcie_fate::completion_timeout || b.fate == pcie_fate::malformed) {
    later<&pcie::timed_out>(b, std::max(now(), b.begun + config_.completion_timeout));
    return true;
  }
  if (b.fate == pcie_fate::poisoned_read) b.payload().set_response_status(tlm::TLM_GENERIC_ERROR_RESPONSE);
  return false;
}

void pcie::timed_out(burst& b) {
  b.payload().set_response_status(tlm::TLM_GENERIC_ERROR_RESPONSE);
  note(*lanes_[b.source], PCI_ERROR_COMPLETION_TIMEOUT, b);
  complete(b);
}

// Nothing of the device gets through until the link is up again; outstanding accesses are lost. The device has lost its power,
// and begins as after a reset.
void pcie::link_down(lane& l, ps length) {
  l.down_now = true;
  l.errors |= PCI_ERROR_SURPRISE_DOWN;
  contain(l);
  if (l.reset.run) l.reset();
  queue_.at(now() + length, call_holder<&lane::owner, &pcie::link_is_up>(l));
}

void pcie::link_is_up(lane& l) {
  l.down_now = false;
  look(l);
}

// ---- registers

std::optional<pcie::config_answer> pcie::config_access(tlm::tlm_generic_payload& p) {
  const std::uint64_t at = p.get_address() - PCI_CONFIG_WINDOW;
  const unsigned bytes = p.get_data_length();
  const auto offset = static_cast<std::uint32_t>(at % PCI_CONFIG_BYTES);
  if (p.get_address() < PCI_CONFIG_WINDOW || at >= devices() * PCI_CONFIG_BYTES || (bytes != 4 && bytes != 8) ||
      offset % 4 != 0)
    return std::nullopt;
  const auto device = static_cast<unsigned>(at / PCI_CONFIG_BYTES);
  lane& l = *lanes_[device];
  if (l.down_now) return std::nullopt;
  // Its answer pushes the device's writes before it, as any completion does [PCIe ordering rules].
  const ps way = 2 * (config_.root_mmio_latency + config_.link_latency + (config_.has_switch ? config_.switch_latency : 0_ps));
  for (unsigned i = 0; i < bytes / 4; ++i) {
    std::uint32_t word = 0;
    if (p.is_write()) {
      std::memcpy(&word, p.get_data_ptr() + std::size_t{i} * 4, sizeof word);
      write_config(l, offset + i * 4, word);
    } else {
      word = read_config(l, offset + i * 4);
      std::memcpy(p.get_data_ptr() + std::size_t{i} * 4, &word, sizeof word);
    }
  }
  p.set_response_status(tlm::TLM_OK_RESPONSE);
  return config_answer{device, std::max(way, l.landed - now())};
}

std::uint32_t pcie::read_config(const lane& l, std::uint32_t offset) const {
  switch (offset) {
    case PCI_COMMAND:
      return l.command;
    case PCI_LINK_STATUS:
      return PCI_LINK_ACTIVE;
    case PCI_ERROR_UNCORRECTABLE:
      return l.errors;
    case PCI_ERROR_CORRECTABLE:
      return l.up.corrected | l.down.corrected;
    case PCI_ERROR_FIRST:
      return l.log.first;
    case PCI_ERROR_LOG_ADDRESS:
      return static_cast<std::uint32_t>(l.log.address);
    case PCI_ERROR_LOG_ADDRESS + 4:
      return static_cast<std::uint32_t>(l.log.address >> 32);
    case PCI_ERROR_LOG_BYTES:
      return l.log.bytes;
    default:
      return 0;
  }
}

void pcie::write_config(lane& l, std::uint32_t offset, std::uint32_t value) {
  switch (offset) {
    case PCI_COMMAND:
      l.command = value & PCI_BUS_MASTER;
      break;
    case PCI_EXPRESS_CONTROL:
      if ((value & PCI_FUNCTION_RESET) == 0) break;
      l.command = 0;
      l.asked.clear();
      if (l.reset.run) l.reset();
      break;
    case PCI_ERROR_UNCORRECTABLE:
      l.errors &= ~value;
      if (l.errors == 0) l.log = {};
      break;
    case PCI_ERROR_CORRECTABLE:
      l.up.corrected &= ~value;
      l.down.corrected &= ~value;
      break;
    default:
      break;
  }
  look(l);
}

}  // namespace hcasim
