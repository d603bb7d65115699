#include "testbenches/program/execution/testbench.h"
#include "testbenches/scenarios/random_traffic.h"

namespace hcasim {
namespace {

class random_traffic final : public testbench {
 public:
  [[nodiscard]] std::string_view name() const override { return "random_traffic"; }
  [[nodiscard]] std::string_view summary() const override { return "random operations over a bad fabric, every byte checked"; }
  void knobs(knob_visitor& k) override {
    k.count("operations", o_.operations, 1, 1e9, "operations in all");
    k.count("qps", o_.qps, 1, 1024, "QPs");
    k.count("window", o_.window, 1, 64, "operations outstanding on each QP");
    k.bytes("max_size", o_.max_size, 64, 1 << 24, "longest message");
  }
  void defaults(system_config& c) override {
    c.link.loss = 0.002;
    c.link.corruption = 0.002;
    c.link.duplication = 0.002;
    c.link.delay = 0.002;
    c.link.buffer = 16_KiB;
  }
  void run(run_context& context) override {
    kit::random_outcome r;
    o_.parts = context.parts();
    kit::start_random(context.build(), o_, context.seed(), r);
    context.start();
    context.check(r.problem.empty(), r.problem.c_str());
    context.check(r.ok, "the traffic did not come to its end");
    context.check(r.received == r.done[2], "SENDs and receives differ");
    static constexpr const char* names[] = {"WRITE", "READ", "SEND", "FETCH_ADD"};
    table& t = context.result().table("operations completed, every byte checked", {{"operation"}, {"count"}});
    for (std::size_t i = 0; i < r.done.size(); ++i) t.row(names[i], r.done[i]);
    context.result().figure("bytes", static_cast<double>(r.bytes), "B", "payload moved and checked");
  }

 private:
  kit::random_options o_;
};

const testbench_registration<random_traffic> registers_random_traffic;

}  // namespace
}  // namespace hcasim
