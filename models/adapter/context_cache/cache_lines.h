// The lines of a context cache: their tags, states, bytes and loans, and the choice of a victim.
#pragma once

#include <memory>
#include <vector>

#include "models/adapter/context_cache/context_cache_config.h"
#include "models/adapter/context_cache/entry_transfers.h"
#include "models/adapter/context_cache/line_rules.h"
#include "tlm/base/lazy_array.h"
#include "tlm/context.h"

namespace hcasim {

class cache_lines {
 public:
  static constexpr std::size_t nowhere = ~std::size_t{0};

  cache_lines(const context_cache_config& config, std::uint32_t entry_bytes);

  // Returns the line of an index, or nowhere.
  [[nodiscard]] std::size_t find(std::uint32_t index) const {
    const std::size_t first = std::size_t{set_of(index)} * ways_;
    const std::uint32_t* tag = tags_.data() + first;
    for (std::uint32_t w = 0; w < ways_; ++w) {
      if (tag[w] == index + 1) return first + w;
    }
    return nowhere;
  }
  // Returns a line of the set that is empty or may make room, or nowhere.
  [[nodiscard]] std::size_t victim(std::uint32_t set);

  [[nodiscard]] std::uint32_t set_of(std::uint32_t index) const { return mask_ ? index & mask_ : index % sets_; }
  // Returns the bits of an index that its set gives.
  [[nodiscard]] std::uint32_t set_mask() const { return mask_; }
  [[nodiscard]] bool used(std::size_t slot) const { return tags_[slot] != 0; }
  [[nodiscard]] std::uint32_t index_of(std::size_t slot) const { return tags_[slot] - 1; }
  [[nodiscard]] std::byte* bytes_of(std::size_t slot) { return data_.data() + (slot << stride_shift_); }
  [[nodiscard]] line_life life(std::size_t slot) const { return slots_[slot].life; }
  [[nodiscard]] std::uint16_t fetch_of(std::size_t slot) const { return slots_[slot].fetch; }
  [[nodiscard]] bool held(std::size_t slot) const { return slots_[slot].pins != 0; }
  [[nodiscard]] std::uint64_t pinned() const { return pins_; }
  // Returns the part of a dirty entry that ICM lacks; a ruined entry is written whole.
  [[nodiscard]] entry_part changed(std::size_t slot, bool ruined) const;

  void on(std::size_t slot, line_event e);
  // Notes that ICM has the entry's bytes.
  void keep(std::size_t slot);
  // Gives the line to an index that is fetched from now on.
  void begin(std::size_t slot, std::uint32_t index, std::uint16_t fetch) {
    tags_[slot] = index + 1;
    on(slot, line_event::fetch_begins);
    slots_[slot].fetch = fetch;
  }
  // Gives a line that keeps its bytes another index, for which ICM has none of them.
  void rename(std::size_t slot, std::uint32_t index);
  void forget(std::size_t slot, line_event why) {
    on(slot, why);
    tags_[slot] = 0;
  }
  void clear();

  void lend(context_request& r, std::size_t slot);
  // Takes a lent entry back; returns its line if no other request holds it, else nowhere.
  std::size_t take_back(context_request& r) {
    const auto slot = static_cast<std::size_t>(r.entry - data_.data()) >> stride_shift_;
    slot_state& s = slots_[slot];
    if (r.dirty && s.life != line_life::dirty) [[unlikely]] {
      on(slot, line_event::dirtied);
    }
    r.entry = nullptr;
    --pins_;
    return --s.pins == 0 ? slot : nowhere;
  }

 private:
  struct slot_state {
    std::uint32_t pins;
    line_life life;
    std::uint16_t fetch;  // while fetching
  };

  const std::uint32_t sets_;
  const std::uint32_t ways_;
  const std::uint32_t mask_;  // 0 = the sets are no power of two
  const std::uint32_t entry_bytes_;
  const unsigned stride_shift_;
  lazy_array<std::uint32_t> tags_;  // index + 1; 0 = empty
  lazy_array<slot_state> slots_;
  lazy_array<std::byte> data_;
  lazy_array<std::byte> in_icm_;  // with write_changes: the bytes as they were read
  std::unique_ptr<replacement> policy_;
  std::vector<std::uint8_t> locked_;  // scratch of victim()
  std::uint64_t pins_ = 0;
};

}  // namespace hcasim
