// Processor time of the program, in simulated time. A thread uses processor time when it reads clocks, and in each request but
// sleep.
#pragma once

#include "testbenches/verbs_programs/channel/requests.h"

namespace hcasim::preload {

// Reads the processor times in ps. False = there is no simulator.
bool look_at_usage(channel::query_usage::answer& out);
// Notes that the program reads a clock of the machine.
void note_machine_clock();

}  // namespace hcasim::preload
