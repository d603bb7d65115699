// W1, W2 and W3: streams of WRITEs between two nodes.
#include <ctime>

#include "testbenches/kit/peer.h"
#include "testbenches/program/recording/vcd.h"
#include "testbenches/program/recording/waves.h"
#include "testbenches/scenarios/message_rate.h"
#include "testbenches/studies/benchmarks/measure.h"

namespace hcasim {
namespace {

// Caches with room for every context and translation of W3: an operation does the same simulated work, however many objects
// exist.
system_config two_nodes_with_room() {
  system_config c = two_nodes_100g();
  for (node_config& n : c.nodes) {
    n.hca.qpc_cache.sets = 4096;
    n.hca.mrc_cache.sets = 1 << 16;
    n.hca.page_walker.leaf_sets = 1 << 16;
  }
  return c;
}

figures stream(kit::stream_options o, const char* vcd = nullptr, const system_config& config = two_nodes_100g()) {
  figures f;
  const auto begin = clock_type::now();
  hcasim::system s("system", config);
  std::unique_ptr<wave_recorder> recorder;
  if (vcd) recorder = std::make_unique<wave_recorder>(std::make_unique<vcd_writer>(vcd, "bench"), std::vector<std::string>());
  std::vector<std::pair<clock_type::time_point, std::uint64_t>> marks;
  const auto mark = [&marks] { marks.emplace_back(clock_type::now(), event_queue::instance().hand_overs()); };
  o.parts = {[mark](const std::string&) { mark(); }, mark};
  kit::stream_result r;
  kit::start_stream(s, o, r);
  f.setup = seconds_since(begin);
  const auto start = clock_type::now();
  const std::clock_t processor = std::clock();
  run_simulation();
  f.processor = static_cast<double>(std::clock() - processor) / CLOCKS_PER_SEC;
  if (marks.size() != 2) return f;
  f.creating = std::chrono::duration<double>(marks[0].first - start).count();
  f.simulating = std::chrono::duration<double>(marks[1].first - marks[0].first).count();
  if (recorder) recorder->writer().finish(now());
  f.ok = r.ok;
  f.operations = static_cast<double>(r.completed);
  f.packets = static_cast<double>(r.completed) * static_cast<double>(ceil_div(o.size, 1024));
  f.activations = static_cast<double>(marks[1].second - marks[0].second);
  return f;
}

// W1: two nodes, one RC QP each, 200 000 WRITEs of 64 B, window 16, 100 Gb/s, 1 us.
void w1(benchmark::State& state) {
  for ([[maybe_unused]] auto _ : state) show(state, in_own_process([] { return stream({}); }));
}
BENCHMARK(w1)->UseManualTime()->Iterations(1)->Repetitions(3)->Unit(benchmark::kMillisecond);

// Looks every millisecond of simulated time whether another million operations is done. Takes the processor's time: it is
// compared within one run, and the machine may have other work.
class pace {
 public:
  explicit pace(const kit::stream_result& r) : result_(r) { again(); }

  void tell(figures& f) const {
    if (marks_.size() < 3) return;
    const auto million = [this](std::size_t i) { return static_cast<double>(marks_[i].cpu - marks_[i - 1].cpu); };
    f.last_over_second = million(marks_.size() - 1) / million(1);
    f.growth_mib = marks_.back().mib - marks_.front().mib;
  }

 private:
  struct mark {
    std::clock_t cpu;
    double mib;
  };

  void again() {
    event_queue::instance().at(now() + 1'000_us, {[](void* self) { static_cast<pace*>(self)->look(); }, this});
    event_queue::instance().disregard(1);
  }
  void look() {
    event_queue::instance().disregard(-1);
    if (result_.completed >= (marks_.size() + 1) * 1'000'000) marks_.push_back({std::clock(), resident_mib_now()});
    again();
  }

  const kit::stream_result& result_;
  std::vector<mark> marks_;
};

// W1 with 30 million operations: the last million costs what the second did, and no memory.
void w1_long(benchmark::State& state) {
  const auto run = [] {
    figures f;
    kit::stream_options o;
    o.messages = 30'000'000;
    hcasim::system s("system", two_nodes_100g());
    kit::stream_result r;
    kit::start_stream(s, o, r);
    const pace p(r);
    const auto start = clock_type::now();
    run_simulation();
    f.simulating = seconds_since(start);
    f.ok = r.ok;
    f.operations = f.packets = static_cast<double>(r.completed);
    p.tell(f);
    return f;
  };
  for ([[maybe_unused]] auto _ : state) {
    const figures f = in_own_process(run);
    show(state, f);
    state.counters["last_over_second_million"] = f.last_over_second;
    state.counters["growth_MiB"] = f.growth_mib;
  }
}
BENCHMARK(w1_long)->UseManualTime()->Iterations(1)->Unit(benchmark::kMillisecond);

// W1 with an IOMMU before every transaction of both adapters.
void w1_iommu(benchmark::State& state) {
  system_config c = two_nodes_100g();
  for (node_config& n : c.nodes) n.iommu.enabled = true;
  for ([[maybe_unused]] auto _ : state) show(state, in_own_process([&c] { return stream({}, nullptr, c); }));
}
BENCHMARK(w1_iommu)->UseManualTime()->Iterations(1)->Repetitions(3)->Unit(benchmark::kMillisecond);

// W1 with an IOMMU, whose translations the adapters cache.
void w1_ats(benchmark::State& state) {
  system_config c = two_nodes_100g();
  for (node_config& n : c.nodes) n.iommu.enabled = n.hca.atc.enabled = true;
  for ([[maybe_unused]] auto _ : state) show(state, in_own_process([&c] { return stream({}, nullptr, c); }));
}
BENCHMARK(w1_ats)->UseManualTime()->Iterations(1)->Repetitions(3)->Unit(benchmark::kMillisecond);

// W1 with two units as RTL, in turns with the models: how many times as long it takes, in the processor's time.
void w1_rtl(benchmark::State& state) {
  system_config rtl = two_nodes_100g();
  for (node_config& n : rtl.nodes) n.hca.key_check.implementation = n.hca.page_walker.implementation = implementation::rtl;
  for ([[maybe_unused]] auto _ : state) {
    double models = 1e9;
    double units = 1e9;
    figures f;
    for (int turn = 0; turn < 5; ++turn) {
      models = std::min(models, in_own_process([] { return stream({}); }).processor);
      f = in_own_process([&rtl] { return stream({}, nullptr, rtl); });
      units = std::min(units, f.processor);
    }
    show(state, f);
    state.counters["times_the_models"] = units / models;
  }
}
BENCHMARK(w1_rtl)->UseManualTime()->Iterations(1)->Unit(benchmark::kMillisecond);

// W1 with a VCD of every signal.
void w1_vcd(benchmark::State& state) {
  for ([[maybe_unused]] auto _ : state) show(state, in_own_process([] { return stream({}, "/dev/null"); }));
}
BENCHMARK(w1_vcd)->UseManualTime()->Iterations(1)->Repetitions(3)->Unit(benchmark::kMillisecond);

// Runs W1 on hosts that have peer devices without traffic.
void w1_peers(benchmark::State& state) {
  for ([[maybe_unused]] auto _ : state)
    show(state, in_own_process([] { return stream({}, nullptr, kit::with_peers(two_nodes_100g(), true)); }));
}
BENCHMARK(w1_peers)->UseManualTime()->Iterations(1)->Repetitions(3)->Unit(benchmark::kMillisecond);

// W2: 1 GB over one QP in messages of 1 MiB, MTU 1024, every byte moved.
void w2(benchmark::State& state) {
  kit::stream_options o;
  o.messages = 1000;
  o.size = 1_MiB;
  o.region_bytes = 1_MiB;
  o.window = 4;
  for ([[maybe_unused]] auto _ : state) show(state, in_own_process([&o] { return stream(o); }));
}
BENCHMARK(w2)->UseManualTime()->Iterations(1)->Repetitions(3)->Unit(benchmark::kMillisecond);

// W3: W1 over many QPs, and over many regions; every context and translation was used before the measurement begins.
kit::stream_options over_qps(std::int64_t qps) {
  kit::stream_options o;
  o.qps = static_cast<std::uint32_t>(qps);
  o.warm_up = 2 * o.qps;
  if (o.qps > 1) o.outstanding = o.window;
  return o;
}
kit::stream_options over_regions(std::int64_t regions) {
  kit::stream_options o;
  o.regions = static_cast<std::uint32_t>(regions);
  o.warm_up = o.regions;
  return o;
}

// W1's 16 outstanding messages, each on the next QP. With room in the caches: the host's cost of the number itself.
void w3_qps(benchmark::State& state) {
  for ([[maybe_unused]] auto _ : state) {
    show(state, in_own_process([&] { return stream(over_qps(state.range(0)), nullptr, two_nodes_with_room()); }));
  }
}
BENCHMARK(w3_qps)->Arg(1)->Arg(64)->Arg(4096)->UseManualTime()->Iterations(1)->Repetitions(3)->Unit(benchmark::kMillisecond);

void w3_regions(benchmark::State& state) {
  for ([[maybe_unused]] auto _ : state) {
    show(state, in_own_process([&] { return stream(over_regions(state.range(0)), nullptr, two_nodes_with_room()); }));
  }
}
BENCHMARK(w3_regions)
    ->Arg(1)
    ->Arg(1000)
    ->Arg(100'000)
    ->UseManualTime()
    ->Iterations(1)
    ->Repetitions(3)
    ->Unit(benchmark::kMillisecond);

// A message outstanding on each QP: all wait for each other in the adapters as well.
void w3_qps_all_busy(benchmark::State& state) {
  kit::stream_options o;
  o.qps = static_cast<std::uint32_t>(state.range(0));
  o.warm_up = 2 * o.qps;
  o.window = 1;
  for ([[maybe_unused]] auto _ : state) {
    show(state, in_own_process([&] { return stream(o, nullptr, two_nodes_with_room()); }));
  }
}
BENCHMARK(w3_qps_all_busy)->Arg(4096)->UseManualTime()->Iterations(1)->Unit(benchmark::kMillisecond);

// With the default caches: each operation also simulates its misses, of contexts and of page tables, by DMA.
void w3_qps_missing(benchmark::State& state) {
  for ([[maybe_unused]] auto _ : state) show(state, in_own_process([&] { return stream(over_qps(state.range(0))); }));
}
BENCHMARK(w3_qps_missing)->Arg(4096)->UseManualTime()->Iterations(1)->Unit(benchmark::kMillisecond);

void w3_regions_missing(benchmark::State& state) {
  for ([[maybe_unused]] auto _ : state) show(state, in_own_process([&] { return stream(over_regions(state.range(0))); }));
}
BENCHMARK(w3_regions_missing)->Arg(100'000)->UseManualTime()->Iterations(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace hcasim
