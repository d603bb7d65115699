// Does an access lie in one extent of an address space? The extents are sorted, disjoint and never adjacent [S9], four to a
// 64-byte line, so that an access is legal exactly if it lies in the one extent that its first byte is in. The search is binary
// over the lines; the caller fetches a line at a time:
//
//   extent_search s(mrc, va, length);
//   do fetch line s.line(); while (s.look(line) == extent_search::more);
#pragma once

#include <cstdint>

#include "firmware/abi/mrc.h"

namespace hcasim {

class extent_search {
 public:
  enum result : std::uint8_t { more, inside, outside };

  extent_search() = default;
  extent_search(const hca_mrc& m, std::uint64_t va, std::uint64_t length)
      : va_(va),
        length_(length),
        first_line_(m.extent / HCA_EXTENTS_PER_LINE),
        count_(m.extent_count),
        high_((m.extent_count - 1) / HCA_EXTENTS_PER_LINE) {}

  // The line wanted next: index into the extent area in lines of HCA_EXTENTS_PER_LINE.
  [[nodiscard]] std::uint32_t line() const { return first_line_ + middle(); }
  // Looks at that line.
  result look(const hca_extent* extents);

 private:
  [[nodiscard]] std::uint32_t middle() const { return low_ + (high_ - low_) / 2; }

  std::uint64_t va_ = 0;
  std::uint64_t length_ = 0;
  std::uint32_t first_line_ = 0;
  std::uint32_t count_ = 0;
  std::uint32_t low_ = 0;  // lines that may still hold it
  std::uint32_t high_ = 0;
};

}  // namespace hcasim
