// A process beside a program's: when the simulator ends, however it ends, it kills what is left of the program and of its
// children. A child of ours that is killed by SIGKILL takes none of its own with it, nor could we.
#pragma once

#include <sys/types.h>

#include "testbenches/verbs_programs/simulator/waiting.h"

namespace hcasim::applications {

class guardian {
 public:
  // Guards a group of processes. Without memory for one there is none.
  explicit guardian(pid_t group);
  ~guardian();
  guardian(const guardian&) = delete;
  guardian& operator=(const guardian&) = delete;

 private:
  descriptor alive_;  // closed when we are gone
  pid_t process_ = 0;
};

}  // namespace hcasim::applications
