#include "models/adapter/context_cache/second_level.h"

#include <algorithm>
#include <cstring>

namespace hcasim {

second_level::second_level(const context_cache_config& config, std::uint32_t entry_bytes)
    : config_(config),
      entry_bytes_(entry_bytes),
      data_(there() ? std::size_t{config.second_sets} * config.second_ways * entry_bytes : 0),
      policy_(there() ? make_replacement(config.policy, config.second_sets, config.second_ways, config.seed) : nullptr),
      unlocked_(config.second_ways),
      moving_(there() ? entry_bytes : 0) {
  clear();
}

void second_level::clear() {
  tags_ = lazy_array<std::uint32_t>(std::size_t{config_.second_sets} * config_.second_ways);
}

std::size_t second_level::find(std::uint32_t index) const {
  const std::size_t first = std::size_t{set_of(index)} * config_.second_ways;
  const std::uint32_t* const tags = tags_.data() + first;
  const std::uint32_t* const end = tags + config_.second_ways;
  const std::uint32_t* const at = std::find(tags, end, index + 1);
  return at == end ? nowhere : first + static_cast<std::size_t>(at - tags);
}

std::size_t second_level::room_for(std::uint32_t index) {
  if (const std::size_t place = find(index); place != nowhere) return place;  // a line of this index had another tag
  const std::uint32_t set = set_of(index);
  const std::size_t first = std::size_t{set} * config_.second_ways;
  for (std::size_t place = first; place < first + config_.second_ways; ++place) {
    if (tags_[place] == 0) return place;
  }
  return first + policy_->victim(set, unlocked_.data());
}

bool second_level::exchange(std::uint32_t index, std::optional<std::uint32_t> victim, std::byte* line) {
  if (!there()) return false;
  const std::size_t from = find(index);
  if (from != nowhere) {
    std::memcpy(moving_.data(), bytes_of(from), entry_bytes_);
    tags_[from] = 0;
  }
  if (victim) {
    const std::size_t to = room_for(*victim);
    const std::uint32_t set = set_of(*victim);
    tags_[to] = *victim + 1;
    std::memcpy(bytes_of(to), line, entry_bytes_);
    policy_->used(set, static_cast<std::uint32_t>(to - std::size_t{set} * config_.second_ways));
  }
  if (from != nowhere) std::memcpy(line, moving_.data(), entry_bytes_);
  return from != nowhere;
}

void second_level::forget(std::uint32_t index) {
  if (!there()) return;
  if (const std::size_t place = find(index); place != nowhere) tags_[place] = 0;
}

}  // namespace hcasim
