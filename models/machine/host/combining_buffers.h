// The write-combining buffers of a core: lines of register writes on their way to the PCIe link, oldest first. Each holds its
// line until the link has taken it.
#pragma once

#include <cstdint>
#include <vector>

#include "tlm/base/kernel.h"

namespace hcasim {

class combining_buffers {
 public:
  // Makes buffers for so many lines on their way.
  explicit combining_buffers(std::uint32_t limit) : limit_(limit), writes_(limit + 1) {}

  // Returns whether a write of so many lines fits at t. A write of more lines than there are buffers wants all of them.
  [[nodiscard]] bool fits(std::uint64_t lines, ps t) {
    while (first_ != end_ && at(first_).left <= t) lines_ -= at(first_++).lines;
    return first_ == end_ || lines_ + lines <= limit_;
  }
  // Returns the time at which the oldest write leaves; never = the link has not taken it.
  [[nodiscard]] ps oldest_leaves() const { return writes_[first_ % writes_.size()].left; }
  // Adds a write that fits, and returns its number.
  std::uint64_t add(std::uint64_t lines) {
    at(end_) = {lines, never};
    lines_ += lines;
    return end_++;
  }
  void leave(std::uint64_t number, ps t) {
    at(number).left = t;
    if (awaits_) wake(*awaits_);
  }
  // Sets the event of the thread that waits for a write to leave; nullptr = none does.
  void await(sc_core::sc_event* thread) { awaits_ = thread; }

 private:
  struct write {
    std::uint64_t lines = 0;
    ps left = never;
  };
  [[nodiscard]] write& at(std::uint64_t number) { return writes_[number % writes_.size()]; }

  std::uint64_t limit_;
  std::vector<write> writes_;
  std::uint64_t first_ = 0;
  std::uint64_t end_ = 0;
  std::uint64_t lines_ = 0;
  sc_core::sc_event* awaits_ = nullptr;
};

}  // namespace hcasim
