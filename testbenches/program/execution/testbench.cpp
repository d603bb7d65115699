#include "testbenches/program/execution/testbench.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <stdexcept>

#include <fmt/format.h>

#include "testbenches/program/description/quantity.h"
#include "testbenches/program/execution/platform.h"
#include "testbenches/program/execution/run_watch.h"
#include "testbenches/program/recording/statistics_series.h"
#include "testbenches/program/results/hierarchy.h"
#include "tlm/base/sudden_end.h"

namespace hcasim {
namespace {

std::map<std::string, testbench_registry::factory, std::less<>>& table_of_testbenches() {
  static std::map<std::string, testbench_registry::factory, std::less<>> table;
  return table;
}

class stopwatch {
 public:
  explicit stopwatch(double& total) : total_(total) {}
  ~stopwatch() { total_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count(); }
  stopwatch(const stopwatch&) = delete;
  stopwatch& operator=(const stopwatch&) = delete;

 private:
  double& total_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace

void testbench_registry::add(factory make) {
  const std::string name(make()->name());
  if (!table_of_testbenches().emplace(name, make).second) {
    std::fprintf(stderr, "hcasim: two testbenches are named '%s'\n", name.c_str());
    std::abort();
  }
}

std::vector<std::string> testbench_registry::names() {
  std::vector<std::string> out;
  for (const auto& [name, make] : table_of_testbenches()) out.push_back(name);
  return out;
}

std::unique_ptr<testbench> testbench_registry::create(std::string_view name) {
  const auto it = table_of_testbenches().find(name);
  return it == table_of_testbenches().end() ? nullptr : it->second();
}

const system_config& run_context::config() const {
  return *machine_.config();
}

system& run_context::build() {
  return machine_.build(*this);
}

void run_context::resource(std::string unit, std::string name, double utilisation, std::string help) {
  result_.resource({std::move(unit), std::move(name), utilisation, std::move(help)});
}

void run_context::finish() {
  for (const auto& f : at_end_) f();
}

void run_context::watched(std::function<std::string()> stalled, std::function<std::string()> waiting) {
  stalled_ = std::move(stalled);
  waiting_ = std::move(waiting);
}

std::string run_context::starved() const {
  const bool ended = sc_core::sc_get_status() == sc_core::SC_PAUSED && !sc_core::sc_pending_activity();
  return ended && waiting_ ? waiting_() : std::string();
}

void run_context::refuse_to_stand() const {
  if (std::string why = stalled_ ? stalled_() : std::string(); !why.empty()) throw std::runtime_error(why);
}

void run_context::estimate_by(std::function<double()> share) {
  if (watch_) watch_->estimate_by(std::move(share));
}

void run_context::note(std::string step) {
  if (watch_) watch_->note(std::move(step));
}

void run_context::simulate(const std::function<void()>& run) {
  plan_sudden_ends();
  if (watch_) watch_->begin(all_units());
  {
    const stopwatch watch(simulating_seconds_);
    run();
  }
  if (watch_) {
    watch_->end();
    if (!watch_->stopped_by().empty()) {
      throw run_stopped(fmt::format("stopped by {} at {}; the results are those of the time until then", watch_->stopped_by(),
                                    time_text(now())));
    }
  }
  refuse_to_stand();
}

void run_context::start() {
  simulate([this] { series_ ? series_->run(measurement_, never) : run_simulation(); });
}

void run_context::start(ps t) {
  simulate([this, t] { series_ ? series_->run(measurement_, now() + t) : sc_core::sc_start(to_sc(t)); });
}

}  // namespace hcasim
