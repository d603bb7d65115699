// One run of a workload with some knobs changed, in a process of its own, and what came of it.
#pragma once

#include <functional>
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "testbenches/checks/system_laws/traffic.h"

namespace hcasim::metamorphic {

struct setup {
  system_config config;
  traffic_options traffic;
};

struct workload {
  const char* name;
  void (*arrange)(setup&);
};

inline void PrintTo(const workload& w, std::ostream* out) {  // NOLINT(readability-identifier-naming): GoogleTest's
  *out << w.name;
}

struct setting {
  std::string knob;  // as a description writes it: node*.hca.dma_engine.read_tags
  std::string value;
};

struct experiment {
  const workload* of = nullptr;
  std::vector<setting> settings{};
  std::function<void(setup&)> adjust{};  // before the settings
  ps longer_cables{0};                   // after them
  bool with_times = false;               // the outcome has every completion
  bool with_counts = false;              // and what every counter counted in the middle part
};

struct outcome {
  std::string refused;                 // what the program said to the settings; empty = it took them
  std::string problem;                 // of the run
  double rate = 0;                     // messages per second in the middle part
  std::vector<std::string> left_over;  // balance.h
  std::vector<std::string> unbalanced;
  std::vector<std::string> unlike_little;
  std::map<std::string, double> busy;    // share of the middle part, by resource
  std::map<std::string, double> counts;  // by unit and counter, since the traffic began
  std::uint64_t messages = 0;
  double middle = 0;  // seconds of simulated time
  std::vector<completed_message> completions;
  std::uint64_t bytes = 0;

  [[nodiscard]] bool ran() const { return refused.empty() && problem.empty(); }
};

// In this process; once.
outcome run_here(const experiment& e);
// Each in a process of its own, as many at once as there are cores; outcomes in the order of the experiments.
std::vector<outcome> run_all(const std::vector<experiment>& list);
// Each with cables of so many lengths, a nanosecond apart: for each experiment its first outcome with the mean of their rates,
// or one that did not run. Which of many requests finds what in a small cache, or a turn at a busy unit, is chance that every
// nanosecond throws anew; the mean tells what a knob does.
std::vector<outcome> means_of(const std::vector<experiment>& list, unsigned interleavings);

}  // namespace hcasim::metamorphic
