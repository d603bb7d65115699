// Repeated measurements: mean, standard deviation and confidence interval of a metric over an axis of seeds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace hcasim {

class result_file;
class study;

struct spread {
  std::size_t count = 0;
  double mean = 0;
  double deviation = 0;   // of the sample, over count - 1; 0 = fewer than two values
  double confidence = 0;  // half the width of the 95 % interval of the mean; 0 = fewer than two values
};

spread spread_of(const std::vector<double>& values);

// Returns t with P(|T| <= t) = 0.95 for Student's distribution of `freedom` degrees of freedom, at least 1.
double student_t95(std::size_t freedom);

struct repetition {
  nlohmann::ordered_json axes;  // name: label, without the axis of seeds
  std::string metric;
  spread over;
};
// Returns mean and confidence of each metric, a line for each place.
std::string repetition_text(const std::vector<repetition>& rows);
// Returns a row for each place of the other axes and each metric, from the points that passed; empty = no axis of seeds.
std::vector<repetition> repetitions_of(result_file& results, const study& s);

}  // namespace hcasim
