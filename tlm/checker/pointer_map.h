// Payload address -> record: open addressing, no allocation in a steady state. Its order is by address: never iterate it for
// output without sorting.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace hcasim {

template <class V>
class pointer_map {
 public:
  struct slot {
    const void* key = nullptr;
    V value{};
  };

  [[nodiscard]] V* find(const void* key) {
    if (slots_.empty()) return nullptr;
    for (std::size_t i = home(key); slots_[i].key; i = next(i)) {
      if (slots_[i].key == key) return &slots_[i].value;
    }
    return nullptr;
  }
  // Inserts a key that must not be there yet. The reference holds until the next change.
  V& insert(const void* key, const V& v) {
    if (2 * (size_ + 1) > slots_.size()) grow();
    ++size_;
    slot& s = place(key);
    s = {key, v};
    return s.value;
  }
  void erase(const void* key) {
    if (slots_.empty()) return;
    std::size_t i = home(key);
    while (slots_[i].key != key) {
      if (!slots_[i].key) return;
      i = next(i);
    }
    --size_;
    // Closes the gap: moves up entries that could no longer be found.
    for (std::size_t j = next(i); slots_[j].key; j = next(j)) {
      const std::size_t h = home(slots_[j].key);
      if (((j - h) & mask()) >= ((j - i) & mask())) {
        slots_[i] = slots_[j];
        i = j;
      }
    }
    slots_[i] = {};
  }
  [[nodiscard]] std::size_t size() const { return size_; }
  template <class F>
  void for_each(F f) const {
    for (const slot& s : slots_) {
      if (s.key) f(s.value);
    }
  }

 private:
  [[nodiscard]] std::size_t mask() const { return slots_.size() - 1; }
  [[nodiscard]] std::size_t next(std::size_t i) const { return (i + 1) & mask(); }
  [[nodiscard]] std::size_t home(const void* key) const {
    return static_cast<std::size_t>((reinterpret_cast<std::uintptr_t>(key) >> 4) * 0x9e3779b97f4a7c15 >> 20) & mask();
  }
  slot& place(const void* key) {
    std::size_t i = home(key);
    while (slots_[i].key) i = next(i);
    return slots_[i];
  }
  void grow() {
    std::vector<slot> old(slots_.empty() ? 64 : 2 * slots_.size());
    old.swap(slots_);
    for (const slot& s : old) {
      if (s.key) place(s.key) = s;
    }
  }

  std::vector<slot> slots_;  // a power of two
  std::size_t size_ = 0;
};

}  // namespace hcasim
