#include "models/adapter/context_cache/cache_lines.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace hcasim {

cache_lines::cache_lines(const context_cache_config& config, std::uint32_t entry_bytes)
    : sets_(config.sets),
      ways_(config.ways),
      mask_(std::has_single_bit(config.sets) ? config.sets - 1 : 0),
      entry_bytes_(entry_bytes),
      stride_shift_(static_cast<unsigned>(std::countr_zero(std::bit_ceil(entry_bytes)))),
      data_((std::size_t{config.sets} * config.ways) << stride_shift_),
      in_icm_(config.write_changes ? (std::size_t{config.sets} * config.ways) << stride_shift_ : 0),
      policy_(make_replacement(config.policy, config.sets, config.ways, config.seed)),
      locked_(config.ways) {
  clear();
}

void cache_lines::clear() {
  const std::size_t entries = std::size_t{sets_} * ways_;
  tags_ = lazy_array<std::uint32_t>(entries);
  slots_ = lazy_array<slot_state>(entries);
}

// Kept out of line: hits change no state.
[[gnu::noinline]] void cache_lines::on(std::size_t slot, line_event e) {
  slot_state& s = slots_[slot];
  s.life = line_table.step(status_of(s.life, s.pins), e).life;
}

void cache_lines::rename(std::size_t slot, std::uint32_t index) {
  tags_[slot] = index + 1;
  if (in_icm_.size() == 0) return;
  const std::byte* const bytes = bytes_of(slot);
  std::byte* const other = in_icm_.data() + (slot << stride_shift_);
  std::transform(bytes, bytes + entry_bytes_, other, [](std::byte b) { return ~b; });
}

void cache_lines::keep(std::size_t slot) {
  if (in_icm_.size() != 0) std::memcpy(in_icm_.data() + (slot << stride_shift_), bytes_of(slot), entry_bytes_);
}

entry_part cache_lines::changed(std::size_t slot, bool ruined) const {
  if (in_icm_.size() == 0 || ruined) return {0, entry_bytes_};
  constexpr std::uint32_t line = 64;
  const std::size_t at = slot << stride_shift_;
  entry_part part{0, 0};
  for (std::uint32_t from = 0; from < entry_bytes_; from += line) {
    const std::uint32_t bytes = std::min(line, entry_bytes_ - from);
    if (std::memcmp(data_.data() + at + from, in_icm_.data() + at + from, bytes) == 0) continue;
    if (part.bytes == 0) part.offset = from;
    part.bytes = from + bytes - part.offset;
  }
  return part;
}

void cache_lines::lend(context_request& r, std::size_t slot) {
  r.failed = false;
  r.dirty = false;
  r.entry = bytes_of(slot);
  ++slots_[slot].pins;
  ++pins_;
  const std::uint32_t set = set_of(r.index);
  policy_->used(set, static_cast<std::uint32_t>(slot - std::size_t{set} * ways_));
}

std::size_t cache_lines::victim(std::uint32_t set) {
  const std::size_t first = std::size_t{set} * ways_;
  bool any = false;
  for (std::uint32_t w = 0; w < ways_; ++w) {
    if (!used(first + w)) return first + w;
    locked_[w] = held(first + w) || !may_make_room(life(first + w));
    any |= !locked_[w];
  }
  return any ? first + policy_->victim(set, locked_.data()) : nowhere;
}

}  // namespace hcasim
