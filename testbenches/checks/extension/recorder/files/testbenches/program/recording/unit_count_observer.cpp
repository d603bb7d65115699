// `--unit-count`: how many units a machine has, in units.txt.
#include <fstream>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "testbenches/program/recording/observer.h"
#include "testbenches/program/results/hierarchy.h"

namespace hcasim {
namespace {

class unit_count_observer final : public run_observer {
 public:
  [[nodiscard]] int rank() const override { return 50; }
  void declare(CLI::App& options) override {
    options.add_flag("--unit-count", wanted_, "Write units.txt: how many units there are");
  }
  void begin(const observed_run& run) override { run_ = run; }
  void finish(ps /*end*/) override {
    if (wanted_) std::ofstream(run_.folder / "units.txt") << all_units().size() << '\n';
  }
  void report(nlohmann::ordered_json& document) const override {
    if (wanted_) document["units"] = all_units().size();
  }
  [[nodiscard]] std::string places() const override {
    return wanted_ ? fmt::format("units       {}/units.txt\n", run_.final_folder.string()) : std::string();
  }

 private:
  bool wanted_ = false;
  observed_run run_{};
};

const observer_registration<unit_count_observer> registers_unit_count;

}  // namespace
}  // namespace hcasim
