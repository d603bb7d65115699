// Faults between a device and the root complex, and where they are noted.
#pragma once

#include <array>
#include <cstdint>

#include "firmware/abi/pci_config.h"
#include "tlm/base/faults.h"

namespace hcasim {

// The fate of a burst of a device.
enum class pcie_fate : std::uint8_t {
  ordinary,
  poisoned_read,       // its data comes back with the poison bit: the requester drops it
  poisoned_write,      // the root complex drops it
  unsupported,         // the root complex does not know the address: a completion that says so, a write that is dropped
  aborted,             // the completer cannot serve it: a completion that says so, a write that is dropped
  completion_timeout,  // a read whose completion is lost
  malformed,           // its receiver drops it, and counts the link's errors as fatal
};

// In the order of pcie_fate, from poisoned_read on; then what happens to the link and to the function.
inline constexpr std::array<fault_kind, 10> pcie_fault_kinds{{
    {"poisoned_read", "the completions of the next `count` reads are poisoned"},
    {"poisoned_write", "the next `count` writes are poisoned"},
    {"unsupported_request", "the next `count` requests are answered as unsupported"},
    {"completer_abort", "the next `count` requests are aborted by their completer"},
    {"completion_timeout", "the completions of the next `count` reads are lost"},
    {"malformed_tlp", "the next `count` requests arrive malformed"},
    {"surprise_removal", "the device is gone for `length` (pcie.retraining)"},
    {"function_reset", "the function is reset"},
    {"receiver_error", "the next `count` bursts of TLPs reach the device garbled, and are sent again"},
    {"replay_timeout",
     "the acknowledgement of the next `count` bursts of TLPs from the device is lost, and they are sent again"},
}};

struct pcie_fault {
  pcie_fate fate = pcie_fate::ordinary;
  std::uint64_t left = 0;  // bursts that it is to happen to
};

struct pci_error_log {
  std::uint32_t first = 0;  // bit number
  std::uint64_t address = 0;
  std::uint32_t bytes = 0;
};

}  // namespace hcasim
