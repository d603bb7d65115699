// Host speed: how fast this machine simulates. Every measurement runs in a process of its own (one SystemC elaboration each),
// and its figures come back through a pipe.
#include <benchmark/benchmark.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <thread>

#include <nlohmann/json.hpp>

#include "firmware/driver/verbs.h"
#include "models/protection/judge.h"
#include "testbenches/directed/message_rate.h"
#include "testbenches/directed/peer_direct.h"
#include "testbenches/kit/peer.h"
#include "testbenches/kit/world.h"
#include "testbenches/places/places.h"
#include "testbenches/runner/packets.h"
#include "testbenches/runner/program/run_program.h"
#include "testbenches/runner/spans.h"
#include "testbenches/runner/vcd.h"
#include "testbenches/runner/waves.h"

namespace hcasim {
namespace {

using clock_type = std::chrono::steady_clock;

struct figures {
  bool ok = false;
  double setup = 0;       // s, elaboration
  double creating = 0;    // s, boot, QPs, regions, warm-up
  double simulating = 0;  // s, what is measured
  double operations = 0;
  double packets = 0;
  double activations = 0;
  double resident_mib = 0;
};

double seconds_since(clock_type::time_point t) {
  return std::chrono::duration<double>(clock_type::now() - t).count();
}

figures in_own_process(const std::function<figures()>& measure) {
  int fd[2];
  if (pipe(fd) != 0) return {};
  const pid_t child = fork();
  if (child == 0) {
    figures f = measure();
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    f.resident_mib = static_cast<double>(usage.ru_maxrss) / 1024;
    const bool written = write(fd[1], &f, sizeof f) == sizeof f;
    _exit(written ? 0 : 1);
  }
  close(fd[1]);
  figures f;
  if (child < 0 || read(fd[0], &f, sizeof f) != sizeof f) f = {};
  close(fd[0]);
  if (child > 0) waitpid(child, nullptr, 0);
  return f;
}

system_config two_nodes_100g() {
  system_config c;
  c.nodes.resize(2);
  c.link.rate = {100e9};
  c.link.propagation = 1_us;
  return c;
}

// Caches that hold every context and translation of W3, so that an operation does the same simulated work however many there
// are.
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
  if (vcd)
    recorder = std::make_unique<wave_recorder>(std::make_unique<vcd_writer>(vcd, "bench"), std::vector<std::string>{"*"});
  std::vector<std::pair<clock_type::time_point, std::uint64_t>> marks;
  o.measuring = [&marks] { marks.emplace_back(clock_type::now(), event_queue::activations()); };
  kit::stream_result r;
  kit::start_stream(s, o, r);
  f.setup = seconds_since(begin);
  const auto start = clock_type::now();
  sc_core::sc_start();
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

// What a run records beside its results.
enum class recording : std::uint8_t { none, vcd, fst, spans, packets };

// A stream as `hcasim run` does it: how long from the start to the last byte of the files.
double recorded_seconds(recording what, const std::filesystem::path& folder) {
  kit::stream_options o;
  o.messages = 60'000;
  figures f = in_own_process([&] {
    hcasim::system s("system", two_nodes_100g());
    std::unique_ptr<wave_recorder> waves;
    std::unique_ptr<span_recorder> spans;
    std::unique_ptr<packet_recorder> packets;
    if (what == recording::vcd || what == recording::fst) {
      const wave_format format = what == recording::vcd ? wave_format::vcd : wave_format::fst;
      waves = std::make_unique<wave_recorder>(make_wave_writer(format, folder / "waves", "bench", 0, {}),
                                              std::vector<std::string>{"*"});
    }
    if (what == recording::spans) {
      span_window all;
      all.limit = 100'000'000;
      spans = std::make_unique<span_recorder>(all, folder / "spans.json", "bench");
    }
    if (what == recording::packets)
      packets = std::make_unique<packet_recorder>(folder / "packets", packet_form::infiniband, "bench");
    kit::stream_result r;
    kit::start_stream(s, o, r);
    const auto start = clock_type::now();
    sc_core::sc_start();
    if (waves) waves->writer().finish(now());
    if (spans) spans->finish(now());
    if (packets) packets->finish();
    figures whole;
    whole.simulating = seconds_since(start);
    whole.ok = r.ok;
    return whole;
  });
  return f.ok ? f.simulating : 0;
}

void report(benchmark::State& state, const figures& f) {
  if (!f.ok) {
    state.SkipWithError("the simulated run failed");
    return;
  }
  state.SetIterationTime(f.simulating);
  state.counters["operations_per_s"] = f.operations / f.simulating;
  state.counters["packets_per_s"] = f.packets / f.simulating;
  state.counters["activations_per_operation"] = f.activations / f.operations;
  state.counters["setup_ms"] = f.setup * 1e3;
  state.counters["creating_ms"] = f.creating * 1e3;
  state.counters["resident_MiB"] = f.resident_mib;
}

// W1: two nodes, one RC QP each, 200 000 WRITEs of 64 B, window 16, 100 Gb/s, 1 us.
void w1(benchmark::State& state) {
  for ([[maybe_unused]] auto _ : state) report(state, in_own_process([] { return stream({}); }));
}
BENCHMARK(w1)->UseManualTime()->Iterations(1)->Repetitions(3)->Unit(benchmark::kMillisecond);

// W1 with an IOMMU before every transaction of both adapters.
void w1_iommu(benchmark::State& state) {
  system_config c = two_nodes_100g();
  for (node_config& n : c.nodes) n.iommu.enabled = true;
  for ([[maybe_unused]] auto _ : state) report(state, in_own_process([&c] { return stream({}, nullptr, c); }));
}
BENCHMARK(w1_iommu)->UseManualTime()->Iterations(1)->Repetitions(3)->Unit(benchmark::kMillisecond);

// W1 with an IOMMU, whose translations the adapters cache.
void w1_ats(benchmark::State& state) {
  system_config c = two_nodes_100g();
  for (node_config& n : c.nodes) n.iommu.enabled = n.hca.atc.enabled = true;
  for ([[maybe_unused]] auto _ : state) report(state, in_own_process([&c] { return stream({}, nullptr, c); }));
}
BENCHMARK(w1_ats)->UseManualTime()->Iterations(1)->Repetitions(3)->Unit(benchmark::kMillisecond);

// W1 with a VCD of every signal.
void w1_vcd(benchmark::State& state) {
  for ([[maybe_unused]] auto _ : state) report(state, in_own_process([] { return stream({}, "/dev/null"); }));
}
BENCHMARK(w1_vcd)->UseManualTime()->Iterations(1)->Repetitions(3)->Unit(benchmark::kMillisecond);

// How many times slower a run of 60 000 WRITEs is with a recorder on: the best of five each, in turn.
void recorder(benchmark::State& state) {
  const auto what = static_cast<recording>(state.range(0));
  const auto folder = std::filesystem::temp_directory_path() / fmt::format("hcasim_bench_{}", ::getpid());
  std::filesystem::create_directories(folder);
  for ([[maybe_unused]] auto _ : state) {
    double off = 1e9;
    double on = 1e9;
    for (int i = 0; i < 5; ++i) {
      off = std::min(off, recorded_seconds(recording::none, folder));
      on = std::min(on, recorded_seconds(what, folder));
    }
    if (off <= 0 || on <= 0) state.SkipWithError("the simulated run failed");
    state.SetIterationTime(on);
    state.counters["times_slower"] = on / off;
    std::uintmax_t bytes = 0;
    for (const auto& e : std::filesystem::directory_iterator(folder)) bytes += e.file_size();
    state.counters["file_MB"] = static_cast<double>(bytes) * 1e-6;
  }
  std::filesystem::remove_all(folder);
}
BENCHMARK(recorder)->Name("recorder_vcd")->Arg(1)->UseManualTime()->Iterations(1)->Unit(benchmark::kMillisecond);
BENCHMARK(recorder)->Name("recorder_fst")->Arg(2)->UseManualTime()->Iterations(1)->Unit(benchmark::kMillisecond);
BENCHMARK(recorder)->Name("recorder_spans")->Arg(3)->UseManualTime()->Iterations(1)->Unit(benchmark::kMillisecond);
BENCHMARK(recorder)->Name("recorder_packets")->Arg(4)->UseManualTime()->Iterations(1)->Unit(benchmark::kMillisecond);

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

// W1 on hosts that have peer devices, which nobody uses.
void w1_peers(benchmark::State& state) {
  for ([[maybe_unused]] auto _ : state)
    report(state, in_own_process([] { return stream({}, nullptr, kit::with_peers(two_nodes_100g(), true)); }));
}
BENCHMARK(w1_peers)->UseManualTime()->Iterations(1)->Repetitions(3)->Unit(benchmark::kMillisecond);

// W2: 1 GB over one QP in messages of 1 MiB, MTU 1024, every byte moved.
void w2(benchmark::State& state) {
  kit::stream_options o;
  o.messages = 1000;
  o.size = 1_MiB;
  o.region_bytes = 1_MiB;
  o.window = 4;
  for ([[maybe_unused]] auto _ : state) report(state, in_own_process([&o] { return stream(o); }));
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

// W1's 16 outstanding messages, each on the next QP. With room in the caches: what the number itself costs the host.
void w3_qps(benchmark::State& state) {
  for ([[maybe_unused]] auto _ : state) {
    report(state, in_own_process([&] { return stream(over_qps(state.range(0)), nullptr, two_nodes_with_room()); }));
  }
}
BENCHMARK(w3_qps)->Arg(1)->Arg(64)->Arg(4096)->UseManualTime()->Iterations(1)->Repetitions(3)->Unit(benchmark::kMillisecond);

void w3_regions(benchmark::State& state) {
  for ([[maybe_unused]] auto _ : state) {
    report(state, in_own_process([&] { return stream(over_regions(state.range(0)), nullptr, two_nodes_with_room()); }));
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

// A message outstanding on each QP, so that all of them wait for each other in the adapters as well.
void w3_qps_all_busy(benchmark::State& state) {
  kit::stream_options o;
  o.qps = static_cast<std::uint32_t>(state.range(0));
  o.warm_up = 2 * o.qps;
  o.window = 1;
  for ([[maybe_unused]] auto _ : state) {
    report(state, in_own_process([&] { return stream(o, nullptr, two_nodes_with_room()); }));
  }
}
BENCHMARK(w3_qps_all_busy)->Arg(4096)->UseManualTime()->Iterations(1)->Unit(benchmark::kMillisecond);

// With the default caches: each operation also simulates its misses, of contexts and of page tables, by DMA.
void w3_qps_missing(benchmark::State& state) {
  for ([[maybe_unused]] auto _ : state) report(state, in_own_process([&] { return stream(over_qps(state.range(0))); }));
}
BENCHMARK(w3_qps_missing)->Arg(4096)->UseManualTime()->Iterations(1)->Unit(benchmark::kMillisecond);

void w3_regions_missing(benchmark::State& state) {
  for ([[maybe_unused]] auto _ : state) report(state, in_own_process([&] { return stream(over_regions(state.range(0))); }));
}
BENCHMARK(w3_regions_missing)->Arg(100'000)->UseManualTime()->Iterations(1)->Unit(benchmark::kMillisecond);

// Registering 1 TiB in pages of 2 MiB.
void register_1_tib(benchmark::State& state) {
  for ([[maybe_unused]] auto _ : state) {
    report(state, in_own_process([] {
             figures f;
             const auto begin = clock_type::now();
             system_config c;
             c.nodes.resize(1);
             kit::world w(c);
             f.setup = seconds_since(begin);
             const auto start = clock_type::now();
             f.ok = w.run({[](cpu& thread, node& n) {
               kit::process_context p(thread, n);
               p.allocate(1_TiB, kit::all_rights, page_policy::huge_2m);
             }});
             f.simulating = seconds_since(start);
             f.operations = 1;
             f.activations = static_cast<double>(event_queue::activations());
             return f;
           }));
  }
}
BENCHMARK(register_1_tib)->UseManualTime()->Iterations(1)->Unit(benchmark::kMillisecond);

// Registering 10 000 peer regions of 64 MiB, each an allocation of its own in pages of 64 KiB.
void register_peer_regions(benchmark::State& state) {
  for ([[maybe_unused]] auto _ : state) {
    report(state, in_own_process([] {
             figures f;
             const auto begin = clock_type::now();
             system_config c;
             c.nodes.resize(1);
             c = kit::with_peers(c);
             c.nodes[0].peer[0].memory = 1_TiB;
             kit::world w(c);
             f.setup = seconds_since(begin);
             std::uint64_t registered = 0;
             const bool ran = w.run({[&](cpu& thread, node& n) {
               driver::peer::memory_owner owner(n.host, node::peer_bar(0), "gpu0");
               if (owner.open(thread) != 0 || !owner.join(n.device().peers())) return;
               kit::process_context p(thread, n);
               const auto start = clock_type::now();
               for (int i = 0; i < 10'000; ++i) {
                 const std::uint64_t va = owner.allocate(thread, p.memory, 64_MiB);
                 registered += va != 0 && verbs::ibv_reg_mr(thread, p.pd, va, 64_MiB, kit::all_rights) != nullptr;
               }
               f.simulating = seconds_since(start);
               p.close();
               owner.leave(thread);
             }});
             f.ok = ran && registered == 10'000;
             f.operations = static_cast<double>(registered);
             f.activations = static_cast<double>(event_queue::activations());
             return f;
           }));
  }
}
BENCHMARK(register_peer_regions)->UseManualTime()->Iterations(1)->Unit(benchmark::kMillisecond);

// A GPU's owner takes its memory away 1 000 times under full load; every access is checked at the device's port.
void peer_takings(benchmark::State& state) {
  for ([[maybe_unused]] auto _ : state) {
    report(state, in_own_process([] {
             figures f;
             kit::world w(kit::with_peers(two_nodes_100g()));
             kit::takings_result r;
             kit::start_takings(w.sys(), {}, 1, r);
             const auto start = clock_type::now();
             sc_core::sc_start();
             f.simulating = seconds_since(start);
             f.ok = r.ok && r.late_bytes == 0 && r.takings.size() == 1000;
             f.operations = static_cast<double>(r.requests);
             f.activations = static_cast<double>(event_queue::activations());
             return f;
           }));
  }
}
BENCHMARK(peer_takings)->UseManualTime()->Iterations(1)->Unit(benchmark::kMillisecond);

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

// What the bare kernel does on this machine: one method, one timed notification after the other.
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
      sc_core::sc_start();
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

int sc_main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
