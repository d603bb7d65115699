#include "models/adapter/protection/extents.h"

#include "firmware/abi/sound.h"

namespace hcasim {

extent_search::result extent_search::look(const std::byte* line) {
  if (levels_ <= 1) return look(reinterpret_cast<const hca_extent*>(line));
  --levels_;
  return look(*reinterpret_cast<const hca_extent_node*>(line));
}

extent_search::result extent_search::look(const hca_extent_node& n) {
  if (!hca_extent_node_sound(&n)) return damaged;
  std::uint32_t child = 0;
  while (child + 1 < HCA_EXTENT_CHILDREN && n.start[child] != HCA_EXTENT_NONE && n.start[child] <= offset_) ++child;
  line_ = n.child[child];
  return more;
}

extent_search::result extent_search::look(const hca_extent* extents) const {
  if (!hca_extents_sound(extents)) return damaged;
  for (std::uint32_t i = 0; i < HCA_EXTENTS_PER_LINE; ++i) {
    const std::uint64_t into = offset_ - extents[i].start;
    if (into < extents[i].length) return length_ <= extents[i].length - into ? inside : outside;
  }
  return outside;
}

}  // namespace hcasim
