#include <fmt/format.h>

#include "testbenches/program/execution/testbench.h"
#include "testbenches/schedules/loggp_probe.h"

namespace hcasim {
namespace {

class loggp_testbench final : public testbench {
 public:
  [[nodiscard]] std::string_view name() const override { return "loggp"; }
  [[nodiscard]] std::string_view summary() const override {
    return "the parameters of the LogGP model: latency, overhead, gap, and gap for each byte";
  }
  void defaults(system_config& c) override { c.nodes.resize(2); }
  void knobs(knob_visitor& k) override {
    k.bytes("small", small_, 1, 65536, "bytes of a small message");
    k.bytes("large", large_, 2, 65536, "bytes of a large message; both are sent eagerly");
  }
  void run(run_context& context) override {
    if (large_ <= small_) throw input_error("parameters.large: no larger than small; raise it");
    const schedules::loggp_probe probe(small_, large_);
    schedules::run_options o{.times = 2, .warm_up = true, .keep_times = true, .parts = context.parts()};
    o.port.eager = large_;
    auto& result = context.make<schedules::run_result>();
    schedules::start_schedule(context.build(), probe.plan(), o, result);
    context.start();
    context.check(result.ok, "the messages did not all arrive");
    if (!result.ok) return;
    const schedules::loggp p = probe.parameters(result);
    hcasim::result& out = context.result();
    out.headline("L", to_ns(p.latency), "ns", aim::low,
                 "latency: from the end of the sender's overhead to the begin of the receiver's");
    out.figure("o_send", to_ns(p.o_send), "ns", "overhead of the sender's thread");
    out.figure("o_receive", to_ns(p.o_receive), "ns", "overhead of the receiver's thread");
    out.figure("g", to_ns(p.gap), "ns", "gap between small messages of a stream");
    out.figure("G", p.byte_gap, "ps/B", "gap for each further byte of a message");
    out.figure("O_send", p.byte_o_send, "ps/B", "overhead of the sender's thread for each further byte");
    out.figure("O_receive", p.byte_o_receive, "ps/B", "overhead of the receiver's thread for each further byte");
  }

 private:
  std::uint64_t small_ = 8;
  std::uint64_t large_ = 8192;
};

const testbench_registration<loggp_testbench> registers_loggp;

}  // namespace
}  // namespace hcasim
