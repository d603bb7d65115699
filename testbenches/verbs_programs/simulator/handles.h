// Objects as a program names them; handle 0 = none. A handle holds how often its slot has been used, so a handle of a destroyed
// object finds no later object.
#pragma once

#include <vector>

#include "testbenches/verbs_programs/channel/requests.h"

namespace hcasim::applications {

template <class T>
class handles {
 public:
  // Sets the life that slots begin with.
  void first_life(std::uint64_t life) { first_life_ = life & generation_mask; }
  channel::handle add(T* object) {
    if (free_.empty()) {
      free_.push_back(slots_.size());
      slots_.push_back({nullptr, first_life_});
    }
    const std::size_t i = free_.back();
    free_.pop_back();
    slots_[i].object = object;
    return (i + 1) << generation_bits | (slots_[i].generation & generation_mask);
  }
  // Returns the object; nullptr = no object has the handle.
  [[nodiscard]] T* find(channel::handle h) const {
    const std::uint64_t i = (h >> generation_bits) - 1;
    if (i >= slots_.size() || slots_[i].generation != (h & generation_mask)) return nullptr;
    return slots_[i].object;
  }
  // Returns the handle of the object with this number; 0 = there is none.
  [[nodiscard]] channel::handle named(std::uint32_t number) const {
    const std::uint64_t i = number - std::uint64_t{1};
    if (i >= slots_.size() || !slots_[i].object) return 0;
    return (i + 1) << generation_bits | slots_[i].generation;
  }
  void remove(channel::handle h) {
    if (find(h)) drop((h >> generation_bits) - 1);
  }
  template <class Predicate>
  void remove_if(Predicate gone) {
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      if (slots_[i].object && gone(*slots_[i].object)) drop(i);
    }
  }
  template <class F>
  void each(F f) const {
    for (const slot& s : slots_) {
      if (s.object) f(*s.object);
    }
  }

 private:
  static constexpr unsigned generation_bits = channel::life_bits;
  static constexpr std::uint64_t generation_mask = (1U << generation_bits) - 1;
  struct slot {
    T* object = nullptr;
    std::uint64_t generation = 0;
  };

  void drop(std::size_t i) {
    slots_[i].object = nullptr;
    slots_[i].generation = (slots_[i].generation + 1) & generation_mask;
    free_.push_back(i);
  }

  std::uint64_t first_life_ = 0;
  std::vector<slot> slots_;
  std::vector<std::size_t> free_;
};

}  // namespace hcasim::applications
