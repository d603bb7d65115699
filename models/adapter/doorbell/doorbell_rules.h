// Decodes a write into a UAR page.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tlm/work.h"

namespace hcasim::doorbell_rules {

inline constexpr std::uint32_t number_mask = 0x00ffffff;

enum class area : std::uint8_t { control, msix, device_memory, uar, none };
// Returns the area of an access that lies wholly in one area of the BAR.
area area_of(std::uint64_t offset, std::uint64_t bytes);

enum class target : std::uint8_t { bell, blueflame, none };
struct meaning {
  target what = target::none;
  bell kind = bell::send;
};
// `offset` in the UAR page.
meaning decode(std::uint32_t offset, std::uint64_t bytes);

struct blueflame {
  bool whole = false;      // a complete WQE of `bytes`
  bool plausible = false;  // at least the QP can be told
  std::uint32_t qpn = 0;
  std::uint32_t value = 0;  // SQ producer index behind the WQE, modulo 2^16
  std::uint32_t bytes = 0;
};
// `n` bytes written to the start of a BlueFlame buffer.
blueflame decode_blueflame(const std::byte* data, std::uint64_t n);

// A write into a UAR page, and what it says.
struct uar_write {
  uar_write(std::uint32_t at, const std::byte* from, std::uint64_t n, std::uint64_t of);

  std::uint32_t offset;  // in the page
  const std::byte* data;
  std::uint64_t bytes;
  std::uint64_t operation;  // as the write carries it
  meaning is;
  hca_doorbell rung{};  // if it is one
  blueflame wqe;        // if it is one
};
// Returns the number of the QP, SRQ or CQ whose page it must come through, without an arming; 0 = none.
std::uint32_t number_of(const uar_write& w);

// How far SQ or RQ index `a` is ahead of `b`, modulo 2^16.
inline int ahead(std::uint32_t a, std::uint32_t b) {
  return static_cast<std::int16_t>(static_cast<std::uint16_t>(a - b));
}

}  // namespace hcasim::doorbell_rules
