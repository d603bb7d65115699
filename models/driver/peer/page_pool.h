// The free pages of a device's memory. Runs are handed out from the lowest address on. Scattered pages come one by one from
// both ends, as from a memory that has been in use for a while.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

namespace hcasim::driver::peer {

enum class placement : std::uint8_t { contiguous, scattered };

class page_pool {
 public:
  struct run {
    std::uint64_t offset;
    std::uint64_t bytes;
  };

  // `bytes` is a multiple of `page`, a power of two.
  page_pool(std::uint64_t bytes, std::uint64_t page);

  // Takes whole pages; empty = there are too few (contiguous: takes several runs when none is long enough).
  std::vector<run> take(std::uint64_t bytes, placement how);
  void give(const std::vector<run>& runs);
  [[nodiscard]] std::uint64_t free_bytes() const { return free_bytes_; }
  [[nodiscard]] std::uint64_t page() const { return page_; }

 private:
  void give(run r);

  std::map<std::uint64_t, std::uint64_t> free_;  // offset -> bytes, apart from each other
  std::uint64_t page_;
  std::uint64_t free_bytes_;
};

}  // namespace hcasim::driver::peer
