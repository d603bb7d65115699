// Upper bounds of the host's speed: the rules alone, and the bare kernel.
#include <vector>

#include "models/adapter/protection/judge.h"
#include "testbenches/studies/benchmarks/measure.h"

namespace hcasim {
namespace {

// Verdicts of the protection rules alone, over granted and refused accesses of regions and windows.
void verdicts_alone(benchmark::State& state) {
  std::vector<hca_mrc> entries(64);
  std::vector<access_request> accesses(1024);
  for (std::uint32_t i = 0; i < entries.size(); ++i) {
    hca_mrc& m = entries[i];
    m.kind = i % 4 == 3 ? HCA_MRC_WINDOW_2 : HCA_MRC_REGION;
    m.state = HCA_MRC_VALID;
    m.key_byte = static_cast<std::uint8_t>(i);
    m.page_shift = 12;
    m.levels = 1;
    m.access = HCA_ACCESS_LOCAL_WRITE | HCA_ACCESS_REMOTE_READ;
    m.pd = 1;
    m.qpn = 7;
    m.start = 4096;
    m.length = 8192;
  }
  for (std::uint32_t i = 0; i < accesses.size(); ++i) {
    access_request& a = accesses[i];
    a.key = hca_key_make(i % 64, static_cast<std::uint8_t>(i % 64 + (i % 31 == 0)));
    a.rights = i % 29 == 0 ? HCA_ACCESS_REMOTE_WRITE : HCA_ACCESS_REMOTE_READ;
    a.pd = 1;
    a.qpn = 7;
    a.va = 4096 + i % 4096;
    a.length = i % 23 == 0 ? 8192 : 64;
    a.remote = true;
  }
  std::size_t i = 0;
  for ([[maybe_unused]] auto _ : state) {
    const access_request& a = accesses[i++ & 1023];
    benchmark::DoNotOptimize(judge(entries[hca_key_index(a.key)], a));
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(verdicts_alone);

// Measures the bare kernel on this machine: one method, one timed notification after the other.
void bare_systemc(benchmark::State& state) {
  for ([[maybe_unused]] auto _ : state) {
    const figures f = in_own_process([] {
      struct ticker : sc_core::sc_module {
        sc_core::sc_event next;
        std::uint64_t left = 5'000'000;
        explicit ticker(const sc_core::sc_module_name& n) : sc_module(n) {
          sc_core::sc_spawn_options o;
          o.spawn_method();
          o.set_sensitivity(&next);
          sc_core::sc_spawn(
              [this] {
                if (left-- != 0) next.notify(to_sc(1_ns));
              },
              "tick", &o);
        }
      };
      figures r;
      ticker t("ticker");
      const auto start = clock_type::now();
      run_simulation();
      r.simulating = seconds_since(start);
      r.operations = r.activations = 5e6;
      r.ok = true;
      return r;
    });
    state.SetIterationTime(f.simulating);
    state.counters["activations_per_s"] = f.activations / f.simulating;
  }
}
BENCHMARK(bare_systemc)->UseManualTime()->Iterations(1)->Repetitions(3)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace hcasim
