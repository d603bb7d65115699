// The objects of this library behind a program's descriptors.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>

#include "testbenches/verbs_programs/channel/request_ids.h"

namespace hcasim::preload {

class descriptor_table {
 public:
  [[nodiscard]] bool has_room_for(int fd) const { return fd >= 0 && fd < static_cast<int>(objects_.size()); }
  // Returns the object behind a descriptor; 0 = there is none.
  [[nodiscard]] channel::handle of(int fd) const {
    if (used_.load(std::memory_order_relaxed) == 0 || !has_room_for(fd)) return 0;
    return objects_[static_cast<std::size_t>(fd)].load(std::memory_order_relaxed);
  }
  void put(int fd, channel::handle object) {
    objects_[static_cast<std::size_t>(fd)] = object;
    ++used_;
  }
  // Removes a descriptor before its number is used again. Returns its object; 0 = there was none.
  channel::handle take(int fd) {
    const channel::handle object = of(fd);
    if (object == 0) return 0;
    objects_[static_cast<std::size_t>(fd)] = 0;
    --used_;
    return object;
  }
  // Replaces the object of every descriptor by this one.
  void become(channel::handle object) {
    for (auto& each : objects_) {
      if (each != 0) each = object;
    }
  }

 private:
  std::array<std::atomic<channel::handle>, 1024> objects_{};
  std::atomic<int> used_{0};
};

}  // namespace hcasim::preload
