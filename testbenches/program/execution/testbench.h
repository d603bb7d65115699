// A directed testbench, registered by name:
//
//   class read_latency : public testbench {
//     std::string_view name() const override { return "read_latency"; }
//     std::string_view summary() const override { return "latency of one RDMA READ against its size"; }
//     void knobs(knob_visitor& k) override { k.bytes("size", size_, 1, 1_MiB, "bytes of each READ"); }
//     void run(run_context& c) override {
//       system& s = c.build();
//       ... c.start(); c.result().figure("latency", 1234, "ns", "from post to completion");
//     }
//   };
//   const testbench_registration<read_latency> registered;
//
// An object is made for one run only; run() is called once. Errors the user mends are thrown as input_error.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "testbenches/kit/measured_parts.h"
#include "testbenches/program/description/errors.h"
#include "testbenches/program/results/measurement.h"
#include "testbenches/program/results/result.h"
#include "tlm/base/kernel.h"
#include "tlm/base/knobs.h"

namespace hcasim {

class statistics_series;
class system;
struct system_config;

class run_context {
 public:
  // `series`: samples statistics on the way; null = not requested.
  run_context(const system_config* config, std::uint64_t seed, std::filesystem::path folder,
              statistics_series* series = nullptr)
      : config_(config), seed_(seed), folder_(std::move(folder)), series_(series) {}

  [[nodiscard]] const system_config& config() const { return *config_; }
  [[nodiscard]] std::uint64_t seed() const { return seed_; }
  // Files written here become part of the run's output; the folder is moved to its final place at the end.
  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }

  // Elaborates the configured system; once. It lives until the results are written.
  system& build();
  // Makes an object (a unit of the testbench, a checker) that lives until the results are written.
  template <class T, class... A>
  T& make(A&&... arguments) {
    auto object = std::make_shared<T>(std::forward<A>(arguments)...);
    T& reference = *object;
    kept_.push_back(std::move(object));
    return reference;
  }

  // Called when the testbench has run, before the results are written.
  void at_end(std::function<void()> f) { at_end_.push_back(std::move(f)); }
  void finish();

  // Runs the simulation: until nothing is left to do or sc_stop(), or for `t`. Its wall-clock time is the host speed's base.
  // Throws std::runtime_error when it stands still, with what waits for what.
  void start();
  void start(ps t);
  // Sets the machine's reports: why it ended the simulation, and what waits in it now; empty = it did not, nothing.
  void watched(std::function<std::string()> stalled, std::function<std::string()> waiting);
  // When the simulation ended because there was nothing left to do: what waits all the same.
  [[nodiscard]] std::string starved() const;
  [[nodiscard]] double simulating_seconds() const { return simulating_seconds_; }

  // Between these two, at the simulated time of the call, lies the part of the run that the figures are of: all statistics,
  // ratios, levels and utilisations are of it; without any, of the whole run. There may be several one after the other, each
  // with a name. A thread of software calls them when it has reached its own time (cpu::sync).
  void begin_measuring(const std::string& part = {}) { measurement_.begin(part, now()); }
  void end_measuring() { measurement_.end(now()); }
  // The same for the programs of testbenches/kit.
  kit::measured_parts parts() {
    return {[this](const std::string& part) { begin_measuring(part); }, [this] { end_measuring(); }};
  }
  // A resource that only the testbench knows of (a software thread), for the same part of the run.
  void resource(std::string unit, std::string name, double utilisation, std::string help);
  [[nodiscard]] hcasim::measurement& measurement() { return measurement_; }
  [[nodiscard]] const hcasim::measurement& measurement() const { return measurement_; }

  [[nodiscard]] hcasim::result& result() { return result_; }
  [[nodiscard]] const hcasim::result& result() const { return result_; }
  void fail(std::string message) { result_.fail(std::move(message)); }
  void check(bool ok, const char* message) {
    if (!ok) fail(message);
  }

 private:
  void refuse_to_stand() const;

  const system_config* config_;
  std::uint64_t seed_;
  std::filesystem::path folder_;
  statistics_series* series_;
  hcasim::measurement measurement_;
  hcasim::result result_;
  std::vector<std::shared_ptr<void>> kept_;
  std::vector<std::function<void()>> at_end_;
  double simulating_seconds_ = 0;
  std::function<std::string()> stalled_;
  std::function<std::string()> waiting_;
};

class testbench {
 public:
  virtual ~testbench() = default;

  [[nodiscard]] virtual std::string_view name() const = 0;
  [[nodiscard]] virtual std::string_view summary() const = 0;
  // The testbench's own knobs: `parameters:` in a description, `--NAME VALUE` on the command line.
  virtual void knobs(knob_visitor&) {}
  // Sets what this testbench needs to be different from the defaults (the number of nodes), before the description is applied.
  virtual void defaults(system_config&) {}
  virtual void run(run_context& context) = 0;
};

class testbench_registry {
 public:
  using factory = std::unique_ptr<testbench> (*)();

  // In the order of their names.
  static std::vector<std::string> names();
  // Null = there is none of that name.
  static std::unique_ptr<testbench> create(std::string_view name);
  static void add(factory make);
};

template <class T>
class testbench_registration {
 public:
  testbench_registration() {
    testbench_registry::add([]() -> std::unique_ptr<testbench> { return std::make_unique<T>(); });
  }
};

}  // namespace hcasim
