// References to keys as they were: a count per key index, split into those of the current epoch and older ones.
//
// An index is in the table only while references are held, so the table stays as small as the number of accesses in flight.
// Epochs are numbers of one counter for all indices; a reference is older when its number is not the index's current one. With
// several drains of one index under way, each waits for all epochs but the newest.
#pragma once

#include <cstdint>
#include <vector>

namespace hcasim {

class epoch_table {
 public:
  explicit epoch_table(std::uint32_t capacity = 1024);

  // A reference to the current epoch of `index`; returns its number.
  std::uint64_t take(std::uint32_t index);
  // Gives it back. True = it was the last one of the older epochs of the index.
  bool give(std::uint32_t index, std::uint64_t epoch);
  // Begins a new epoch of `index`; true if references of older ones are left.
  bool renew(std::uint32_t index);

  [[nodiscard]] std::uint64_t references() const { return references_; }
  [[nodiscard]] std::uint32_t indices() const { return used_; }

 private:
  struct cell {
    std::uint32_t index_plus_1 = 0;  // 0 = free
    std::uint32_t current = 0;
    std::uint32_t older = 0;
    std::uint64_t epoch = 0;
  };

  [[nodiscard]] std::uint32_t home(std::uint32_t index) const { return (index * 0x9e3779b1U) >> shift_; }
  [[nodiscard]] std::uint32_t find(std::uint32_t index) const;  // its cell, or the free one where it would go
  void erase(std::uint32_t at);
  void grow();

  std::vector<cell> cells_;
  std::uint32_t mask_;
  unsigned shift_;
  std::uint32_t used_ = 0;
  std::uint64_t references_ = 0;
  std::uint64_t epoch_ = 1;
};

}  // namespace hcasim
