// `--spans`: requests for Perfetto.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "testbenches/program/description/quantity.h"
#include "testbenches/program/places/places.h"
#include "testbenches/program/recording/observer.h"
#include "testbenches/program/recording/spans.h"

namespace hcasim {
namespace {

class span_observer final : public run_observer {
 public:
  [[nodiscard]] int rank() const override { return 20; }

  void declare(CLI::App& options) override {
    options.add_flag("--spans", wanted_, "Record each request's way through the units for ui.perfetto.dev");
  }

  void begin(const observed_run& run) override {
    final_folder_ = run.final_folder;
    if (!wanted_) return;
    recorder_ = std::make_unique<span_recorder>(span_window{run.from, run.until}, run.folder / "spans.json", places::version);
  }

  void finish(ps end) override {
    if (recorder_) recorder_->finish(end);
  }

  [[nodiscard]] std::string places() const override {
    if (!recorder_) return {};
    std::string text = fmt::format("spans       {} in {}/spans.json, for ui.perfetto.dev or chrome://tracing\n",
                                   recorder_->spans(), final_folder_.string());
    if (recorder_->stopped_at() != never) {
      text += fmt::format("            they end at {}; choose a later part with --from\n", time_text(recorder_->stopped_at()));
    }
    return text;
  }

 private:
  bool wanted_ = false;
  std::filesystem::path final_folder_;
  std::unique_ptr<span_recorder> recorder_;
};

const observer_registration<span_observer> registers_spans;

}  // namespace
}  // namespace hcasim
