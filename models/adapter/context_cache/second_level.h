// The second level of a context cache: entries that made room in the lines. Their bytes are those of ICM, or on their way
// there. An entry is in one of the levels; a fetch moves the entry back into a line.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "models/adapter/context_cache/context_cache_config.h"
#include "tlm/base/lazy_array.h"

namespace hcasim {

class second_level {
 public:
  second_level(const context_cache_config& config, std::uint32_t entry_bytes);

  [[nodiscard]] bool there() const { return config_.second_sets != 0; }
  // Moves the entry of `index` into a line, and the line's entry, of `victim`, here. False = the level lacks the entry of
  // `index`, and the line keeps its bytes.
  bool exchange(std::uint32_t index, std::optional<std::uint32_t> victim, std::byte* line);
  void forget(std::uint32_t index);
  void clear();

 private:
  static constexpr std::size_t nowhere = ~std::size_t{0};

  [[nodiscard]] std::uint32_t set_of(std::uint32_t index) const { return index % config_.second_sets; }
  [[nodiscard]] std::size_t find(std::uint32_t index) const;
  [[nodiscard]] std::size_t room_for(std::uint32_t index);
  [[nodiscard]] std::byte* bytes_of(std::size_t place) { return data_.data() + place * entry_bytes_; }

  const context_cache_config& config_;
  const std::uint32_t entry_bytes_;
  lazy_array<std::uint32_t> tags_;  // index + 1; 0 = empty
  lazy_array<std::byte> data_;
  std::unique_ptr<replacement> policy_;
  std::vector<std::uint8_t> unlocked_;
  std::vector<std::byte> moving_;
};

}  // namespace hcasim
