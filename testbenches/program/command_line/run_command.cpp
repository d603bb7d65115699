#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "testbenches/program/command_line/command.h"
#include "testbenches/program/command_line/exec.h"
#include "testbenches/program/command_line/run.h"
#include "testbenches/program/command_line/window.h"
#include "testbenches/program/description/quantity.h"

namespace hcasim {
namespace {

// Options of `hcasim run` and, so that --NAME VALUE works, the parameters of all testbenches.
struct run_arguments {
  run_options options;
  std::string folder;
  std::string seed;
  std::string from;
  std::string until;
  std::string what_if;
  // A parameter of testbenches, found again without a look through all options.
  struct own_option {
    std::string value;
    const CLI::Option* given = nullptr;
  };
  std::map<std::string, own_option> own;

  void declare(CLI::App& run) {
    run.add_option("testbench", options.what, "A testbench (see 'hcasim list') or a description file (.yaml)")
        ->required()
        ->type_name("TESTBENCH|FILE.yaml");
    declare_options(run);
  }

  void declare_options(CLI::App& run) {
    run.add_option("-o,--output", folder, "Folder for the results; the default is hcasim-out/TESTBENCH-NNN")->type_name("DIR");
    run.add_option("--set", options.set,
                   "Set a knob: --set node0.hca.mrc_cache.ways=8; node*.hca.clock=1GHz sets it for all nodes; may be repeated")
        ->type_name("PATH=VALUE")
        ->allow_extra_args(false);
    run.add_option("--param", options.parameters, "Set a parameter of the testbench; --NAME VALUE does the same")
        ->type_name("NAME=VALUE")
        ->allow_extra_args(false);
    run.add_option("--seed", seed, "Seed of all random streams; the default is 1")->type_name("N");
    run.add_option("--point", options.point, "Run only this point of a study: 1, 2, ...")->type_name("N");
    options.observers = observer_registry::make_all();
    for (const auto& o : options.observers) o->declare(run);
    run.add_option("--from", from, "Record waveforms and spans from this simulated time on")->type_name("TIME");
    run.add_option("--until", until, "Record waveforms and spans until this simulated time")->type_name("TIME");
    run.add_flag("--explain", options.explain, "Say where the time of an operation went and how busy each resource was");
    run.add_flag("--cost", options.cost,
                 "Say how many bits of on-chip memory each unit has, as its knobs are set (docs/cost.md)");
    run.add_option(
           "--what-if", what_if,
           "Find the bottleneck: run again with one resource after the other relieved (twice the count, size or rate, "
           "half the interval), then with one latency after the other halved; print the gain of each, with a verdict on "
           "resources and one on latencies. With a pattern, only such knobs: 'page_walker', '*' for all")
        ->type_name("[PATTERN]")
        ->expected(0, 1);
    run.add_flag("--force", options.force, "Replace an earlier result in the folder given with -o");
    CLI::Option* const json = run.add_flag("--json", options.json, "Print result.json instead of the table");
    CLI::Option* const quiet = run.add_flag("-q,--quiet", options.quiet, "Print nothing but what failed")->excludes(json);
    run.add_flag("-v,--verbose", options.verbose,
                 "Print every 5 s how far the run is, on standard error; a terminal shows it without -v")
        ->excludes(quiet);
    std::set<std::string> taken;
    for (const CLI::Option* o : run.get_options()) taken.insert(o->get_lnames().begin(), o->get_lnames().end());
    for (const std::string& n : testbench_registry::names()) {
      const auto bench = testbench_registry::create(n);
      const knob_tree tree([&](knob_visitor& v) { bench->knobs(v); });
      for (const auto& l : tree.leaves()) {
        std::string dashed = l.path;
        std::replace(dashed.begin(), dashed.end(), '_', '-');
        if (!taken.insert(l.path).second || taken.contains(dashed) != (dashed == l.path)) continue;
        taken.insert(dashed);
        own_option& o = own[l.path];
        o.given = run.add_option(dashed == l.path ? "--" + dashed : "--" + dashed + ",--" + l.path, o.value)->group("");
      }
    }
  }

  static void refuse_idle_window(const CLI::App& run) {
    const bool waves = run.count("--no-trace") == 0 && run.get_option("--waves")->as<std::string>() != "none";
    for (const char* const name : {"--from", "--until"}) {
      if (run.count(name) != 0 && !waves && run.count("--spans") == 0)
        throw input_error(fmt::format("{}: nothing is recorded; leave it out, or leave out --no-trace, or add --spans", name));
    }
  }

  run_options finish(const CLI::App& run) {
    if (!folder.empty()) options.folder = folder;
    if (run.count("--output") && folder.empty()) throw input_error("-o: the folder has no name; write -o DIR");
    if (run.count("--seed")) options.seed = seed;
    if (run.count("--what-if")) options.what_if = what_if;
    for (const auto& [name, o] : own) {
      if (o.given->count() != 0) options.own.emplace_back(name, o.value);
    }
    refuse_idle_window(run);
    const wave_window recorded = read_window(from, until);
    options.from = recorded.from;
    options.until = recorded.until;
    return std::move(options);
  }
};

class run_command final : public command {
 public:
  run_command() : command("run", "Run a testbench and write its results, statistics and waveform") {}

  void declare(CLI::App& options) override {
    arguments_.declare(options);
    options.footer(
        "A testbench has parameters of its own: 'hcasim list TESTBENCH'; give them as --NAME VALUE.\n"
        "Status: 0 passed, 1 a check failed, 2 bad input (nothing is written).");
  }
  int run(const context& c) override { return run_testbench(arguments_.finish(c.own), c.machine); }

 private:
  run_arguments arguments_;
};

class program_command : public command {
 public:
  program_command(program_bench bench, std::string summary, std::string footer)
      : command(bench.command, std::move(summary)), bench_(std::move(bench)), footer_(std::move(footer)) {}

  int take_words(int argc, char** argv) override {
    programs_ = take_programs(name(), argc, argv);
    return programs_.argc;
  }
  void declare(CLI::App& options) override {
    options.add_flag("--together", together_,
                     "Start all clients at once, also those of one server (parameter together=always)");
    arguments_.declare_options(options);
    options.footer(footer_);
  }
  int run(const context& c) override {
    run_options options = with_programs(arguments_.finish(c.own), programs_, bench_);
    if (together_) options.parameters.emplace_back("together=always");
    return run_testbench(std::move(options), c.machine);
  }

 private:
  const program_bench bench_;
  const std::string footer_;
  run_arguments arguments_;
  program_words programs_;
  bool together_ = false;
};

std::unique_ptr<command> exec_command() {
  return std::make_unique<program_command>(
      program_bench{"exec", "applications", "-- ib_write_lat -- ib_write_lat node0", 2},
      "Run programs of this machine on the simulated adapters: -- PROGRAM... [-- PROGRAM...]",
      "The first program runs on node0, the second on node1 when the first sleeps, and so on; clients with a server each "
      "start\n"
      "together when all servers sleep. 'nodeN' alone among their words is that node's address. What they write is shown, and\n"
      "kept as program0.txt and so on. 'hcasim run applications' says more.\n"
      "Status: 0 passed, 1 a program ended otherwise than expected, 2 bad input.");
}

std::unique_ptr<command> gateway_command() {
  return std::make_unique<program_command>(
      program_bench{"gateway", "gateway", "-- ibv_rc_pingpong -g 0", 1},
      "Run programs on simulated adapters that talk to RoCEv2 hosts outside: [--listen 127.0.0.1:PORT] -- PROGRAM...",
      "Frames of Ethernet come and go as UDP datagrams on the loopback, as those of QEMU's -netdev dgram; simulated time "
      "follows\n"
      "the wall clock. node0 is 192.168.77.1 there (--address), GID index 0 of each port is its address, and programs call "
      "hosts\n"
      "outside by theirs. 'hcasim list gateway' shows the parameters; docs/gateway.md shows a guest with soft-RoCE.\n"
      "Status: 0 passed, 1 a program ended otherwise than expected or no peer came, 2 bad input.");
}

}  // namespace

void add_run_commands(command_list& to) {
  to.push_back(std::make_unique<run_command>());
  to.push_back(exec_command());
  to.push_back(gateway_command());
}

}  // namespace hcasim
