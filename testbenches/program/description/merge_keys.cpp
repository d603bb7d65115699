#include "testbenches/program/description/merge_keys.h"

#include <set>
#include <utility>
#include <vector>

#include <yaml-cpp/yaml.h>

#include "testbenches/program/description/errors.h"

namespace hcasim {
namespace {

constexpr const char* merge_key = "<<";

class resolver {
 public:
  explicit resolver(const std::string& name) : name_(name) {}

  // Visits each node once, although aliases lead to it again; children come first, since a merge needs them resolved.
  void visit(const YAML::Node& node) {
    if (!node.IsMap() && !node.IsSequence()) return;
    if (!seen_.emplace(node.Mark().pos, node.IsMap()).second) return;
    for (const auto& entry : node) visit(node.IsMap() ? entry.second : static_cast<const YAML::Node&>(entry));
    if (node.IsMap()) merge(node);
  }

 private:
  [[noreturn]] void fail(const YAML::Node& n, const std::string& what) const {
    throw description_error({name_, n.Mark().line + 1, n.Mark().column + 1}, merge_key, what);
  }

  void merge(YAML::Node map) {
    std::vector<YAML::Node> merged;
    std::set<std::string> own;
    unsigned given = 0;
    for (const auto& entry : map) {
      if (!entry.first.IsScalar()) continue;
      own.insert(entry.first.Scalar());
      if (entry.first.Scalar() != merge_key) continue;
      if (++given > 1) fail(entry.first, "this key was given before; write one with a list: <<: [*a, *b]");
      take(entry.second, merged);
    }
    if (given == 0) return;
    map.remove(merge_key);
    for (const YAML::Node& from : merged) {
      for (const auto& entry : from) {
        if (++merged_ > most) fail(map, "merge keys make the description too large; remove some of them");
        if (!entry.first.IsScalar() || own.insert(entry.first.Scalar()).second) map.force_insert(entry.first, entry.second);
      }
    }
  }

  void take(const YAML::Node& from, std::vector<YAML::Node>& to) const {
    if (from.IsMap()) return to.push_back(from);
    if (!from.IsSequence()) fail(from, "a mapping is expected here (*name), or a list of them");
    for (const YAML::Node& one : from) {
      if (!one.IsMap()) fail(one, "a mapping is expected here (*name)");
      to.push_back(one);
    }
  }

  static constexpr std::size_t most = 200'000;

  const std::string& name_;
  std::size_t merged_ = 0;               // keys that were looked at
  std::set<std::pair<int, bool>> seen_;  // by where they stand; a mapping may begin where its list does
};

}  // namespace

void resolve_merge_keys(const YAML::Node& document, const std::string& name) {
  if (document.IsDefined()) resolver(name).visit(document);
}

}  // namespace hcasim
