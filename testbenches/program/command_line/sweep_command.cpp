#include <iostream>
#include <optional>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "testbenches/program/command_line/command.h"
#include "testbenches/program/description/quantity.h"
#include "testbenches/program/report/live_page.h"
#include "testbenches/program/study/sweep.h"

namespace hcasim {
namespace {

struct sweep_arguments {
  sweep_options options;
  std::string file;
  std::string folder;
  std::string time_limit;
  std::string executor = "local";
  std::string slurm_task;
  bool watch = false;

  void declare(CLI::App& sweep) {
    sweep.add_option("study", file, "The study: a base, axes and metrics")->required()->type_name("STUDY.yaml");
    sweep.add_option("-o,--output", folder, "Folder for the results")->type_name("DIR");
    sweep
        .add_option("-j,--jobs", options.jobs,
                    "Points that run at once; the default is one per core. With --executor slurm: tasks at once, as many as "
                    "Slurm likes")
        ->type_name("N")
        ->check(CLI::Range(1U, 4096U));
    sweep
        .add_option(
            "--at", options.at,
            "Run only the points where the axis stands at this value; repeat it for more values or axes. The others are "
            "run by --resume")
        ->type_name("AXIS=VALUE")
        ->allow_extra_args(false);
    CLI::Option* const resumed =
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
    CLI::Option* const live =
        sweep.add_flag("--watch", watch, "Serve the report on the loopback while points arrive; the address is printed");
    sweep.add_flag("--many", options.many, "Allow more than 100000 points");
    CLI::Option* const dry = sweep.add_flag(
        "--dry-run", options.dry_run,
        "Check the study, run one point and keep nothing; say how many points there are, and about how long all take");
    dry->excludes(live)->excludes(resumed);
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
        const long double limit = parse_quantity(knob_kind::time, time_limit);
        if (limit <= 0 || limit > static_cast<long double>(never.count()))
          throw quantity_error(fmt::format("{} is out of range; allowed is 1 ps to never", time_limit));
        options.time_limit = ps(static_cast<std::int64_t>(limit));
      } catch (const quantity_error& e) {
        throw input_error(fmt::format("--time-limit: {}", e.what()));
      }
    }
    return options;
  }
};

class sweep_command final : public command {
 public:
  sweep_command() : command("sweep", "Run a study: every point of its axes, into one result file") {}

  void declare(CLI::App& options) override { arguments_.declare(options); }
  int run(const context& c) override {
    sweep_options options = arguments_.finish();
    std::optional<live_page> page;
    if (arguments_.watch) {
      options.before_points = [&page, &options] {
        page.emplace(options.folder);
        std::cerr << "the report, as points arrive: " << page->address() << std::endl;
      };
    }
    return run_sweep(options, c.machine);
  }

 private:
  sweep_arguments arguments_;
};

}  // namespace

void add_sweep_command(command_list& to) {
  to.push_back(std::make_unique<sweep_command>());
}

}  // namespace hcasim
