// A process that does nothing but fork. What is copied with every child is a small process at rest, where one that works on
// results has its pages copied once more after every child.
#pragma once

#include <cstdint>
#include <functional>

namespace hcasim {

// Throws input_error: `what` failed with `error`.
[[noreturn]] void cannot_start(const char* what, int error);

class spawner {
 public:
  struct order {
    std::uint64_t id;
    std::uint64_t slot;
  };
  // `child` runs in a process that has all of this one as it is now, ends with it and leaves no other trace in it. Throws
  // input_error when there can be no process.
  explicit spawner(const std::function<void(const order&)>& child);
  ~spawner();
  spawner(const spawner&) = delete;
  spawner& operator=(const spawner&) = delete;

  // The process of a new child, which this process waits for as if it had forked itself. Throws input_error.
  int start(const order& o);

 private:
  int pid_ = -1;
  int line_ = -1;  // orders go out, processes come back
};

}  // namespace hcasim
