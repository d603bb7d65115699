// Every figure of a run, by name, so that the same run with other embodiments of its units can be set beside it.
#pragma once

#include <string>
#include <vector>

namespace hcasim {

struct run_figure {
  std::string name;  // of a table: title, row and column
  double value = 0;
  double of = 0;      // what a difference is a part of: the value, but of a difference of latencies the latency
  double ns = 0;      // one of its unit; 0 = it is no time
  bool part = false;  // a step of one operation, of a few cycles
};

struct run_figures {
  std::string problem;  // it did not pass
  std::vector<run_figure> all;
  std::vector<std::string> words;  // what tables say in words
};

inline constexpr double cycle_ns = 2.5;  // of the adapter's clock

// `arguments` of `hcasim run`; `units`: those that are RTL.
run_figures figures_of(const std::string& arguments, const std::vector<std::string>& units);

// In parts of one; a figure that one of both lacks is a whole.
double difference(const run_figure& model, const run_figure& rtl);

}  // namespace hcasim
