#include "models/adapter/dma_engine/icm_map.h"

#include "firmware/abi/command.h"

namespace hcasim {
namespace {

constexpr unsigned shift = HCA_ICM_PAGE_SHIFT;
constexpr std::uint64_t page = std::uint64_t{1} << shift;

}  // namespace

icm_map::icm_map(const icm_config& c) {
  if (c.map_sets == 0) return;
  cache_.emplace(c.map_sets * c.map_ways, c.map_ways, std::initializer_list<std::uint8_t>{shift}, replacement_policy::lru, 0);
}

void icm_map::set_table(std::uint64_t address) {
  if (!cache_) return;
  cache_->drop(0, 0, ~std::uint64_t{0});
  table_ = address;
  ++life_;
}

bool icm_map::find(std::uint64_t address, std::uint64_t bytes, std::vector<std::uint64_t>& frames) {
  const std::uint64_t first = address >> shift;
  const std::uint64_t last = (address + bytes - 1) >> shift;
  for (std::uint64_t number = first + frames.size(); number <= last; ++number) {
    const page_cache::entry* const e = cache_->find(0, number << shift);
    if (!e) {
      ++misses_;
      return false;
    }
    ++hits_;
    frames.push_back(e->value);
  }
  return true;
}

bool icm_map::learn(std::uint64_t address, std::uint64_t entry, std::vector<std::uint64_t>& frames) {
  if ((entry & (page - 1)) != HCA_ICM_PRESENT) return false;
  frames.push_back(entry & ~(page - 1));
  cache_->put(0, address, shift, frames.back(), 0);
  return true;
}

void icm_map::list(statistics& s) const {
  s.add("icm_map_hits", "1", "pages of ICM whose place was in the cache of the map", hits_);
  s.add("icm_map_misses", "1", "pages of ICM whose place was read from the map in host memory", misses_);
}

}  // namespace hcasim
