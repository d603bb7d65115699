#include "testbenches/coverification/lockstep/program.h"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <stdexcept>
#include <utility>

#include "testbenches/coverification/lockstep/constraints.h"
#include "testbenches/coverification/lockstep/search.h"

namespace hcasim::lockstep {
namespace {

struct arguments {
  std::uint64_t requests = 100'000;
  bool storms = false;
  options o;
  std::optional<bounds> limits;  // RTL of another make may take its own time, unless its author says how much
  std::string stream;
  std::string constrain;
  std::string folder = ".";
  double search = search_seconds;
  bool way_told = false;  // how the RTL is evaluated
};

bool flag(const std::string& name, const std::string& value) {
  if (value != "true" && value != "false") throw std::invalid_argument(name + ": true or false, not " + value);
  return value == "true";
}

arguments read(int argc, char** argv) {
  arguments a;
  for (int i = 1; i < argc; i += 2) {
    const std::string name = argv[i];
    if (i + 1 == argc) throw std::invalid_argument(name + ": a value is missing");
    const std::string value = argv[i + 1];
    if (name == "--requests") {
      a.requests = std::stoull(value);
    } else if (name == "--seed") {
      a.o.seed = std::stoull(value);
    } else if (name == "--stall") {
      a.o.stall = std::stod(value);
    } else if (name == "--max-error") {
      a.limits = a.limits.value_or(bounds{});
      a.limits->mean = std::stod(value);
    } else if (name == "--max-p99") {
      a.limits = a.limits.value_or(bounds{});
      a.limits->p99 = std::stod(value);
    } else if (name == "--storms") {
      a.storms = flag(name, value);
    } else if (name == "--search-seconds") {
      a.search = std::stod(value);
    } else if (name == "--steps") {
      a.o.steps = flag(name, value);
    } else if (name == "--check-x") {
      a.o.check_x = flag(name, value);
    } else if (name == "--coverage") {
      a.o.coverage_file = value;
    } else if (name == "--vcd") {
      a.o.vcd = value;
    } else if (name == "--constrain") {
      a.constrain = value;
    } else if (name == "--stream") {
      a.stream = value;
    } else if (name == "--out") {
      a.folder = value;
    } else {
      throw std::invalid_argument(name + ": none of --requests, --seed, --stall, --storms, --check-x, --steps, --max-error, " +
                                  "--max-p99, --search-seconds, --coverage, --vcd, --constrain, --stream, --out");
    }
  }
  return a;
}

bool compare(const std::string& unit, const item_stream& s, const options& o, arguments& a) {
  const report r = run_isolated(unit, s, o);
  if (!r.way.empty() && !std::exchange(a.way_told, true)) std::printf("%s\n", r.way.c_str());
  const auto n = static_cast<double>(std::max<std::uint64_t>(r.requests, 1));
  std::printf("%-14s %-6s %10lu %11lu %9.2f %10.3f %9.0f %9.0f %10.3f %10.3f\n", unit.c_str(), stream_name(o),
              static_cast<unsigned long>(r.requests), static_cast<unsigned long>(r.differences), r.mean_latency, r.mean_error,
              r.p99_error, r.max_error, r.model_cycles / n, r.rtl_cycles / n);
  if (r.ok()) {
    const std::string late = a.limits ? out_of_bounds(r, o, *a.limits) : std::string();
    if (!late.empty()) std::printf("%s\n", late.c_str());
    return late.empty();
  }
  std::printf("%s\n%s\n", r.problem.c_str(), search_text(s.size(), a.search).c_str());
  const evidence e = keep_evidence(unit, s, r, o, a.folder, a.search);
  if (!e.cut_short.empty()) std::printf("%s\n", e.cut_short.c_str());
  if (e.stream_file.empty()) {
    std::printf("replayed, it ended otherwise: %s\n", e.again.problem.c_str());
    return false;
  }
  std::printf("%zu items are enough (%s): %s\n", e.items, e.stream_file.c_str(), e.again.problem.c_str());
  if (!e.vcd_file.empty()) std::printf("waveform: %s\n", e.vcd_file.c_str());
  return false;
}

bool compare_all(const std::string& unit, arguments& a) {
  const constraints limits(unit, a.constrain);
  bool ok = true;
  for (const stream_kind& kind : default_streams) {
    options o = with_stream(a.o, kind, a.requests, a.storms);
    if (o.how != mode::random && !limits.empty()) continue;
    if (o.how != mode::random) {  // files are of the longest stream
      o.coverage_file.clear();
      o.vcd.clear();
    }
    ok &= compare(unit, limits.generate(o), o, a);
  }
  return ok;
}

}  // namespace

int program(int argc, char** argv, const std::string& unit, rtl::design_factory make) {
  try {
    arguments a = read(argc, argv);
    a.o.design = make;
    std::printf("%-14s %-6s %10s %11s %9s %10s %9s %9s %10s %10s\n", "unit", "stream", "requests", "differences", "latency",
                "mean error", "p99 error", "max error", "model", "rtl");
    if (a.stream.empty()) return compare_all(unit, a) ? 0 : 1;
    std::string of;
    const item_stream s = read_stream(a.stream, of, a.o);
    if (of != unit) throw std::invalid_argument(a.stream + ": a stream of " + of + ", not of " + unit);
    a.o.fault = 0;  // of the project's own RTL
    return compare(unit, s, a.o, a) ? 0 : 1;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 2;
  }
}

}  // namespace hcasim::lockstep
