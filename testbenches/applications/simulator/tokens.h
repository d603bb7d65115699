// How a program that sleeps for a pipe hears of an event: each is a token in it.
#pragma once

#include <functional>

#include "testbenches/applications/simulator/waiting.h"

namespace hcasim::applications {

// Writes one. A pipe that is full, or that nobody reads any more, takes none. Whoever sleeps for it goes on at once, because
// the costs of interrupt and wake-up are the driver's.
std::function<void()> token_into(descriptor pipe, waiting& sleeping);

}  // namespace hcasim::applications
