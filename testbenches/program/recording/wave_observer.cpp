// `--waves FORMAT`: a waveform and its GTKWave save file. On by default.
#include <array>
#include <optional>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "testbenches/program/description/errors.h"
#include "testbenches/program/description/quantity.h"
#include "testbenches/program/places/places.h"
#include "testbenches/program/recording/gtkwave.h"
#include "testbenches/program/recording/observer.h"
#include "testbenches/program/recording/waves.h"

namespace hcasim {
namespace {

std::uint64_t parse_limit(const std::string& text) {
  try {
    const long double limit = parse_quantity(knob_kind::bytes, text);
    if (limit < 0 || limit > 0x1p62L)
      throw quantity_error(fmt::format("{} is out of range; allowed is 0 B to 4194304 TiB", text));
    return static_cast<std::uint64_t>(limit);
  } catch (const quantity_error& e) {
    throw input_error(fmt::format("--trace-limit: {}", e.what()));
  }
}

// Returns the part of the run that is in view first. The view begins at the first check of a key in the measured part, or in
// the whole run if no part is measured.
gtkwave_view first_view(const wave_writer& waves, const observed_run& run, ps end) {
  constexpr ps before = 500_ns;
  gtkwave_view view;
  view.from = run.from;
  view.length = std::min(view.length, std::max(std::min(end, run.until) - run.from, ps(1)));
  const ps first = waves.first_change("key_check");
  if (first != never && first > before) view.from = std::max(first - before, run.from);
  for (const auto& [unit, name] : {std::pair{"doorbell", "first doorbell"},
                                   {"mrc_cache", "first MRC"},
                                   {"key_check", "first key check"},
                                   {"page_walker", "first translation"},
                                   {"port", "first packet"},
                                   {"completion", "first completion"}}) {
    if (const ps at = waves.first_change(unit); at != never) view.markers.push_back({at, name});
  }
  // The markers of one operation fill two thirds of the window.
  ps last = view.from;
  for (const gtkwave_marker& m : view.markers) last = std::max(last, m.at);
  if (last > view.from) view.length = std::min(view.length, (last - view.from) * 3 / 2);
  return view;
}

class wave_observer final : public run_observer {
 public:
  [[nodiscard]] int rank() const override { return 40; }

  void declare(CLI::App& options) override {
    options.add_option("--trace", patterns_, "Record only signals whose name matches, '*.key_check.*'; may be repeated")
        ->type_name("PATTERN")
        ->allow_extra_args(false);
    options.add_option("--waves", format_, "Format of the waveform: vcd, fst (compressed) or none")
        ->type_name("FORMAT")
        ->check(CLI::IsMember({"vcd", "fst", "none"}))
        ->capture_default_str();
    options.add_flag("--no-trace", none_, "Write no waveform, as --waves none");
    options.add_option("--trace-limit", limit_, "Stop the waveform at this size; 0 B: no limit")
        ->type_name("SIZE")
        ->capture_default_str();
  }

  void begin(const observed_run& run) override {
    const std::uint64_t limit = parse_limit(limit_);
    if (none_ || format_ == "none") return;
    run_ = run;
    file_ = "waves." + format_;
    const wave_format format = format_ == "fst" ? wave_format::fst : wave_format::vcd;
    recorder_ = std::make_unique<wave_recorder>(
        make_wave_writer(format, run.folder / file_, places::version, limit, {run.from, run.until}), patterns_);
  }

  // The measured part is in view first.
  void measuring(ps from) override {
    if (recorder_) recorder_->writer().look_from(from);
  }

  // A testbench may build no machine in this process; then there is nothing to show.
  void finish(ps end) override {
    if (recorder_ && !drawn()) {
      std::error_code ec;
      std::filesystem::remove(run_.folder / file_, ec);
    }
    if (!drawn()) return;
    wave_writer& w = recorder_->writer();
    w.finish(end);
    write_gtkwave(run_.folder, run_.final_folder, file_, recorder_->named_signals(), first_view(w, run_, end));
  }

  [[nodiscard]] std::string warning() const override {
    if (!drawn() || recorder_->writer().stopped_at() == never) return {};
    return fmt::format("The waveform ends at {}: it reached --trace-limit.\n", time_text(recorder_->writer().stopped_at()));
  }

  [[nodiscard]] std::string places() const override {
    return drawn() ? fmt::format("waveform    gtkwave {}/waves.gtkw\n", run_.final_folder.string()) : std::string();
  }

 private:
  [[nodiscard]] bool drawn() const { return recorder_ && !recorder_->writer().signals().empty(); }

  std::vector<std::string> patterns_;
  std::string format_ = "vcd";
  bool none_ = false;
  std::string limit_ = "1 GiB";
  observed_run run_{};
  std::string file_;
  std::unique_ptr<wave_recorder> recorder_;
};

const observer_registration<wave_observer> registers_waves;

}  // namespace
}  // namespace hcasim
