// The cost of a sweep beside its runs.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "testbenches/program/places/places.h"
#include "testbenches/program/testing/run_program.h"
#include "testbenches/studies/benchmarks/measure.h"

namespace hcasim {
namespace {

// A sweep of 200 short runs: what it costs over the CPU time of their processes, which the machine's cores share. Short is what
// the shortest runs of the studies in testbenches/studies are; a ping is a hundredth of a second and shows the cost of a point.
void sweep_200(benchmark::State& state, const char* run, const char* figure) {
  const auto folder = std::filesystem::temp_directory_path() / fmt::format("hcasim_bench_{}", ::getpid());
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "s.yaml") << fmt::format(
      "base: {{{}}}\naxes: {{seed: {{knob: seed, range: {{from: 1, to: 200, step: 1}}}}}}\nmetrics: {{f: {{figure: {}}}}}\n",
      run, figure);
  const auto cores = static_cast<double>(std::thread::hardware_concurrency());
  for ([[maybe_unused]] auto _ : state) {
    const outcome o = run_program(places::program, fmt::format("sweep {0}/s.yaml -o {0}/out --json", folder.string()));
    const auto said = nlohmann::json::parse(o.text.substr(std::min(o.text.find("{\n"), o.text.size())), nullptr, false);
    if (o.status != 0 || said.is_discarded()) {
      state.SkipWithError("the sweep failed");
      break;
    }
    const double seconds = said["seconds"];
    const double own = said["run_seconds"];
    state.SetIterationTime(seconds);
    state.counters["overhead_percent"] = 100 * (seconds * cores / own - 1);
    state.counters["ms_per_run"] = 1000 * own / 200;
    state.counters["ms_of_sweep_per_run"] = 1000 * (seconds * cores - own) / 200;
    std::filesystem::remove_all(folder / "out");
  }
  std::filesystem::remove_all(folder);
}
BENCHMARK_CAPTURE(sweep_200, short_runs,
                  "testbench: message_rate, parameters: {messages: 8000, warm_up: 500, qps: 8, window: 32}", "message_rate")
    ->UseManualTime()
    ->Iterations(1)
    ->Repetitions(3)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(sweep_200, pings, "testbench: ping", "WRITE")
    ->UseManualTime()
    ->Iterations(1)
    ->Repetitions(3)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace hcasim
