// Axes whose values are drawn: random and Latin hypercube samples of several knobs, and seeds.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "testbenches/program/description/quantity.h"
#include "testbenches/program/study/axis_reader.h"
#include "tlm/base/random.h"

namespace hcasim {
namespace {

// Returns n places in [0, 1). Latin: each of n equal parts holds one of them.
std::vector<double> drawn(std::size_t n, bool latin, random_stream& random) {
  std::vector<std::size_t> part(n);
  std::iota(part.begin(), part.end(), 0);
  for (std::size_t i = n; latin && i > 1; --i) std::swap(part[i - 1], part[random.below(i)]);
  std::vector<double> out(n);
  for (std::size_t i = 0; i < n; ++i)
    out[i] = latin ? (static_cast<double>(part[i]) + random.unit()) / static_cast<double>(n) : random.unit();
  return out;
}

}  // namespace

void axis_reader::seeds(const YAML::Node& n, const std::string& path, study_axis& a) {
  const std::string text = yaml_.scalar(n, path);
  long double count = 0;
  try {
    count = parse_quantity(knob_kind::count, text);
  } catch (const quantity_error& e) {
    yaml_.fail(n, path, e.what());
  }
  if (count < 2 || count > 100'000) yaml_.fail(n, path, fmt::format("{} seeds show no spread; write 2 to 100000", text));
  if (!varied_.insert("seed").second) yaml_.fail(n, path, "seed is varied by two axes; remove one");
  a.repeats = true;
  for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(count); ++i) {
    const std::string seed = std::to_string(base_.seed() + i);
    a.values.push_back({seed, static_cast<double>(base_.seed() + i), {{"seed", seed}}});
  }
}

void axis_reader::sample(const YAML::Node& n, const std::string& path, study_axis& a) {
  const YAML::Node s = n["sample"];
  yaml_.check_keys(s, path + ".sample", {"latin", "random", "seed"});
  if (s["latin"].IsDefined() == s["random"].IsDefined())
    yaml_.fail(s, path + ".sample", "exactly one of latin and random is needed: {latin: 200}");
  const bool latin = s["latin"].IsDefined();
  const char* const kind = latin ? "latin" : "random";
  const auto count = static_cast<std::size_t>(quantity(s[kind], fmt::format("{}.sample.{}", path, kind), knob_kind::count));
  if (count == 0 || count > 1'000'000) yaml_.fail(s[kind], path + ".sample", "allowed is 1 to a million points");
  const auto seed = s["seed"] ? static_cast<std::uint64_t>(quantity(s["seed"], path + ".sample.seed", knob_kind::count)) : 1;
  const YAML::Node over = n["over"];
  if (!over || !over.IsMap() || over.size() == 0)
    yaml_.fail(n, path + ".over", "a sample is taken over ranges of knobs; add 'over: {PATH: {from: A, to: B}}'");
  for (std::size_t i = 0; i < count; ++i) a.values.push_back({std::to_string(i + 1), static_cast<double>(i + 1), {}});
  for (const auto& entry : over) {
    const std::string knob = yaml_.scalar(entry.first, path + ".over");
    const std::string full = fmt::format("{}.over.{}", path, knob);
    if (!varied_.insert(knob).second) yaml_.fail(entry.first, full, fmt::format("{} is varied by two axes; remove one", knob));
    if (knob == "seed" || knob == "nodes" || knob == "testbench" || knob == "preset" || knob.ends_with(".preset"))
      yaml_.fail(entry.first, full, fmt::format("{} is no range to sample; give it an axis of its own", knob));
    random_stream random(seed, "study.sample." + knob);
    const std::vector<std::string> texts = sampled(knob, entry.second, full, drawn(count, latin, random));
    for (std::size_t i = 0; i < count; ++i) {
      check_value(knob, texts[i], yaml_.at(entry.second));
      a.values[i].settings.emplace_back(knob, texts[i]);
    }
  }
}

// Returns the values at these places of the knob's range, or of its list of values.
std::vector<std::string> axis_reader::sampled(const std::string& knob, const YAML::Node& n, const std::string& path,
                                              const std::vector<double>& places) const {
  std::vector<std::string> out;
  if (n.IsSequence()) {
    const std::vector<std::string> list = yaml_.list(n, path);
    if (list.empty()) yaml_.fail(n, path, "the list is empty; give it values");
    for (const double p : places) out.push_back(list[static_cast<std::size_t>(p * static_cast<double>(list.size()))]);
    return out;
  }
  yaml_.check_keys(n, path, {"from", "to", "log"});
  const knob_kind kind = base_.tree().first(knob, yaml_.at(n)).kind;
  if (kind == knob_kind::text || kind == knob_kind::path || kind == knob_kind::choice || kind == knob_kind::flag)
    yaml_.fail(n, path, fmt::format("{} has no order; list its values", knob));
  for (const char* key : {"from", "to"}) {
    if (!n[key]) yaml_.fail(n, path, fmt::format("'{}' is missing; write {{from: A, to: B}}", key));
  }
  const long double from = quantity(n["from"], path + ".from", kind);
  const long double to = quantity(n["to"], path + ".to", kind);
  const std::string log = n["log"] ? yaml_.scalar(n["log"], path + ".log") : "false";
  if (log != "true" && log != "false")
    yaml_.fail(n["log"], path + ".log", fmt::format("'{}' is not a flag; write true or false", log));
  const bool logarithmic = log == "true";
  if (to < from || (logarithmic && !(from > 0)))
    yaml_.fail(n, path, "the range is empty; 'to' must not be below 'from', and with log 'from' must be above 0");
  // Each whole number has an equal share of the range.
  const bool whole = kind == knob_kind::count || kind == knob_kind::bytes || kind == knob_kind::time;
  const long double end = whole ? to + 1 : to;
  for (const double p : places) {
    const long double v = logarithmic ? from * std::pow(end / from, static_cast<long double>(p)) : from + p * (end - from);
    out.push_back(format_quantity(kind, whole ? std::min(std::floor(v), to) : v));
  }
  return out;
}

}  // namespace hcasim
