// Binds, invalidations and fast registrations: which are allowed, and how they change the MRCs [C.3, C.6, B.2]. Plain C++, no
// state, no time. The rules of a bind are in the order [BND1..BND15]; the first that does not hold is the answer.
#pragma once

#include "firmware/abi/mrc.h"
#include "models/adapter/protection/judge.h"
#include "tlm/window_change.h"

namespace hcasim {

struct window_rules_config {
  window_association type2 = window_association::qp_and_pd;
  bool invalidate_regions = false;        // LOCAL_INV of a registered region [C6.1 inv_plain_mr]
  bool invalidate_free_is_error = false;  // of what is FREE already [C6.3 inv_free]
};

namespace rules {

struct bind {
  const window_change& r;
  const hca_mrc& window;
  const hca_mrc& region;  // all zero when a type 1 window is unbound

  [[nodiscard]] bool unbinds() const { return r.length == 0 && r.type == 1; }
};

struct bind_rule {
  bool (*holds)(const bind& b);
  window_fault otherwise;
};

extern const bind_rule bind_in_order[];
inline constexpr std::size_t bind_rules = 15;

}  // namespace rules

// `without` leaves a rule out; tests show with it that each rule is needed.
window_fault check_bind(const window_change& r, const hca_mrc& window, const hca_mrc& region, std::size_t without = no_rule);
// Makes the window what was asked for; the caller counts it at its regions.
void apply_bind(const window_change& r, hca_mrc& window, const hca_mrc& region);

window_fault check_invalidate(const window_change& r, const hca_mrc& m, const window_rules_config& c,
                              std::size_t without = no_rule);
inline constexpr std::size_t invalidate_rules = 6;
void apply_invalidate(hca_mrc& m);

window_fault check_fast_register(const window_change& r, const hca_mrc& m, std::size_t without = no_rule);
inline constexpr std::size_t fast_register_rules = 8;
void apply_fast_register(const window_change& r, hca_mrc& m);

// Returns the MRC of a window, bound or not, after an unbind: its place, its PD and its key byte.
hca_mrc unbound(const hca_mrc& window);

// Whether `m` is the region that a window's `parent` names, so that its count of windows may change. That of an address space
// whose rights allow no binding never does: they are its rights for life, and the firmware writes its entry without a look.
bool counts_windows(const hca_mrc& m, std::uint32_t parent);

}  // namespace hcasim
