// The bench of the doorbell unit.
#include <string>

#include "models/adapter/doorbell/doorbell.h"
#include "models/adapter/doorbell/rtl/doorbell_rtl.h"
#include "rtl/doorbell_covered.h"
#include "rtl/doorbell_design.h"
#include "rtl/doorbell_faulty.h"
#include "testbenches/coverification/lockstep/bench_of.h"
#include "testbenches/coverification/lockstep/doorbell/doorbell_stimulus.h"
#include "testbenches/coverification/lockstep/doorbell/doorbell_surroundings.h"

namespace hcasim::lockstep {
namespace {

class doorbell_bench final : public bench_of<doorbell, doorbell_rtl, doorbell_surroundings> {
 public:
  doorbell_bench() : bench_of("doorbell", rtl::make_doorbell_design, rtl::make_doorbell_faulty, rtl::make_doorbell_covered) {}
  [[nodiscard]] item_stream generate(const options& o) const override { return generate_doorbells(o); }
  // A record of a queue waits for a held WQE of 16 lines, which is due after four cycles a line.
  [[nodiscard]] bounds limits() const override { return {.mean = 0.5, .wait = 64}; }
  void declare(coverage& c) const override {
    for (const char* n : doorbell_surroundings::names) c[n] = 0;
    for (const char* n : {"with_wqe", "records_read", "no_record", "covered_by_a_newer_one"}) c[n] = 0;
  }
  void finish(const options& o, report& r) override {
    bench_of::finish(o, r);
    if (rtl_unit()) count_overflows(r.covered);
  }

 private:
  void describe(const item_stream&, comparison& c) override {
    c.describe = [](std::uint64_t, const comparison::answer&) { return std::vector<comparison::field>(); };  // no fields
  }
  [[nodiscard]] rtl::shell_options shell(const options& o) const override { return doorbell_shell_of(o); }
  std::unique_ptr<doorbell> make_model(const char* name, const options&) override {
    return std::make_unique<doorbell>(name, doorbell_config(), clock());
  }
  std::unique_ptr<doorbell_rtl> make_rtl(const char* name, const options&, rtl::design_factory design,
                                         const rtl::shell_options& shell) override {
    return std::make_unique<doorbell_rtl>(name, doorbell_config(), clock(), design, shell);
  }
  void join_by_stalls(doorbell_surroundings& w, doorbell& m, const rtl::shell_options& shell) override {
    qps_ = std::make_unique<stall_adaptor<context_request>>("qps", 1, clock(), shell, "qp", "qp_rsp", "",
                                                            [](const context_request& r) { return rtl::of_index(r.index); });
    records_ = std::make_unique<stall_adaptor<dma_request>>("records", 1, clock(), shell, "rec", "rec_rsp", "",
                                                            [](const dma_request& r) { return rtl::of_address(r.address); });
    qps_->on_request = [&w](const context_request& r) { w.asks_for(r.index); };
    w.watch(m);
    bind(w, m, qps_->in[0], records_->in[0]);
    qps_->out[0].bind(w.qpc);
    records_->out[0].bind(w.dma);
  }
  void join(doorbell_surroundings& w, doorbell_rtl& r) override {
    r.on_fate = [&w](std::uint64_t write, doorbell_rtl::fate f) {
      using fate = leaving_scoreboard::fate;
      w.decided(write, f == doorbell_rtl::fate::merged  ? fate::merged
                       : f == doorbell_rtl::fate::aside ? fate::aside
                                                        : fate::dropped);
    };
    bind(w, r, w.qpc, w.dma);
    w.watch(r.streams());
  }
  std::string leak_check(doorbell_surroundings& w, side) override { return w.leak_check(); }

  void count_overflows(coverage& c) const {
    for (const statistic& s : rtl_unit()->stats().all()) {
      const auto* const count = std::get_if<const counter*>(&s.value);
      if (count && (s.name == "dropped" || s.name == "aside")) c[s.name] += (*count)->value();
    }
  }
  template <class Unit, class Context, class Dma>
  static void bind(doorbell_surroundings& w, Unit& u, Context& context, Dma& dma) {
    w.mmio.bind(u.bar);
    w.firmware.bind(u.control);
    u.send.bind(w.send);
    u.receive.bind(w.receive);
    u.completion.bind(w.completion);
    u.command.bind(w.registers[0]);
    u.msix.bind(w.registers[1]);
    u.device_memory.bind(w.registers[2]);
    u.qpc.bind(context);
    u.dma.bind(dma);
  }

  std::unique_ptr<stall_adaptor<context_request>> qps_;
  std::unique_ptr<stall_adaptor<dma_request>> records_;
};

}  // namespace

std::unique_ptr<bench> make_doorbell_bench() {
  return std::make_unique<doorbell_bench>();
}

}  // namespace hcasim::lockstep
