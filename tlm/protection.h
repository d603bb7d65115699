// Between requester or responder and key_check: may this access touch these bytes, and through which table?
//
// check:   answered with a verdict over the whole length. If `granted`, the access holds a reference to the epoch of each
//          granting key until END_RESP. A change of a key is complete only when no reference of an older epoch is left. `key`
//          is such a key; if its region was checked for a window as well, the region's key is another.
// element: returns the piece of another region that an indirect region has at `va`; asked while the check of `key` holds its
//          reference. Answered with the piece's key, VA and length in `piece`, or with a verdict other than `granted`.
// drain:   (command unit, window_unit) starts a new epoch of key index `key >> 8`; answered when no older reference is left.
#pragma once

#include <cstdint>

#include "firmware/abi/mrc.h"
#include "tlm/socket.h"
#include "tlm/verdict.h"

namespace hcasim {

enum class key_op : std::uint8_t { check, element, drain };

struct key_request : transaction {
  key_op op = key_op::check;
  bool remote = false;      // R_Key; otherwise L_Key
  bool privileged = false;  // the QP may use the reserved L_Key
  verdict result = verdict::granted;
  std::uint32_t key = 0;
  std::uint32_t rights = 0;  // enum hca_access bits that are needed; 0 = local read
  std::uint32_t pd = 0;
  std::uint32_t qpn = 0;
  std::uint32_t generation = 0;  // the QP's generation
  std::uint16_t function = 0;    // the QP's function
  std::uint64_t va = 0;
  std::uint64_t length = 0;
  translation map;                 // valid for a granted access
  std::uint64_t va_offset = 0;     // translate va + va_offset (zero-based windows)
  std::uint64_t epoch = 0;         // the reference held
  std::uint64_t parent_epoch = 0;  // reference to the window's region; 0 = the region was not checked
  hca_element piece{};             // element: where `va` lies

  // Returns the index of the region through which a granted access translates; for a window, its parent's.
  [[nodiscard]] std::uint32_t region() const { return map.index & 0xffffff; }
};

}  // namespace hcasim
