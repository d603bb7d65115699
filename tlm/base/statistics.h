// Statistics of a unit: each has a name, a unit and one sentence. Counting is always on. A reader of a part of the run reads
// the unit's list at the part's begin and end, with one statistic_reader for each statistic.
#pragma once

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <variant>
#include <vector>

#include "tlm/base/units.h"

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
  void add(std::uint64_t v) {
    ++at(bucket_of(v));
    ++count_;
    sum_ += static_cast<double>(v);
    min_ = std::min(min_, v);
    max_ = std::max(max_, v);
  }
  void add(ps t) { add(static_cast<std::uint64_t>(std::max<std::int64_t>(t.count(), 0))); }

  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] double sum() const { return sum_; }
  [[nodiscard]] double mean() const { return count_ ? sum_ / static_cast<double>(count_) : 0; }
  [[nodiscard]] std::uint64_t min() const { return count_ ? min_ : 0; }
  [[nodiscard]] std::uint64_t max() const { return max_; }
  // Returns the upper edge of the bucket with the p-th percentile, clamped to the exact maximum; p in [0, 100].
  [[nodiscard]] std::uint64_t percentile(double p) const;

  histogram& operator+=(const histogram& more);
  // Returns the content and leaves the histogram empty, but for the extremes of the whole run.
  histogram take();
  [[nodiscard]] std::uint64_t count_ever() const { return taken_count_ + count_; }
  [[nodiscard]] double sum_ever() const { return taken_sum_ + sum_; }

 private:
  static constexpr unsigned sub_bits = 5;

  static std::size_t bucket_of(std::uint64_t v) {
    if (v < (1U << sub_bits)) return static_cast<std::size_t>(v);
    const auto shift = static_cast<unsigned>(std::bit_width(v)) - 1 - sub_bits;
    return (static_cast<std::size_t>(shift) << sub_bits) + static_cast<std::size_t>(v >> shift);
  }
  static std::uint64_t upper_edge(std::size_t bucket);
  std::uint64_t& at(std::size_t bucket) {
    if (bucket - first_ >= buckets_.size()) [[unlikely]] {
      reach(bucket);
    }
    return buckets_[bucket - first_];
  }
  // Makes room for the bucket, by whole powers of two.
  void reach(std::size_t bucket);

  std::vector<std::uint64_t> buckets_;  // from the first one in use
  std::size_t first_ = 0;               // its number
  std::uint64_t count_ = 0;
  double sum_ = 0;
  std::uint64_t min_ = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t max_ = 0;
  std::uint64_t taken_count_ = 0;
  double taken_sum_ = 0;
};

// A quantity over time (queue occupancy, credits): its time-weighted mean and its peak, since the last take(). A value that is
// replaced at the same time was never there, as in a waveform.
class level {
 public:
  struct taken {
    double area;  // value times ps
    ps time;
    std::uint64_t peak;
  };

  void set(std::uint64_t v, ps t) {
    if (t > last_) {
      area_ += static_cast<double>(static_cast<std::int64_t>(value_)) * static_cast<double>((t - last_).count());
      last_ = t;
      peak_ = std::max(peak_, value_);
    }
    value_ = v;
  }
  // Adds `n` at t. The mean is exact for changes out of order, too (annotated delays); the peak sees them in the order of
  // calls.
  void add(std::int64_t n, ps t) {
    if (t < last_) area_ += static_cast<double>(n) * static_cast<double>((last_ - t).count());
    set(value_ + static_cast<std::uint64_t>(n), t);
  }

  [[nodiscard]] std::uint64_t value() const { return value_; }
  [[nodiscard]] std::uint64_t peak() const { return std::max(peak_, value_); }
  [[nodiscard]] double mean(ps until) const;
  // Returns the area, time and peak gathered until t; the level begins anew there, at its current value.
  taken take(ps t);

 private:
  std::uint64_t value_ = 0;
  std::uint64_t peak_ = 0;
  ps since_{0};
  ps last_{0};
  double area_ = 0;
};

// A total that is computed on reading and only grows, up to a time; with `under`, a ratio of two totals.
struct formula {
  using total = std::function<double(ps until)>;

  total over;
  total under;  // none = `over` alone

  // Returns the value since the run began.
  double operator()(ps until) const;
};

// Its texts are the same in each unit of a kind, which share them; they live as long as the process.
struct statistic {
  const std::string& name;
  const std::string& unit;  // "1" for a plain count; histograms of time are kept in ps and carry "ps"
  const std::string& help;
  std::variant<const counter*, histogram*, level*, formula> value;
  const std::string& signal;  // level: name of the unit's signal that shows the level; empty = none
};

// The content of a statistic over a part of a run. Tallies of successive parts add up to the tally of the whole.
struct tally {
  double over = 0;         // counter and formula: growth; level: value times ps
  double under = 0;        // level: ps; ratio: growth of its base
  std::uint64_t peak = 0;  // level
  histogram samples;       // histogram

  tally& operator+=(const tally& next);
  // Returns a ratio, or the mean of a level; 0 = no base.
  [[nodiscard]] double ratio() const { return under > 0 ? std::max(over / under, 0.0) : 0; }
  // Returns the value of a counter, a level (its mean) or a formula, or a histogram's number of samples.
  [[nodiscard]] double value(const statistic& s) const;
};

// Only one reader may read a statistic piece by piece: reading begins a level and a histogram anew.
class statistic_reader {
 public:
  explicit statistic_reader(const statistic& s) : statistic_(&s) {}

  [[nodiscard]] const statistic& of() const { return *statistic_; }
  // Returns the change since the last call, or since the run began.
  tally take(ps t);

 private:
  const statistic* statistic_;
  double over_ = 0;
  double under_ = 0;
};

// A server, a link: `busy_until` leaves out work booked for later.
template <class R>
concept timed_resource = requires(const R& r) {
  { r.busy_until(ps(0)) } -> std::same_as<ps>;
};

class statistics {
 public:
  void add(std::string name, std::string unit, std::string help, const counter& c) {
    push(std::move(name), std::move(unit), std::move(help), &c);
  }
  void add(std::string name, std::string unit, std::string help, histogram& h) {
    push(std::move(name), std::move(unit), std::move(help), &h);
  }
  // Adds a level. `signal`: name of the unit's signal that shows the level in a waveform; empty = the statistic's name.
  void add(std::string name, std::string unit, std::string help, level& l, std::string signal = {}) {
    if (signal.empty()) signal = name;
    push(std::move(name), std::move(unit), std::move(help), &l, std::move(signal));
  }
  void total(std::string name, std::string unit, std::string help, formula::total f) {
    push(std::move(name), std::move(unit), std::move(help), formula{std::move(f), {}});
  }
  void ratio(std::string name, std::string help, formula::total over, formula::total under) {
    push(std::move(name), "1", std::move(help), formula{std::move(over), std::move(under)});
  }
  // Adds a ratio of sums of counters.
  void ratio(std::string name, std::string help, std::vector<const counter*> over, std::vector<const counter*> under) {
    ratio(std::move(name), std::move(help), sum(std::move(over)), sum(std::move(under)));
  }
  // Adds the share of the time by which `busy` (in ps) has grown.
  void share(std::string name, std::string help, formula::total busy) {
    ratio(std::move(name), std::move(help), std::move(busy), [](ps t) { return static_cast<double>(t.count()); });
  }
  template <timed_resource R>
  void share(std::string name, std::string help, const R& r) {
    share(std::move(name), std::move(help), busy(r));
  }
  template <timed_resource R>
  void busy_time(const std::string& name, const std::string& help, const R& r) {
    total(name, "ps", help, busy(r));
  }
  template <timed_resource R>
  void wait_time(const std::string& name, const std::string& help, const R& r) {
    total(name, "ps", help, [&r](ps) { return static_cast<double>(r.waited().count()); });
  }
  [[nodiscard]] const std::vector<statistic>& all() const { return list_; }

 private:
  static formula::total sum(std::vector<const counter*> counters);
  template <timed_resource R>
  static formula::total busy(const R& r) {
    return [&r](ps t) { return static_cast<double>(r.busy_until(t).count()); };
  }
  void push(std::string name, std::string unit, std::string help, decltype(statistic::value) v, std::string signal = {}) {
    list_.push_back(
        {kept(std::move(name)), kept(std::move(unit)), kept(std::move(help)), std::move(v), kept(std::move(signal))});
  }
  // Returns the one copy of a text.
  static const std::string& kept(std::string text);

  std::vector<statistic> list_;
};

}  // namespace hcasim
