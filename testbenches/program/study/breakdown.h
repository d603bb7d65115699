// Data of a point that only some metrics ask for: the parts of an operation's time, and statistics over time.
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include <nlohmann/json.hpp>

#include "testbenches/program/results/result.h"
#include "testbenches/program/study/metrics.h"

namespace hcasim {

class command_follower;
class measurement;
class operation_follower;
class run_context;

// Follows operations and commands if a metric has `explain`. Make it before the machine is built.
class point_breakdown {
 public:
  explicit point_breakdown(const std::vector<metric>& metrics);
  ~point_breakdown();
  point_breakdown(const point_breakdown&) = delete;
  point_breakdown& operator=(const point_breakdown&) = delete;

  // Counts only operations of the measured parts.
  void measured_by(const measurement& m);
  // Returns {"RC WRITE": {"total": ns, "steps": [{unit, kind, ns}]}, ...}.
  [[nodiscard]] nlohmann::ordered_json json(const result& r) const;

 private:
  std::unique_ptr<operation_follower> operations_;
  std::unique_ptr<command_follower> commands_;
};

// Returns the statistics that metrics want over time, separated by commas; empty = none.
std::string wanted_series(const std::vector<metric>& metrics);
// Reads statistics.csv: {"node0.hca.mrc_cache.hits": {"first", "last", "min", "max", "mean", "deviation", "from_ns",
// "until_ns", "curve"}}. The curve has at most 64 values, evenly over the time.
nlohmann::ordered_json series_json(const std::filesystem::path& file);

}  // namespace hcasim
