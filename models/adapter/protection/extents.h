// Does an access lie in one extent of an address space? The extents are disjoint and never adjacent [S9], so an access is legal
// exactly if the extent of its first byte holds all of it. The extents stand in a tree of 64-byte lines (firmware/abi/mrc.h).
// One line per level is looked at; the caller fetches a line at a time:
//
//   extent_search s(mrc, va, length);
//   do fetch line s.line(); while (s.look(bytes of the line) == extent_search::more);
//
// Damaged: such a line cannot have been written. The MRC bounds how many lines are looked at, whatever they say.
#pragma once

#include <cstddef>
#include <cstdint>

#include "firmware/abi/mrc.h"

namespace hcasim {

class extent_search {
 public:
  enum result : std::uint8_t { more, inside, outside, damaged };

  extent_search() = default;
  extent_search(const hca_mrc& m, std::uint64_t va, std::uint64_t length)
      : offset_(va - m.table_va), length_(length), line_(m.extent / HCA_EXTENTS_PER_LINE), levels_(m.extent_count) {}

  // Returns the number, in the extent area, of the line wanted next.
  [[nodiscard]] std::uint32_t line() const { return line_; }
  // Looks at that line.
  result look(const std::byte* line);

 private:
  result look(const hca_extent_node& n);
  [[nodiscard]] result look(const hca_extent* extents) const;

  std::uint64_t offset_ = 0;
  std::uint64_t length_ = 0;
  std::uint32_t line_ = 0;
  std::uint32_t levels_ = 0;  // lines to look at, this one included
};

}  // namespace hcasim
