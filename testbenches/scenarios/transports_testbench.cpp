#include <algorithm>

#include <fmt/format.h>

#include "testbenches/program/execution/testbench.h"
#include "testbenches/scenarios/transports.h"

namespace hcasim {
namespace {

class transports final : public testbench {
 public:
  [[nodiscard]] std::string_view name() const override { return "transports"; }
  [[nodiscard]] std::string_view summary() const override {
    return "the same messages over RC, UC, UD and shared receive queues";
  }
  void knobs(knob_visitor& k) override {
    k.bytes("size", o_.size, 64, 1 << 20, "bytes of the long messages; a datagram has at most 2 KiB");
    k.count("repetitions", o_.repetitions, 1, 100, "of each message; the last one is measured");
  }
  void run(run_context& context) override {
    hcasim::system& s = context.build();
    kit::transports_outcome r;
    o_.parts = context.parts();
    kit::start_transports(s, o_, r);
    context.start();
    context.check(r.problem.empty(), r.problem.c_str());
    table& t = context.result().table("from the post to the completion",
                                      {{"transport"}, {"operation"}, {"size", "B"}, {"sender", "ns"}, {"receiver", "ns"}});
    for (const kit::transports_row& row : r.rows) {
      t.row({row.lane, row.operation, row.bytes, to_ns(row.completed),
             row.received > ps(0) ? cell(to_ns(row.received)) : cell(std::string("-"))});
    }
    context.check(r.rows.size() == rows, "not every message was sent");
    double sum = 0;
    for (const kit::transports_row& row : r.rows) sum += to_ns(std::max(row.completed, row.received));
    context.result().headline("message time", sum / static_cast<double>(rows), "ns", aim::low,
                              "mean over all messages, from the post until both sides have their completions");
    context.result().figure("messages", static_cast<double>(r.messages), "1", "messages sent, every byte checked");
    context.result().figure("receives", static_cast<double>(r.receives), "1", "messages that used a receive");
  }

 private:
  static constexpr std::size_t rows = 2 * (5 + 5 + 4 + 2 + 2);
  kit::transports_options o_;
};

const testbench_registration<transports> registers_transports;

}  // namespace
}  // namespace hcasim
