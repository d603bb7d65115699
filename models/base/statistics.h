// What a unit counts. Every statistic has a name, a unit and one sentence; the unit's list is walked only at the end of a run.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <variant>
#include <vector>

#include "models/base/units.h"

namespace hcasim {

class counter {
 public:
  counter& operator++() {
    ++value_;
    return *this;
  }
  counter& operator+=(std::uint64_t n) {
    value_ += n;
    return *this;
  }
  [[nodiscard]] std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0;
};

// Log-linear buckets: 32 per power of two, so a percentile is at most 3 % off; count, sum, minimum and maximum are exact.
class histogram {
 public:
  void add(std::uint64_t v);
  void add(ps t) { add(static_cast<std::uint64_t>(std::max<std::int64_t>(t.count(), 0))); }

  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] double sum() const { return sum_; }
  [[nodiscard]] double mean() const { return count_ ? sum_ / static_cast<double>(count_) : 0; }
  [[nodiscard]] std::uint64_t min() const { return count_ ? min_ : 0; }
  [[nodiscard]] std::uint64_t max() const { return max_; }
  // Upper edge of the bucket that holds the p-th percentile, clamped to the exact maximum; p in [0, 100].
  [[nodiscard]] std::uint64_t percentile(double p) const;

 private:
  std::vector<std::uint64_t> buckets_;
  std::uint64_t count_ = 0;
  double sum_ = 0;
  std::uint64_t min_ = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t max_ = 0;
};

// A quantity over time (queue occupancy, credits): its time-weighted mean and its peak.
class level {
 public:
  void set(std::uint64_t v, ps t) {
    if (t > last_) {
      area_ += static_cast<double>(value_) * static_cast<double>((t - last_).count());
      last_ = t;
    }
    value_ = v;
    peak_ = std::max(peak_, v);
  }
  // Exact in the mean for changes that come out of order too (annotated delays); the peak sees them in the order of the calls.
  void add(std::int64_t n, ps t) {
    if (t < last_) area_ += static_cast<double>(n) * static_cast<double>((last_ - t).count());
    set(value_ + static_cast<std::uint64_t>(n), t);
  }

  [[nodiscard]] std::uint64_t value() const { return value_; }
  [[nodiscard]] std::uint64_t peak() const { return peak_; }
  [[nodiscard]] double mean(ps until) const;

 private:
  std::uint64_t value_ = 0;
  std::uint64_t peak_ = 0;
  ps last_{0};
  double area_ = 0;
};

struct statistic {
  std::string name;
  std::string unit;  // "1" for a plain count; histograms of time are kept in ps and carry "ps"
  std::string help;
  std::variant<const counter*, const histogram*, const level*, std::function<double()>> value;
};

class statistics {
 public:
  void add(std::string name, std::string unit, std::string help, const counter& c) { push(name, unit, help, &c); }
  void add(std::string name, std::string unit, std::string help, const histogram& h) { push(name, unit, help, &h); }
  void add(std::string name, std::string unit, std::string help, const level& l) { push(name, unit, help, &l); }
  void formula(std::string name, std::string unit, std::string help, std::function<double()> f) {
    push(name, unit, help, std::move(f));
  }
  [[nodiscard]] const std::vector<statistic>& all() const { return list_; }

 private:
  template <class V>
  void push(std::string& name, std::string& unit, std::string& help, V v) {
    list_.push_back({std::move(name), std::move(unit), std::move(help), std::move(v)});
  }
  std::vector<statistic> list_;
};

}  // namespace hcasim
