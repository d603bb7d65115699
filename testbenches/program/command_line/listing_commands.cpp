#include <algorithm>
#include <cctype>
#include <deque>
#include <iostream>
#include <iterator>
#include <memory>
#include <set>
#include <sstream>

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

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

// Finds the knobs whose path or meaning has most of the words. Those with more words in their path come first, then short
// paths.
std::vector<listed_knob> about(const knob_tree& tree, const std::vector<std::string>& words) {
  struct hit {
    std::size_t words = 0;
    std::size_t in_path = 0;
    listed_knob knob;
  };
  std::vector<hit> hits;
  std::size_t most = 1;
  for (listed_knob& k : matching(tree, "")) {
    const std::string path = lower(k.path);
    const std::string meaning = lower(k.leaf->help);
    hit h{0, 0, std::move(k)};
    for (const std::string& word : words) {
      const bool named = path.find(lower(word)) != std::string::npos;
      if (named) ++h.in_path;
      if (named || meaning.find(lower(word)) != std::string::npos) ++h.words;
    }
    most = std::max(most, h.words);
    hits.push_back(std::move(h));
  }
  std::erase_if(hits, [&](const hit& h) { return h.words < most; });
  std::stable_sort(hits.begin(), hits.end(), [](const hit& a, const hit& b) {
    return std::pair(b.in_path, a.knob.path.size()) < std::pair(a.in_path, b.knob.path.size());
  });
  std::vector<listed_knob> out;
  for (hit& h : hits) out.push_back(std::move(h.knob));
  return out;
}

// How RTL is run: a third of all knobs.
bool is_plumbing(const std::string& path) {
  return path.find(".rtl.") != std::string::npos;
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

// The parameters of all testbenches. A listed knob points into them.
struct all_parameters {
  std::vector<std::unique_ptr<testbench>> benches;
  std::deque<knob_tree> trees;

  std::vector<listed_knob> about(const std::vector<std::string>& words) {
    std::vector<listed_knob> out;
    for (const std::string& n : testbench_registry::names()) {
      testbench& bench = *benches.emplace_back(testbench_registry::create(n));
      trees.emplace_back([&bench](knob_visitor& v) { bench.knobs(v); });
      for (const listed_knob& k : hcasim::about(trees.back(), words)) out.push_back({fmt::format("{}.{}", n, k.path), k.leaf});
    }
    return out;
  }
};

// Returns the words of arguments, of which one may hold several.
std::vector<std::string> words_of(const std::vector<std::string>& arguments) {
  std::istringstream all(fmt::format("{}", fmt::join(arguments, " ")));
  return {std::istream_iterator<std::string>(all), {}};
}

void list_knobs(platform_factory machine, const std::vector<std::string>& words, const std::string& bench_name, bool json) {
  const auto model = machine();
  const auto bench = bench_name.empty() ? nullptr : named_testbench(bench_name);
  if (bench && model->config()) bench->defaults(*model->config());
  series_options series;
  const knob_tree tree = make_tree(*model, bench.get(), &series);
  const std::string pattern = words.size() == 1 ? words.front() : "";
  std::vector<listed_knob> knobs;
  if (words.size() < 2) knobs = matching(tree, pattern);
  // Equal nodes are listed once, so node0.host is looked for as node*.host.
  if (knobs.empty() && !pattern.empty()) knobs = matching(tree, for_all_nodes(pattern));
  if (knobs.empty()) knobs = about(tree, words);
  all_parameters parameters;
  if (knobs.empty()) knobs = parameters.about(words);
  if (knobs.empty()) {
    std::vector<std::string> names;
    for (const auto& k : matching(tree, "")) names.push_back(k.path);
    const std::string wanted = fmt::format("{}", fmt::join(words, " "));
    throw input_error(fmt::format("no knob matches '{}'; {}", wanted, suggestion(wanted, names, "knobs")));
  }
  const std::size_t all = knobs.size();
  if (words.empty() && !json) std::erase_if(knobs, [](const listed_knob& k) { return is_plumbing(k.path); });
  print_knobs(knobs, json);
  if (knobs.size() != all) std::cout << fmt::format("{} knobs of RTL are left out: hcasim params .rtl.\n", all - knobs.size());
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
    options.add_option("words", words_,
                       "Only knobs whose path matches: mrc_cache, 'node*.pcie.*'; or with these words in path or meaning");
    options.add_option("--testbench", testbench_, "Show this testbench's parameters and defaults as well");
    options.add_flag("--json", json_, "Print JSON");
  }
  int run(const context& c) override {
    list_knobs(c.machine, words_of(words_), testbench_, json_);
    return run_passed;
  }

 private:
  std::vector<std::string> words_;
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
