#include <CLI/CLI.hpp>

#include "testbenches/program/command_line/command.h"
#include "testbenches/program/validation/validate.h"

namespace hcasim {
namespace {

class validate_command final : public command {
 public:
  validate_command() : command("validate", "Set published measurements of real adapters beside what the model gives") {}

  void declare(CLI::App& options) override {
    options
        .add_option("experiments", options_.experiments,
                    "Only these experiments: V01, or a file EXP.yaml with a description of one; the default is all")
        ->type_name("EXP");
    options.add_option("--preset", options_.preset, "Use this preset instead of each experiment's own")->type_name("PRESET");
    options.add_option("--csv", csv_, "Other measurements: a file with the same columns as the published ones")
        ->type_name("FILE");
    options.add_option("-o,--output", folder_, "Keep the studies that ran in this folder, for 'hcasim sweep' and 'hcasim run'")
        ->type_name("DIR");
    options.add_option("--page", page_, "Write the experiments' sections of this page anew, and its pictures beside it")
        ->type_name("FILE.md");
    options.add_option("-j,--jobs", options_.jobs, "Points that run at once; the default is one per core")
        ->type_name("N")
        ->check(CLI::Range(1U, 4096U));
    options.add_flag("--json", options_.json, "Print JSON");
    options.footer(
        "Status: 0 every point was run, 1 one was not, or a preset claims an experiment that is outside its tolerance, 2 bad "
        "input.");
  }
  int run(const context& c) override {
    options_.csv = csv_;
    options_.folder = folder_;
    options_.page = page_;
    return run_validate(options_, c.machine);
  }

 private:
  validate_options options_;
  std::string csv_;
  std::string folder_;
  std::string page_;
};

}  // namespace

void add_validate_command(command_list& to) {
  to.push_back(std::make_unique<validate_command>());
}

}  // namespace hcasim
