// `--record-stream UNIT=FILE`: streams from a system run.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "models/system/system_config.h"
#include "testbenches/coverification/lockstep/unit_recorder.h"
#include "testbenches/program/execution/testbench.h"
#include "testbenches/program/recording/observer.h"

namespace hcasim::lockstep {

namespace {

struct recordable {
  const char* unit;
  std::unique_ptr<stream_recorder> (*record)(const std::string& unit, const std::string& file, const hca_config& c,
                                             std::uint64_t seed);
};
constexpr recordable recordables[] = {{"doorbell", record_doorbell},          {"key_check", record_key_check},
                                      {"page_walker", record_page_walker},    {"mrc_cache", record_context_cache},
                                      {"extent_cache", record_context_cache}, {"cqc_cache", record_context_cache},
                                      {"qpc_cache", record_context_cache}};

std::unique_ptr<stream_recorder> make_recorder(const std::string& unit, const std::string& file, const system_config& config) {
  std::string names;
  for (const recordable& r : recordables) {
    for (std::size_t i = 0; i < config.nodes.size(); ++i) {
      if (unit == fmt::format("node{}.hca.{}", i, r.unit)) return r.record(unit, file, config.nodes[i].hca, config.seed);
    }
    names.append(names.empty() ? "" : ", ").append(r.unit);
  }
  const std::size_t last = config.nodes.size() - 1;
  throw input_error(fmt::format("--record-stream: '{}' is not a unit whose stream can be recorded; there are {} of node0.hca{}",
                                unit, names, last == 0 ? "" : fmt::format(" to node{}.hca", last)));
}

class stream_observer final : public run_observer {
 public:
  [[nodiscard]] int rank() const override { return 30; }

  void declare(CLI::App& options) override {
    options
        .add_option("--record-stream", order_,
                    "Record the stream at a unit's boundary for 'hcasim run lockstep --stream FILE': node0.hca.key_check=FILE")
        ->type_name("UNIT=FILE");
  }

  void begin(const observed_run& run) override {
    if (order_.empty()) return;
    const std::size_t equals = order_.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == order_.size()) {
      throw input_error(fmt::format("--record-stream {}: write UNIT=FILE, as in node0.hca.key_check=keys.stream", order_));
    }
    file_ = order_.substr(equals + 1);
    recorder_ = make_recorder(order_.substr(0, equals), file_, *run.config);
  }

  void finish(ps /*end*/) override {
    try {
      if (recorder_) items_ = recorder_->finish();
    } catch (const std::runtime_error& e) {
      throw input_error(e.what());
    }
  }

  [[nodiscard]] std::string places() const override {
    if (!recorder_) return {};
    return fmt::format("stream      {} items, hcasim run lockstep --stream {}\n", items_, file_);
  }

 private:
  std::string order_, file_;
  std::unique_ptr<stream_recorder> recorder_;
  std::uint64_t items_ = 0;
};

const observer_registration<stream_observer> registers_streams;

}  // namespace
}  // namespace hcasim::lockstep
