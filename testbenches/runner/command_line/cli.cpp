#include "testbenches/runner/command_line/cli.h"
#include "testbenches/places/places.h"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <set>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "testbenches/runner/command_line/compare.h"
#include "testbenches/runner/command_line/convert.h"
#include "testbenches/runner/command_line/exec.h"
#include "testbenches/runner/command_line/manual.h"
#include "testbenches/runner/command_line/run.h"
#include "testbenches/runner/description/names.h"
#include "testbenches/runner/description/quantity.h"
#include "testbenches/runner/description/resolved.h"
#include "testbenches/runner/execution/interrupt.h"
#include "testbenches/runner/execution/prepare.h"
#include "testbenches/runner/report/show.h"
#include "testbenches/runner/results/report.h"
#include "testbenches/runner/study/sweep.h"

namespace hcasim {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

std::string_view word(knob_kind kind) {
  constexpr std::string_view words[] = {"count", "cycles", "time", "bytes", "rate", "clock", "ratio", "flag", "choice", "text"};
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

void read_window(const std::string& from, const std::string& until, ps& begin, ps& end) {
  const auto time = [](const char* option, const std::string& text, ps otherwise) {
    try {
      return text.empty() ? otherwise : ps(static_cast<std::int64_t>(parse_quantity(knob_kind::time, text)));
    } catch (const quantity_error& e) {
      throw input_error(fmt::format("{}: {}", option, e.what()));
    }
  };
  begin = time("--from", from, ps(0));
  end = time("--until", until, never);
  if (end <= begin) throw input_error("--until: not after --from, so nothing would be recorded");
}

// Options of `hcasim run` and, so that --NAME VALUE works, the parameters of all testbenches.
struct run_arguments {
  run_options options;
  std::string folder;
  std::string seed;
  std::string wave_limit = "1 GiB";
  std::string waves = "vcd";
  bool no_trace = false;
  std::string from;
  std::string until;
  std::string what_if;
  std::map<std::string, std::string> own;

  void declare(CLI::App& run) {
    run.add_option("testbench", options.what, "A testbench (see 'hcasim list') or a description file (.yaml)")
        ->required()
        ->type_name("TESTBENCH|FILE.yaml");
    declare_options(run);
  }

  void declare_options(CLI::App& run) {
    run.add_option("-o,--output", folder, "Folder for the results; the default is build/traces/TESTBENCH")->type_name("DIR");
    run.add_option("--set", options.set,
                   "Set a knob: --set node0.hca.mrc_cache.ways=8; node*.hca.clock=1GHz sets it for all nodes; may be repeated")
        ->type_name("PATH=VALUE")
        ->allow_extra_args(false);
    run.add_option("--param", options.parameters, "Set a parameter of the testbench; --NAME VALUE does the same")
        ->type_name("NAME=VALUE")
        ->allow_extra_args(false);
    run.add_option("--seed", seed, "Seed of all random streams; the default is 1")->type_name("N");
    run.add_option("--point", options.point, "Of a study: run this one of its points, 1, 2, ...")->type_name("N");
    run.add_option("--trace", options.trace, "Record only signals whose name matches, '*.key_check.*'; may be repeated")
        ->type_name("PATTERN")
        ->allow_extra_args(false);
    run.add_option("--waves", waves, "Format of the waveform: vcd, fst (compressed) or none")
        ->type_name("FORMAT")
        ->check(CLI::IsMember({"vcd", "fst", "none"}))
        ->capture_default_str();
    run.add_flag("--no-trace", no_trace, "Write no waveform, as --waves none");
    run.add_option("--trace-limit", wave_limit, "Stop the waveform at this size; 0 B: no limit")
        ->type_name("SIZE")
        ->capture_default_str();
    run.add_option("--packets", options.packets,
                   "Record every packet for Wireshark: ib (InfiniBand) or roce (RoCEv2); may be repeated")
        ->type_name("FORM")
        ->check(CLI::IsMember({"ib", "roce"}))
        ->allow_extra_args(false);
    run.add_flag("--spans", options.spans, "Record each request's way through the units for ui.perfetto.dev");
    run.add_option("--record-stream", options.record_stream,
                   "Record what passes a unit's boundary for 'hcasim run lockstep --stream FILE': node0.hca.key_check=FILE")
        ->type_name("UNIT=FILE");
    run.add_option("--from", from, "Record waveforms and spans from this simulated time on")->type_name("TIME");
    run.add_option("--until", until, "Record waveforms and spans until this simulated time")->type_name("TIME");
    run.add_flag("--explain", options.explain, "Say where the time of an operation went and how busy each resource was");
    run.add_option("--what-if", what_if,
                   "Find what binds: run again with one resource after the other relieved (twice the count, size or rate, half "
                   "the time), and print the gain of each; with a pattern, only such knobs: 'page_walker', '*' for all")
        ->type_name("[PATTERN]")
        ->expected(0, 1);
    run.add_flag("--force", options.force, "Replace an earlier result in the folder given with -o");
    run.add_flag("--json", options.json, "Print result.json instead of the table");
    std::set<std::string> taken{"output", "set",   "param", "seed",    "trace",   "no-trace", "trace-limit",
                                "force",  "json",  "help",  "point",   "packets", "spans",    "record-stream",
                                "from",   "until", "waves", "explain", "what-if"};
    for (const std::string& n : testbench_registry::names()) {
      const auto bench = testbench_registry::create(n);
      const knob_tree tree([&](knob_visitor& v) { bench->knobs(v); });
      for (const auto& l : tree.leaves()) {
        std::string dashed = l.path;
        std::replace(dashed.begin(), dashed.end(), '_', '-');
        if (!taken.insert(l.path).second || taken.contains(dashed) != (dashed == l.path)) continue;
        taken.insert(dashed);
        run.add_option(dashed == l.path ? "--" + dashed : "--" + dashed + ",--" + l.path, own[l.path])->group("");
      }
    }
  }

  run_options finish(const CLI::App& run) {
    if (!folder.empty()) options.folder = folder;
    if (run.count("--output") && folder.empty()) throw input_error("-o: the folder has no name; write -o DIR");
    if (run.count("--seed")) options.seed = seed;
    if (run.count("--what-if")) options.what_if = what_if;
    for (const auto& [name, value] : own) {
      if (run.count("--" + name)) options.own.emplace_back(name, value);
    }
    if (waves == "fst") options.waves = wave_format::fst;
    if (waves == "none" || no_trace) options.waves.reset();
    read_window(from, until, options.from, options.until);
    try {
      options.wave_limit = static_cast<std::uint64_t>(parse_quantity(knob_kind::bytes, wave_limit));
    } catch (const quantity_error& e) {
      throw input_error(fmt::format("--trace-limit: {}", e.what()));
    }
    return options;
  }
};

struct sweep_arguments {
  sweep_options options;
  std::string file;
  std::string folder;
  std::string time_limit;
  std::string executor = "local";
  std::string slurm_task;

  void declare(CLI::App& sweep) {
    sweep.add_option("study", file, "The study: a base, axes and metrics")->required()->type_name("STUDY.yaml");
    sweep.add_option("-o,--output", folder, "Folder for the results")->type_name("DIR");
    sweep
        .add_option("-j,--jobs", options.jobs,
                    "Points that run at once; the default is one per core. With --executor slurm: tasks at once, as many as "
                    "Slurm likes")
        ->type_name("N")
        ->check(CLI::Range(1U, 4096U));
    sweep.add_flag("--resume", options.resume, "Go on with what the folder holds: only points that are missing are run");
    sweep.add_flag("--retry", options.retry, "With --resume: run again what did not pass");
    sweep.add_option("--time-limit", time_limit, "Stop a point that takes longer (wall-clock time); it counts as failed")
        ->type_name("TIME");
    sweep.add_option("--executor", executor, "Where the points run: local (processes here) or slurm (an array job)")
        ->type_name("NAME")
        ->check(CLI::IsMember({"local", "slurm"}))
        ->capture_default_str();
    sweep
        .add_option("--sbatch", options.job.sbatch,
                    "With --executor slurm: hand an option on to sbatch: --sbatch=--partition=long --sbatch=--requeue")
        ->type_name("OPTION")
        ->allow_extra_args(false);
    sweep
        .add_option("--points-per-task", options.job.points_per_task,
                    "With --executor slurm: points that one task of the array runs; the default makes at most 1000 tasks")
        ->type_name("N")
        ->check(CLI::Range(1U, 1'000'000U));
    sweep.add_option("--slurm-task", slurm_task)->group("");
    sweep.add_flag("--many", options.many, "Allow more than 100000 points");
    sweep.add_flag("--dry-run", options.dry_run, "Check the study, say how many points it has, run nothing");
    sweep.add_flag("--json", options.json, "Print the summary as JSON");
    sweep.footer(
        "Every point is a process of its own; one that fails, crashes or hangs is reported and does not stop the others.\n"
        "Status: 0 all passed, 1 some did not, 2 bad input, 130 interrupted (--resume goes on).");
  }

  sweep_options finish() {
    options.file = file;
    options.folder = folder;
    options.slurm = executor == "slurm";
    options.slurm_task = slurm_task;
    options.job.time_limit = time_limit;
    if (!options.slurm && (!options.job.sbatch.empty() || options.job.points_per_task)) {
      throw input_error("--sbatch and --points-per-task are about --executor slurm; add it, or leave them out");
    }
    if (!time_limit.empty()) {
      try {
        options.time_limit = ps(static_cast<std::int64_t>(parse_quantity(knob_kind::time, time_limit)));
      } catch (const quantity_error& e) {
        throw input_error(fmt::format("--time-limit: {}", e.what()));
      }
    }
    return options;
  }
};

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* o : app.get_options()) {
    for (const std::string& n : o->get_lnames()) names.push_back("--" + n);
  }
  return names;
}

// What CLI11 found wrong, with the nearest valid option.
std::string mended(const CLI::App& app, const CLI::ParseError& e) {
  std::string help = "see 'hcasim --help'";
  for (const CLI::App* c : app.get_subcommands()) {
    help = fmt::format("see 'hcasim {} --help'", c->get_name());
    std::string unexpected;
    for (const std::string& extra : c->remaining()) {
      const std::string option = extra.substr(0, extra.find('='));
      if (option.starts_with("--"))
        return fmt::format("unknown option '{}'; {}", option, suggestion(option, option_names(*c), "options"));
      unexpected = extra;
    }
    if (!unexpected.empty()) return fmt::format("unexpected argument '{}'; {}", unexpected, help);
  }
  return fmt::format("{}; {}", e.what(), help);
}

// Who asked for JSON finds the error there as well.
int refuse(const std::string& message, bool json, int status = run_bad_input) {
  std::cerr << "hcasim: " << message << "\n";
  if (json) std::cout << dump({{"error", message}, {"status", status}});
  return status;
}

}  // namespace

int command_line(int argc, char** argv, platform_factory machine) {
  block_interrupts();
  const bool wants_json = std::any_of(argv, argv + argc, [](const char* a) { return std::string_view(a) == "--json"; });
  CLI::App app("Cycle-approximate simulator of an InfiniBand host channel adapter", "hcasim");
  app.require_subcommand(1);
  app.set_version_flag("--version", std::string("hcasim ") + places::version);

  std::string name;
  std::string pattern;
  bool json = false;
  CLI::App* list = app.add_subcommand("list", "List the testbenches, or the parameters of one");
  list->add_option("testbench", name, "Show this testbench's parameters");
  list->add_flag("--json", json, "Print JSON");
  run_arguments arguments;
  CLI::App* run = app.add_subcommand("run", "Run a testbench and write its results, statistics and waveform");
  arguments.declare(*run);
  run->footer(
      "A testbench has parameters of its own: 'hcasim list TESTBENCH'; give them as --NAME VALUE.\n"
      "Status: 0 passed, 1 a check failed, 2 bad input (nothing is written).");
  const program_words programs = take_programs(argc, argv);
  run_arguments executed;
  CLI::App* exec =
      app.add_subcommand("exec", "Run programs of this machine on the simulated adapters: -- PROGRAM... [-- PROGRAM...]");
  executed.declare_options(*exec);
  exec->footer(
      "The first program runs on node0, the second on node1 when the first sleeps, and so on; 'nodeN' alone among their words "
      "is\n"
      "that node's address. What they write is shown, and kept as program0.txt and so on. 'hcasim run applications' says "
      "more.\n"
      "Status: 0 passed, 1 a program ended otherwise than expected, 2 bad input.");
  sweep_arguments sweeping;
  CLI::App* sweep = app.add_subcommand("sweep", "Run a study: every point of its axes, into one result file");
  sweeping.declare(*sweep);
  report_options reporting;
  std::string report_folder;
  std::string svg_folder;
  CLI::App* report = app.add_subcommand(
      "report", "Show the results of a study, or a run over time, as one page that needs no network, or as pictures");
  report->add_option("results", report_folder, "The folder that 'hcasim sweep' wrote, or 'hcasim run' with statistics.interval")
      ->required()
      ->type_name("DIR");
  std::string html_file;
  std::string compared;
  report->add_option("--html", html_file, "Write the page to this file; the default is DIR/report.html")->type_name("FILE");
  report->add_option("--compare", compared, "Draw the results of this folder beside them; it must have the same axes")
      ->type_name("DIR");
  report->add_option("--svg", svg_folder, "Write each chart as a picture into this folder")->type_name("FOLDER");
  report->add_flag("--open", reporting.open, "Show the page in a browser ($BROWSER, or xdg-open)");
  report->add_flag("--json", reporting.json, "Print what was written as JSON");
  CLI::App* params = app.add_subcommand("params", "List every knob with its unit, default, range and meaning");
  params->add_option("pattern", pattern, "Only knobs whose path matches: mrc_cache, 'node*.pcie.*'");
  params->add_option("--testbench", name, "Show this testbench's parameters and defaults as well");
  params->add_flag("--json", json, "Print JSON");
  CLI::App* faults = app.add_subcommand("faults", "List what can be made to fail, and how");
  faults->add_option("pattern", pattern, "Only those whose place or kind matches: pcie, cell_bit");
  faults->add_flag("--json", json, "Print JSON");
  compare_options comparing;
  std::string first;
  std::string second;
  CLI::App* diff = app.add_subcommand("diff", "Say what differs between two runs, in description and results");
  diff->add_option("a", first, "A folder that 'hcasim run -o' wrote")->required()->type_name("DIR");
  diff->add_option("b", second, "Another one")->required()->type_name("DIR");
  diff->add_option("--threshold", comparing.threshold, "Leave out statistics that changed by less than this share")
      ->type_name("RATIO")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  diff->add_flag("--json", comparing.json, "Print JSON");
  diff->footer("Status: 0 nothing differs, 1 something does, 2 bad input.");
  convert_options converting;
  std::string waves_from;
  std::string waves_to;
  std::string window_from;
  std::string window_until;
  CLI::App* trace = app.add_subcommand("trace", "Take a part of a waveform, or turn VCD into FST and back");
  trace->add_option("input", waves_from, "A VCD or FST file")->required()->type_name("FILE");
  trace->add_option("output", waves_to, "What to write; its ending says whether VCD or FST")
      ->required()
      ->type_name("FILE.vcd|FILE.fst");
  trace->add_option("--trace", converting.patterns, "Take only signals whose name matches, '*.key_check.*'; may be repeated")
      ->type_name("PATTERN")
      ->allow_extra_args(false);
  trace->add_option("--from", window_from, "Begin at this simulated time")->type_name("TIME");
  trace->add_option("--until", window_until, "End at this simulated time")->type_name("TIME");
  trace->add_flag("--force", converting.force, "Replace the output when it is there");
  trace->add_flag("--json", json, "Print what was written as JSON");
  std::string shell;
  CLI::App* completion = app.add_subcommand("completion", "Print a completion script: eval \"$(hcasim completion bash)\"");
  completion->add_option("shell", shell, "bash, zsh or fish")
      ->required()
      ->type_name("SHELL")
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  completion->add_flag("--json", json, "Print the script within JSON");
  CLI::App* man = app.add_subcommand("man", "Print the manual page: hcasim man | man -l -");
  man->add_flag("--json", json, "Print commands and options as JSON");
  CLI::App* version = app.add_subcommand("version", "Print the version and what it was built with");
  version->add_flag("--json", json, "Print JSON");

  if (argc > 1 && argv[1][0] != '-') {
    std::vector<std::string> commands;
    for (const CLI::App* c : app.get_subcommands({})) commands.push_back(c->get_name());
    if (std::find(commands.begin(), commands.end(), argv[1]) == commands.end()) {
      return refuse(fmt::format("there is no command '{}'; {}", argv[1], suggestion(argv[1], commands, "commands")),
                    wants_json);
    }
  }
  try {
    app.parse(programs.argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return app.exit(e);
    return refuse(mended(app, e), wants_json);
  }
  try {
    if (*list) {
      list_testbenches(name, json);
    } else if (*params) {
      list_knobs(machine, pattern, name, json);
    } else if (*faults) {
      list_faults(machine, pattern, json);
    } else if (*sweep) {
      return run_sweep(sweeping.finish(), machine);
    } else if (*report) {
      reporting.results = report_folder;
      reporting.html = html_file;
      reporting.compare = compared;
      reporting.svg = svg_folder;
      return show_report(reporting);
    } else if (*diff) {
      comparing.a = first;
      comparing.b = second;
      return compare_runs(comparing);
    } else if (*trace) {
      converting.from = waves_from;
      converting.to = waves_to;
      read_window(window_from, window_until, converting.window.from, converting.window.until);
      const converted_waves made = convert_waves(converting);
      if (json) {
        std::cout << dump({{"output", fs::absolute(converting.to).string()},
                           {"format", made.format},
                           {"signals", made.signals},
                           {"from_ns", to_ns(made.begin)},
                           {"until_ns", to_ns(made.end)}});
      }
    } else if (*completion) {
      const std::string script = completion_script(app, shell);
      std::cout << (json ? dump({{"shell", shell}, {"script", script}}) : script);
    } else if (*man) {
      std::cout << (json ? dump(manual_json(app, places::version)) : manual_page(app, places::version));
    } else if (*version) {
      if (json) {
        std::cout << dump({{"hcasim", places::version}, {"systemc", sc_core::sc_version()}, {"compiler", __VERSION__}});
      } else {
        std::cout << fmt::format("hcasim {}\n{}\ncompiler {}\n", places::version, sc_core::sc_version(), __VERSION__);
      }
    } else if (*exec) {
      return run_testbench(with_programs(executed.finish(*exec), programs), machine);
    } else {
      return run_testbench(arguments.finish(*run), machine);
    }
  } catch (const input_error& e) {
    return refuse(e.what(), wants_json);
  } catch (const std::exception& e) {
    return refuse(fmt::format("internal error: {}", e.what()), wants_json, run_failed);
  }
  return run_passed;
}

}  // namespace hcasim
