// How a program that sleeps for a descriptor hears of an event: each is a token in a pipe, or one more in a count.
#pragma once

#include <functional>

#include "testbenches/verbs_programs/simulator/waiting.h"

namespace hcasim::applications {

// Returns an action that writes one. A pipe that is full, or has no reader any more, takes none. A thread that sleeps for it
// goes on at once, because the costs of interrupt and wake-up are the driver's.
std::function<void()> token_into(descriptor pipe, waiting& sleeping);

// Keeps the count of an eventfd, of which a read takes one; called with by how many it changes.
std::function<void(int)> count_in(descriptor eventfd, waiting& sleeping);

}  // namespace hcasim::applications
