// Memory whose bytes are not the simulator's: the address space of a program that runs beside it. Frames stand for its pages
// (physical_memory::adopt), and a virtual_memory may have one as its source.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace hcasim {

class outside_memory {
 public:
  struct piece {  // mapped, with the same rights throughout; whole pages
    std::uint64_t va;
    std::uint64_t bytes;
    bool writable;
  };

  virtual ~outside_memory() = default;

  // Within one page or across pages. False = not all of it could be reached; what was not is unchanged.
  virtual bool read(std::uint64_t va, std::span<std::byte> to) const = 0;
  virtual bool write(std::uint64_t va, std::span<const std::byte> from) = 0;
  // Returns the mapped pieces of [va, va + bytes), in order.
  [[nodiscard]] virtual std::vector<piece> mapped(std::uint64_t va, std::uint64_t bytes) const = 0;
};

}  // namespace hcasim
