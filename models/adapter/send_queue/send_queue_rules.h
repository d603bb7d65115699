// SQ ring arithmetic and issue order, without time. Indices count 64 B blocks modulo 2^16.
#pragma once

#include <algorithm>
#include <cstdint>

#include "firmware/abi/wqe.h"

namespace hcasim {

// Returns whether a producer index is news: less than half the index space ahead (an older doorbell may arrive late).
inline bool is_ahead(std::uint16_t known, std::uint16_t told) {
  const auto distance = static_cast<std::uint16_t>(told - known);
  return distance != 0 && distance < 0x8000;
}

// Returns the blocks that one DMA read can fetch: posted, at most `batch`, not beyond the end of the ring.
inline std::uint32_t fetchable(std::uint16_t ci, std::uint16_t pi, std::uint32_t ring_blocks, std::uint32_t batch) {
  const std::uint32_t posted = static_cast<std::uint16_t>(pi - ci);
  const std::uint32_t to_end = ring_blocks - (ci & (ring_blocks - 1));
  return std::min({posted, to_end, batch});
}

inline bool fetches(std::uint8_t opcode) {
  return opcode == HCA_WQE_READ || opcode == HCA_WQE_COMPARE_SWAP || opcode == HCA_WQE_FETCH_ADD;
}

// Returns whether window_unit executes the WQE before anything later of the QP starts [O1].
inline bool changes_protection(std::uint8_t opcode) {
  return opcode == HCA_WQE_BIND || opcode == HCA_WQE_LOCAL_INV || opcode == HCA_WQE_FAST_REG;
}

// Returns why the next WQE of a QP may not start yet [O2]. FENCE waits for earlier READs and atomics of the QP [O3], LOCAL_INV
// for everything [O4].
inline issue_block why_not(const hca_wqe_control& c, std::uint32_t outstanding, std::uint32_t limit, std::uint32_t reads,
                           std::uint32_t read_limit) {
  if (outstanding >= limit) return issue_block::depth;
  if ((c.flags & HCA_WQE_FENCE) && reads != 0) return issue_block::fence;
  if (c.opcode == HCA_WQE_LOCAL_INV && outstanding != 0) return issue_block::local_fence;
  if (fetches(c.opcode) && reads >= std::max(read_limit, 1U)) return issue_block::read_depth;
  return issue_block::none;
}

}  // namespace hcasim
