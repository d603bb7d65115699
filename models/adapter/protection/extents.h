// Does an access lie in one extent of an address space? The extents are disjoint and never adjacent [S9], so that an access is
// legal exactly if it lies in the one extent that its first byte is in. They stand in a tree of 64-byte lines
// (firmware/abi/mrc.h), of which one per level is looked at; the caller fetches a line at a time:
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

  // The line wanted next, by its number in the extent area.
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
