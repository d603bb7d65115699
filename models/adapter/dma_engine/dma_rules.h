// How requests become bursts [E8], and what an atomic does. Plain arithmetic.
#pragma once

#include <cstdint>

#include "tlm/dma.h"

namespace hcasim::dma_rules {

inline constexpr std::uint64_t page = 4096;

// Returns the number of MRRS-aligned pieces in [address, address + bytes): the read tags needed.
std::uint32_t read_pieces(std::uint64_t address, std::uint64_t bytes, std::uint64_t mrrs);
// Returns the bytes of the next read burst: inside one page and at most `tags` pieces.
std::uint32_t read_burst(std::uint64_t address, std::uint64_t remaining, std::uint64_t mrrs, std::uint64_t tags);
// Returns the bytes of the next write burst: inside one page and at most `buffer` bytes.
std::uint32_t write_burst(std::uint64_t address, std::uint64_t remaining, std::uint64_t buffer);

// Returns the cycles in which a datapath of `width` bytes moves these bytes, in whole lines of `line` bytes; 0 = not limited.
double moving_cycles(std::uint32_t bytes, std::uint64_t line, std::uint32_t width);

// The completer of a read, by its address: host memory lies in the lowest 16 TiB, devices' windows elsewhere.
inline constexpr unsigned completers = 4;
inline unsigned completer_of(std::uint64_t address) {
  return static_cast<unsigned>(((address >> 44) ^ (address >> 60)) % completers);
}
// Returns the read tags that one completer leaves to the others: a slow one cannot stall all reads.
inline std::uint32_t kept_for_others(std::uint32_t tags) {
  return tags < 2 ? 0 : tags < 16 ? 1 : tags / 8;
}

// Payload reads between two of other sources, while both wait. With fewer, WQEs come by twos and threes when tags are scarce,
// and take the tags of their own payload. With more, the units that wait for WQEs are idle.
inline constexpr unsigned payload_turns = 8;

inline std::uint32_t bucket_of(std::uint64_t address, std::uint32_t buckets) {
  return static_cast<std::uint32_t>((address >> 3) % buckets);
}

// Returns the content of memory after the atomic.
inline std::uint64_t modify(dma_op op, std::uint64_t original, std::uint64_t operand, std::uint64_t compare) {
  if (op == dma_op::fetch_add) return original + operand;
  return original == compare ? operand : original;
}

}  // namespace hcasim::dma_rules
