// Indices of completion and event rings, which run modulo 2^32, and when an armed CQ raises its event. Plain arithmetic.
#pragma once

#include <cstdint>

#include "firmware/abi/context.h"
#include "firmware/abi/cqe.h"
#include "firmware/abi/registers.h"

namespace hcasim::completion_rules {

// A ring of 2^log_entries entries.
struct ring_geometry {
  std::uint8_t log_entries;

  [[nodiscard]] std::uint32_t entries() const { return 1U << log_entries; }
  [[nodiscard]] std::uint32_t slot(std::uint32_t pi) const { return pi & (entries() - 1); }
  // 1 in the first pass, then toggles at each wrap.
  [[nodiscard]] std::uint8_t owner(std::uint32_t pi) const {
    return static_cast<std::uint8_t>(~(log_entries < 32 ? pi >> log_entries : 0U) & 1U);
  }
  [[nodiscard]] bool full(std::uint32_t pi, std::uint32_t ci) const { return pi - ci >= entries(); }
};

// log2 of the entries of `entry_bytes` in the buffer.
constexpr std::uint8_t log_entries(std::uint8_t log_bytes, std::uint32_t log_entry_bytes) {
  return static_cast<std::uint8_t>(log_bytes > log_entry_bytes ? log_bytes - log_entry_bytes : 0);
}

// Software's consumer index counts if it lies between the last one seen and the producer index.
constexpr bool plausible(std::uint32_t value, std::uint32_t ci, std::uint32_t pi) {
  return value - ci <= pi - ci;
}

// Wakes a CQ that is armed for solicited completions only.
inline bool solicited(const hca_cqe& e) {
  return (e.flags & HCA_CQE_SOLICITED) || e.status != HCA_WC_SUCCESS;
}

// A CQE was just written (pi already counts it).
inline bool counts(const hca_cqc& cq, const hca_cqe& e) {
  return cq.arm == HCA_ARM_NEXT || (cq.arm == HCA_ARM_SOLICITED && solicited(e));
}
inline std::uint32_t events_after(const hca_cqc& cq) {
  return cq.moderation_count > 1 ? cq.moderation_count : 1U;
}

// At arming: is there a CQE that software has not consumed and that would have raised the event?
inline bool missed(const hca_cqc& cq) {
  if (cq.arm == HCA_ARM_NEXT) return cq.pi != cq.ci;
  const std::uint32_t last = cq.solicited_pi - cq.ci;
  return cq.arm == HCA_ARM_SOLICITED && last != 0 && last <= cq.pi - cq.ci;
}

}  // namespace hcasim::completion_rules
