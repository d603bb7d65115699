#include "testbenches/studies/benchmarks/measure.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

namespace hcasim {

double seconds_since(clock_type::time_point t) {
  return std::chrono::duration<double>(clock_type::now() - t).count();
}

double resident_mib_now() {
  double all = 0;
  double resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE)) / (1 << 20);
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

void show(benchmark::State& state, const figures& f) {
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

}  // namespace hcasim

int sc_main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
