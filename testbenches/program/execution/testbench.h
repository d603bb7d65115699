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
#include <stdexcept>
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

class platform;
class run_watch;
class statistics_series;
class system;
struct system_config;

// Effects of the faults that a description asks for.
struct fault_effects {
  std::uint64_t lost_packets = 0;
  std::vector<std::string> happened;  // sentences on begun faults and failed devices
};

class run_context {
 public:
  // `series`: samples statistics on the way; null = not requested.
  run_context(platform& machine, std::uint64_t seed, std::filesystem::path folder, statistics_series* series = nullptr)
      : machine_(machine), seed_(seed), folder_(std::move(folder)), series_(series) {}

  [[nodiscard]] const system_config& config() const;
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

  // Calls `f` after the testbench has run, before the results are written.
  void at_end(std::function<void()> f) { at_end_.push_back(std::move(f)); }
  void finish();

  // Runs the simulation: until nothing is left to do or sc_stop(), or for `t`. Its wall-clock time is the host speed's base.
  // Throws std::runtime_error when it stands still, with what waits for what.
  void start();
  void start(ps t);
  // Sets the machine's reports: why the machine ended the simulation (empty = it did not), and the waiting requests.
  void watched(std::function<std::string()> stalled, std::function<std::string()> waiting);
  // Sets the machine's account of faults and failed devices, for a run that fails.
  void explained_by(std::function<fault_effects()> f) { effects_ = std::move(f); }
  [[nodiscard]] fault_effects effects() const { return effects_ ? effects_() : fault_effects{}; }
  // Returns the requests still waiting when the simulation ended because nothing was left to do.
  [[nodiscard]] std::string starved() const;
  [[nodiscard]] double simulating_seconds() const { return simulating_seconds_; }

  // Sets the watch over the run; null = none.
  void watched_by(run_watch* w) { watch_ = w; }
  // Sets the share of the work that is done, 0 to 1, and the step under way, for the line with the run's progress.
  void estimate_by(std::function<double()> share);
  void note(std::string step);

  // Begins and ends the measured part of the run, at the simulated time of the call. All statistics, ratios, levels and
  // utilisations are taken over this part; without one, over the whole run. Several parts may follow one another, each with a
  // name. A thread of software calls these when it has reached its own time (cpu::sync).
  void begin_measuring(const std::string& part = {}) {
    measurement_.begin(part, now());
    if (on_measuring_) on_measuring_(now());
  }
  void end_measuring() { measurement_.end(now()); }
  // Calls `f` whenever a measured part begins.
  void on_measuring(std::function<void(ps)> f) { on_measuring_ = std::move(f); }
  // Returns the same two calls for the programs of testbenches/kit.
  kit::measured_parts parts() {
    return {[this](const std::string& part) { begin_measuring(part); }, [this] { end_measuring(); }};
  }
  // Adds a resource known only to the testbench (a software thread), for the same part of the run.
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
  void simulate(const std::function<void()>& run);
  void refuse_to_stand() const;

  platform& machine_;
  std::uint64_t seed_;
  std::filesystem::path folder_;
  statistics_series* series_;
  hcasim::measurement measurement_;
  hcasim::result result_;
  std::vector<std::shared_ptr<void>> kept_;
  std::vector<std::function<void()>> at_end_;
  std::function<void(ps)> on_measuring_;
  double simulating_seconds_ = 0;
  run_watch* watch_ = nullptr;
  std::function<std::string()> stalled_;
  std::function<std::string()> waiting_;
  std::function<fault_effects()> effects_;
};

// Groups of a testbench's knobs whose members the description names. Paths are those below the testbench's own group.
class named_members {
 public:
  virtual ~named_members() = default;
  // Makes the member at `path` ("flows.reads"), which a file of the description names. False = no group there has such
  // members. Throws quantity_error: it is no name.
  virtual bool make(std::string_view path) = 0;
  // Returns whether the knob at `path` says how many nodes there are.
  [[nodiscard]] virtual bool tells_nodes(std::string_view path) const = 0;
  // Returns how many nodes the members need.
  [[nodiscard]] virtual std::size_t nodes() const = 0;
};

// Returns the folder that a relative file name in the text of a knob starts from.
using folder_lookup = std::function<std::filesystem::path(std::string_view knob)>;

// Objects that an adapter holds at once.
struct driver_objects {
  std::uint64_t qps = 0, cqs = 0, keys = 0;
};

class testbench {
 public:
  virtual ~testbench() = default;

  [[nodiscard]] virtual std::string_view name() const = 0;
  [[nodiscard]] virtual std::string_view summary() const = 0;
  // Lists the testbench's own knobs: `parameters:` in a description, `--NAME VALUE` on the command line.
  virtual void knobs(knob_visitor&) {}
  // Returns the key that they stand under in a description.
  [[nodiscard]] virtual std::string_view knob_group() const { return "parameters"; }
  virtual named_members* members() { return nullptr; }
  // Checks that the knobs go together, when all are set and before the machine is built. Throws knob_error.
  virtual void check(const system_config& /*machine*/, std::uint64_t /*seed*/, const folder_lookup& /*folder_of*/) {}
  // Sets the testbench's own defaults (the number of nodes), before the description is applied.
  virtual void defaults(system_config&) {}
  // Returns what the testbench makes at a node. The driver's tables have room for this by default. Asked when all knobs are
  // set.
  [[nodiscard]] virtual driver_objects objects_at(std::size_t /*node*/) const { return {}; }
  // Returns how many of `nodes` hosts have something to do; `needed` is the number by default. A description with others is
  // refused. Asked when all knobs are set.
  [[nodiscard]] virtual std::size_t driven_nodes(std::size_t /*nodes*/, std::size_t needed) const { return needed; }
  virtual void run(run_context& context) = 0;
  // Returns whether the testbench reacts to signals and tells its progress by itself.
  [[nodiscard]] virtual bool watches_itself() const { return false; }
};

// A run that a signal has ended.
class run_stopped : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class testbench_registry {
 public:
  using factory = std::unique_ptr<testbench> (*)();

  // Returns all names, sorted.
  static std::vector<std::string> names();
  // Makes the testbench; null = none has this name.
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
