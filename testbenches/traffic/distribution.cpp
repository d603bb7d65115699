#include "testbenches/traffic/distribution.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <limits>
#include <numbers>

#include <fmt/format.h>

#include "testbenches/program/description/names.h"
#include "testbenches/program/description/quantity.h"
#include "testbenches/traffic/text.h"

namespace hcasim::traffic {
namespace {

constexpr double endless = std::numeric_limits<double>::infinity();
constexpr std::size_t most_lines = 1'000'000;

double quantity(knob_kind kind, std::string_view text) {
  const auto v = static_cast<double>(parse_quantity(kind, text));
  if (v < 0) throw quantity_error(fmt::format("'{}' is negative", trimmed(text)));
  return v;
}

double number(std::string_view text, std::string_view of) {
  const std::string_view t = trimmed(text);
  double v = 0;
  const auto [end, error] = std::from_chars(t.data(), t.data() + t.size(), v);
  if (error != std::errc() || end != t.data() + t.size() || !std::isfinite(v))
    throw quantity_error(fmt::format("'{}' is not a number; {} is written like 1.1", t, of));
  return v;
}

// Cuts "A WORD B" into A and B.
std::pair<std::string_view, std::string_view> around(std::string_view text, std::string_view word, std::string_view example) {
  const std::size_t at = text.find(word);
  if (at == std::string_view::npos)
    throw quantity_error(fmt::format("'{}' lacks '{}'; write for example '{}'", text, trimmed(word), example));
  return {text.substr(0, at), text.substr(at + word.size())};
}

std::string_view example_of(knob_kind kind) {
  return kind == knob_kind::bytes ? "4 KiB" : "2 us";
}

std::vector<double> powers_of_two(double low, double high) {
  std::vector<double> values;
  for (double v = low; v <= high; v *= 2) values.push_back(v);
  return values;
}

}  // namespace

distribution distribution::fixed(double value) {
  distribution d;
  d.mean_ = d.low_ = d.high_ = value;
  return d;
}

distribution distribution::exponential(double mean) {
  distribution d;
  d.shape_ = shape::exponential;
  d.mean_ = mean;
  d.high_ = endless;
  return d;
}

distribution distribution::listed(std::vector<double> values, const std::vector<double>& weights) {
  distribution d;
  d.shape_ = shape::listed;
  double sum = 0;
  double moment = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    sum += weights[i];
    moment += weights[i] * values[i];
    d.cumulative_.push_back(sum);
  }
  for (double& c : d.cumulative_) c /= sum;
  d.mean_ = moment / sum;
  d.low_ = *std::min_element(values.begin(), values.end());
  d.high_ = *std::max_element(values.begin(), values.end());
  d.values_ = std::move(values);
  return d;
}

distribution distribution::from_file(const std::filesystem::path& file, knob_kind kind) {
  std::ifstream in(file);
  if (!in) throw quantity_error(fmt::format("cannot read the histogram '{}'; check the path", file.string()));
  std::vector<double> values;
  std::vector<double> weights;
  std::string line;
  double sum = 0;
  for (std::size_t n = 1; std::getline(in, line); ++n) {
    if (trimmed(line).empty() || trimmed(line).front() == '#') continue;
    try {
      if (n > most_lines) throw quantity_error("more than a million lines; merge neighbouring values");
      const auto [value, weight] = around(line, ",", "4 KiB,0.25");
      values.push_back(quantity(kind, value));
      weights.push_back(number(weight, "a weight"));
      if (weights.back() < 0) throw quantity_error("the weight is negative");
      sum += weights.back();
    } catch (const quantity_error& e) {
      throw quantity_error(fmt::format("{}:{}: {}", file.string(), n, e.what()));
    }
  }
  if (!(sum > 0))
    throw quantity_error(fmt::format("{}: the histogram has no weight; write lines such as '4 KiB,0.25'", file.string()));
  return listed(std::move(values), weights);
}

distribution distribution::uniform(std::string_view range, knob_kind kind) {
  const auto [low, high] = around(range, " to ", fmt::format("uniform {0} to {0}", example_of(kind)));
  distribution d;
  d.shape_ = shape::uniform;
  d.low_ = quantity(kind, low);
  d.high_ = quantity(kind, high);
  d.mean_ = (d.low_ + d.high_) / 2;
  if (d.low_ > d.high_) throw quantity_error(fmt::format("'{}' ends before it begins; exchange the two values", range));
  return d;
}

distribution distribution::lognormal(std::string_view text, knob_kind kind) {
  const auto [mean, sigma] = around(text, " sigma ", fmt::format("lognormal {} sigma 1.2", example_of(kind)));
  distribution d;
  d.shape_ = shape::lognormal;
  d.mean_ = quantity(kind, mean);
  d.sigma_ = number(sigma, "a deviation");
  d.high_ = endless;
  if (d.sigma_ < 0) throw quantity_error(fmt::format("'{}' has a negative deviation", text));
  // The mean comes from draws about sigma deviations above the median: of these one in 30 000 for 4.
  if (d.sigma_ > 4)
    throw quantity_error(fmt::format("'{}' has no mean that a run would show; write a sigma of 4 at most", text));
  return d;
}

distribution distribution::zipf(std::string_view text, knob_kind kind) {
  const std::string example = fmt::format("zipf 1.1 of {0} to {0}", example_of(kind));
  const auto [exponent, range] = around(text, " of ", example);
  const auto [low, high] = around(range, " to ", example);
  const std::vector<double> values = powers_of_two(std::max(1.0, quantity(kind, low)), quantity(kind, high));
  if (values.empty()) throw quantity_error(fmt::format("'{}' ends before it begins; exchange the two values", range));
  std::vector<double> weights;
  const double s = number(exponent, "an exponent");
  for (std::size_t k = 1; k <= values.size(); ++k) weights.push_back(std::pow(static_cast<double>(k), -s));
  return listed(values, weights);
}

distribution distribution::parse(std::string_view given, knob_kind kind, const std::filesystem::path& folder) {
  const std::string_view text = trimmed(given);
  const std::string_view word = text.substr(0, text.find(' '));
  const std::string_view rest = trimmed(text.substr(word.size()));
  if (word == "histogram") return from_file(folder / rest, kind);
  if (word == "exponential") return exponential(quantity(kind, rest));
  if (word == "uniform") return uniform(rest, kind);
  if (word == "lognormal") return lognormal(rest, kind);
  if (word == "zipf") return zipf(rest, kind);
  if (!word.empty() && std::isalpha(static_cast<unsigned char>(word.front())) != 0) {
    const std::vector<std::string> known{"uniform", "exponential", "lognormal", "zipf", "histogram"};
    throw quantity_error(
        fmt::format("'{}' is no distribution; {}", word, suggestion(std::string(word), known, "distributions")));
  }
  return fixed(quantity(kind, text));
}

double distribution::draw(random_stream& r) const {
  switch (shape_) {
    case shape::fixed:
      return mean_;
    case shape::uniform:
      return low_ + (high_ - low_) * r.unit();
    case shape::exponential:
      return -mean_ * std::log1p(-r.unit());
    case shape::lognormal: {
      const double radius = std::sqrt(-2 * std::log1p(-r.unit()));
      const double normal = radius * std::cos(2 * std::numbers::pi * r.unit());
      return mean_ * std::exp(sigma_ * normal - sigma_ * sigma_ / 2);
    }
    case shape::listed: {
      const auto at = std::upper_bound(cumulative_.begin(), cumulative_.end(), r.unit());
      return values_[std::min<std::size_t>(static_cast<std::size_t>(at - cumulative_.begin()), values_.size() - 1)];
    }
  }
  return mean_;
}

std::string located(std::string_view text, const std::filesystem::path& folder) {
  constexpr std::string_view word = "histogram ";
  const std::string_view t = trimmed(text);
  if (!t.starts_with(word)) return std::string(text);
  const std::filesystem::path file = folder / trimmed(t.substr(word.size()));
  return std::string(word) + std::filesystem::absolute(file).lexically_normal().string();
}

zipf_ranks::zipf_ranks(std::uint64_t ranks, double exponent)
    : ranks_(static_cast<double>(ranks)),
      exponent_(exponent),
      first_(hull(1.5) - 1),
      last_(hull(ranks_ + 0.5)),
      sure_(2 - inverse(hull(2.5) - std::pow(2.0, -exponent))) {}

// The integral of x^-s, which is log x at s = 1.
double zipf_ranks::hull(double x) const {
  const double l = std::log(x);
  const double e = (1 - exponent_) * l;
  return std::abs(e) > 1e-8 ? std::expm1(e) / (1 - exponent_) : l * (1 + e / 2);
}

double zipf_ranks::inverse(double y) const {
  const double e = std::max(-1.0, (1 - exponent_) * y);
  return std::exp(std::abs(e) > 1e-8 ? std::log1p(e) / (1 - exponent_) : y * (1 - e / 2));
}

std::uint64_t zipf_ranks::draw(random_stream& r) const {
  for (;;) {
    const double u = last_ + r.unit() * (first_ - last_);
    const double x = inverse(u);
    const double k = std::clamp(std::floor(x + 0.5), 1.0, ranks_);
    if (k - x <= sure_ || u >= hull(k + 0.5) - std::pow(k, -exponent_)) return static_cast<std::uint64_t>(k) - 1;
  }
}

}  // namespace hcasim::traffic
