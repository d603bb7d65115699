// Memory outside the simulator: the address space of a program that runs beside the simulation. Frames stand for its pages
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

  // Reads within one page or across pages. False = a part is out of reach; this part is unchanged.
  virtual bool read(std::uint64_t va, std::span<std::byte> to) const = 0;
  virtual bool write(std::uint64_t va, std::span<const std::byte> from) = 0;
  // Moves bytes for a device with a grant of the page, whatever rights the program has left to itself since.
  virtual bool device_read(std::uint64_t va, std::span<std::byte> to) const { return read(va, to); }
  virtual bool device_write(std::uint64_t va, std::span<const std::byte> from) { return write(va, from); }
  // Returns the mapped pieces of [va, va + bytes), in order.
  [[nodiscard]] virtual std::vector<piece> mapped(std::uint64_t va, std::uint64_t bytes) const = 0;
};

}  // namespace hcasim
