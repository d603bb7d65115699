// Statistics of a part of the run as JSON and as readable text. Histograms of time are in ns.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "testbenches/program/results/measurement.h"

namespace hcasim {

// One number of a statistic: a counter has one without a name, a level mean and peak, a histogram count, mean, ...
struct statistic_number {
  std::string name;
  double value;
};
std::vector<statistic_number> numbers_of(const statistic& s, const tally& t);
// Returns the unit of that number; "ps" is shown as ns, a count has none.
std::string unit_of(const statistic& s, std::string_view number);

// Returns {"node0.hca.key_check": {"verdicts": {"unit": "1", "value": 12, "help": "..."}}}.
nlohmann::ordered_json statistics_json(const measurement& m, const measurement::part& p);
// Returns only the numbers: {"node0.hca.key_check": {"verdicts": 12, "latency": {"count": 3, ...}}}.
nlohmann::ordered_json bare_statistics(const measurement& m, const measurement::part& p);
// Returns the measured parts; set_up_json returns the rest of the run.
nlohmann::ordered_json measured_json(const measurement& m);
nlohmann::ordered_json set_up_json(const measurement& m);

// Returns a section for the measured part, one for each of several, and one for the set-up.
std::string statistics_text(const measurement& m);

}  // namespace hcasim
