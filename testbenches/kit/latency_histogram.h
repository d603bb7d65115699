// Times in classes of constant relative width, as HdrHistogram keeps them: memory depends on the largest time, never on the
// number of samples. A percentile is off by at most `relative_error`.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "tlm/base/units.h"

namespace hcasim::kit {

class latency_histogram {
 public:
  static constexpr unsigned bits = 8;  // classes of an octave: 2^bits
  static constexpr double relative_error = 1.0 / (2 << bits);

  void add(ps t) {
    const auto v = static_cast<std::uint64_t>(std::max<std::int64_t>(t.count(), 0));
    const std::size_t i = class_of(v);
    if (i >= counts_.size()) counts_.resize(i + 1);
    ++counts_[i];
    ++count_;
    sum_ += static_cast<double>(v);
    most_ = std::max(most_, v);
    least_ = std::min(least_, v);
  }
  void add(const latency_histogram& other) {
    if (counts_.size() < other.counts_.size()) counts_.resize(other.counts_.size());
    for (std::size_t i = 0; i < other.counts_.size(); ++i) counts_[i] += other.counts_[i];
    count_ += other.count_;
    sum_ += other.sum_;
    most_ = std::max(most_, other.most_);
    least_ = std::min(least_, other.least_);
  }

  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] double mean() const { return count_ ? sum_ / static_cast<double>(count_) : 0; }  // ps
  [[nodiscard]] double most() const { return static_cast<double>(most_); }                       // ps, exact
  [[nodiscard]] double least() const { return count_ ? static_cast<double>(least_) : 0; }        // ps, exact
  // Returns the time that the share `p` of all samples does not exceed, in ps; 0 = there is no sample.
  [[nodiscard]] double percentile(double p) const {
    const auto wanted = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::ceil(p * static_cast<double>(count_))));
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      seen += counts_[i];
      if (seen >= wanted) return std::min(middle(i), most());
    }
    return most();
  }
  [[nodiscard]] std::size_t classes() const { return counts_.size(); }

 private:
  // Values below 2^bits have a class each; above, every octave has 2^bits classes.
  static std::size_t class_of(std::uint64_t v) {
    const auto width = static_cast<unsigned>(std::bit_width(v));
    if (width <= bits) return v;
    const unsigned shift = width - bits - 1;
    return (std::size_t{shift + 1} << bits) + static_cast<std::size_t>((v >> shift) - (std::uint64_t{1} << bits));
  }
  static double middle(std::size_t i) {
    if (i >> bits == 0) return static_cast<double>(i);
    const auto shift = static_cast<unsigned>(i >> bits) - 1;
    const std::uint64_t low = ((std::uint64_t{1} << bits) + (i & ((1U << bits) - 1))) << shift;
    return static_cast<double>(low) + static_cast<double>((std::uint64_t{1} << shift) - 1) / 2;
  }

  std::vector<std::uint64_t> counts_;
  std::uint64_t count_ = 0;
  double sum_ = 0;
  std::uint64_t most_ = 0;
  std::uint64_t least_ = UINT64_MAX;
};

}  // namespace hcasim::kit
