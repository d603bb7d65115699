#include "tlm/base/statistics.h"

#include <cmath>
#include <unordered_set>
#include <utility>

namespace hcasim {

std::uint64_t histogram::upper_edge(std::size_t bucket) {
  if (bucket < (1U << sub_bits)) return bucket;
  const auto exponent = (bucket >> sub_bits) + sub_bits - 1;
  const std::uint64_t sub = bucket & ((1U << sub_bits) - 1);
  const std::uint64_t step = std::uint64_t{1} << (exponent - sub_bits);
  return (std::uint64_t{1} << exponent) + sub * step + step - 1;
}

std::uint64_t histogram::percentile(double p) const {
  if (count_ == 0) return 0;
  const auto rank = static_cast<std::uint64_t>(std::ceil(p / 100.0 * static_cast<double>(count_)));
  std::uint64_t seen = 0;
  for (std::size_t b = 0; b < buckets_.size(); ++b) {
    seen += buckets_[b];
    if (seen >= std::max<std::uint64_t>(rank, 1)) return std::clamp(upper_edge(first_ + b), min_, max_);
  }
  return max_;
}

void histogram::reach(std::size_t bucket) {
  constexpr std::size_t octave = std::size_t{1} << sub_bits;
  const std::size_t low = bucket / octave * octave;
  if (buckets_.empty()) first_ = low;
  if (low < first_) {
    buckets_.insert(buckets_.begin(), first_ - low, 0);
    first_ = low;
  }
  if (bucket - first_ >= buckets_.size()) buckets_.resize(low + octave - first_);
}

histogram& histogram::operator+=(const histogram& more) {
  for (std::size_t b = 0; b < more.buckets_.size(); ++b) {
    if (more.buckets_[b] != 0) at(more.first_ + b) += more.buckets_[b];
  }
  count_ += more.count_;
  sum_ += more.sum_;
  min_ = std::min(min_, more.min_);
  max_ = std::max(max_, more.max_);
  return *this;
}

histogram histogram::take() {
  histogram held;
  if (count_ == 0) return held;
  held.buckets_ = buckets_;
  held.first_ = first_;
  std::fill(buckets_.begin(), buckets_.end(), 0);  // their room stays: nothing is allocated while the run goes on
  held.count_ = std::exchange(count_, 0);
  held.sum_ = std::exchange(sum_, 0);
  held.min_ = std::exchange(min_, histogram().min_);
  held.max_ = std::exchange(max_, 0);
  taken_count_ += held.count_;
  taken_sum_ += held.sum_;
  return held;
}

double level::mean(ps until) const {
  if (until <= since_) return 0;
  const double tail = static_cast<double>(value_) * static_cast<double>(std::max(until - last_, ps(0)).count());
  return (area_ + tail) / static_cast<double>((until - since_).count());
}

level::taken level::take(ps t) {
  set(value_, t);
  const taken held{area_, t - since_, peak_};
  area_ = 0;
  since_ = t;
  peak_ = 0;
  return held;
}

double formula::operator()(ps until) const {
  const double grown = over(until);
  if (!under) return grown;
  const double base = under(until);
  return base > 0 ? std::max(grown / base, 0.0) : 0;
}

const std::string& statistics::kept(std::string text) {
  static std::unordered_set<std::string>& all = *new std::unordered_set<std::string>;
  return *all.insert(std::move(text)).first;
}

formula::total statistics::sum(std::vector<const counter*> counters) {
  return [counters = std::move(counters)](ps) {
    std::uint64_t all = 0;
    for (const counter* c : counters) all += c->value();
    return static_cast<double>(all);
  };
}

tally& tally::operator+=(const tally& next) {
  over += next.over;
  under += next.under;
  peak = std::max(peak, next.peak);
  samples += next.samples;
  return *this;
}

double tally::value(const statistic& s) const {
  struct reader {
    const tally& t;
    double operator()(const counter*) const { return t.over; }
    double operator()(const histogram*) const { return static_cast<double>(t.samples.count()); }
    double operator()(const level*) const { return t.ratio(); }
    double operator()(const formula& f) const { return f.under ? t.ratio() : t.over; }
  };
  return std::visit(reader{*this}, s.value);
}

tally statistic_reader::take(ps t) {
  tally held;
  const auto grown = [&](double over, double under) {
    held.over = over - std::exchange(over_, over);
    held.under = under - std::exchange(under_, under);
  };
  if (const auto* c = std::get_if<const counter*>(&statistic_->value)) {
    grown(static_cast<double>((*c)->value()), 0);
  } else if (const auto* h = std::get_if<histogram*>(&statistic_->value)) {
    held.samples = (*h)->take();
  } else if (const auto* l = std::get_if<level*>(&statistic_->value)) {
    const level::taken piece = (*l)->take(t);
    held.over = piece.area;
    held.under = static_cast<double>(piece.time.count());
    held.peak = piece.peak;
  } else {
    const auto& f = std::get<formula>(statistic_->value);
    grown(f.over(t), f.under ? f.under(t) : 0);
  }
  return held;
}

}  // namespace hcasim
