#include <fstream>

#include <fmt/format.h>

#include "testbenches/program/execution/testbench.h"
#include "testbenches/scenarios/ping.h"

namespace hcasim {
namespace {

class ping final : public testbench {
 public:
  [[nodiscard]] std::string_view name() const override { return "ping"; }
  [[nodiscard]] std::string_view summary() const override { return "one WRITE, one READ, one SEND: latency, unit by unit"; }
  void knobs(knob_visitor& k) override {
    k.bytes("size", o_.size, 1, 2147483648.0, "bytes of each operation");
    k.count("warm_up", o_.warm_up, 0, 63, "of each operation before the one that counts; 0 shows cold caches");
  }
  void run(run_context& context) override {
    hcasim::system& s = context.build();
    auto& t = context.make<kit::timeline>(s);
    std::vector<kit::ping_outcome> outcomes;
    o_.parts = context.parts();
    kit::start_ping(s, o_, t, outcomes);
    context.start();
    context.check(outcomes.size() == 3, "not every operation was run");
    std::ofstream trace(context.folder() / "boundaries.txt");
    for (const kit::ping_outcome& r : outcomes) {
      context.check(r.ok, "an operation failed");
      table& rows = context.result().table(r.operation, {{"unit"}, {"time", "ns"}, {"share", "%"}});
      ps sum{0};
      waterfall explained{fmt::format("{} of {} B", r.operation, o_.size), {}};
      for (const kit::share& x : r.shares) {
        rows.row(x.unit, to_ns(x.time), 100.0 * static_cast<double>(x.time.count()) / static_cast<double>(r.total.count()));
        sum += x.time;
        explained.steps.push_back({x.unit, std::string(kind_of(x.unit)), to_ns(x.time)});
      }
      rows.row("total", to_ns(sum), 100.0);
      context.result().explain(std::move(explained));
      context.check(sum == r.total, "the shares do not add up to the latency");
      context.result().headline(r.operation, to_ns(r.total), "ns", aim::low, "from the post to the completion in hand");
      trace << r.operation << "\n" << r.trace;
    }
  }

 private:
  static std::string_view kind_of(std::string_view unit) {
    if (unit.ends_with("host software")) return "software";
    if (unit.find("DMA of ") != std::string_view::npos) return "memory (DMA, PCIe, host)";
    if (unit.ends_with("PCIe, doorbell")) return "PCIe and doorbell";
    return unit == "link" || unit == "fabric" ? "wire" : "service and queueing";
  }

  kit::ping_options o_;
};

const testbench_registration<ping> registers_ping;

}  // namespace
}  // namespace hcasim
