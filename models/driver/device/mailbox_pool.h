// Physically contiguous buffers for commands, in sizes of powers of two. Memory that was a mailbox once stays one.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "models/driver/device/dma_map.h"

namespace hcasim::driver {

class mailbox_pool {
 public:
  explicit mailbox_pool(dma_map& dma) : dma_(dma) {}

  // The physical address of a buffer of at least `bytes`, 64 B aligned; 0 = none left.
  std::uint64_t get(std::uint64_t bytes, bool must) {
    auto& list = free_[size_class(bytes)];
    if (list.empty()) return dma_.allocate(1ULL << size_class(bytes), smallest, must);
    const std::uint64_t address = list.back();
    list.pop_back();
    return address;
  }
  void put(std::uint64_t address, std::uint64_t bytes) { free_[size_class(bytes)].push_back(address); }

 private:
  static constexpr std::uint64_t smallest = 256;
  static std::size_t size_class(std::uint64_t bytes) {
    return static_cast<std::size_t>(std::bit_width(std::max(bytes, smallest) - 1));
  }
  dma_map& dma_;
  std::array<std::vector<std::uint64_t>, 65> free_;
};

}  // namespace hcasim::driver
