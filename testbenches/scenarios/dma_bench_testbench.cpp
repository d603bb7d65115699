#include "testbenches/program/execution/testbench.h"
#include "testbenches/scenarios/dma_bench.h"

namespace hcasim {
namespace {

class dma_bench_testbench final : public testbench {
 public:
  [[nodiscard]] std::string_view name() const override { return "dma_bench"; }
  [[nodiscard]] std::string_view summary() const override {
    return "DMA reads and writes of host memory, as pcie-bench issues them: latency and bandwidth";
  }
  void knobs(knob_visitor& k) override {
    k.choice("command", o_.command, {"read", "write", "write_read"},
             "what is issued; write_read: a write, and a read of its bytes");
    k.bytes("size", o_.size, 1, 65536, "bytes of a command");
    k.bytes("window", o_.window, 64, 0x1p40, "bytes of host memory that the commands are spread over");
    k.flag("random", o_.random, "places in the window at random; otherwise one after the other");
    k.count("outstanding", o_.outstanding, 1, 4096, "commands under way at once");
    k.count("commands", o_.commands, 2, 1e9, "commands that are measured");
    k.count("warm_up", o_.warm_up, 0, 1e9, "commands before those");
  }
  void defaults(system_config& c) override { c.nodes.resize(1); }

  void run(run_context& context) override {
    o_.parts = context.parts();
    const auto& bench = context.make<kit::dma_bench>(context.config(), o_, context.seed());
    context.start();
    const kit::dma_bench_outcome& r = bench.outcome();
    if (!r.ok) return context.fail(r.problem);
    result& out = context.result();
    out.headline("latency", r.latency_ns, "ns", aim::low, "of a command, mean");
    out.headline("goodput", r.goodput / 1e9, "Gb/s", aim::high, "bytes of the commands, between the first end and the last");
    out.operations(o_.commands + o_.warm_up);
  }

 private:
  kit::dma_bench_options o_;
};

const testbench_registration<dma_bench_testbench> registers_dma_bench;

}  // namespace
}  // namespace hcasim
