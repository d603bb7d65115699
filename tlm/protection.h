// Between requester or responder and key_check: may this access touch these bytes, and through which table?
//
// check:   answered with a verdict over the whole length. If it is `granted`, the access holds a reference to the epoch of each
//          key that granted it until END_RESP: a change of a key is complete only when the references of older epochs are gone.
//          `key` is one; of a window whose region was looked at as well, that region's key is another.
// element: which piece of another region an indirect region has at `va`; asked while the check of `key` holds its reference.
//          Answered with the piece's key, VA and length in `piece`, or with a verdict other than `granted`.
// drain:   (command unit, window_unit) starts a new epoch of key index `key >> 8`; answered when no reference of an older one
// is left.
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
  std::uint32_t generation = 0;  // of the QP
  std::uint16_t function = 0;    // of the QP
  std::uint64_t va = 0;
  std::uint64_t length = 0;
  translation map;                 // of a granted access
  std::uint64_t va_offset = 0;     // translate va + va_offset (zero-based windows)
  std::uint64_t epoch = 0;         // the reference held
  std::uint64_t parent_epoch = 0;  // and the one to the region of the window; 0 = the region was not looked at
  hca_element piece{};             // element: where `va` lies

  // The index of the region that a granted access translates through: of a window its parent.
  [[nodiscard]] std::uint32_t region() const { return map.index & 0xffffff; }
};

}  // namespace hcasim
