// Host speed: how fast this machine simulates. Every measurement runs in a process of its own (one SystemC elaboration each),
// and its figures come back through a pipe.
#pragma once

#include <benchmark/benchmark.h>

#include <chrono>
#include <functional>

#include "testbenches/kit/world.h"
#include "testbenches/studies/benchmarks/two_nodes.h"

namespace hcasim {

using clock_type = std::chrono::steady_clock;

struct figures {
  bool ok = false;
  double setup = 0;       // s, elaboration
  double creating = 0;    // s, boot, QPs, regions, warm-up
  double simulating = 0;  // s, the measured time
  double processor = 0;   // s of processor time, for the whole run
  double operations = 0;
  double packets = 0;
  double activations = 0;
  double resident_mib = 0;
  // The last million operations of a long run against the second, in the processor's time and in memory.
  double last_over_second = 0;
  double growth_mib = 0;
};

double seconds_since(clock_type::time_point t);
double resident_mib_now();
figures in_own_process(const std::function<figures()>& measure);
void show(benchmark::State& state, const figures& f);

}  // namespace hcasim
