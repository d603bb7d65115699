// Which host memory lies behind which VAs of an address space; plain rules. The adapter decides what may be added and removed;
// this follows, so that the driver knows what to unpin.
#pragma once

#include <cstdint>
#include <vector>

namespace hcasim::driver {

class space_map {
 public:
  struct piece {
    std::uint64_t va;
    std::uint64_t length;
    std::uint64_t host;  // VA in the process, or physical address
    std::uint32_t handle;
    std::uint64_t dma = 0;  // behind an IOMMU: DMA address of the first byte
    bool physical = false;
  };
  struct range {
    std::uint64_t host;
    std::uint64_t length;
    std::uint64_t dma = 0;
    bool physical = false;
  };

  void add(const piece& p);
  // Takes [va, va + length) out, pieces that it cuts keep their ends; returns the host memory that was behind it.
  std::vector<range> remove(std::uint64_t va, std::uint64_t length);
  std::vector<range> remove(std::uint32_t handle);
  std::vector<range> remove_all();
  void shift(std::uint64_t by);

  [[nodiscard]] bool empty() const { return pieces_.empty(); }
  [[nodiscard]] std::uint64_t start() const { return pieces_.front().va; }
  [[nodiscard]] std::uint64_t end() const { return pieces_.back().va + pieces_.back().length; }
  [[nodiscard]] const std::vector<piece>& pieces() const { return pieces_; }  // sorted by VA

 private:
  std::vector<piece> pieces_;
};

}  // namespace hcasim::driver
