// Loads and memory that a machine cannot bear, found before the run.
#pragma once

#include "testbenches/traffic/plan.h"

namespace hcasim::traffic {

// Returns the bytes of a message on the link, in the direction of its payload.
double wire_bytes(operation o, double payload, double mtu);
// Checks the open loops against the links and the receiving threads. Throws knob_error.
void check_loads(const plan& p, const machine_limits& limits);
// Checks that flows find room in the memory of GPUs and adapters. Throws knob_error.
void check_memories(const plan& p, const machine_limits& limits);

}  // namespace hcasim::traffic
