// Distributions of sizes and gaps as a description writes them:
//
//   4 KiB | uniform 64 B to 4 KiB | exponential 2 us | lognormal 4 KiB sigma 1.2 | zipf 1.1 of 64 B to 64 KiB |
//   histogram sizes.csv
//
// `exponential` and `lognormal` are given by their means. `zipf` is over the powers of two of its range: the k-th smallest has
// the weight 1/k^s. A histogram's lines are "value,weight", the value with its unit.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "tlm/base/knobs.h"
#include "tlm/base/random.h"

namespace hcasim::traffic {

class distribution {
 public:
  // Reads the text; `kind`: bytes or time. A relative file name starts from `folder`. Throws quantity_error.
  static distribution parse(std::string_view text, knob_kind kind, const std::filesystem::path& folder = {});
  static distribution fixed(double value);
  static distribution exponential(double mean);

  // Values are in the base unit of the kind: bytes, picoseconds.
  [[nodiscard]] double draw(random_stream& r) const;
  [[nodiscard]] double mean() const { return mean_; }
  [[nodiscard]] double least() const { return low_; }
  // Returns the largest value that draw() can return; infinity = there is none.
  [[nodiscard]] double most() const { return high_; }

 private:
  enum class shape : std::uint8_t { fixed, uniform, exponential, lognormal, listed };

  static distribution uniform(std::string_view range, knob_kind kind);
  static distribution lognormal(std::string_view text, knob_kind kind);
  static distribution zipf(std::string_view text, knob_kind kind);
  static distribution listed(std::vector<double> values, const std::vector<double>& weights);
  static distribution from_file(const std::filesystem::path& file, knob_kind kind);

  shape shape_ = shape::fixed;
  double mean_ = 0;
  double low_ = 0;
  double high_ = 0;
  double sigma_ = 0;                // lognormal
  std::vector<double> values_;      // listed
  std::vector<double> cumulative_;  // listed: share of the values up to this one
};

// Returns the text with its file name made absolute; other texts unchanged.
std::string located(std::string_view text, const std::filesystem::path& folder);

// Ranks 0, 1, ... of a Zipf law: rank k has the weight 1/(k+1)^s. Drawn by rejection from the inverted hull (Hörmann and
// Derflinger, 1996), so the number of ranks costs no memory.
class zipf_ranks {
 public:
  zipf_ranks(std::uint64_t ranks, double exponent);
  [[nodiscard]] std::uint64_t draw(random_stream& r) const;

 private:
  [[nodiscard]] double hull(double x) const;
  [[nodiscard]] double inverse(double y) const;

  double ranks_;
  double exponent_;
  double first_;
  double last_;
  double sure_;
};

}  // namespace hcasim::traffic
