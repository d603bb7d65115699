// Future work, by time, then by the order of posting. Near items lie in slots of 8 ns, where push and pop cost a few
// instructions, however many items wait. Far items lie in a heap until they are near.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <deque>
#include <vector>

#include "tlm/base/units.h"

namespace hcasim {

template <class T>
class time_wheel {
 public:
  [[nodiscard]] std::size_t size() const { return near_ + far_.size(); }
  // Returns the time of the first item; `never` = empty.
  [[nodiscard]] ps next() const { return next_; }

  void push(ps when, T what) {
    const std::uint64_t slot = slot_of(when);
    if (slot - base_ >= slots || !free_) [[unlikely]] {
      return push_rarely(when, what);
    }
    put(slot, when, what);
  }

  // Returns and removes the first item; the wheel must not be empty.
  T pop() {
    if (near_ == 0) [[unlikely]] {
      go_far();
    }
    const std::uint64_t slot = first_;
    list& l = slots_[slot % slots];
    node& n = *l.head;
    node* const behind = n.next;
    const T what = n.what;
    l.head = behind;
    if (l.between == &n) l.between = nullptr;
    n.next = free_;
    free_ = &n;
    --near_;
    base_ = slot;
    if (slot >= far_due_) [[unlikely]] {  // these items come into later slots
      come_near();
    }
    if (behind) {
      next_ = behind->when;
    } else {
      leave(slot);
    }
    return what;
  }

 private:
  static constexpr std::uint64_t slots = 512;
  static constexpr unsigned shift = 13;  // ps in a slot

  struct node {
    ps when;
    T what;
    node* next;
  };
  struct list {  // in order; `tail` is valid unless the list is empty
    node* head = nullptr;
    node* tail = nullptr;
    node* between = nullptr;  // the last one put there: systems in step put the next ones behind it
  };
  struct far_item {
    ps when;
    std::uint64_t order;
    T what;
    bool operator<(const far_item& o) const { return when != o.when ? when > o.when : order > o.order; }
  };

  static std::uint64_t slot_of(ps t) { return static_cast<std::uint64_t>(t.count()) >> shift; }

  // Puts an item into a slot; there is a free node. Near items come before far ones, whose first one is next when none is near.
  void put(std::uint64_t slot, ps when, T what) {
    node& n = *free_;
    free_ = n.next;
    n.when = when;
    n.what = what;
    ++near_;
    if (when < next_) {
      next_ = when;
      first_ = slot;
    }
    list& l = slots_[slot % slots];
    if (!l.head) {
      n.next = nullptr;
      l.head = l.tail = &n;
      used_[slot % slots / 64] |= std::uint64_t{1} << slot % 64;
    } else if (l.tail->when <= when) {
      n.next = nullptr;
      l.tail = l.tail->next = &n;
    } else {
      node** at = l.between && l.between->when <= when ? &l.between->next : &l.head;
      while ((*at)->when <= when) at = &(*at)->next;
      n.next = *at;
      *at = l.between = &n;
    }
  }

  // Pushes an item that is far, or late, or without a free node.
  [[gnu::noinline]] void push_rarely(ps when, T what) {
    const std::uint64_t slot = std::max(slot_of(when), base_);
    if (slot - base_ < slots) {
      provide();
      return put(slot, when, what);
    }
    far_.push_back({when, posted_++, what});
    std::push_heap(far_.begin(), far_.end());
    if (near_ == 0) next_ = far_.front().when;
    note_far();
  }

  // Advances the time to the first item of the heap.
  [[gnu::noinline]] void go_far() {
    base_ = slot_of(far_.front().when);
    next_ = never;
    come_near();
  }

  // Moves near items from the heap into slots, before a later item can be put into the same slots.
  [[gnu::noinline]] void come_near() {
    while (!far_.empty() && slot_of(far_.front().when) - base_ < slots) {
      std::pop_heap(far_.begin(), far_.end());
      const far_item& i = far_.back();
      provide();
      put(slot_of(i.when), i.when, i.what);
      far_.pop_back();
    }
    note_far();
  }

  void provide() {
    if (!free_) (free_ = &storage_.emplace_back())->next = nullptr;
  }

  void note_far() { far_due_ = far_.empty() ? ~std::uint64_t{0} : slot_of(far_.front().when) - slots + 1; }

  // Finds the first slot in use behind `slot`, which is empty now.
  void leave(std::uint64_t slot) {
    std::uint64_t& used = used_[slot % slots / 64];
    used &= ~(std::uint64_t{1} << slot % 64);
    if (near_ == 0) [[unlikely]] {
      next_ = far_.empty() ? never : far_.front().when;
      return;
    }
    std::uint64_t bits = used >> slot % 64;
    if (bits == 0) [[unlikely]] {
      slot = next_word(slot);
      bits = used_[slot % slots / 64];
    }
    first_ = slot + static_cast<std::uint64_t>(std::countr_zero(bits));
    next_ = slots_[first_ % slots].head->when;
  }
  // Returns the first slot of the first word in use behind that of `slot`.
  [[nodiscard]] std::uint64_t next_word(std::uint64_t slot) const {
    do {
      slot = slot - slot % 64 + 64;
    } while (used_[slot % slots / 64] == 0);
    return slot;
  }

  ps next_ = never;
  std::uint64_t first_ = 0;  // the first slot in use; valid while near_ > 0
  std::uint64_t base_ = 0;   // no slot in use lies before it
  std::size_t near_ = 0;     // items in slots
  node* free_ = nullptr;
  std::uint64_t far_due_ = ~std::uint64_t{0};  // the base from which on the first of the heap is near
  std::array<std::uint64_t, slots / 64> used_{};
  std::array<list, slots> slots_{};
  std::deque<node> storage_;
  std::vector<far_item> far_;
  std::uint64_t posted_ = 0;
};

}  // namespace hcasim
