// PCIe transactions: TLM-2.0 base protocol over the generic payload, so that any TLM-2.0 memory can be bound. One payload is a
// burst: up to a page of memory reads or writes whose TLPs are counted and timed in closed form.
//
//   fw BEGIN_REQ   the target answers TLM_UPDATED with END_REQ (taken; the next burst may follow)
//   bw BEGIN_RESP  read: every completion has arrived and the data is in the payload's buffer
//                  write: posted; the bytes have landed (no TLP says so: the payload may be reused now)
// Writes land in the order of their BEGIN_REQ. A read sees every write requested before it.
#pragma once

#include <cstdint>

#include "tlm/socket.h"

namespace hcasim {

// Address type of a request [ATS]: an IO virtual address, a request for its translation, or an address translated by the device
// itself. A translation request is a read whose completion is one entry of tlm/ats.h.
enum class pcie_address_type : std::uint8_t { untranslated, translation_request, translated };

// Messages of address translation and page requests [ATS]: writes that lead to no memory, in order with other posted writes.
// Messages of a device go to the root complex, messages of the root complex to the device of `requester`.
enum class pcie_message : std::uint8_t {
  none,
  invalidate,       // down, 8 bytes: the range as an entry of tlm/ats.h; tag: number of the invalidation, 0..31
  invalidate_done,  // up; tag: number of the invalidation
  page_request,     // up; address: the page; tag: its group; code: ats_page_request bits
  page_response,    // down; tag: the group; code: enum ats_response
};

// Rides on the generic payload.
struct pcie_extension : tlm::tlm_extension<pcie_extension> {
  std::uint16_t requester = 0;  // bus, device, function
  bool relaxed_ordering = false;
  bool no_snoop = false;
  pcie_address_type address_type = pcie_address_type::untranslated;
  pcie_message message = pcie_message::none;
  std::uint8_t code = 0;  // code of a message, or ats_no_write of a translation request
  std::uint16_t tag = 0;
  std::uint64_t operation = 0;  // as in tlm/operation.h
  void* owner = nullptr;        // the initiator's own record of this burst
  // Integrity codes of the burst's 32-bit words, in memory that keeps codes: a write stores them, a read returns them. Null =
  // none. No TLP carries them.
  std::uint8_t* check_bits = nullptr;
  ps memory_at{0};  // when the target read or wrote the bytes, filled in by the target

  [[nodiscard]] tlm_extension_base* clone() const override { return new pcie_extension(*this); }
  void copy_from(const tlm_extension_base& other) override { *this = static_cast<const pcie_extension&>(other); }
};

// MSI-X messages are memory writes into this window; the root complex turns them into interrupts.
inline constexpr std::uint64_t msi_window = 0xfee00000;
inline constexpr std::uint64_t msi_window_bytes = 0x00100000;

}  // namespace hcasim
