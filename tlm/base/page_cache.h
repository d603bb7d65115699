// Set-associative cache of translations of pages of several sizes, for several requesters. Plain C++. Nodes of the upper levels
// are cached as pages, too: of 2 MiB, 1 GiB, 512 GiB.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "tlm/base/replacement/policies.h"

namespace hcasim {

constexpr std::uint64_t offset_in_page(std::uint64_t address, unsigned shift) {
  return address & ((std::uint64_t{1} << shift) - 1);
}

class page_cache {
 public:
  struct entry {
    std::uint64_t number = 0;         // page: address >> shift
    std::uint64_t value = 0;          // physical address of the page, or of the node
    std::uint32_t source_plus_1 = 0;  // 0 = empty
    std::uint8_t shift = 0;
    std::uint8_t rights = 0;

    // Returns the translation of an address of the page.
    [[nodiscard]] std::uint64_t at(std::uint64_t address) const { return value | offset_in_page(address, shift); }
  };

  // `shifts`: the page sizes there are, at most 3. Throws std::invalid_argument: entries are no multiple of ways.
  page_cache(std::uint32_t entries, std::uint32_t ways, std::initializer_list<std::uint8_t> shifts, replacement_policy policy,
             std::uint64_t seed);

  // Returns the entry that covers the address, or nullptr. Counts as a use.
  entry* find(std::uint32_t source, std::uint64_t address) {
    for (unsigned i = 0; i < shifts_; ++i) {
      if (held_[i] == 0) continue;
      const std::uint64_t number = address >> shift_[i];
      const std::uint32_t set = set_of(source, number);
      entry* const first = &cells_[std::size_t{set} * ways_];
      for (std::uint32_t w = 0; w < ways_; ++w) {
        if (first[w].number != number || first[w].source_plus_1 != source + 1 || first[w].shift != shift_[i]) continue;
        policy_->used(set, w);
        return &first[w];
      }
    }
    return nullptr;
  }
  // Returns whether another entry was evicted.
  bool put(std::uint32_t source, std::uint64_t address, unsigned shift, std::uint64_t value, unsigned rights);
  // Forgets entries that cover any byte of [first, last]; returns their number.
  std::uint64_t drop(std::uint32_t source, std::uint64_t first, std::uint64_t last);

  [[nodiscard]] std::uint64_t held() const { return held_[0] + held_[1] + held_[2]; }

 private:
  [[nodiscard]] std::uint32_t set_of(std::uint32_t source, std::uint64_t number) const {
    const std::uint64_t h = number + source * 0x9e3779b1ULL;
    return static_cast<std::uint32_t>(mask_ ? h & mask_ : h % sets_);
  }
  [[nodiscard]] unsigned kind_of(unsigned shift) const;
  void erase(entry& e);

  std::uint32_t ways_;
  std::uint32_t sets_;
  std::uint32_t mask_;
  unsigned shifts_;
  std::array<std::uint8_t, 3> shift_{};
  std::array<std::uint64_t, 3> held_{};
  std::vector<entry> cells_;
  std::vector<std::uint8_t> unlocked_;
  std::unique_ptr<replacement> policy_;
};

}  // namespace hcasim
