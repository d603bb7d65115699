// Names of the system's calls in which threads sleep.
#pragma once

#include <string>

namespace hcasim::applications {

// Returns the name of the call that a thread is in, such as "futex". A call in which threads seldom sleep is "system call N".
std::string call_of(int process, int thread);

}  // namespace hcasim::applications
