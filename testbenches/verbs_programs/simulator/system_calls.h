// Names of the system's calls in which threads sleep.
#pragma once

#include <string>

namespace hcasim::applications {

// The call that a thread is in, "futex"; "system call N" when it is none of those in which threads usually sleep.
std::string call_of(int process, int thread);

}  // namespace hcasim::applications
