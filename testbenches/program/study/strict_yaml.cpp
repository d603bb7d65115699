#include "testbenches/program/study/strict_yaml.h"

#include <algorithm>
#include <cctype>

#include "testbenches/program/description/names.h"

namespace hcasim {
namespace {

bool is_name(const std::string& s) {
  return !s.empty() &&
         std::all_of(s.begin(), s.end(), [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }) &&
         !std::isdigit(static_cast<unsigned char>(s[0]));
}

}  // namespace

place strict_yaml::at(const YAML::Node& n) const {
  const YAML::Mark m = n.Mark();
  return m.is_null() ? place{file_.string(), 0, 0} : place{file_.string(), m.line + 1, m.column + 1};
}
void strict_yaml::fail(const YAML::Node& n, const std::string& key, const std::string& message) const {
  throw description_error(at(n), key, message);
}
std::string strict_yaml::scalar(const YAML::Node& n, const std::string& key) const {
  if (!n.IsScalar()) fail(n, key, "one value is expected here");
  return n.Scalar();
}
void strict_yaml::check_keys(const YAML::Node& map, const std::string& path, const std::vector<std::string>& valid) const {
  if (!map.IsMap()) fail(map, path, fmt::format("'name: value' lines are expected here; keys are {}", fmt::join(valid, ", ")));
  std::set<std::string> seen;
  for (const auto& entry : map) {
    const std::string key = entry.first.IsScalar() ? entry.first.Scalar() : "";
    const std::string full = path.empty() ? key : fmt::format("{}.{}", path, key);
    if (std::find(valid.begin(), valid.end(), key) == valid.end()) {
      fail(entry.first, full, fmt::format("unknown key '{}'; {}", key, suggestion(key, valid, "keys here")));
    }
    if (!seen.insert(key).second) fail(entry.first, full, "this key was given before; remove one of them");
  }
}
void strict_yaml::check_name(const YAML::Node& n, const std::string& path, const std::string& name,
                             std::set<std::string>& seen) const {
  if (!is_name(name)) fail(n, path, fmt::format("'{}' is not a name; use letters, digits and '_'", name));
  if (!seen.insert(name).second) fail(n, path, "this name was given before; choose another");
}

std::vector<std::string> strict_yaml::list(const YAML::Node& n, const std::string& path) const {
  if (!n.IsSequence()) fail(n, path, "a list is expected here: [a, b, c]");
  std::vector<std::string> out_list;
  for (const auto& v : n) out_list.push_back(scalar(v, path));
  return out_list;
}
}  // namespace hcasim
