#include "testbenches/program/study/formula_reader.h"

#include <algorithm>
#include <stdexcept>

#include "testbenches/program/description/quantity.h"
#include "testbenches/program/study/study.h"

namespace hcasim {
namespace {

bool has_numbers(const study_axis& a) {
  return std::all_of(a.values.begin(), a.values.end(), [](const axis_value& v) { return v.number.is_number(); });
}
bool is_quantity(knob_kind kind) {
  return kind != knob_kind::text && kind != knob_kind::path && kind != knob_kind::choice && kind != knob_kind::flag;
}

}  // namespace

formula_reader::formula_reader(const strict_yaml& yaml, const std::vector<study_axis>& axes, const knob_tree& tree)
    : yaml_(yaml), axes_(axes), tree_(tree) {
  for (const study_axis& a : axes) {
    if (has_numbers(a)) values_[a.name] = 1.0;
  }
}

void formula_reader::read(const YAML::Node& n, const std::string& path, metric& m) const {
  auto values = values_;
  for (const std::string& name : names_in(m.what)) {
    const auto axis = std::find_if(axes_.begin(), axes_.end(), [&](const study_axis& a) { return a.name == name; });
    if (axis != axes_.end() && !has_numbers(*axis))
      yaml_.fail(n, path,
                 fmt::format("'{}': the values of the axis {} are names, not numbers; name its knobs instead", m.what, name));
    if (name.find('.') == std::string::npos) continue;
    const knob_tree::leaf& l = tree_.first(name, yaml_.at(n));
    if (!is_quantity(l.kind)) yaml_.fail(n, path, fmt::format("'{}': {} is {}, no number", m.what, name, kind_name(l.kind)));
    m.knobs.emplace_back(name, l.kind);
    values[name] = 1.0;
  }
  try {
    evaluate(m.what, values);
  } catch (const std::runtime_error& e) {
    yaml_.fail(n, path, fmt::format("'{}': {}", m.what, e.what()));
  }
}

}  // namespace hcasim
