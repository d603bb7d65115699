// All figures of a run, by name, for comparison with the same run with other implementations of its units.
#pragma once

#include <string>
#include <vector>

namespace hcasim {

struct run_figure {
  std::string name;  // of a table: title, row and column
  double value = 0;
  double of = 0;      // base of relative differences: the value, or for a difference of latencies the latency
  double ns = 0;      // ns of one of its unit; 0 = not a time
  bool part = false;  // true = a step of one operation, of a few cycles
};

struct run_figures {
  std::string problem;  // why the run did not pass; empty = passed
  std::vector<run_figure> all;
  std::vector<std::string> words;  // words in tables
};

inline constexpr double cycle_ns = 2.5;  // of the adapter's clock

// Returns the figures of `hcasim run` with `arguments`. `units`: the units that are RTL.
run_figures figures_of(const std::string& arguments, const std::vector<std::string>& units);

// Returns the relative difference; 1 = one run lacks the figure.
double difference(const run_figure& model, const run_figure& rtl);

}  // namespace hcasim
