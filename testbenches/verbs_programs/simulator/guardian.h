// A process that watches the simulator. When the simulator ends, for whatever reason, the guardian kills the program and its
// children. The simulator itself cannot do this after a SIGKILL, and the death of a program does not end its children.
#pragma once

#include <sys/types.h>

#include "testbenches/verbs_programs/simulator/waiting.h"

namespace hcasim::applications {

class guardian {
 public:
  // Guards a group of processes. If the system cannot start a further process, the group has no guardian.
  explicit guardian(pid_t group);
  ~guardian();
  guardian(const guardian&) = delete;
  guardian& operator=(const guardian&) = delete;

 private:
  descriptor alive_;  // closed when the simulator has ended
  pid_t process_ = 0;
};

}  // namespace hcasim::applications
