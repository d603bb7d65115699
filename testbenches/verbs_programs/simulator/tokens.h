// Wakes programs that sleep for a descriptor: an event is a token in a pipe, or raises the count of an eventfd.
#pragma once

#include <functional>

#include "testbenches/verbs_programs/simulator/waiting.h"

namespace hcasim::applications {

// Returns an action that changes the tokens in a pipe by its argument. A full pipe takes none, and a token that the program has
// read is not taken back. A thread that sleeps for a token goes on at once, because the driver accounts for interrupt and
// wake-up.
std::function<void(int)> tokens_in(descriptor write_end, descriptor read_end, waiting& sleeping);

// Returns an action that changes the count of an eventfd by its argument. A program's read takes 1 from the count.
std::function<void(int)> count_in(descriptor eventfd, waiting& sleeping);

}  // namespace hcasim::applications
