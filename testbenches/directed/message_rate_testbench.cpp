#include "testbenches/directed/message_rate.h"
#include "testbenches/runner/testbench.h"

namespace hcasim {
namespace {

class message_rate final : public testbench {
 public:
  [[nodiscard]] std::string_view name() const override { return "message_rate"; }
  [[nodiscard]] std::string_view summary() const override {
    return "a stream of RDMA WRITEs over any number of QPs and regions";
  }
  void knobs(knob_visitor& k) override {
    k.count("messages", o_.messages, 1, 1e12, "WRITEs in all");
    k.bytes("size", o_.size, 1, 2147483648.0, "bytes of each");
    k.count("window", o_.window, 1, 16384, "outstanding on each QP");
    k.count("qps", o_.qps, 1, 65536, "QPs, used in turn");
    k.count("regions", o_.regions, 1, 1 << 20, "target regions, used in turn");
  }
  void run(run_context& context) override {
    kit::stream_result r;
    kit::start_stream(context.build(), o_, r);
    context.start();
    context.check(r.ok && r.completed == o_.messages, "not every WRITE succeeded");
    if (!r.ok) return;
    const double rate = r.messages_per_second();
    context.result().figure("message_rate", rate / 1e6, "M/s", "WRITEs per simulated second");
    context.result().figure("goodput", rate * static_cast<double>(o_.size) * 8 / 1e9, "Gb/s", "payload per simulated second");
    context.result().operations(r.completed);
  }

 private:
  kit::stream_options o_;
};

const testbench_registration<message_rate> registered;

}  // namespace
}  // namespace hcasim
