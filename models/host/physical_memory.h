// Host memory with real bytes, sparse over the whole 64-bit physical address space: what was never written reads as 0 and costs
// nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "models/base/units.h"

namespace hcasim {

class physical_memory {
 public:
  void read(std::uint64_t address, std::span<std::byte> to) const;
  void write(std::uint64_t address, std::span<const std::byte> from);

  template <class T>
  [[nodiscard]] T get(std::uint64_t address) const {
    T v;
    read(address, std::as_writable_bytes(std::span(&v, 1)));
    return v;
  }
  template <class T>
  void put(std::uint64_t address, const T& v) {
    write(address, std::as_bytes(std::span(&v, 1)));
  }
  [[nodiscard]] std::uint64_t resident_bytes() const;
};

}  // namespace hcasim
