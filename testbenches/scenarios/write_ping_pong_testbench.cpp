#include "testbenches/program/execution/testbench.h"
#include "testbenches/scenarios/write_ping_pong.h"

namespace hcasim {
namespace {

class write_ping_pong final : public testbench {
 public:
  [[nodiscard]] std::string_view name() const override { return "write_ping_pong"; }
  [[nodiscard]] std::string_view summary() const override {
    return "RDMA WRITEs to and fro, seen in memory by the other side, as ib_write_lat measures them";
  }
  void knobs(knob_visitor& k) override {
    k.bytes("size", o_.size, 1, 16777216, "bytes of a WRITE");
    k.count("iterations", o_.iterations, 1, 1e6, "round trips that are measured");
    k.count("warm_up", o_.warm_up, 0, 1e6, "round trips before those");
    k.bytes("inline_most", o_.inline_most, 0, 904, "WRITEs up to this size carry their payload in the WQE");
    k.choice("mtu", mtu_, {"256", "512", "1024", "2048", "4096"}, "bytes of payload in a packet at most");
  }
  void run(run_context& context) override {
    o_.parts = context.parts();
    o_.mtu = 256U << static_cast<unsigned>(mtu_);
    kit::ping_pong_outcome r;
    kit::start_ping_pong(context.build(), o_, r);
    context.start();
    context.check(r.ok, "the WRITEs did not come to their end");
    context.result().headline("latency", r.half_ns, "ns", aim::low, "half a round trip, mean");
    context.result().operations(2ULL * (o_.iterations + o_.warm_up));
  }

 private:
  enum class packet_size : std::uint8_t { b256, b512, b1024, b2048, b4096 };
  kit::ping_pong_options o_;
  packet_size mtu_ = packet_size::b2048;
};

const testbench_registration<write_ping_pong> registers_write_ping_pong;

}  // namespace
}  // namespace hcasim
