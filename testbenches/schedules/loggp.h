// The LogGP model of a schedule [Alexandrov, Ionescu, Schauser, Scheiman 1995], as LogGOPSim evaluates it without contention.
// Plain C++.
#pragma once

#include <cstdint>

#include "testbenches/schedules/schedule.h"

namespace hcasim::schedules {

// A message of k bytes takes its sender's thread o_send + (k - 1) x byte_o_send. It leaves `gap` after the message before or
// later, and arrives after latency + (k - 1) x byte_gap. Then it takes its receiver's thread as the sender's.
struct loggp {
  ps latency{0};
  ps o_send{0};
  ps o_receive{0};
  ps gap{0};
  double byte_gap = 0;     // ps per byte, as the next two
  double byte_o_send = 0;  // O of LogGOPS: copies of eager messages
  double byte_o_receive = 0;
};

// Returns when the last operation of the schedule is done. Each message is sent at once, whatever its size. Threads begin their
// operations in the order in which they are ready.
ps completion_time(const schedule& s, const loggp& p);

}  // namespace hcasim::schedules
