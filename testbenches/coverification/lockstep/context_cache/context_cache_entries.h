// The entries of a context cache in messages, by the fields of firmware/abi. An entry of 256 bytes is the context of a queue
// pair. An entry of 64 bytes is shown both as a memory region context and as the context of a completion queue.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "testbenches/coverification/lockstep/context_cache/context_cache_stimulus.h"

namespace hcasim::lockstep {

struct entry_field {
  const char* name;
  std::size_t at;
  std::size_t bytes;
};
struct entry_layout {
  const char* name;
  std::span<const entry_field> fields;
};
// Returns the layouts that entries of a size may have.
std::span<const entry_layout> layouts_of(std::uint32_t entry_bytes);

// Returns the fields in which an entry differs from another, in hexadecimal, within brackets.
std::string fields_unlike(const std::byte* entry, const std::byte* other, std::uint32_t entry_bytes);

// The entries that both sides answered with.
class context_entries {
 public:
  explicit context_entries(std::uint32_t entry_bytes) : entry_bytes_(entry_bytes) {}

  void answered(side s, std::uint64_t number, const std::byte* entry);
  // Returns the fields of an answer. The item is the one answered last, or has no entry.
  [[nodiscard]] std::vector<comparison::field> describe(std::uint64_t number, const comparison::answer& a) const;
  // Puts an entry into an answer, mixed.
  static void mix(comparison::answer& a, const std::byte* entry, std::uint32_t entry_bytes);

 private:
  struct one_side {
    side of;
    entry_data bytes;
  };
  const std::uint32_t entry_bytes_;
  std::unordered_map<std::uint64_t, one_side> first_;  // of items that one side has answered; never iterated
  std::uint64_t last_ = ~std::uint64_t{0};             // item that both sides have answered
  entry_data of_last_[sides];
};

}  // namespace hcasim::lockstep
