#include "models/protection/extents.h"

#include <algorithm>

namespace hcasim {

extent_search::result extent_search::look(const hca_extent* extents) {
  const std::uint32_t line = middle();
  const std::uint32_t used = std::min<std::uint32_t>(count_ - line * HCA_EXTENTS_PER_LINE, HCA_EXTENTS_PER_LINE);
  if (va_ < extents[0].start) {
    if (line == low_) return outside;
    high_ = line - 1;
    return more;
  }
  std::uint32_t last = 0;  // the last extent that starts at or before va
  while (last + 1 < used && extents[last + 1].start <= va_) ++last;
  const hca_extent& e = extents[last];
  const std::uint64_t offset = va_ - e.start;
  if (offset < e.length) return length_ <= e.length - offset ? inside : outside;
  if (last + 1 < used || line == high_) return outside;
  low_ = line + 1;
  return more;
}

}  // namespace hcasim
