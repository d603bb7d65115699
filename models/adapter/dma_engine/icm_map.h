// The map of ICM: where in host memory each 4 KiB page of an ICM area lies. The map is a table in host memory (hca_init); this
// is a cache of its entries, with the rules of a lookup. Plain C++; the DMA engine reads the entries.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/adapter/dma_engine/icm_config.h"
#include "tlm/base/page_cache.h"
#include "tlm/base/statistics.h"

namespace hcasim {

class icm_map {
 public:
  explicit icm_map(const icm_config& config);

  // Returns whether addresses of ICM are mapped: there is a table, and a cache of its entries.
  [[nodiscard]] bool on() const { return table_ != 0; }
  // Sets the table, and forgets its predecessor's entries; 0 = none.
  void set_table(std::uint64_t address);
  [[nodiscard]] std::uint64_t life() const { return life_; }  // counts the tables

  // Appends the places of the pages of [address, address + bytes) to `frames`, from page number frames.size() on, as far as
  // they are known. True = all are.
  bool find(std::uint64_t address, std::uint64_t bytes, std::vector<std::uint64_t>& frames);
  // Takes an entry of the table for the page of `address`, and appends the page's place. False = no entry that can be.
  bool learn(std::uint64_t address, std::uint64_t entry, std::vector<std::uint64_t>& frames);
  // Returns the address of the table's entry for page `number`, counted over all areas.
  [[nodiscard]] std::uint64_t entry_at(std::uint64_t number) const { return table_ + number * sizeof(std::uint64_t); }

  void list(statistics& s) const;

 private:
  std::optional<page_cache> cache_;  // none = no map
  std::uint64_t table_ = 0;
  std::uint64_t life_ = 0;
  counter hits_;
  counter misses_;
};

}  // namespace hcasim
