// A process that does nothing but fork. Every child copies a small process at rest. A fork of a process at work on results
// would have its pages copied once more after every child.
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
  // Starts the process. `child` runs in forks of this process as it is now. The forks end with this process and leave no other
  // trace. Throws input_error when there can be no process.
  explicit spawner(const std::function<void(const order&)>& child);
  ~spawner();
  spawner(const spawner&) = delete;
  spawner& operator=(const spawner&) = delete;

  // Returns the process of a new child, for which this process waits as for its own fork. Throws input_error.
  int start(const order& o);

 private:
  int pid_ = -1;
  int line_ = -1;  // orders go out, processes come back
};

}  // namespace hcasim
