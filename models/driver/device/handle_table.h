// Numbers of objects, as the kernel hands them to a process. Walks go in the order of the numbers.
#pragma once

#include <cstdint>
#include <vector>

namespace hcasim::driver {

template <class T>
class handle_table {
 public:
  std::uint32_t add(T* object) {
    if (!free_.empty()) {
      const std::uint32_t handle = free_.back();
      free_.pop_back();
      objects_[handle] = object;
      return handle;
    }
    objects_.push_back(object);
    return static_cast<std::uint32_t>(objects_.size() - 1);
  }
  // nullptr = no such object.
  [[nodiscard]] T* find(std::uint32_t handle) const { return handle < objects_.size() ? objects_[handle] : nullptr; }
  void remove(std::uint32_t handle) {
    objects_[handle] = nullptr;
    free_.push_back(handle);
  }
  [[nodiscard]] std::size_t live() const { return objects_.size() - free_.size(); }
  [[nodiscard]] const std::vector<T*>& slots() const { return objects_; }

 private:
  std::vector<T*> objects_;
  std::vector<std::uint32_t> free_;
};

// From a number that the adapter chose (QPN, CQN) to the object; a big number space of which little is used.
template <class T>
class number_table {
 public:
  void set(std::uint32_t number, T* object) {
    const std::size_t block = number >> block_shift;
    if (block >= blocks_.size()) blocks_.resize(block + 1);
    if (blocks_[block].empty()) blocks_[block].resize(1U << block_shift);
    blocks_[block][number & block_mask] = object;
  }
  [[nodiscard]] T* find(std::uint32_t number) const {
    const std::size_t block = number >> block_shift;
    return block < blocks_.size() && !blocks_[block].empty() ? blocks_[block][number & block_mask] : nullptr;
  }

 private:
  static constexpr unsigned block_shift = 10;
  static constexpr std::uint32_t block_mask = (1U << block_shift) - 1;
  std::vector<std::vector<T*>> blocks_;
};

}  // namespace hcasim::driver
