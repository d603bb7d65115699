#include "models/machine/host/last_level_cache.h"

#include <algorithm>
#include <stdexcept>

namespace hcasim {
namespace {

std::uint32_t sets_of(const last_level_cache_config& c) {
  const std::uint64_t set = last_level_cache::line * c.ways;
  if (c.size == 0 || c.size % set != 0) throw std::invalid_argument("host: llc_size must be a multiple of 64 B times llc_ways");
  if (c.ddio_ways > c.ways) throw std::invalid_argument("host: llc_ddio_ways must not be above llc_ways");
  return static_cast<std::uint32_t>(c.size / set);
}

}  // namespace

last_level_cache::last_level_cache(const last_level_cache_config& c)
    : ways_(c.ways),
      sets_(sets_of(c)),
      tags_(std::size_t{sets_} * ways_),
      for_cores_(ways_),
      for_ddio_(ways_, 1),
      ddio_(c.ddio_ways != 0),
      policy_(sets_, ways_, 0) {
  std::fill_n(for_ddio_.begin(), c.ddio_ways, 0);
}

template <class OnMiss>
bool last_level_cache::each_line(std::uint64_t address, std::uint64_t bytes, use& of, OnMiss on_miss) {
  if (bytes == 0) return true;
  bool all = true;
  for (std::uint64_t n = address / line; n <= (address + bytes - 1) / line; ++n) {
    const auto set = static_cast<std::uint32_t>(n % sets_);
    const std::uint64_t* const first = &tags_[std::size_t{set} * ways_];
    const std::uint64_t* const at = std::find(first, first + ways_, n + 1);
    if (at != first + ways_) {
      policy_.used(set, static_cast<std::uint32_t>(at - first));
      ++of.hits;
      continue;
    }
    ++of.misses;
    all = false;
    on_miss(set, n + 1);
  }
  return all;
}

void last_level_cache::put(std::uint32_t set, std::uint64_t tag, const std::vector<std::uint8_t>& locked) {
  const std::uint32_t way = policy_.victim(set, locked.data());  // a way that was never used is the oldest
  tags_[std::size_t{set} * ways_ + way] = tag;
  policy_.used(set, way);
}

bool last_level_cache::dma_read(std::uint64_t address, std::uint64_t bytes) {
  return each_line(address, bytes, reads_, [](std::uint32_t, std::uint64_t) {});
}

bool last_level_cache::dma_write(std::uint64_t address, std::uint64_t bytes) {
  return each_line(address, bytes, writes_, [this](std::uint32_t set, std::uint64_t tag) {
    if (ddio_) put(set, tag, for_ddio_);
  });
}

bool last_level_cache::core(std::uint64_t address, std::uint64_t bytes) {
  return each_line(address, bytes, cores_, [this](std::uint32_t set, std::uint64_t tag) { put(set, tag, for_cores_); });
}

void last_level_cache::list(statistics& s) const {
  s.add("llc_read_hits", "1", "lines of DMA reads that were in the last-level cache", reads_.hits);
  s.add("llc_read_misses", "1", "lines of DMA reads that came from DRAM", reads_.misses);
  s.add("llc_write_hits", "1", "lines of DMA writes that were in the last-level cache", writes_.hits);
  s.add("llc_write_misses", "1", "lines of DMA writes that were not", writes_.misses);
  s.add("llc_core_hits", "1", "lines that cores loaded or stored and that were in the last-level cache", cores_.hits);
  s.add("llc_core_misses", "1", "lines of cores that came from DRAM", cores_.misses);
}

}  // namespace hcasim
