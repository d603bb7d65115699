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
  bounds limits;
  std::string stream;
  std::string constrain;
  std::string folder = ".";
  double search = search_seconds;
  bool help = false;
  bool way_told = false;  // how the RTL is evaluated
};

bool flag(const std::string& value) {
  if (value != "true" && value != "false") throw std::invalid_argument("true or false, not " + value);
  return value == "true";
}
double number(const std::string& value) {
  std::size_t used = 0;
  double x = -1;
  try {
    x = std::stod(value, &used);
  } catch (const std::logic_error&) {
    used = 0;
  }
  if (used == 0 || used != value.size() || !(x >= 0)) throw std::invalid_argument("a number from 0 on, not " + value);
  return x;
}
std::uint64_t count(const std::string& value) {
  return static_cast<std::uint64_t>(std::min(number(value), 1e18));
}

struct option {
  const char* name;
  const char* help;
  void (*set)(arguments& a, const std::string& value);
  double (*bound)(const bounds& b) = nullptr;  // the default, for options without one in their help
};
using value_text = const std::string&;
constexpr option all_options[] = {
    {"--requests", "random requests, a tenth of that for the other streams; 100000",
     [](arguments& a, value_text v) { a.requests = count(v); }},
    {"--seed", "of the streams; 1", [](arguments& a, value_text v) { a.o.seed = count(v); }},
    {"--stall", "of each stream in each cycle of the random requests, 0 to 0.9; 0.1",
     [](arguments& a, value_text v) { a.o.stall = std::min(number(v), 0.9); }},
    {"--storms", "true: the random requests with long stalls and crowds; latencies have no bounds then; false",
     [](arguments& a, value_text v) { a.storms = flag(v); }},
    {"--check-x", "true: a second copy of the RTL from other register values; false",
     [](arguments& a, value_text v) { a.o.check_x = flag(v); }},
    {"--steps", "false: the RTL is evaluated as a whole; true", [](arguments& a, value_text v) { a.o.steps = flag(v); }},
    {"--max-apart", "cycles that a latency may differ in single, full and floods",
     [](arguments& a, value_text v) { a.limits.apart = number(v); }, [](const bounds& b) { return b.apart; }},
    {"--max-error", "cycles, mean error of a random request", [](arguments& a, value_text v) { a.limits.mean = number(v); },
     [](const bounds& b) { return b.mean; }},
    {"--max-p99", "cycles, 99th percentile of that error", [](arguments& a, value_text v) { a.limits.p99 = number(v); },
     [](const bounds& b) { return b.p99; }},
    {"--max-late", "share of the random requests that are more than 16 cycles later, minus the share as much earlier",
     [](arguments& a, value_text v) { a.limits.late = number(v); }, [](const bounds& b) { return b.late; }},
    {"--max-rate", "share of the cycles of a whole stream by which the RTL may take more or fewer",
     [](arguments& a, value_text v) { a.limits.rate = number(v); }, [](const bounds& b) { return b.rate; }},
    {"--max-wait", "cycles that work may wait for the RTL without a reason, 0: any number",
     [](arguments& a, value_text v) { a.limits.wait = count(v); }, [](const bounds& b) { return static_cast<double>(b.wait); }},
    {"--search-seconds", "seconds of the search for the shortest stream that fails alike; 60",
     [](arguments& a, value_text v) { a.search = number(v); }},
    {"--coverage", "file for the bins of the random requests, and lines and toggles of an INSTRUMENTED design",
     [](arguments& a, value_text v) { a.o.coverage_file = v; }},
    {"--vcd", "file for the waveform of an INSTRUMENTED design, or .fst", [](arguments& a, value_text v) { a.o.vcd = v; }},
    {"--constrain", "constraints on the random requests, 'gap = 0..3', or @FILE",
     [](arguments& a, value_text v) { a.constrain = v; }},
    {"--stream", "file with the requests instead", [](arguments& a, value_text v) { a.stream = v; }},
    {"--out", "folder for the files of a difference; .", [](arguments& a, value_text v) { a.folder = v; }},
};

void print_help(const std::string& unit, const bounds& own) {
  std::printf("RTL against the model of %s: option, meaning; default\n", unit.c_str());
  for (const option& o : all_options) {
    std::printf("  %-17s %s", o.name, o.help);
    if (o.bound) std::printf("; %g", o.bound(own));
    std::printf("\n");
  }
}

std::string names_of_options() {
  std::string names;
  for (const option& o : all_options) names.append(names.empty() ? "" : ", ").append(o.name);
  return names;
}

arguments read(int argc, char** argv, const bounds& own) {
  arguments a;
  a.limits = own;
  for (int i = 1; i < argc; i += 2) {
    const std::string name = argv[i];
    if (name == "--help" || name == "-h") {
      a.help = true;
      return a;
    }
    const auto* const o =
        std::find_if(std::begin(all_options), std::end(all_options), [&](const option& x) { return name == x.name; });
    if (o == std::end(all_options)) throw std::invalid_argument(name + ": none of " + names_of_options());
    if (i + 1 == argc) throw std::invalid_argument(name + ": a value is missing");
    try {
      o->set(a, argv[i + 1]);
    } catch (const std::invalid_argument& e) {
      throw std::invalid_argument(name + ": " + e.what());
    }
  }
  a.o.limits = a.limits;
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
    const std::string late = out_of_bounds(r, o, a.limits);
    if (!late.empty()) std::printf("%s (--help names the bounds)\n", late.c_str());
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
  for (const stream_kind& kind : streams_for(unit, a.storms)) {
    options o = with_stream(a.o, kind, a.requests, a.storms);
    const bool longest = o.how == mode::random && !o.events;
    if (!longest && !limits.empty()) continue;
    if (!longest) {  // only the longest stream writes files
      o.coverage_file.clear();
      o.vcd.clear();
    }
    ok &= compare(unit, limits.empty() ? draw(unit, o) : limits.generate(o), o, a);
  }
  return ok;
}

}  // namespace

int program(int argc, char** argv, const std::string& unit, rtl::design_factory make, const std::optional<bounds>& own) {
  try {
    const bounds usual = own ? *own : make_bench(unit)->limits();
    arguments a = read(argc, argv, usual);
    if (a.help) {
      print_help(unit, usual);
      return 0;
    }
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
