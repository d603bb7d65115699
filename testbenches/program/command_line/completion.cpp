#include "testbenches/program/command_line/completion.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <sstream>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "testbenches/program/command_line/manual.h"
#include "testbenches/program/description/knob_tree.h"
#include "testbenches/program/description/names.h"
#include "testbenches/program/execution/prepare.h"
#include "testbenches/program/execution/testbench.h"
#include "testbenches/program/recording/resources.h"
#include "testbenches/program/results/hierarchy.h"

namespace hcasim {
namespace {

using word_list = std::vector<std::string>;

std::string shell_quoted(const std::string& s) {
  std::string out = "'";
  for (const char c : s) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// Options that --help shows; the testbenches' own parameters are not among them.
// Returns the line's words without the quotes in front of them. The last one is empty when a blank ends the line.
word_list words_of_line(const std::string& line) {
  std::istringstream in(line);
  word_list out;
  for (std::string w; in >> w;) out.push_back(w.substr(std::min(w.find_first_not_of("'\""), w.size())));
  if (line.empty() || std::isspace(static_cast<unsigned char>(line.back())) != 0) out.emplace_back();
  return out;
}

word_list beginning_with(const word_list& all, const std::string& begin) {
  word_list out;
  std::copy_if(all.begin(), all.end(), std::back_inserter(out), [&](const std::string& w) { return w.starts_with(begin); });
  return out;
}

// Returns the paths with this begin, each up to the end of the part in hand.
word_list next_parts(const std::set<std::string>& paths, const std::string& begin) {
  std::set<std::string> out;
  for (const std::string& p : paths) {
    if (!p.starts_with(begin)) continue;
    const std::size_t dot = p.find('.', begin.size());
    out.insert(dot == std::string::npos ? p : p.substr(0, dot + 1));
  }
  return {out.begin(), out.end()};
}

word_list values_of(const knob_tree::leaf& l) {
  if (l.kind == knob_kind::flag) return {"true", "false"};
  return l.choices.empty() ? word_list{l.text()} : l.choices;
}

// Completes PATH=VALUE. The same knob of each node is there as node*'s, and as that of the node which the path names.
word_list knobs_after(const knob_tree& tree, const std::string& begin) {
  if (const std::size_t at = begin.find('='); at != std::string::npos) {
    const std::string path = begin.substr(0, at);
    for (const knob_tree::leaf& l : tree.leaves()) {
      if (!glob_match(path, l.path)) continue;
      word_list out = values_of(l);
      for (std::string& v : out) v.insert(0, path + "=");
      return beginning_with(out, begin);
    }
    return {};
  }
  std::set<std::string> paths;
  for (const knob_tree::leaf& l : tree.leaves()) {
    paths.insert(l.path + "=");
    paths.insert(for_all_nodes(l.path) + "=");
  }
  return next_parts(paths, begin);
}

std::string dashed(std::string name) {
  std::replace(name.begin(), name.end(), '_', '-');
  return "--" + name;
}

word_list parameter_options(const knob_tree& tree) {
  word_list out;
  for (const knob_tree::leaf& l : tree.leaves()) out.push_back(dashed(l.path));
  return out;
}

// Returns the signals of a machine, which is made to be asked.
std::set<std::string> signal_paths(platform_factory machine) {
  const auto model = machine();
  run_context run(*model, 1, {});
  try {
    model->build(run);
  } catch (const std::exception&) {
    return {};
  }
  std::set<std::string> out;
  for (const unit* u : all_units()) {
    for (const probe_entry& e : u->signals().all()) out.insert(fmt::format("{}.{}", short_name(u->name()), e.name));
  }
  return out;
}

word_list long_names(const CLI::App& app) {
  word_list names;
  for (const CLI::Option* o : shown_options(app)) {
    for (const std::string& n : o->get_lnames()) names.push_back("--" + n);
  }
  return names;
}

bool takes(const CLI::App& app, const std::string& option) {
  const word_list all = long_names(app);
  return std::find(all.begin(), all.end(), option) != all.end();
}

const CLI::App* command_named(const CLI::App& app, const std::string& name) {
  const auto all = app.get_subcommands({});
  const auto at = std::find_if(all.begin(), all.end(), [&](const CLI::App* c) { return c->get_name() == name; });
  return at == all.end() ? nullptr : *at;
}

}  // namespace

word_list completions(const CLI::App& app, platform_factory machine, const std::string& line) {
  const word_list all = words_of_line(line);
  if (all.size() < 2) return {};
  const std::string& last = all.back();
  if (all.size() == 2) {
    word_list out{"--help", "--version"};
    for (const CLI::App* c : app.get_subcommands({})) out.push_back(c->get_name());
    return beginning_with(out, last);
  }
  const CLI::App* const command = command_named(app, all[1]);
  if (!command) return {};
  const std::string& before = all[all.size() - 2];
  const bool runs = takes(*command, "--set");
  const auto bench = runs && all.size() > 3 ? testbench_registry::create(all[2]) : nullptr;
  const auto model = machine();
  if (bench && model->config()) bench->defaults(*model->config());
  series_options series;
  const knob_tree tree = make_tree(*model, bench.get(), &series);
  if (runs && before == "--set") return knobs_after(tree, last);
  if (all[1] == "params" && !last.starts_with("-")) {
    word_list paths = knobs_after(tree, last);
    for (std::string& p : paths) p = p.substr(0, p.find('='));
    return paths;
  }
  if (before == "--trace" && takes(*command, "--trace")) return next_parts(signal_paths(machine), last);
  word_list out = long_names(*command);
  if (bench) {
    const knob_tree own([&](knob_visitor& v) { bench->knobs(v); });
    for (const knob_tree::leaf& l : own.leaves()) {
      if (before == dashed(l.path)) return beginning_with(values_of(l), last);
    }
    for (const std::string& p : parameter_options(own)) out.push_back(p);
  }
  if (all.size() == 3 && (all[1] == "run" || all[1] == "list")) {
    for (const std::string& n : testbench_registry::names()) out.push_back(n);
  }
  return beginning_with(out, last);
}

std::string completion_script(const CLI::App& app, const std::string& shell) {
  std::string out;
  if (shell == "fish") {
    for (const CLI::App* c : app.get_subcommands({})) {
      out += fmt::format("complete -c hcasim -n __fish_use_subcommand -f -a {} -d {}\n", c->get_name(),
                         shell_quoted(c->get_description()));
      for (const CLI::Option* o : shown_options(*c)) {
        for (const std::string& n : o->get_lnames()) {
          out += fmt::format("complete -c hcasim -n '__fish_seen_subcommand_from {}' -l {} -d {}\n", c->get_name(), n,
                             shell_quoted(o->get_description()));
        }
      }
    }
    return out + "complete -c hcasim -a '(hcasim completion fish --line (commandline -cp))'\n";
  }
  // Bash takes '=' for the begin of a word.
  out = R"sh(_hcasim() {
  local line=${COMP_LINE:0:$COMP_POINT} current word
  current=${line##*[[:space:]]}
  COMPREPLY=()
  while IFS= read -r word; do
    if [[ $current == [^\'\"]*=* ]]; then word=${word#"${current%%=*}="}; fi
    COMPREPLY+=("$word")
  done < <(hcasim completion bash --line "$line" 2>/dev/null)
  if [[ ${word-} == *[.=] || ${COMPREPLY[0]-} == *[.=] ]]; then compopt -o nospace 2>/dev/null; fi
}
complete -o default -F _hcasim hcasim
)sh";
  return shell == "zsh" ? "autoload -U +X bashcompinit && bashcompinit\n" + out : out;
}

}  // namespace hcasim
