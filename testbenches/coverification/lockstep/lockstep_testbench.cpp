#include <fmt/ranges.h>

#include <filesystem>
#include <iostream>
#include <set>

#include "testbenches/coverification/lockstep/accuracy.h"
#include "testbenches/coverification/lockstep/constraints.h"
#include "testbenches/coverification/lockstep/lockstep.h"
#include "testbenches/coverification/lockstep/search.h"
#include "testbenches/program/execution/testbench.h"

namespace hcasim {
namespace {

class lockstep_testbench final : public testbench {
 public:
  [[nodiscard]] std::string_view name() const override { return "lockstep"; }
  [[nodiscard]] std::string_view summary() const override {
    return "models and RTL of the units on the same streams: answers and cycles are compared one by one";
  }
  void knobs(knob_visitor& k) override {
    k.text("unit", unit_,
           "doorbell, key_check, context_cache, qpc_cache (context_cache with entries of 256 bytes), page_walker, or all");
    k.count("requests", requests_, 1, 1e9,
            "random requests for each unit; a tenth of that one at a time, in full pipelines, in floods and among events");
    k.ratio("stall", stall_, 0, 0.9, "of each stream, for each cycle, in the random streams");
    k.flag("storms", storms_, "the random streams with long stalls, crowds and odd values; their latencies mean nothing");
    k.cycles("max_error", bounds_.mean, 0, 1e6,
             "random streams: mean error in latency that still passes; 0: the unit's own bound");
    k.cycles("max_p99", bounds_.p99, 0, 1e6, "random streams: 99th percentile of that error; 0: the unit's own bound");
    k.ratio("max_late", bounds_.late, 0, 1,
            "random streams: share of the requests that are more than 16 cycles later, minus the share as much earlier; 0: the "
            "unit's own bound");
    k.ratio("max_rate", bounds_.rate, 0, 1,
            "random streams: share of the cycles that the RTL may take more or fewer; 0: the unit's own bound");
    k.count("max_wait", bounds_.wait, 0, 1e6,
            "cycles that work may wait for the RTL without a reason; 0: the unit's own bound");
    k.flag("check_x", check_x_, "a second copy of the RTL from other register values: control outputs must not depend on them");
    k.count("fault", fault_, 0, 1000, "seeded fault of the RTL that is active; 0: none");
    k.flag("accuracy", accuracy_,
           "the table of docs/validation.md instead: random streams of several seeds, stalls of 0 to 0.6, storms");
    k.count("seeds", seeds_, 1, 1000, "of that table: 1, 2, ...");
    k.count("search_seconds", search_, 0, 1e6, "seconds of the search for the shortest stream that fails alike");
    k.flag("speed", speed_,
           "each side runs once more by itself, and a table says how many requests a second the host does; that table differs "
           "from "
           "run to run");
    k.flag("steps", steps_, "the RTL is taken step by step where that is proven; off: evaluated as a whole");
    k.text("constrain", constrain_,
           "constraints on the random stream of one unit, 'kind = check; remote = 1; gap = 0..3', or @FILE; the other "
           "streams are left out");
    k.flag(
        "coverage", coverage_,
        "leaves UNIT.dat among the results: lines and toggles of the RTL and bins of the random stream, for hcasim coverage");
    k.text("stream", stream_, "take the requests from this file instead");
  }

  void run(run_context& context) override {
    std::vector<std::string> units = lockstep::bench_names();
    if (unit_ != "all") {
      if (std::find(units.begin(), units.end(), unit_) == units.end())
        throw input_error(fmt::format("unit: there is no RTL of '{}'; of {}, or all", unit_, fmt::join(units, ", ")));
      units = {unit_};
    }
    if (coverage_ && fault_ != 0) throw input_error("coverage: is counted by RTL without faults; leave out coverage or fault");
    if (coverage_ && (accuracy_ || !stream_.empty()))
      throw input_error("coverage: is of the random streams; leave out coverage, or accuracy and stream");
    if (accuracy_) return measure(context, units);
    table& rows = context.result().table("lockstep", {{"unit"},
                                                      {"stream"},
                                                      {"requests"},
                                                      {"differences"},
                                                      {"latency", "cycles"},
                                                      {"mean error", "cycles"},
                                                      {"p99 error", "cycles"},
                                                      {"max error", "cycles"},
                                                      {"model", "cycles/request"},
                                                      {"rtl", "cycles/request"}});
    if (speed_) {
      speeds_ =
          &context.result().table("speed of the host", {{"unit"}, {"stream"}, {"model", "requests/s"}, {"rtl", "requests/s"}});
    }
    if (!stream_.empty()) {
      lockstep::options o;
      std::string unit;
      lockstep::item_stream s;
      try {
        s = lockstep::read_stream(stream_, unit, o);
      } catch (const std::exception& e) {
        throw input_error(e.what());
      }
      o.instrumented = o.fault != 0;
      o.steps = steps_;
      o.limits = limits_of(unit);
      compare(context, rows, unit, s, o);
      return;
    }
    if (!constrain_.empty() && units.size() > 1) throw input_error("constrain: of one unit; say which with --unit");
    for (const std::string& unit : units) {
      for (const lockstep::stream_kind& kind : lockstep::streams_for(unit, storms_)) {
        lockstep::options o = lockstep::with_stream({}, kind, requests_, storms_);
        o.seed = context.seed();
        o.stall = stall_;
        o.check_x = check_x_;
        o.steps = steps_;
        o.fault = fault_;
        o.limits = limits_of(unit);
        o.instrumented = fault_ != 0;
        o.covered = coverage_;
        const bool random = o.how == lockstep::mode::random && !o.events;
        if (!random && !constrain_.empty()) continue;
        if (coverage_ && random) o.coverage_file = (context.folder() / (unit + ".dat")).string();
        compare(context, rows, unit, drawn(unit, o), o);
      }
    }
  }

 private:
  [[nodiscard]] lockstep::bounds limits_of(const std::string& unit) const {
    lockstep::bounds b = lockstep::make_bench(unit)->limits();
    const auto chosen = [](auto given, auto& own) {
      if (given > 0) own = given;
    };
    chosen(bounds_.mean, b.mean);
    chosen(bounds_.p99, b.p99);
    chosen(bounds_.late, b.late);
    chosen(bounds_.rate, b.rate);
    chosen(bounds_.wait, b.wait);
    return b;
  }
  [[nodiscard]] lockstep::item_stream drawn(const std::string& unit, const lockstep::options& o) const {
    try {
      return constrain_.empty() ? lockstep::draw(unit, o) : lockstep::constraints(unit, constrain_).generate(o);
    } catch (const std::invalid_argument& e) {
      throw input_error(e.what());
    }
  }

  void measure(run_context& context, const std::vector<std::string>& units) const {
    table& rows = context.result().table("accuracy", {{"unit"},
                                                      {"stall"},
                                                      {"own time", "cycles"},
                                                      {"mean error", "cycles"},
                                                      {"+-", "cycles"},
                                                      {"p99 error", "cycles"},
                                                      {"largest error", "cycles"},
                                                      {"cycles in all", "%"},
                                                      {"+- of that", "%"}});
    for (const std::string& unit : units) {
      for (const lockstep::stall_condition& w : lockstep::stall_conditions) {
        const lockstep::accuracy a = lockstep::measure_accuracy(unit, w, seeds_, requests_);
        rows.row(unit, lockstep::name_of(w), a.own, a.error.mean, a.error.half, a.p99, a.largest, a.throughput.mean,
                 a.throughput.half);
        if (!a.problem.empty()) context.fail(unit + ", stall " + lockstep::name_of(w) + ": " + a.problem);
      }
    }
  }

  static double alone(const std::string& unit, const lockstep::item_stream& s, lockstep::options o, bool rtl) {
    o.coverage_file.clear();
    o.model = !rtl;
    o.rtl = rtl;
    const lockstep::report r = lockstep::run_isolated(unit, s, o);
    return r.seconds > 0 ? static_cast<double>(r.requests) / r.seconds : 0;
  }

  void compare(run_context& context, table& rows, const std::string& unit, const lockstep::item_stream& s,
               const lockstep::options& o) {
    const lockstep::report r = lockstep::run_isolated(unit, s, o);
    if (!r.way.empty() && told_.insert(unit).second) std::cerr << unit << ": " << r.way << std::endl;
    const auto n = static_cast<double>(std::max<std::uint64_t>(r.requests, 1));
    rows.row(unit, lockstep::stream_name(o), r.requests, r.differences, r.mean_latency, r.mean_error, r.p99_error, r.max_error,
             r.model_cycles / n, r.rtl_cycles / n);
    if (speeds_) {
      const std::size_t sample = std::min<std::size_t>(s.size(), 100'000);
      const lockstep::item_stream first(s.begin(), s.begin() + static_cast<std::ptrdiff_t>(sample));
      speeds_->row(unit, lockstep::stream_name(o), alone(unit, first, o, false), alone(unit, first, o, true));
    }
    if (r.ok()) {
      if (const std::string late = out_of_bounds(unit, r, o); !late.empty()) context.fail(unit + ": " + late);
      return;
    }
    context.fail(unit + ": " + r.problem);
    // The problem is printed at once, because results come only at the end.
    const auto seconds = static_cast<double>(search_);
    std::cerr << unit << ": " << r.problem << "\n" << lockstep::search_text(s.size(), seconds) << std::endl;
    const lockstep::evidence e = lockstep::keep_evidence(unit, s, r, o, context.folder().string(), seconds);
    if (!e.cut_short.empty()) std::cerr << e.cut_short << std::endl;
    if (e.stream_file.empty()) return context.fail(unit + ": replayed, it ended otherwise: " + e.again.problem);
    // The file's name stands without its folder, which is renamed at the end of the run.
    const auto name = [](const std::string& file) { return std::filesystem::path(file).filename().string(); };
    context.fail(unit + ": " + std::to_string(e.items) + " items are enough (" + name(e.stream_file) +
                 (e.vcd_file.empty() ? "" : ", " + name(e.vcd_file)) + " among the results): " + e.again.problem);
  }

  std::string unit_ = "all";
  std::uint64_t requests_ = 100'000;
  double stall_ = 0.1;
  bool storms_ = false;
  bool check_x_ = false;
  lockstep::bounds bounds_{.mean = 0, .p99 = 0, .late = 0, .rate = 0, .wait = 0};  // 0 = the unit's own
  std::uint32_t fault_ = 0;
  bool accuracy_ = false;
  std::uint64_t seeds_ = 5;
  std::string constrain_;
  bool coverage_ = false;
  std::string stream_;
  std::uint64_t search_ = static_cast<std::uint64_t>(lockstep::search_seconds);
  bool speed_ = false;
  table* speeds_ = nullptr;
  bool steps_ = true;
  std::set<std::string> told_;  // units whose way of RTL was told
};

const testbench_registration<lockstep_testbench> registers_lockstep_testbench;

}  // namespace
}  // namespace hcasim
