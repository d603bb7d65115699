// Statistics over time, as statistics.csv: a row for each interval of simulated time, and one for what is left at the end. A
// counter and a total are what they grew by in the interval, a ratio is of the interval alone, so is a level's mean and peak
// and what a histogram tells of its samples.
//
// The kernel is stopped at the end of every interval; nothing is posted in it, so a run with a series is the same run.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "testbenches/program/results/measurement.h"
#include "tlm/base/knobs.h"

namespace hcasim {

struct series_options {
  ps interval = never;
  std::string series;

  void knobs(knob_visitor& k) {
    k.time("interval", interval, 1_ns, never, "length of a row of statistics.csv; never: no such file");
    k.text("series", series, "its statistics, patterns separated by commas; empty: utilisations, hit ratios, read tags in use");
  }
};

class statistics_series {
 public:
  static constexpr const char* file_name = "statistics.csv";

  // Throws input_error when the file cannot be written.
  statistics_series(const series_options& options, const std::filesystem::path& folder);

  // Simulates: up to `until`, or as long as there is something to do. Throws input_error when a pattern matches nothing.
  void run(measurement& m, ps until);
  // The run is over; before the measurement is finished. Throws input_error when it was shorter than one interval.
  void finish(measurement& m, ps end);

 private:
  // The numbers of one statistic that are wanted.
  struct source {
    std::size_t entry;
    std::vector<std::size_t> numbers;
  };
  void choose(measurement& m);
  void sample(measurement& m, ps t);

  series_options options_;
  std::filesystem::path path_;
  std::ofstream file_;
  std::vector<source> sources_;
  ps last_{0};
};

}  // namespace hcasim
