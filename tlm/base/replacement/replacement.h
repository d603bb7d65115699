// Replacement: the interface through which every set-associative structure chooses the way to evict.
//
// Contract: the owner reports every use (a hit or a fill). `victim` is called only when no way of the set is empty and at least
// one way is not locked (locked[way] == 0). Zero bytes are the state of a set that was never used.
#pragma once

#include <cstdint>

namespace hcasim {

class replacement {
 public:
  virtual ~replacement() = default;
  virtual void used(std::uint32_t set, std::uint32_t way) = 0;
  virtual std::uint32_t victim(std::uint32_t set, const std::uint8_t* locked) = 0;
};

}  // namespace hcasim
