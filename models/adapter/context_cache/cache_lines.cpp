#include "models/adapter/context_cache/cache_lines.h"

#include <bit>

namespace hcasim {

cache_lines::cache_lines(const context_cache_config& config, std::uint32_t entry_bytes)
    : sets_(config.sets),
      ways_(config.ways),
      mask_(std::has_single_bit(config.sets) ? config.sets - 1 : 0),
      stride_shift_(static_cast<unsigned>(std::countr_zero(std::bit_ceil(entry_bytes)))),
      data_((std::size_t{config.sets} * config.ways) << stride_shift_),
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
