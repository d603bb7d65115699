// A change of protection on the data path, and reasons to refuse one. Plain C++, shared by the rules and the protocol that
// carries the change.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hcasim {

enum class window_op : std::uint8_t { bind, invalidate, fast_register, close, lock, unlock, unbind };

// In the order of the checks [C.3 BND1..BND15, C.6].
enum class window_fault : std::uint8_t {
  none,
  not_a_window,       // [BND1]: no such index, or no window of this type
  stale_key,          // [BND2]: not the key it has now
  bad_state,          // [BND3]: type 2 is bound already; a fast-register region is valid already, or has windows
  wrong_pd,           // [BND4, BND5]
  bad_region,         // [BND6]: no valid region under this L_Key
  no_bind_right,      // [BND7]
  no_local_write,     // [BND8]
  out_of_range,       // [BND9, BND10]
  zero_length,        // [BND11]
  zero_based,         // [BND12, BND13]
  bad_access,         // [BND14]
  region_kind,        // [BND15]
  not_invalidatable,  // [C6.1, C6.11]
  wrong_qp,           // [C6.2]
  not_privileged,     // FAST_REG needs a privileged QP
  bad_list,           // FAST_REG: page size or length that its list cannot have
  table_error         // a context could not be read
};
inline constexpr std::size_t window_faults = 18;
inline constexpr const char* window_fault_names[window_faults] = {
    "none",          "not_a_window",      "stale_key",    "bad_state",      "wrong_pd",   "bad_region",
    "no_bind_right", "no_local_write",    "out_of_range", "zero_length",    "zero_based", "bad_access",
    "region_kind",   "not_invalidatable", "wrong_qp",     "not_privileged", "bad_list",   "table_error"};

struct window_change {
  window_op op = window_op::bind;
  window_fault fault = window_fault::none;
  bool remote = false;      // invalidate: by SEND_WITH_INV
  bool privileged = false;  // this and the next four: of the QP
  std::uint16_t function = 0;
  std::uint32_t qpn = 0;
  std::uint32_t generation = 0;
  std::uint32_t pd = 0;
  std::uint32_t key = 0;         // bind: the window's current key; fast_register: index of the region and its new key byte
  std::uint32_t new_key = 0;     // bind: only bits 7..0 are used
  std::uint32_t region_key = 0;  // bind
  std::uint32_t access = 0;      // bind, fast_register
  std::uint64_t va = 0;
  std::uint64_t length = 0;
  std::uint64_t list = 0;  // fast_register: DMA address of its entries
  std::uint8_t page_shift = 0;
  std::uint8_t type = 0;  // bind: of the window
};

}  // namespace hcasim
