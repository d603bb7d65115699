// `--record-traffic FILE`: what the programs post, for `hcasim run traffic --replay FILE`.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "models/system/system_config.h"
#include "testbenches/program/description/errors.h"
#include "testbenches/program/recording/observer.h"
#include "testbenches/program/recording/traffic_recorder.h"

namespace hcasim {
namespace {

class traffic_observer final : public run_observer {
 public:
  ~traffic_observer() override { stop(); }

  [[nodiscard]] int rank() const override { return 15; }

  void declare(CLI::App& options) override {
    options.add_option("--record-traffic", file_, "Record what programs post, for 'hcasim run traffic --replay FILE'")
        ->type_name("FILE");
  }

  void begin(const observed_run& run) override {
    if (file_.empty()) return;
    recorder_ = std::make_unique<traffic_recorder>(file_, run.config ? run.config->nodes.size() : 0);
    driver::observer_of_verbs = recorder_.get();
  }

  void finish(ps /*end*/) override {
    if (!recorder_) return;
    stop();
    recorder_->finish();
  }

  [[nodiscard]] std::string warning() const override {
    if (!recorder_ || recorder_->beyond_replay() == 0) return {};
    return fmt::format("{} requests or completions in {} cannot be replayed; see docs/replay.md.\n", recorder_->beyond_replay(),
                       file_);
  }

  [[nodiscard]] std::string places() const override {
    if (!recorder_) return {};
    return fmt::format("traffic     {} events of {} threads in {}, for hcasim run traffic --replay\n", recorder_->events(),
                       recorder_->threads(), file_);
  }

 private:
  static void stop() { driver::observer_of_verbs = nullptr; }

  std::string file_;
  std::unique_ptr<traffic_recorder> recorder_;
};

const observer_registration<traffic_observer> registers_traffic_recording;

}  // namespace
}  // namespace hcasim
