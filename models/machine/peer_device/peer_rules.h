// The parts of a peer device that need no kernel: sparse memory, and the limit of its reads in closed form.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "tlm/base/pool_use.h"
#include "tlm/base/server.h"
#include "tlm/base/units.h"

namespace hcasim {

// Real bytes; what was never written reads as 0 and costs nothing.
class sparse_bytes {
 public:
  explicit sparse_bytes(std::uint64_t size) : size_(size) {}

  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] bool inside(std::uint64_t offset, std::uint64_t n) const { return offset <= size_ && n <= size_ - offset; }
  // Both: inside.
  void read(std::uint64_t offset, std::span<std::byte> to) const;
  void write(std::uint64_t offset, std::span<const std::byte> from);
  [[nodiscard]] std::uint64_t resident_bytes() const { return blocks_.size() * block; }

 private:
  static constexpr std::uint64_t block = 16_KiB;
  std::uint64_t size_;
  std::unordered_map<std::uint64_t, std::unique_ptr<std::array<std::byte, block>>> blocks_;
};

// Reads of a BAR: at most `slots` at once, each `latency` until its first byte, and their bytes one after the other at `rate`.
// Answers come in the order of the requests.
class read_pipe {
 public:
  struct times {
    ps begin;  // a slot was free
    ps end;    // the last byte is there
  };
  read_pipe(std::uint32_t slots, ps latency, bit_rate rate)
      : ends_(slots, ps(0)), slots_(slots), latency_(latency), rate_(rate) {}

  times take(ps t, std::uint64_t bytes);
  [[nodiscard]] ps busy() const { return port_.busy(); }
  [[nodiscard]] ps busy_until(ps t) const { return port_.busy_until(t); }
  [[nodiscard]] const pool_use& slots() const { return slots_; }

 private:
  std::vector<ps> ends_;  // of the last reads, the oldest at `next_`
  std::size_t next_ = 0;
  server port_;
  pool_use slots_;
  ps latency_;
  bit_rate rate_;
};

}  // namespace hcasim
