#include "testbenches/scenarios/send_fallback.h"

#include "models/system/system_config.h"
#include "testbenches/program/execution/testbench.h"

namespace hcasim {
namespace {

class send_fallback final : public testbench {
 public:
  [[nodiscard]] std::string_view name() const override { return "send_fallback"; }
  [[nodiscard]] std::string_view summary() const override {
    return "packets written into buffers that are taken away under them: aborted, sent instead, and copied by the host";
  }
  void knobs(knob_visitor& k) override {
    k.count("messages", o_.messages, 1, 1000000, "packets of each way, one after the other");
    k.bytes("size", o_.size, 4096, 1 << 24, "bytes of a packet; a multiple of 4 KiB");
    k.count(
        "every", o_.every, 2, 512,
        "one packet in so many finds its storage gone; if the other connection is not back by then, the packet waits for it");
  }
  void run(run_context& context) override {
    if (context.config().nodes.size() < 2) throw input_error("nodes: send_fallback needs two, a host and a target; write 2");
    if (o_.size % 4096 != 0) throw input_error("parameters.size: not a multiple of 4 KiB; round it");
    kit::fallback_result r;
    o_.parts = context.parts();
    kit::start_fallback(context.build(), o_, r);
    context.start();
    context.check(r.problem.empty(), r.problem.c_str());
    context.check(r.ok && r.outcomes.size() == std::size(kit::fallback_ways), "the programs did not come to their end");
    table& t = context.result().table("packets into the host's buffers", {{"way"},
                                                                          {"written"},
                                                                          {"sent"},
                                                                          {"rate", "k/s"},
                                                                          {"a written one", "us"},
                                                                          {"a sent one", "us"},
                                                                          {"host's CPU for each", "us"}});
    for (std::size_t i = 0; i < r.outcomes.size(); ++i) {
      const kit::fallback_outcome& w = r.outcomes[i];
      t.row(kit::fallback_ways[i], w.written, w.sent, 1e-3 * o_.messages / to_seconds(w.took), to_us(w.write_time),
            to_us(w.send_time), to_us(w.host_cpu));
    }
    context.result().operations(std::size(kit::fallback_ways) * std::uint64_t{o_.messages});
    if (r.outcomes.size() > 1) {
      context.result().headline("an aborted packet", to_us(r.outcomes[1].send_time), "us", aim::low,
                                "over a second connection: from its WRITE to its bytes where the host wants them");
    }
  }

 private:
  kit::fallback_options o_;
};

const testbench_registration<send_fallback> registers_send_fallback;

}  // namespace
}  // namespace hcasim
