// Set-associative cache of page-table entries: lines of leaves, or single ones of upper levels.
//
// An entry is known by whose table it belongs to (tag and root address: an access of an older epoch, which still walks the old
// table, never meets the new one's entries) and by its place in it. Each entry also knows the VAs it covers: entries of one
// tag hang on a list, so that dropping a range costs what is cached of the tag, not a scan of the cache.
#pragma once

#include <memory>
#include <vector>

#include "tlm/base/lazy_array.h"
#include "tlm/base/replacement/policies.h"
#include "tlm/verdict.h"

namespace hcasim {

class translation_cache {
 public:
  struct key {
    std::uint64_t tag_plus_1 = 0;  // 0 = empty
    std::uint64_t table = 0;
    std::uint64_t number = 0;  // line or node
    bool operator==(const key&) const = default;
  };
  static key key_of(const translation& m, std::uint64_t number) { return {std::uint64_t{m.index} + 1, m.table, number}; }

  // `words` 8-byte words per entry; sets 0: caches nothing.
  translation_cache(std::uint32_t sets, std::uint32_t ways, std::uint32_t words, replacement_policy policy, std::uint64_t seed);

  // The entry's words, or nullptr. Counts as a use.
  std::uint64_t* find(const key& k);
  // Puts in (or replaces) the entry, which covers VAs [first, last] modulo 2^64. True = another one made room.
  bool put(const key& k, const std::uint64_t* words, std::uint64_t first, std::uint64_t last);
  void forget(const key& k);
  // The entry becomes that of another tag.
  void rename(const key& k, std::uint32_t tag);
  // Forgets the entries of `tag` that cover any VA of [first, last]; returns how many.
  std::uint32_t drop(std::uint32_t tag, std::uint64_t first, std::uint64_t last);

  [[nodiscard]] std::uint64_t entries() const { return used_; }

 private:
  static constexpr std::uint32_t nowhere = ~0U;
  struct cell {
    key k;
    std::uint64_t first;
    std::uint64_t last;
    std::uint32_t next_plus_1;  // of the tag's list
    std::uint32_t previous_plus_1;
  };

  [[nodiscard]] std::uint32_t set_of(const key& k) const {
    const std::uint64_t h = k.number + k.tag_plus_1 * 0x9e3779b1U;
    return static_cast<std::uint32_t>(mask_ ? h & mask_ : h % sets_);
  }
  // Never 0; tells most keys apart, so that a look-up reads one word per way.
  static std::uint32_t signature_of(const key& k) {
    return static_cast<std::uint32_t>((k.number * 0x9e3779b97f4a7c15U + (k.table >> 6) + k.tag_plus_1 * 0x85ebca6bU) >> 16) | 1;
  }
  [[nodiscard]] std::uint32_t& list_of(std::uint64_t tag_plus_1) {
    return lists_[(tag_plus_1 * 0x9e3779b1U >> 7) & list_mask_];
  }
  [[nodiscard]] std::uint32_t find_cell(const key& k, std::uint32_t set) const;
  [[nodiscard]] std::uint32_t empty_cell(std::uint32_t set) const;
  void link(std::uint32_t at);
  void remove(std::uint32_t at);

  std::uint32_t sets_;
  std::uint32_t ways_;
  std::uint32_t words_;
  std::uint32_t mask_;
  std::uint32_t list_mask_ = 0;
  std::uint64_t used_ = 0;
  lazy_array<std::uint32_t> signatures_;  // 0 = empty
  lazy_array<cell> cells_;
  lazy_array<std::uint64_t> data_;
  lazy_array<std::uint32_t> lists_;  // head + 1 by hash of the tag
  std::vector<std::uint8_t> unlocked_;
  std::unique_ptr<replacement> policy_;
};

// Whether [a, a_last] and [b, b_last] share a value, modulo 2^64.
inline bool overlap(std::uint64_t a, std::uint64_t a_last, std::uint64_t b, std::uint64_t b_last) {
  return b - a <= a_last - a || a - b <= b_last - b;
}

}  // namespace hcasim
