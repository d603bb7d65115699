#include "testbenches/program/validation/fit_plan.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "testbenches/program/description/describe.h"

namespace hcasim {
namespace {

bool named(const std::vector<series_choice>& choices, const std::string& experiment, const std::string& series) {
  return std::any_of(choices.begin(), choices.end(), [&](const series_choice& c) { return c.has(experiment, series); });
}

}  // namespace

bool in_data(const series_choice& c, const std::vector<compared_experiment>& data) {
  return std::any_of(data.begin(), data.end(), [&](const compared_experiment& e) {
    return std::any_of(e.series.begin(), e.series.end(), [&](const compared_series& s) { return c.has(e.of->name(), s.name); });
  });
}

series_choice choice_of(const std::string& text) {
  const std::size_t colon = text.find(':');
  const std::size_t begin = colon == std::string::npos ? colon : text.find_first_not_of(' ', colon + 1);
  series_choice c{text.substr(0, colon), begin == std::string::npos ? "" : text.substr(begin)};
  c.pattern = std::regex(c.text);
  return c;
}

std::string fitted_knob::text(double value) const {
  const std::string number = range.step > 0 ? short_number(value) : fmt::format("{:.4g}", value);
  return unit.empty() ? number : number + " " + unit;
}

bool fit_block::has(const std::string& experiment, const std::string& series) const {
  return named(to, experiment, series);
}

std::string fit_block::experiments() const {
  std::set<std::string> names;
  for (const series_choice& c : to) names.insert(c.experiment);
  return fmt::format("{}", fmt::join(names, ", "));
}

knob_values fit_block::values(const search_point& p) const {
  knob_values out;
  for (std::size_t i = 0; i < knobs.size(); ++i) out[knobs[i].path] = knobs[i].text(p[i]);
  return out;
}

fit_plan::fit_plan(const std::filesystem::path& file) : yaml_(file) {
  const YAML::Node root = read_yaml(file);
  if (!root.IsDefined() || !root.IsMap())
    throw description_error({file.string(), 0, 0}, "", "a fit is made of 'name: value' lines: preset, blocks");
  yaml_.check_keys(root, "", {"preset", "seed", "evaluations", "blocks", "leave_out"});
  const auto whole = [&](const char* key, std::uint64_t& to) {
    if (!root[key]) return;
    try {
      to = root[key].as<std::uint64_t>();
    } catch (const YAML::Exception&) {
      yaml_.fail(root[key], key, "a whole number is expected here");
    }
  };
  whole("seed", seed_);
  whole("evaluations", evaluations_);
  if (!root["preset"]) yaml_.fail(root, "preset", "whose constants? add 'preset: NAME'");
  preset_ = yaml_.scalar(root["preset"], "preset");
  if (!root["blocks"] || !root["blocks"].IsSequence() || root["blocks"].size() == 0)
    yaml_.fail(root, "blocks", "nothing is fitted; add a list: - {block: NAME, knobs: {...}, to: [V01]}");
  for (const auto& b : root["blocks"]) read_block(b);
  if (root["leave_out"]) left_out_ = read_choices(root["leave_out"], "leave_out");
}

void fit_plan::read_block(const YAML::Node& n) {
  yaml_.check_keys(n, "blocks", {"block", "knobs", "to"});
  if (!n["block"]) yaml_.fail(n, "blocks.block", "the block has no name; add 'block: NAME'");
  if (!n["knobs"] || !n["knobs"].IsMap() || n["knobs"].size() == 0)
    yaml_.fail(n, "blocks.knobs", "which knobs? add 'knobs: {PATH: {from: X, to: Y}}'");
  if (!n["to"]) yaml_.fail(n, "blocks.to", "fitted to what? add 'to: [V01]'");
  fit_block b{.name = yaml_.scalar(n["block"], "blocks.block"), .knobs = {}, .to = read_choices(n["to"], "blocks.to")};
  for (const auto& k : n["knobs"]) {
    const std::string path = k.first.Scalar();
    for (const fit_block& before : blocks_) {
      for (const fitted_knob& other : before.knobs) {
        if (other.path == path)
          yaml_.fail(k.first, "blocks.knobs",
                     fmt::format("'{}' is already fitted in the block '{}', and frozen; leave one out", path, before.name));
      }
    }
    b.knobs.push_back(read_knob(path, k.second));
  }
  blocks_.push_back(std::move(b));
}

fitted_knob fit_plan::read_knob(const std::string& path, const YAML::Node& n) const {
  const std::string key = fmt::format("blocks.knobs.{}", path);
  if (!n.IsMap()) yaml_.fail(n, key, "a range is expected here: {from: X, to: Y, unit: cycles}");
  yaml_.check_keys(n, key, {"from", "to", "step", "unit", "scale", "begin"});
  const auto number = [&](const char* name, std::optional<double> otherwise) {
    if (!n[name] && otherwise) return *otherwise;
    if (!n[name]) yaml_.fail(n, key, fmt::format("the range has no end '{}'; add '{}: X'", name, name));
    try {
      return n[name].as<double>();
    } catch (const YAML::Exception&) {
      yaml_.fail(n[name], fmt::format("{}.{}", key, name), "a number is expected here; the unit stands in 'unit'");
    }
  };
  fitted_knob k{.path = path, .unit = n["unit"] ? yaml_.scalar(n["unit"], key) : "", .range = {}};
  k.range.from = number("from", std::nullopt);
  k.range.to = number("to", std::nullopt);
  k.range.step = number("step", 0);
  const std::string scale = n["scale"] ? yaml_.scalar(n["scale"], key) : "linear";
  if (scale != "linear" && scale != "log") yaml_.fail(n["scale"], key, "linear or log is expected here");
  k.range.logarithmic = scale == "log";
  if (!(k.range.from < k.range.to)) yaml_.fail(n, key, "'from' is not below 'to'; exchange them");
  if (k.range.logarithmic && !(k.range.from > 0)) yaml_.fail(n, key, "a range with 'scale: log' begins above 0");
  if (k.range.step < 0) yaml_.fail(n, key, "a step is above 0");
  const double begin = number("begin", k.range.value_at(0.5));
  if (begin < k.range.from || begin > k.range.to) yaml_.fail(n, key, "'begin' is outside of the range");
  k.begin = k.range.value_at(k.range.place_of(begin));
  return k;
}

std::vector<series_choice> fit_plan::read_choices(const YAML::Node& n, const std::string& key) const {
  std::vector<series_choice> out;
  for (const std::string& text : yaml_.list(n, key)) {
    try {
      out.push_back(choice_of(text));
    } catch (const std::regex_error& e) {
      yaml_.fail(n, key,
                 fmt::format("'{}' is no regular expression ({}); a part of the series' name is enough", text, e.what()));
    }
  }
  return out;
}

std::size_t fit_plan::constants() const {
  std::size_t n = 0;
  for (const fit_block& b : blocks_) n += b.knobs.size();
  return n;
}

void fit_plan::check(const std::vector<compared_experiment>& data) const {
  std::size_t series = 0;
  for (const compared_experiment& e : data) {
    for (const compared_series& s : e.series) {
      if (std::any_of(blocks_.begin(), blocks_.end(), [&](const fit_block& b) { return b.has(e.of->name(), s.name); }))
        ++series;
    }
  }
  const auto must_be_there = [&](const std::vector<series_choice>& choices) {
    for (const series_choice& c : choices) {
      if (!in_data(c, data))
        throw description_error({file().string(), 0, 0}, "",
                                fmt::format("the data has no series '{}' of {}; correct its name", c.text, c.experiment));
    }
  };
  for (const fit_block& b : blocks_) must_be_there(b.to);
  must_be_there(left_out_);
  if (constants() > series)
    throw description_error(
        {file().string(), 0, 0}, "",
        fmt::format("{} constants are more than the {} series that they are fitted to; leave some out", constants(), series));
}

}  // namespace hcasim
