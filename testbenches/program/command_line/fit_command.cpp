#include <CLI/CLI.hpp>

#include "testbenches/program/command_line/command.h"
#include "testbenches/program/validation/fit.h"

namespace hcasim {
namespace {

class fit_command final : public command {
 public:
  fit_command() : command("fit", "Search the constants of a preset that bring the model nearest to published measurements") {}

  void declare(CLI::App& options) override {
    options
        .add_option("plan", options_.plan,
                    "Knobs, ranges and experiments: a file, or the name of one in share/hcasim/calibration/fit")
        ->type_name("FIT")
        ->required();
    options.add_option("--evaluations", options_.evaluations, "Most evaluations of each block, instead of the plan's")
        ->type_name("N")
        ->check(CLI::Range(1U, 100'000U));
    options.add_option("--seed", options_.seed, "Seed of the first points, instead of the plan's")->type_name("N");
    options
        .add_option("--leave-out", options_.left_out,
                    "Fit without these series and predict them: V17, or 'V17: PATTERN' of their names")
        ->type_name("SERIES");
    options.add_option("--csv", csv_, "Other measurements: a file with the same columns as the published ones")
        ->type_name("FILE");
    options.add_option("-o,--output", folder_, "Write the log, and a preset with the constants, into this folder")
        ->type_name("DIR");
    options.add_option("-j,--jobs", options_.jobs, "Points that run at once; the default is one per core")
        ->type_name("N")
        ->check(CLI::Range(1U, 4096U));
    options.add_flag("--json", options_.json, "The result as JSON; the log goes to standard error");
    options.footer("Status: 0 the fit came to its end, 2 bad input.");
  }
  int run(const context& c) override {
    options_.csv = csv_;
    options_.folder = folder_;
    return run_fit(options_, c.machine);
  }

 private:
  fit_options options_;
  std::string csv_;
  std::string folder_;
};

}  // namespace

void add_fit_command(command_list& to) {
  to.push_back(std::make_unique<fit_command>());
}

}  // namespace hcasim
