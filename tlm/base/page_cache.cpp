#include "tlm/base/page_cache.h"

#include <algorithm>
#include <bit>
#include <stdexcept>

namespace hcasim {

page_cache::page_cache(std::uint32_t entries, std::uint32_t ways, std::initializer_list<std::uint8_t> shifts,
                       replacement_policy policy, std::uint64_t seed)
    : ways_(ways), sets_(ways ? entries / ways : 0), shifts_(static_cast<unsigned>(shifts.size())), unlocked_(ways) {
  if (ways == 0 || entries == 0 || entries % ways != 0) throw std::invalid_argument("entries must be a multiple of ways");
  mask_ = std::has_single_bit(sets_) ? sets_ - 1 : 0;
  std::copy(shifts.begin(), shifts.end(), shift_.begin());
  cells_.resize(entries);
  policy_ = make_replacement(policy, sets_, ways, seed);
}

unsigned page_cache::kind_of(unsigned shift) const {
  return static_cast<unsigned>(std::find(shift_.begin(), shift_.begin() + shifts_, shift) - shift_.begin());
}

void page_cache::erase(entry& e) {
  --held_[kind_of(e.shift)];
  e.source_plus_1 = 0;
}

bool page_cache::put(std::uint32_t source, std::uint64_t address, unsigned shift, std::uint64_t value, unsigned rights) {
  const std::uint64_t number = address >> shift;
  const std::uint32_t set = set_of(source, number);
  entry* const first = &cells_[std::size_t{set} * ways_];
  entry* place = nullptr;
  for (std::uint32_t w = 0; w < ways_; ++w) {
    if (first[w].source_plus_1 == source + 1 && first[w].number == number && first[w].shift == shift) place = &first[w];
  }
  for (std::uint32_t w = 0; w < ways_ && !place; ++w) {
    if (first[w].source_plus_1 == 0) place = &first[w];
  }
  bool evicted = false;
  if (!place) {
    place = &first[policy_->victim(set, unlocked_.data())];
    evicted = true;
  }
  if (place->source_plus_1 != 0) erase(*place);
  *place = {number, value, source + 1, static_cast<std::uint8_t>(shift), static_cast<std::uint8_t>(rights)};
  ++held_[kind_of(shift)];
  policy_->used(set, static_cast<std::uint32_t>(place - first));
  return evicted;
}

std::uint64_t page_cache::drop(std::uint32_t source, std::uint64_t first, std::uint64_t last) {
  std::uint64_t dropped = 0;
  if (held() == 0) return 0;
  for (entry& e : cells_) {
    if (e.source_plus_1 != source + 1 || e.number < first >> e.shift || e.number > last >> e.shift) continue;
    erase(e);
    ++dropped;
  }
  return dropped;
}

}  // namespace hcasim
