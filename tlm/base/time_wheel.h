// Work to come, by time, and at the same time in the order in which it was posted. What is near lies in slots of 2 ns, where
// putting in and taking out cost a few instructions whatever waits; what is far lies in a heap until it is near.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "tlm/base/units.h"

namespace hcasim {

template <class T>
class time_wheel {
 public:
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  // Of the first; not when empty.
  [[nodiscard]] ps next() const { return near_ != 0 ? slots_[first_ % slots].first().when : far_.front().when; }

  void push(ps when, T what) {
    const item i{when, posted_++, what};
    const std::uint64_t slot = std::max(slot_of(when), base_);
    ++size_;
    if (slot - base_ < slots) {
      put(slot, i);
    } else {
      far_.push_back(i);
      std::push_heap(far_.begin(), far_.end());
    }
  }

  T pop() {
    if (near_ == 0) {  // time goes to the first of the heap
      base_ = slot_of(far_.front().when);
      come_near();
    }
    const std::uint64_t slot = first_;
    sorted& s = slots_[slot % slots];
    const T what = s.first().what;
    s.pop();
    --size_;
    --near_;
    const bool emptied = s.empty();
    if (emptied) used_[slot % slots / 64] &= ~(std::uint64_t{1} << slot % 64);
    if (slot != base_) {
      base_ = slot;
      if (!far_.empty()) come_near();
    }
    if (emptied && near_ != 0) find_first();
    return what;
  }

 private:
  static constexpr std::uint64_t slots = 1024;
  static constexpr unsigned shift = 11;  // ps in a slot

  struct item {
    ps when;
    std::uint64_t order;
    T what;
    bool operator<(const item& o) const { return when != o.when ? when > o.when : order > o.order; }
  };

  // In order; what is put in is mostly the last.
  class sorted {
   public:
    [[nodiscard]] bool empty() const { return head_ == items_.size(); }
    [[nodiscard]] const item& first() const { return items_[head_]; }
    void push(const item& i) {
      items_.push_back(i);
      for (std::size_t at = items_.size() - 1; at > head_ && items_[at - 1] < items_[at]; --at) {
        std::swap(items_[at - 1], items_[at]);
      }
    }
    void pop() {
      if (++head_ != items_.size()) return;
      items_.clear();
      head_ = 0;
    }

   private:
    std::vector<item> items_;
    std::size_t head_ = 0;
  };

  static std::uint64_t slot_of(ps t) { return static_cast<std::uint64_t>(t.count()) >> shift; }

  void put(std::uint64_t slot, const item& i) {
    slots_[slot % slots].push(i);
    used_[slot % slots / 64] |= std::uint64_t{1} << slot % 64;
    if (near_ == 0 || slot < first_) first_ = slot;
    ++near_;
  }

  // Takes over from the heap what is near enough now.
  void come_near() {
    while (!far_.empty() && slot_of(far_.front().when) - base_ < slots) {
      std::pop_heap(far_.begin(), far_.end());
      put(slot_of(far_.back().when), far_.back());
      far_.pop_back();
    }
  }

  // The first slot in use from the last one on.
  void find_first() {
    std::uint64_t word = first_ % slots / 64;
    std::uint64_t bits = used_[word] & (~std::uint64_t{0} << first_ % 64);
    std::uint64_t at = first_ - first_ % 64;
    while (bits == 0) {
      word = (word + 1) % (slots / 64);
      at += 64;
      bits = used_[word];
    }
    first_ = at + static_cast<std::uint64_t>(std::countr_zero(bits));
  }

  std::array<sorted, slots> slots_;
  std::array<std::uint64_t, slots / 64> used_{};
  std::uint64_t base_ = 0;   // no slot in use lies before it
  std::uint64_t first_ = 0;  // in use, if any is
  std::size_t near_ = 0;     // items in slots
  std::size_t size_ = 0;
  std::uint64_t posted_ = 0;
  std::vector<item> far_;
};

}  // namespace hcasim
