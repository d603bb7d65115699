// The cost of recorders.
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "testbenches/program/recording/packets.h"
#include "testbenches/program/recording/spans.h"
#include "testbenches/program/recording/waves.h"
#include "testbenches/scenarios/message_rate.h"
#include "testbenches/studies/benchmarks/measure.h"

namespace hcasim {
namespace {

// The recording of a run beside its results.
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
                                              std::vector<std::string>());
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
    run_simulation();
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

}  // namespace
}  // namespace hcasim
