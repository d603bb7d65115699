#include "testbenches/program/study/metric_check.h"

#include "testbenches/program/recording/resources.h"
#include "testbenches/program/results/hierarchy.h"
#include "testbenches/program/results/statistics_report.h"

namespace hcasim {
namespace {

using nlohmann::ordered_json;

// Returns the statistics in the form of a point's data, all 0.
ordered_json statistics_of_units() {
  ordered_json out = ordered_json::object();
  for (const unit* u : all_units()) {
    ordered_json& list = out[short_name(u->name())];
    for (const statistic& s : u->stats().all()) {
      for (const statistic_number& n : numbers_of(s, {})) (n.name.empty() ? list[s.name] : list[s.name][n.name]) = 0;
    }
  }
  return out;
}

}  // namespace

void metric_check::end_of_elaboration() {
  check_statistics(metrics_, statistics_of_units());
}

}  // namespace hcasim
