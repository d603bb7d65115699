// Items (packets whose payloads arrive by DMA) become ready in any order and leave in the order of reservation. The ring grows
// to the largest backlog seen and then allocates no more. A ring begins small, because each of many connections has one and a
// nearly empty ring is walked through all the same.
#pragma once

#include <cstdint>
#include <vector>

#include "tlm/base/units.h"

namespace hcasim {

template <class T>
class reorder_queue {
 public:
  [[nodiscard]] bool empty() const { return head_ == tail_; }
  [[nodiscard]] std::uint64_t size() const { return tail_ - head_; }

  // Returns the ticket to complete later.
  std::uint64_t reserve() {
    if (tail_ - head_ == ring_.size()) grow();
    slot(tail_) = {};
    return tail_++;
  }
  // Completes the place of `ticket`; item null = the place is given up.
  void complete(std::uint64_t ticket, T* item, ps at) { slot(ticket) = {item, at, true}; }

  // Calls emit(item, ready time) for everything at the head that is ready. A call from within `emit` leaves all to the first.
  template <class F>
  void drain(F emit) {
    if (draining_) return;
    draining_ = true;
    while (head_ != tail_ && slot(head_).ready) {
      const entry e = slot(head_++);
      if (e.item) emit(*e.item, e.at);
    }
    draining_ = false;
  }

 private:
  struct entry {
    T* item = nullptr;
    ps at{0};
    bool ready = false;
  };
  entry& slot(std::uint64_t ticket) { return ring_[ticket & (ring_.size() - 1)]; }
  void grow() {
    std::vector<entry> bigger(ring_.empty() ? 2 : ring_.size() * 2);
    for (std::uint64_t i = head_; i != tail_; ++i) bigger[i & (bigger.size() - 1)] = slot(i);
    ring_ = std::move(bigger);
  }

  std::vector<entry> ring_;
  std::uint64_t head_ = 0;
  std::uint64_t tail_ = 0;
  bool draining_ = false;
};

}  // namespace hcasim
