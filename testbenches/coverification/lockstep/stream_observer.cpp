// `--record-stream UNIT=FILE`: streams from a system run.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <filesystem>

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
        .add_option("--record-stream", orders_,
                    "Record the stream at a unit's boundary for 'hcasim run lockstep --stream FILE': node0.hca.key_check=FILE; "
                    "once for each unit")
        ->type_name("UNIT=FILE")
        ->allow_extra_args(false);
  }

  void begin(const observed_run& run) override {
    for (const std::string& order : orders_) {
      const std::size_t equals = order.find('=');
      if (equals == std::string::npos || equals == 0 || equals + 1 == order.size()) {
        throw input_error(fmt::format("--record-stream {}: write UNIT=FILE, as in node0.hca.key_check=keys.stream", order));
      }
      const std::string unit = order.substr(0, equals);
      const std::string file = order.substr(equals + 1);
      for (const recording& r : recordings_) {
        if (r.unit == unit)
          throw input_error(
              fmt::format("--record-stream {}: {} is recorded into {} already; name each unit once", order, unit, r.file));
        if (whole(r.file) == whole(file)) {
          throw input_error(
              fmt::format("--record-stream {}: {} is the file of {} already; name a file for each unit", order, file, r.unit));
        }
      }
      recordings_.push_back({unit, file, make_recorder(unit, file, *run.config), 0});
    }
  }

  void finish(ps /*end*/) override {
    try {
      for (recording& r : recordings_) r.items = r.recorder->finish();
    } catch (const std::runtime_error& e) {
      throw input_error(e.what());
    }
  }

  [[nodiscard]] std::string places() const override {
    std::string lines;
    for (const recording& r : recordings_)
      lines += fmt::format("stream      {} items, hcasim run lockstep --stream {}\n", r.items, r.file);
    return lines;
  }

 private:
  static std::filesystem::path whole(const std::string& file) {
    return std::filesystem::weakly_canonical(std::filesystem::absolute(file));
  }
  struct recording {
    std::string unit, file;
    std::unique_ptr<stream_recorder> recorder;
    std::uint64_t items = 0;
  };
  std::vector<std::string> orders_;
  std::vector<recording> recordings_;
};

const observer_registration<stream_observer> registers_streams;

}  // namespace
}  // namespace hcasim::lockstep
