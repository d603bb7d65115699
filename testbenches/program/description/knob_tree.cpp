#include "testbenches/program/description/knob_tree.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <numeric>

#include "testbenches/program/description/names.h"
#include "testbenches/program/description/quantity.h"

namespace hcasim {

class knob_tree::builder : public knob_visitor {
 public:
  explicit builder(knob_tree& t) : tree_(t) {}

  void visit(knob k) override {
    std::string path = prefix();
    path += k.name;
    const std::size_t n = child(k.name);
    if (tree_.nodes_[n].leaf >= 0 || !tree_.nodes_[n].children.empty()) throw std::logic_error("two knobs named " + path);
    tree_.nodes_[n].leaf = static_cast<int>(tree_.leaves_.size());
    tree_.nodes_[n].help = k.help;
    std::vector<std::string> choices(k.choices.begin(), k.choices.end());
    tree_.leaves_.push_back(
        {std::move(path), k.kind, std::move(k.value), k.min, k.max, std::string(k.help), std::move(choices)});
  }
  void enter(std::string_view name, std::string_view help) override {
    const std::size_t n = child(name);
    if (tree_.nodes_[n].help.empty()) tree_.nodes_[n].help = help;
    stack_.push_back(n);
  }
  void leave() override { stack_.pop_back(); }

 private:
  std::size_t child(std::string_view name) {
    const std::size_t parent = stack_.empty() ? 0 : stack_.back();
    for (const std::size_t c : tree_.nodes_[parent].children) {
      if (tree_.nodes_[c].name == name) return c;
    }
    tree_.nodes_[parent].children.push_back(tree_.nodes_.size());
    tree_.nodes_.push_back({std::string(name), "", -1, {}});
    return tree_.nodes_.size() - 1;
  }
  [[nodiscard]] std::string prefix() const {
    std::string path;
    for (const std::size_t n : stack_) path += tree_.nodes_[n].name + ".";
    return path;
  }

  knob_tree& tree_;
  std::vector<std::size_t> stack_;
};

namespace {

// The value in the base unit of its kind.
long double value_of(const knob::target& t) {
  struct reader {
    long double operator()(const std::uint32_t* v) const { return *v; }
    long double operator()(const std::uint64_t* v) const { return static_cast<long double>(*v); }
    long double operator()(const double* v) const { return *v; }
    long double operator()(const ps* v) const { return static_cast<long double>(v->count()); }
    long double operator()(const bit_rate* v) const { return v->bits_per_second; }
    long double operator()(const frequency* v) const { return v->hertz; }
    long double operator()(const bool* v) const { return *v ? 1 : 0; }
    long double operator()(const std::string*) const { return 0; }
    long double operator()(const knob::selection& s) const { return static_cast<long double>(s.get()); }
  };
  return std::visit(reader{}, t);
}

void store(const knob::target& t, long double v) {
  struct writer {
    long double v;
    void operator()(std::uint32_t* p) const { *p = static_cast<std::uint32_t>(v); }
    void operator()(std::uint64_t* p) const { *p = static_cast<std::uint64_t>(v); }
    void operator()(double* p) const { *p = static_cast<double>(v); }
    void operator()(ps* p) const { *p = ps(static_cast<std::int64_t>(v)); }
    void operator()(bit_rate* p) const { p->bits_per_second = static_cast<double>(v); }
    void operator()(frequency* p) const { p->hertz = static_cast<double>(v); }
    void operator()(bool* p) const { *p = v != 0; }
    void operator()(std::string*) const {}
    void operator()(const knob::selection& s) const { s.set(static_cast<std::size_t>(v)); }
  };
  std::visit(writer{v}, t);
}

// Returns the largest value of the member, whatever the knob's range says.
long double capacity(const knob::target& t) {
  if (std::holds_alternative<std::uint32_t*>(t)) return std::numeric_limits<std::uint32_t>::max();
  if (std::holds_alternative<std::uint64_t*>(t)) return static_cast<long double>(std::numeric_limits<std::uint64_t>::max());
  if (std::holds_alternative<ps*>(t)) return static_cast<long double>(never.count());
  return std::numeric_limits<long double>::max();
}

bool is_file_path(std::string_view text) {
  return text.find('/') != std::string_view::npos || text.ends_with(".so");
}

// A relative path in a file means: relative to that file. Absolute from here on, so that a result can be run again.
std::string located(std::string_view text, const place& where) {
  if (!is_file_path(text)) return std::string(text);
  const std::filesystem::path base = where.line ? std::filesystem::path(where.source).parent_path() : "";
  return std::filesystem::absolute(base / text).lexically_normal().string();
}

std::string join(const std::vector<std::string>& list) {
  std::string out;
  for (const std::string& s : list) out += (out.empty() ? "" : ", ") + s;
  return out;
}

}  // namespace

std::string knob_tree::leaf::text() const {
  switch (kind) {
    case knob_kind::text:
    case knob_kind::path:
      return *std::get<std::string*>(value);
    case knob_kind::flag:
      return *std::get<bool*>(value) ? "true" : "false";
    case knob_kind::choice:
      return choices.at(std::get<knob::selection>(value).get());
    default:
      return format_quantity(kind, value_of(value));
  }
}

std::string knob_tree::leaf::range() const {
  switch (kind) {
    case knob_kind::text:
      return "";
    case knob_kind::flag:
      return "true or false";
    case knob_kind::choice:
      return join(choices);
    case knob_kind::path:
      return join(choices) + " or a path";
    default:
      return fmt::format("{} to {}", format_quantity(kind, min),
                         format_quantity(kind, std::min<long double>(max, capacity(value))));
  }
}

void knob_tree::leaf::assign(std::string_view text) const {
  switch (kind) {
    case knob_kind::text:
      *std::get<std::string*>(value) = text;
      return;
    case knob_kind::flag:
      *std::get<bool*>(value) = parse_flag(text);
      return;
    case knob_kind::path:
      if (!choices.empty() && !is_file_path(text) && std::find(choices.begin(), choices.end(), text) == choices.end()) {
        throw quantity_error(fmt::format("'{}' is not one of {}, and no path; {}, or write ./{}", text, join(choices),
                                         suggestion(text, choices, "valid names"), text));
      }
      *std::get<std::string*>(value) = text;
      return;
    case knob_kind::choice: {
      const auto it = std::find(choices.begin(), choices.end(), text);
      if (it == choices.end()) {
        throw quantity_error(
            fmt::format("'{}' is not one of {}; {}", text, join(choices), suggestion(text, choices, "valid names")));
      }
      std::get<knob::selection>(value).set(static_cast<std::size_t>(it - choices.begin()));
      return;
    }
    default: {
      const long double written = parse_quantity(kind, text);
      // The value in the knob's type: 0.95 in a text is not quite the double at the end of the range.
      const long double v = std::holds_alternative<double*>(value) ? static_cast<double>(written) : written;
      if (v < static_cast<long double>(min) || v > static_cast<long double>(max) || v > capacity(value)) {
        throw quantity_error(fmt::format("{} is out of range; allowed is {}", text, range()));
      }
      store(value, v);
    }
  }
}

knob_tree::knob_tree(visit_function visit) : visit_(std::move(visit)) {
  rebuild();
}

void knob_tree::rebuild() {
  nodes_.assign(1, node{});
  leaves_.clear();
  builder all(*this);
  visit_(all);
  by_path_.resize(leaves_.size());
  std::iota(by_path_.begin(), by_path_.end(), std::size_t{0});
  std::stable_sort(by_path_.begin(), by_path_.end(),
                   [&](std::size_t a, std::size_t b) { return leaves_[a].path < leaves_[b].path; });
}

std::vector<std::string> knob_tree::child_names(std::size_t index) const {
  std::vector<std::string> names;
  for (const std::size_t c : nodes_[index].children) names.push_back(nodes_[c].name);
  return names;
}

// Returns the groups below `index` that have the key, node* for all nodes; empty = none has.
std::string knob_tree::group_with(std::string_view key, std::size_t index) const {
  std::vector<std::string> groups;
  for (const std::size_t c : nodes_[index].children) {
    const auto& below = nodes_[c].children;
    if (std::any_of(below.begin(), below.end(), [&](std::size_t n) { return nodes_[n].name == key; }))
      groups.push_back(nodes_[c].name);
  }
  if (groups.size() < 2) return groups.empty() ? "" : groups[0];
  const std::string stem = groups[0].substr(0, groups[0].find_last_not_of("0123456789") + 1);
  const bool numbered = std::all_of(groups.begin(), groups.end(), [&](const auto& g) { return g.starts_with(stem); });
  return numbered ? stem + "*" : groups[0];
}

// Returns the one path, for all nodes, that ends in the pattern; empty = there is none, or are several.
std::string knob_tree::only_path_ending_in(std::string_view pattern) const {
  const std::string end = fmt::format(".{}", pattern);
  std::string found;
  for (const leaf& l : leaves_) {
    const std::string path = for_all_nodes(l.path);
    if (!path.ends_with(end) || path == found) continue;
    if (!found.empty()) return "";
    found = path;
  }
  return found;
}

std::vector<std::size_t> knob_tree::match(std::string_view pattern, bool group, const place& where) const {
  std::vector<std::size_t> found{0};
  std::string path;
  const std::vector<std::string> segments = split(pattern, '.');
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const std::string& segment = segments[i];
    const bool want_group = group || i + 1 < segments.size();
    std::vector<std::size_t> next;
    for (const std::size_t n : found) {
      for (const std::size_t c : nodes_[n].children) {
        // A wildcard takes only the wanted kind: `node*.hca` does not mean the knob `nodes`.
        const bool fits = !has_wildcard(segment) || (nodes_[c].leaf < 0) == want_group;
        if (fits && glob_match(segment, nodes_[c].name)) next.push_back(c);
      }
    }
    if (next.empty()) {
      if (nodes_[found[0]].leaf >= 0) {
        throw description_error(where, path, "one value is expected here, not a group of settings");
      }
      const std::string key = path.empty() ? segment : fmt::format("{}.{}", path, segment);
      const std::string group_of = group_with(segment, found[0]);
      if (const std::string longer = i == 0 && group_of.empty() ? only_path_ending_in(pattern) : ""; !longer.empty())
        throw description_error(where, key, fmt::format("unknown key '{}'; did you mean '{}'?", segment, longer));
      throw description_error(where, key,
                              fmt::format("unknown key '{}'; {}", segment,
                                          group_of.empty() ? suggestion(segment, child_names(found[0]), "keys here")
                                                           : fmt::format("did you mean '{}.{}'?", group_of, segment)));
    }
    if (!path.empty()) path += '.';
    path += segment;
    found = std::move(next);
  }
  return found;
}

const knob_tree::leaf& knob_tree::first(std::string_view pattern, const place& where) const {
  const std::size_t n = match(pattern, false, where).front();
  if (nodes_[n].leaf < 0) {
    const auto names = child_names(n);
    throw description_error(where, std::string(pattern),
                            fmt::format("a knob is expected here, not a group of settings; name one of {}", join(names)));
  }
  return leaves_[static_cast<std::size_t>(nodes_[n].leaf)];
}

void knob_tree::set(std::string_view pattern, std::string_view text, const place& where) {
  for (const std::size_t n : match(pattern, false, where)) {
    if (nodes_[n].leaf < 0) {
      const auto names = child_names(n);
      throw description_error(
          where, std::string(pattern),
          fmt::format("a group of settings is expected here, not the value '{}'; set one of {}", text, join(names)));
    }
    try {
      const leaf& l = leaves_[static_cast<std::size_t>(nodes_[n].leaf)];
      l.assign(l.kind == knob_kind::path ? located(text, where) : std::string(text));
    } catch (const quantity_error& e) {
      throw description_error(where, leaves_[static_cast<std::size_t>(nodes_[n].leaf)].path, e.what());
    }
  }
}

void knob_tree::expect_group(std::string_view pattern, const place& where) const {
  for (const std::size_t n : match(pattern, true, where)) {
    if (nodes_[n].leaf < 0) continue;
    const leaf& l = leaves_[static_cast<std::size_t>(nodes_[n].leaf)];
    throw description_error(where, l.path,
                            fmt::format("one value is expected here, not a group of settings; write for example '{}: {}'",
                                        nodes_[n].name, l.text()));
  }
}

const knob_tree::leaf* knob_tree::find(std::string_view path) const {
  const auto at = std::lower_bound(by_path_.begin(), by_path_.end(), path,
                                   [&](std::size_t i, std::string_view wanted) { return leaves_[i].path < wanted; });
  return at != by_path_.end() && leaves_[*at].path == path ? &leaves_[*at] : nullptr;
}

}  // namespace hcasim
