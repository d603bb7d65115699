#include <iostream>
#include <set>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "testbenches/program/command_line/command.h"
#include "testbenches/program/description/errors.h"
#include "testbenches/program/description/names.h"
#include "testbenches/program/description/resolved.h"
#include "testbenches/program/execution/prepare.h"
#include "testbenches/program/results/report.h"

namespace hcasim {
namespace {

using nlohmann::ordered_json;

std::string_view word(knob_kind kind) {
  constexpr std::string_view words[] = {"count", "cycles", "time",   "bytes", "rate", "clock",
                                        "ratio", "flag",   "choice", "text",  "path"};
  return words[static_cast<std::size_t>(kind)];
}

struct listed_knob {
  std::string path;
  const knob_tree::leaf* leaf;
};

std::vector<listed_knob> matching(const knob_tree& tree, const std::string& pattern) {
  std::vector<listed_knob> out;
  std::set<std::string> seen;
  for (const auto& l : tree.leaves()) {
    std::string path = for_all_nodes(l.path);
    const bool wanted =
        pattern.empty() || glob_match(pattern, path) || glob_match(pattern, l.path) || glob_match("*" + pattern + "*", path);
    if (wanted && seen.insert(path).second) out.push_back({std::move(path), &l});
  }
  return out;
}

void print_knobs(const std::vector<listed_knob>& knobs, bool json) {
  if (json) {
    ordered_json list = ordered_json::array();
    for (const auto& k : knobs) {
      list.push_back({{"path", k.path},
                      {"kind", word(k.leaf->kind)},
                      {"default", k.leaf->text()},
                      {"range", k.leaf->range()},
                      {"help", k.leaf->help}});
    }
    std::cout << dump(list);
    return;
  }
  std::vector<std::vector<std::string>> rows{{"knob", "kind", "default", "range", "meaning"}};
  for (const auto& k : knobs) {
    rows.push_back({k.path, std::string(word(k.leaf->kind)), k.leaf->text(), k.leaf->range(), k.leaf->help});
  }
  std::cout << aligned(rows, std::vector<bool>(5, false), "");
}

std::unique_ptr<testbench> named_testbench(const std::string& name) {
  auto bench = testbench_registry::create(name);
  if (!bench) {
    const auto names = testbench_registry::names();
    throw input_error(fmt::format("there is no testbench '{}'; {}", name, suggestion(name, names, "testbenches")));
  }
  return bench;
}

void list_testbenches(const std::string& name, bool json) {
  if (!name.empty()) {
    const auto bench = named_testbench(name);
    const knob_tree tree([&](knob_visitor& v) { bench->knobs(v); });
    if (!json) std::cout << bench->name() << ": " << bench->summary() << "\n";
    if (json || !tree.leaves().empty()) print_knobs(matching(tree, ""), json);
    return;
  }
  ordered_json list = ordered_json::array();
  std::vector<std::vector<std::string>> rows;
  for (const std::string& n : testbench_registry::names()) {
    const auto bench = testbench_registry::create(n);
    list.push_back({{"name", n}, {"summary", bench->summary()}});
    rows.push_back({n, std::string(bench->summary())});
  }
  std::cout << (json ? dump(list) : aligned(rows, {false, false}, ""));
}

void list_knobs(platform_factory machine, const std::string& pattern, const std::string& bench_name, bool json) {
  const auto model = machine();
  const auto bench = bench_name.empty() ? nullptr : named_testbench(bench_name);
  if (bench && model->config()) bench->defaults(*model->config());
  series_options series;
  const knob_tree tree = make_tree(*model, bench.get(), &series);
  auto knobs = matching(tree, pattern);
  // Equal nodes are listed once, so node0.host is looked for as node*.host.
  if (knobs.empty()) knobs = matching(tree, for_all_nodes(pattern));
  if (knobs.empty()) {
    std::vector<std::string> names;
    for (const auto& k : matching(tree, "")) names.push_back(k.path);
    throw input_error(fmt::format("no knob matches '{}'; {}", pattern, suggestion(pattern, names, "knobs")));
  }
  print_knobs(knobs, json);
}

void list_faults(platform_factory machine, const std::string& pattern, bool json) {
  const auto model = machine();
  ordered_json list = ordered_json::array();
  std::vector<std::vector<std::string>> rows{{"where", "what", "meaning"}};
  std::vector<std::string> names;
  for (const fault_place& place : model->faults()) {
    for (const fault_kind& kind : place.kinds) {
      const std::string both = fmt::format("{} {}", place.where, kind.name);
      names.push_back(both);
      if (!glob_match("*" + pattern + "*", both)) continue;
      list.push_back({{"where", place.where}, {"what", kind.name}, {"meaning", kind.text}});
      rows.push_back({std::string(place.where), std::string(kind.name), std::string(kind.text)});
    }
  }
  if (list.empty() && !pattern.empty()) {
    throw input_error(fmt::format("no fault matches '{}'; {}", pattern, suggestion(pattern, names, "faults")));
  }
  std::cout << (json ? dump(list) : aligned(rows, {false, false, false}, ""));
}

class list_command final : public command {
 public:
  list_command() : command("list", "List the testbenches, or the parameters of one") {}

  void declare(CLI::App& options) override {
    options.add_option("testbench", name_, "Show this testbench's parameters");
    options.add_flag("--json", json_, "Print JSON");
  }
  int run(const context& /*c*/) override {
    list_testbenches(name_, json_);
    return run_passed;
  }

 private:
  std::string name_;
  bool json_ = false;
};

class params_command final : public command {
 public:
  params_command() : command("params", "List every knob with its unit, default, range and meaning") {}

  void declare(CLI::App& options) override {
    options.add_option("pattern", pattern_, "Only knobs whose path matches: mrc_cache, 'node*.pcie.*'");
    options.add_option("--testbench", testbench_, "Show this testbench's parameters and defaults as well");
    options.add_flag("--json", json_, "Print JSON");
  }
  int run(const context& c) override {
    list_knobs(c.machine, pattern_, testbench_, json_);
    return run_passed;
  }

 private:
  std::string pattern_;
  std::string testbench_;
  bool json_ = false;
};

class faults_command final : public command {
 public:
  faults_command() : command("faults", "List what can be made to fail, and how") {}

  void declare(CLI::App& options) override {
    options.add_option("pattern", pattern_, "Only those whose place or kind matches: pcie, cell_bit");
    options.add_flag("--json", json_, "Print JSON");
  }
  int run(const context& c) override {
    list_faults(c.machine, pattern_, json_);
    return run_passed;
  }

 private:
  std::string pattern_;
  bool json_ = false;
};

}  // namespace

void add_listing_commands(command_list& to) {
  to.push_back(std::make_unique<list_command>());
  to.push_back(std::make_unique<params_command>());
  to.push_back(std::make_unique<faults_command>());
}

}  // namespace hcasim
