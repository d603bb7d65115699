// A tree of extents as bytes, for tests of those that read one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "firmware/abi/mrc.h"

namespace hcasim::testing {

struct extent_tree {
  using line = std::array<std::byte, 64>;

  std::vector<line> lines;   // the last one is the root
  std::uint32_t levels = 0;  // as extent_count of the MRC has it

  // At least one extent, in order. `fill(room)` says how much of a line's room is taken, two children at least; `number(i)`
  // where lines[i] will lie.
  template <class Fill, class Number>
  extent_tree(const std::vector<hca_extent>& extents, Fill&& fill, Number&& number) {
    std::vector<child> row;
    for (std::size_t i = 0; i < extents.size();) {
      std::array<hca_extent, HCA_EXTENTS_PER_LINE> l{};
      const std::size_t first = i;
      const std::size_t room = fill(std::size_t{HCA_EXTENTS_PER_LINE});
      for (; i < extents.size() && i - first < room; ++i) l[i - first] = extents[i];
      row.push_back({extents[first].start, put(l, number)});
    }
    for (levels = 1; row.size() > 1; ++levels) row = parents(row, fill, number);
  }

 private:
  struct child {
    std::uint64_t start;
    std::uint32_t line;
  };

  template <class T, class Number>
  std::uint32_t put(const T& bytes, Number&& number) {
    static_assert(sizeof bytes == sizeof(line));
    lines.emplace_back();
    std::memcpy(lines.back().data(), &bytes, sizeof bytes);
    return number(lines.size() - 1);
  }

  template <class Fill, class Number>
  std::vector<child> parents(const std::vector<child>& row, Fill&& fill, Number&& number) {
    std::vector<child> above;
    for (std::size_t i = 0; i < row.size();) {
      const std::size_t left = row.size() - i;
      std::size_t room = std::max<std::size_t>(2, fill(std::size_t{HCA_EXTENT_CHILDREN}));
      if (left <= room) room = left;
      if (left == room + 1) room = left <= HCA_EXTENT_CHILDREN ? left : room - (room > 2);  // none has a single child
      hca_extent_node n{};
      for (std::uint64_t& s : n.start) s = HCA_EXTENT_NONE;
      for (std::size_t k = 0; k < room; ++k) {
        n.child[k] = row[i + k].line;
        if (k > 0) n.start[k - 1] = row[i + k].start;
      }
      above.push_back({row[i].start, put(n, number)});
      i += room;
    }
    return above;
  }
};

}  // namespace hcasim::testing
