#include "testbenches/program/execution/testbench.h"
#include "testbenches/scenarios/faults/recovery.h"

namespace hcasim {
namespace {

class recovery final : public testbench {
 public:
  [[nodiscard]] std::string_view name() const override { return "recovery"; }
  [[nodiscard]] std::string_view summary() const override {
    return "devices that fail again and again under load, and come back";
  }
  void knobs(knob_visitor& k) override {
    k.count("failures", o_.failures, 1, 1e6, "times that a device is made to fail");
    k.count("between", o_.between, 1, 1e6, "requests that must succeed between two of them");
    k.count("processes", o_.stream.processes, 1, 16, "processes at each end, each with a stream of its own");
    k.choice("memory", o_.stream.memory, {"pinned", "on_demand", "peer"},
             "what the stream moves: pinned, paged in on demand, or at node 1 that of its peer device");
    k.count("qps", o_.stream.qps, 1, 64, "QPs of each stream");
    k.count("window", o_.stream.window, 1, 64, "requests outstanding on each");
    k.bytes("size", o_.stream.size, 64, 65536, "of each WRITE and READ");
  }
  void defaults(system_config& c) override { faults::watch_closely(c); }
  void run(run_context& context) override {
    faults::recovery_outcome r;
    system& s = context.build();
    faults::start_recovery(s, o_, context.seed(), r);
    context.start();
    faults::judge_recovery(s, r);
    context.check(r.problem.empty(), r.problem.c_str());
    context.check(r.stream.over, "the stream did not come to its end");
    context.check(r.broken == o_.failures, "fewer failures than asked for");
    context.check(r.streamed_on == r.broken, "the stream did not go on after each failure");
    context.check(r.stream.wrong == 0, "a request brought other bytes");
    context.check(r.stream.unclosed == 0, "a context could not be given back, or pages stayed pinned");
    context.check(r.stream.silent == 0, "requests did not end");
    for (const std::string& what : r.left) context.fail(what);
    table& t = context.result().table("failures", {{"place and fault"}, {"count"}});
    for (const auto& [way, count] : r.ways) t.row(way, count);
    auto& result = context.result();
    result.figure("failures", r.broken, "1", "times that a device was made to fail");
    result.figure("streamed_on", r.streamed_on, "1", "of those, after how many the stream went on");
    result.figure("requests", static_cast<double>(r.stream.done), "1", "that ended well, their bytes checked");
    result.figure("failed", static_cast<double>(r.stream.failed), "1", "that ended with another status");
    result.figure("fatal_events", static_cast<double>(r.stream.fatal), "1", "IBV_EVENT_DEVICE_FATAL that contexts were told");
    for (std::size_t i = 0; i < s.nodes(); ++i) {
      const auto& counters = s.at(i).device().counters();
      result.figure("node" + std::to_string(i) + "_recovery", counters.recovery_time.mean() / 1e6, "us",
                    "from a failure to a device that can be opened, on average");
    }
  }

 private:
  faults::recovery_options o_;
};

const testbench_registration<recovery> registers_recovery;

}  // namespace
}  // namespace hcasim
