// May this access use this memory region context? The rules in the order of the responder pipeline [D8 to D13]; the same order
// holds for L_Keys, so that the counters mean the same on both sides.
//
// Contract: the caller has fetched the MRC that `key >> 8` selects, and has decided what a length of 0 means [D7]. Plain C++,
// no state, no time: shared by every unit that judges keys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>

#include "firmware/abi/mrc.h"
#include "tlm/verdict.h"

namespace hcasim {

// A type 2 window is tied to a QP alone (2A) or to a QP and its PD (2B); an adapter offers one of them [C.1].
enum class window_association : std::uint8_t { qp, qp_and_pd };

struct access_request {
  std::uint32_t key = 0;
  std::uint32_t rights = 0;  // enum hca_access bits that are needed; 0 = local read
  std::uint32_t pd = 0;      // of the QP
  std::uint32_t qpn = 0;
  std::uint32_t generation = 0;  // of the QP
  std::uint64_t va = 0;
  std::uint64_t length = 0;
  std::uint16_t function = 0;  // of the QP
  bool remote = false;         // R_Key; otherwise L_Key
  bool privileged = false;     // the QP may use the reserved L_Key
  window_association type2 = window_association::qp_and_pd;
};

namespace rules {

constexpr bool is_window(const hca_mrc& m) {
  return m.kind == HCA_MRC_WINDOW_1 || m.kind == HCA_MRC_WINDOW_2;
}

// Zero-based windows are addressed from 0 on [C.5]; zero-based regions have start 0 already.
constexpr bool zero_based_window(const hca_mrc& m) {
  return is_window(m) && (m.access & HCA_ACCESS_ZERO_BASED) != 0;
}

// [D8] The entry holds an object; index 0 is never handed out [A8].
inline bool index_valid(const hca_mrc& m, const access_request& a) {
  return hca_key_index(a.key) != 0 && m.kind != HCA_MRC_NONE && m.kind < HCA_MRC_KINDS && m.state != HCA_MRC_INVALID;
}

// [D9, A1]
inline bool key_matches(const hca_mrc& m, const access_request& a) {
  return m.key_byte == hca_key_byte(a.key);
}

// [D10] A fast-register region or a type 2 window between invalidation and its next use is FREE.
constexpr bool state_valid(const hca_mrc& m, const access_request&) {
  return m.state == HCA_MRC_VALID;
}

// [D11, B.1] Everything belongs to one function of the adapter. Regions and type 1 windows: the PD. Type 2 windows: the QP (the
// generation tells it from a later one of the same number [C.1]), with 2B its PD as well. An address space may be tied to one
// QP besides its PD. The reserved L_Key asks for privilege instead of a PD [A8].
constexpr bool associated(const hca_mrc& m, const access_request& a) {
  if (m.function != a.function) return false;
  if (m.flags & HCA_MRC_PRIVILEGED) return a.privileged;
  switch (m.kind) {
    case HCA_MRC_WINDOW_2:
      return m.qpn == a.qpn && m.extent == a.generation && (a.type2 == window_association::qp || m.pd == a.pd);
    case HCA_MRC_ADDRESS_SPACE:
      return m.pd == a.pd && (m.qpn == HCA_QPN_ANY || m.qpn == a.qpn);
    default:
      return m.pd == a.pd;
  }
}

// [D12, D.2] Local read is always granted. A window is no L_Key [A3], the reserved L_Key is no R_Key [A8], and a remote access
// that names no right has none.
constexpr bool permitted(const hca_mrc& m, const access_request& a) {
  if (a.remote && ((m.flags & HCA_MRC_PRIVILEGED) || a.rights == 0)) return false;
  if (!a.remote && is_window(m)) return false;
  return (a.rights & ~m.access) == 0;
}

// [BND15] Physical, null, indirect, device-memory and dma-buf regions take none.
constexpr bool takes_windows(const hca_mrc& m) {
  return m.kind == HCA_MRC_REGION || m.kind == HCA_MRC_FAST || m.kind == HCA_MRC_ADDRESS_SPACE;
}

// [D13] The whole length, without overflow.
constexpr bool in_bounds(const hca_mrc& m, const access_request& a) {
  const std::uint64_t base = zero_based_window(m) ? 0 : m.start;
  return a.va >= base && a.length <= m.length && a.va - base <= m.length - a.length;
}

// [E11] A table that cannot be, or a tree of extents: physical, null and indirect regions go without one.
constexpr bool table_sane(const hca_mrc& m) {
  if (m.kind == HCA_MRC_ADDRESS_SPACE && m.extent_count > HCA_EXTENT_LEVELS) return false;
  if (m.kind == HCA_MRC_PHYSICAL || m.kind == HCA_MRC_NULL || m.kind == HCA_MRC_INDIRECT) return true;
  const bool page = m.page_shift == 12 || m.page_shift == 16 || m.page_shift == 21 || m.page_shift == 30;
  return page && m.levels >= 1 && m.levels <= 4;
}

struct rule {
  bool (*holds)(const hca_mrc&, const access_request&);
  verdict otherwise;
};

// The first rule that does not hold is the verdict.
inline constexpr rule in_order[] = {
    {index_valid, verdict::bad_index},      {key_matches, verdict::bad_key},  {state_valid, verdict::bad_state},
    {associated, verdict::bad_association}, {permitted, verdict::bad_rights}, {in_bounds, verdict::bad_bounds},
};

}  // namespace rules

// With a tree of extents, `granted` of an MRC holds for the outer range only: the extents decide (extents.h). `Without` leaves
// a rule out; tests show with it that each rule is needed.
inline constexpr std::size_t no_rule = ~std::size_t{0};
template <std::size_t Without = no_rule>
inline verdict judge_by_rules(const hca_mrc& m, const access_request& a) {
  for (std::size_t i = 0; i < std::size(rules::in_order); ++i) {
    if (i != Without && !rules::in_order[i].holds(m, a)) return rules::in_order[i].otherwise;
  }
  return rules::table_sane(m) ? verdict::granted : verdict::table_error;
}
verdict judge(const hca_mrc& m, const access_request& a);

constexpr bool needs_extents(const hca_mrc& m) {
  return m.kind == HCA_MRC_ADDRESS_SPACE && m.extent_count != 0;
}

// Access through a window whose region may have gone [B4.1, orphan]: the region must still be what the window was bound to.
constexpr bool parent_intact(const hca_mrc& window, const hca_mrc& region) {
  return region.state == HCA_MRC_VALID && rules::takes_windows(region) && region.key_byte == hca_key_byte(window.parent) &&
         region.function == window.function && region.pd == window.pd && window.start >= region.start &&
         window.length <= region.length && window.start - region.start <= region.length - window.length;
}

// The part of a granted access that the page walker needs. A window translates through the table of its parent, and under its
// tag: the one that it was bound to, or, where the region is looked at, the one that the region has now.
struct mapping {
  translation map;
  std::uint64_t va_offset = 0;  // translate va + va_offset
};
inline mapping mapping_of(const hca_mrc& m, std::uint32_t key) {
  mapping r;
  r.map.index = HCA_TAG_REGION | hca_key_index(rules::is_window(m) ? m.parent : key);
  r.map.null = m.kind == HCA_MRC_NULL;
  r.map.indirect = m.kind == HCA_MRC_INDIRECT;
  r.map.levels = m.kind == HCA_MRC_PHYSICAL || r.map.null || r.map.indirect ? 0 : m.levels;
  r.map.page_shift = m.page_shift;
  r.map.on_demand = (m.flags & HCA_MRC_ON_DEMAND) != 0;
  r.map.table = m.table;
  r.map.table_va = m.table_va;
  r.va_offset = rules::zero_based_window(m) ? m.start : 0;
  return r;
}

}  // namespace hcasim
