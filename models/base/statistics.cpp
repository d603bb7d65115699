#include "models/base/statistics.h"

#include <bit>

namespace hcasim {
namespace {

constexpr unsigned sub_bits = 5;  // 32 buckets per power of two

std::size_t bucket_of(std::uint64_t v) {
  if (v < (1U << sub_bits)) return static_cast<std::size_t>(v);
  const auto exponent = static_cast<unsigned>(std::bit_width(v)) - 1;
  const std::uint64_t sub = (v >> (exponent - sub_bits)) & ((1U << sub_bits) - 1);
  return (static_cast<std::size_t>(exponent - sub_bits + 1) << sub_bits) + static_cast<std::size_t>(sub);
}

std::uint64_t upper_edge(std::size_t bucket) {
  if (bucket < (1U << sub_bits)) return bucket;
  const auto exponent = (bucket >> sub_bits) + sub_bits - 1;
  const std::uint64_t sub = bucket & ((1U << sub_bits) - 1);
  const std::uint64_t step = std::uint64_t{1} << (exponent - sub_bits);
  return (std::uint64_t{1} << exponent) + sub * step + step - 1;
}

}  // namespace

void histogram::add(std::uint64_t v) {
  const std::size_t b = bucket_of(v);
  if (b >= buckets_.size()) buckets_.resize(b + 1);
  ++buckets_[b];
  ++count_;
  sum_ += static_cast<double>(v);
  min_ = std::min(min_, v);
  max_ = std::max(max_, v);
}

std::uint64_t histogram::percentile(double p) const {
  if (count_ == 0) return 0;
  const auto rank = static_cast<std::uint64_t>(std::ceil(p / 100.0 * static_cast<double>(count_)));
  std::uint64_t seen = 0;
  for (std::size_t b = 0; b < buckets_.size(); ++b) {
    seen += buckets_[b];
    if (seen >= std::max<std::uint64_t>(rank, 1)) return std::clamp(upper_edge(b), min_, max_);
  }
  return max_;
}

double level::mean(ps until) const {
  if (until.count() <= 0) return 0;
  const double tail = static_cast<double>(value_) * static_cast<double>(std::max(until - last_, ps(0)).count());
  return (area_ + tail) / static_cast<double>(until.count());
}

}  // namespace hcasim
