// One run of a workload with some knobs changed, in a process of its own, and its outcome.
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
  std::string knob;  // path as in a description: node*.hca.dma_engine.read_tags
  std::string value;
};

struct experiment {
  const workload* of = nullptr;
  std::vector<setting> settings{};
  std::function<void(setup&)> adjust{};  // before the settings
  ps longer_cables{0};                   // after them
  bool with_times = false;               // the outcome has every completion
  bool with_counts = false;              // with the count of every counter in the middle part
};

struct outcome {
  std::string refused;                  // the program's refusal of the settings; empty = accepted
  std::string problem;                  // failure of the run
  double rate = 0;                      // messages per second in the middle part
  std::vector<std::string> leak_check;  // balance.h
  std::vector<std::string> unbalanced;
  std::vector<std::string> unlike_little;
  std::map<std::string, double> busy;    // share of the middle part, by resource
  std::map<std::string, double> counts;  // key: unit and counter; since the traffic began
  std::uint64_t messages = 0;
  double middle = 0;  // seconds of simulated time
  std::vector<completed_message> completions;
  std::uint64_t bytes = 0;

  [[nodiscard]] bool ran() const { return refused.empty() && problem.empty(); }
};

// Runs the experiment in this process; call once.
outcome run_here(const experiment& e);
// Runs each in a process of its own, as many at once as there are cores; outcomes in the order of the experiments.
std::vector<outcome> run_all(const std::vector<experiment>& list);
// Runs each with several cable lengths, a nanosecond apart. Returns for each experiment its first outcome with the mean of the
// rates, or one that did not run. Each nanosecond changes by chance which request hits in a small cache or gets a turn; the
// mean shows the knob's effect.
std::vector<outcome> means_of(const std::vector<experiment>& list, unsigned interleavings);

}  // namespace hcasim::metamorphic
