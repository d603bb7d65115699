// Processor time of the program, in simulated time: a thread uses it while it asks for anything but sleep, and looks at clocks.
#pragma once

#include "testbenches/verbs_programs/channel/requests.h"

namespace hcasim::preload {

// In ps. False = there is no simulator.
bool look_at_usage(channel::query_usage::answer& out);
// Notes that the program reads a clock of the machine's.
void note_machine_clock();

}  // namespace hcasim::preload
