// How busy every resource was: links, memory, pipelines, look-up ports, walkers, tags. Found among the statistics by name:
//
//   *utilisation, *_busy  without unit, a formula   share of the time
//   *busy                 a time, a formula         summed busy time of one server
//   walkers_busy, tags_in_use, write_bytes, outstanding   levels, over the knob that says how many there are
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "models/base/unit.h"

namespace hcasim {

class knob_tree;

struct resource_use {
  std::string unit;  // node0.hca.key_check
  std::string name;  // the statistic
  double utilisation = 0;
  std::string help;
};

class resource_meter {
 public:
  explicit resource_meter(const knob_tree& tree) : tree_(tree) {}

  // The first call begins the measured part, the second ends it; more have no effect.
  void mark(const std::vector<unit*>& units, ps at);
  void add(resource_use r) { more_.push_back(std::move(r)); }
  // Busiest first; equal ones in the order of the hierarchy. `end`: of the run.
  [[nodiscard]] std::vector<resource_use> utilisation(const std::vector<unit*>& units, ps end) const;

 private:
  struct snapshot {
    ps at{0};
    std::vector<std::pair<resource_use, double>> busy;  // ps of one server, or of the average one of several
  };
  [[nodiscard]] snapshot take(const std::vector<unit*>& units, ps at) const;
  [[nodiscard]] std::optional<double> busy_time(const std::string& unit, const statistic& s, ps at) const;

  const knob_tree& tree_;
  std::optional<snapshot> begin_;
  std::optional<snapshot> end_;
  std::vector<resource_use> more_;
};

nlohmann::ordered_json resources_json(const std::vector<resource_use>& list);

// The unit's name without the top module: node0.hca.key_check.
std::string short_name(std::string_view unit);

}  // namespace hcasim
