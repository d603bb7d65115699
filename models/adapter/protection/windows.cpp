#include "models/adapter/protection/windows.h"

namespace hcasim {
namespace rules {
namespace {

constexpr std::uint32_t window_rights = HCA_ACCESS_REMOTE_WRITE | HCA_ACCESS_REMOTE_READ | HCA_ACCESS_REMOTE_ATOMIC;

std::uint8_t kind_of_type(std::uint8_t type) {
  return type == 1 ? HCA_MRC_WINDOW_1 : type == 2 ? HCA_MRC_WINDOW_2 : HCA_MRC_NONE;
}

bool is_window_of_type(const bind& b) {
  return hca_key_index(b.r.key) != 0 && b.window.kind != HCA_MRC_NONE && b.window.kind == kind_of_type(b.r.type) &&
         b.window.state != HCA_MRC_INVALID && b.window.function == b.r.function;
}
bool window_key_is_current(const bind& b) {
  return b.window.key_byte == hca_key_byte(b.r.key);
}
bool window_may_be_bound(const bind& b) {
  return b.window.state == (b.r.type == 1 ? HCA_MRC_VALID : HCA_MRC_FREE);
}
bool window_in_pd(const bind& b) {
  return b.window.pd == b.r.pd;
}
bool has_length(const bind& b) {
  return b.r.length != 0 || b.r.type == 1;
}
bool region_is_valid(const bind& b) {
  return b.unbinds() || (hca_key_index(b.r.region_key) != 0 && b.region.kind != HCA_MRC_NONE && !is_window(b.region) &&
                         b.region.state == HCA_MRC_VALID && b.region.key_byte == hca_key_byte(b.r.region_key) &&
                         b.region.function == b.r.function);
}
bool region_in_pd(const bind& b) {
  return b.unbinds() || b.region.pd == b.r.pd;
}
bool region_can_have_windows(const bind& b) {
  return b.unbinds() || takes_windows(b.region);
}
bool region_lets_bind(const bind& b) {
  return b.unbinds() || (b.region.access & HCA_ACCESS_MW_BIND) != 0;
}
// The bits of the low range only: the optional ones are ignored, local write is tolerated.
bool access_is_known(const bind& b) {
  constexpr std::uint32_t known = window_rights | HCA_ACCESS_LOCAL_WRITE | HCA_ACCESS_ZERO_BASED | HCA_ACCESS_OPTIONAL;
  return (b.r.access & ~known) == 0;
}
bool zero_based_is_type_2(const bind& b) {
  return (b.r.access & HCA_ACCESS_ZERO_BASED) == 0 || b.r.type == 2;
}
bool region_not_zero_based(const bind& b) {
  return b.unbinds() || (b.region.access & HCA_ACCESS_ZERO_BASED) == 0;
}
bool writes_need_local_write(const bind& b) {
  return b.unbinds() || (b.r.access & (HCA_ACCESS_REMOTE_WRITE | HCA_ACCESS_REMOTE_ATOMIC)) == 0 ||
         (b.region.access & HCA_ACCESS_LOCAL_WRITE) != 0;
}
bool range_in_region(const bind& b) {
  return b.unbinds() ||
         (b.r.va >= b.region.start && b.r.length <= b.region.length && b.r.va - b.region.start <= b.region.length - b.r.length);
}
bool region_is_tied_to_this_qp(const bind& b) {
  return b.unbinds() || b.region.kind != HCA_MRC_ADDRESS_SPACE || b.region.qpn == HCA_QPN_ANY || b.region.qpn == b.r.qpn;
}

}  // namespace

const bind_rule bind_in_order[bind_rules] = {
    {is_window_of_type, window_fault::not_a_window},          // [BND1]
    {window_key_is_current, window_fault::stale_key},         // [BND2]
    {window_may_be_bound, window_fault::bad_state},           // [BND3]
    {window_in_pd, window_fault::wrong_pd},                   // [BND4]
    {has_length, window_fault::zero_length},                  // [BND11]
    {region_is_valid, window_fault::bad_region},              // [BND6]
    {region_in_pd, window_fault::wrong_pd},                   // [BND5]
    {region_can_have_windows, window_fault::region_kind},     // [BND15]
    {region_lets_bind, window_fault::no_bind_right},          // [BND7]
    {access_is_known, window_fault::bad_access},              // [BND14]
    {zero_based_is_type_2, window_fault::zero_based},         // [BND12]
    {region_not_zero_based, window_fault::zero_based},        // [BND13]
    {writes_need_local_write, window_fault::no_local_write},  // [BND8]
    {range_in_region, window_fault::out_of_range},            // [BND9, BND10]
    {region_is_tied_to_this_qp, window_fault::wrong_qp},      // [SUN2]
};

}  // namespace rules

window_fault check_bind(const window_change& r, const hca_mrc& window, const hca_mrc& region, std::size_t without) {
  const rules::bind b{r, window, region};
  for (std::size_t i = 0; i < rules::bind_rules; ++i) {
    if (i != without && !rules::bind_in_order[i].holds(b)) return rules::bind_in_order[i].otherwise;
  }
  return window_fault::none;
}

void apply_bind(const window_change& r, hca_mrc& window, const hca_mrc& region) {
  const bool unbind = r.length == 0;
  window.key_byte = hca_key_byte(r.new_key);  // [A5]
  window.state = HCA_MRC_VALID;
  window.access = unbind ? 0 : r.access & (rules::window_rights | HCA_ACCESS_ZERO_BASED);  // [C.4]
  window.start = unbind ? 0 : r.va;
  window.length = r.length;
  window.parent = unbind ? 0 : r.region_key;
  window.page_shift = unbind ? 12 : region.page_shift;
  window.levels = unbind ? 1 : region.levels;
  window.table = region.table;
  window.table_va = region.table_va;
  if (r.type == 2) {
    window.qpn = r.qpn;
    window.extent = r.generation;
  }
}

window_fault check_invalidate(const window_change& r, const hca_mrc& m, const window_rules_config& c, std::size_t without) {
  const auto broken = [without](std::size_t rule, bool holds) { return rule != without && !holds; };
  const bool plain = m.kind == HCA_MRC_REGION && c.invalidate_regions && !r.remote;
  const bool exists = hca_key_index(r.key) != 0 && m.kind != HCA_MRC_NONE && m.state != HCA_MRC_INVALID;
  if (broken(0, exists && m.function == r.function)) return window_fault::not_a_window;
  if (broken(1, m.key_byte == hca_key_byte(r.key))) return window_fault::stale_key;
  if (broken(2, plain || (m.flags & HCA_MRC_REMOTE_INVALIDATE))) return window_fault::not_invalidatable;
  if (m.state == HCA_MRC_FREE) return c.invalidate_free_is_error ? window_fault::bad_state : window_fault::none;
  const bool window = m.kind == HCA_MRC_WINDOW_2;
  const bool own_qp = !window || (m.qpn == r.qpn && m.extent == r.generation);
  if (broken(3, own_qp)) return window_fault::wrong_qp;
  const bool own_pd = window && c.type2 == window_association::qp ? true : m.pd == r.pd;
  if (broken(4, own_pd)) return window_fault::wrong_pd;
  if (broken(5, window || m.parent == 0)) return window_fault::bad_state;  // [C6.4]
  return window_fault::none;
}

void apply_invalidate(hca_mrc& m) {  // [C6.6]
  m.state = HCA_MRC_FREE;
  if (m.kind != HCA_MRC_WINDOW_2) return;
  m.access = 0;
  m.start = m.length = 0;
  m.parent = 0;
  m.qpn = HCA_QPN_ANY;
  m.extent = 0;
}

window_fault check_fast_register(const window_change& r, const hca_mrc& m, std::size_t without) {
  const auto broken = [without](std::size_t rule, bool holds) { return rule != without && !holds; };
  constexpr std::uint32_t known = rules::window_rights | HCA_ACCESS_LOCAL_WRITE | HCA_ACCESS_MW_BIND | HCA_ACCESS_OPTIONAL;
  constexpr std::uint32_t writes = HCA_ACCESS_REMOTE_WRITE | HCA_ACCESS_REMOTE_ATOMIC;
  if (broken(0, r.privileged)) return window_fault::not_privileged;
  if (broken(1, hca_key_index(r.key) != 0 && m.kind == HCA_MRC_FAST && m.function == r.function)) {
    return window_fault::not_a_window;
  }
  if (broken(2, m.state == HCA_MRC_FREE)) return window_fault::bad_state;
  if (broken(3, m.pd == r.pd)) return window_fault::wrong_pd;
  if (broken(4, (r.access & ~known) == 0)) return window_fault::bad_access;
  if (broken(5, (r.access & writes) == 0 || (r.access & HCA_ACCESS_LOCAL_WRITE))) return window_fault::no_local_write;
  const bool page = r.page_shift == 12 || r.page_shift == 16 || r.page_shift == 21 || r.page_shift == 30;
  if (!page || r.list % 64 != 0) return window_fault::bad_list;
  if (broken(6, r.va + r.length >= r.va)) return window_fault::out_of_range;
  const std::uint64_t offset = r.va & ((std::uint64_t{1} << r.page_shift) - 1);
  const std::uint64_t room = std::uint64_t{m.extent_count} << r.page_shift;
  if (broken(7, r.length <= room && offset <= room - r.length)) return window_fault::bad_list;
  return window_fault::none;
}

void apply_fast_register(const window_change& r, hca_mrc& m) {
  m.state = HCA_MRC_VALID;
  m.key_byte = hca_key_byte(r.key);
  m.access = r.access & ~static_cast<std::uint32_t>(HCA_ACCESS_OPTIONAL);
  m.start = r.va;
  m.length = r.length;
  m.page_shift = r.page_shift;
  m.levels = 1;
  m.table = r.list;
  m.table_va = r.va & ~((std::uint64_t{1} << r.page_shift) - 1);
}

hca_mrc unbound(const hca_mrc& window) {
  hca_mrc m{};
  m.kind = window.kind;
  m.state = window.kind == HCA_MRC_WINDOW_1 ? HCA_MRC_VALID : HCA_MRC_FREE;
  m.key_byte = window.key_byte;
  m.flags = window.flags;
  m.function = window.function;
  m.pd = window.pd;
  m.qpn = HCA_QPN_ANY;
  m.page_shift = 12;
  m.levels = 1;
  return m;
}

bool counts_windows(const hca_mrc& m, std::uint32_t parent) {
  const bool never_bound = m.kind == HCA_MRC_ADDRESS_SPACE && !(m.access & HCA_ACCESS_MW_BIND);
  return parent != 0 && m.kind != HCA_MRC_NONE && !rules::is_window(m) && m.state != HCA_MRC_INVALID &&
         m.key_byte == hca_key_byte(parent) && !never_bound;
}

}  // namespace hcasim
