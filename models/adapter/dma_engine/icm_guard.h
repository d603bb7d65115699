// Knows the areas of ICM, and judges whether bytes from there can be believed. Without time.
//
// With a code (knob `check`) each 32-bit word of ICM has a check word in memory. Both are written and read together, and the
// word is checked and corrected before any unit looks. Then the entry is judged by its kind (tlm/icm_sound.h) [E11].
#pragma once

#include <array>
#include <vector>

#include "models/adapter/dma_engine/icm_config.h"
#include "tlm/base/statistics.h"
#include "tlm/dma.h"
#include "tlm/icm.h"

namespace hcasim {

class icm_guard {
 public:
  explicit icm_guard(const icm_config& config = {}, unsigned mtu_shift = 12) : config_(config), mtu_shift_(mtu_shift) {}

  void set_area(icm_entry kind, std::uint64_t base, std::uint64_t bytes);

  [[nodiscard]] icm_entry entry_at(std::uint64_t address) const {
    for (std::size_t i = 0; i < areas_.size(); ++i) {
      if (address - areas_[i].base < areas_[i].bytes) return static_cast<icm_entry>(i);
    }
    return icm_entry::none;
  }
  // Returns the number of the ICM page of an address, counted over all areas in the order of their kinds.
  [[nodiscard]] std::uint64_t page_at(icm_entry kind, std::uint64_t address) const;
  [[nodiscard]] const icm_config& config() const { return config_; }
  [[nodiscard]] bool has_code() const { return config_.check != icm_check::none; }
  [[nodiscard]] double check_latency() const { return has_code() ? config_.check_latency : 0; }
  // Makes the code of the words of a write, or room for those of a read.
  void make_code(const dma_request& r, std::vector<std::uint8_t>& code) const;
  // Checks a finished read, and corrects correctable words.
  bool believes(icm_entry kind, const dma_request& r, const std::vector<std::uint8_t>& code);

  void list(statistics& s) const;

 private:
  struct area {
    std::uint64_t base = 0;
    std::uint64_t bytes = 0;
  };
  struct counts {
    counter corrected, detected, unbelievable;
  };
  bool mend_words(const dma_request& r, const std::vector<std::uint8_t>& code, counts& of) const;

  icm_config config_;
  unsigned mtu_shift_;
  std::array<area, icm_entries> areas_;
  std::array<counts, icm_entries> counts_;
};

}  // namespace hcasim
