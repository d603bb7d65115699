// The base set-up with an address-space object of some pages, tied to QP b, so that QP a's requests reach it.
#pragma once

#include "models/driver/verbs/x_verbs.h"
#include "testbenches/checks/conformance/base.h"

namespace hcasim::kit {

inline constexpr std::uint64_t page = 4096;

struct space_case {
  space_case(cpu& c, node& n, std::uint64_t pages, unsigned space_flags = X_EXTEND)
      : space_case(c, n, pages, space_flags, true) {}
  // Not tied to a QP.
  space_case(cpu& c, node& n, std::uint64_t pages, unsigned space_flags, std::nullptr_t)
      : space_case(c, n, pages, space_flags, false) {}

  process_context& p() { return base.p; }
  // Adds pages of fresh memory and returns where that is; `r` tells the result.
  std::uint64_t add(std::uint64_t pages, std::uint64_t va = x_any_va);
  int remove(std::uint32_t handle) { return x_deregister_part(base.c, p().context, r.key, handle, &r, flags); }
  int remove(std::uint64_t va, std::uint64_t bytes) {
    return x_deregister_part(base.c, p().context, r.key, va, bytes, &r, flags);
  }
  // A WRITE and a READ at `va` reach `at`.
  bool reaches(std::uint64_t va, std::uint64_t at);
  // A WRITE at `va` ends with REM_ACCESS_ERR; the QPs are brought back.
  void denied(std::uint64_t va) { denied(va, r.key); }
  void denied(std::uint64_t va, std::uint32_t key);

  base_case base;
  unsigned flags;
  std::uint64_t memory;
  std::uint64_t last_memory;
  x_result r;

 private:
  space_case(cpu& c, node& n, std::uint64_t pages, unsigned space_flags, bool tied);
};

}  // namespace hcasim::kit
