// The bench of the doorbell unit.
#include <string>

#include "models/adapter/doorbell/doorbell.h"
#include "models/adapter/doorbell/rtl/doorbell_rtl.h"
#include "rtl/doorbell_design.h"
#include "rtl/doorbell_faulty.h"
#include "testbenches/coverification/lockstep/benches.h"
#include "testbenches/coverification/lockstep/doorbell_stimulus.h"
#include "testbenches/coverification/lockstep/doorbell_surroundings.h"

namespace hcasim::lockstep {
namespace {

class doorbell_bench final : public bench {
 public:
  [[nodiscard]] const char* name() const override { return "doorbell"; }
  [[nodiscard]] item_stream generate(const options& o) const override { return generate_doorbells(o); }
  [[nodiscard]] unsigned faults() const override { return rtl::make_doorbell_faulty(0)->mutants(); }
  // A record of a queue waits for a held WQE of 16 lines, which is due after four cycles a line.
  [[nodiscard]] bounds limits() const override { return {.mean = 0.5, .wait = 64}; }
  void declare(coverage& c) const override {
    for (const char* n : doorbell_surroundings::names) c[n] = 0;
    for (const char* n : {"with_wqe", "records_read", "no_record", "covered_by_a_newer_one"}) c[n] = 0;
  }
  void elaborate(const item_stream& stream, const options& o, comparison& c) override {
    const clock_domain& clock = clock_;
    const doorbell_config config;
    c.describe = [](std::uint64_t, const comparison::answer&) { return std::vector<comparison::field>(); };  // no fields
    if (o.model) {
      model_world_ = std::make_unique<doorbell_surroundings>("model_world", stream, o, clock, c, model_side);
      const rtl::shell_options shell = doorbell_shell_of(o, model_world_->progress());
      model_ = std::make_unique<doorbell>("model", config, clock);
      qps_ = std::make_unique<stall_adaptor<context_request>>("qps", 1, clock, shell, "qp", "qp_rsp", "",
                                                              [](const context_request& r) { return rtl::of_index(r.index); });
      records_ = std::make_unique<stall_adaptor<dma_request>>("records", 1, clock, shell, "rec", "rec_rsp", "",
                                                              [](const dma_request& r) { return rtl::of_address(r.address); });
      qps_->on_request = [this](const context_request& r) { model_world_->asks_for(r.index); };
      model_world_->watch(*model_);
      bind(*model_world_, *model_, qps_->in[0], records_->in[0]);
      qps_->out[0].bind(model_world_->qpc);
      records_->out[0].bind(model_world_->dma);
    }
    if (o.rtl) {
      rtl_world_ = std::make_unique<doorbell_surroundings>("rtl_world", stream, o, clock, c, rtl_side);
      rtl_ = std::make_unique<doorbell_rtl>("rtl", config, clock,
                                            design_of(o, rtl::make_doorbell_design, rtl::make_doorbell_faulty),
                                            doorbell_shell_of(o, rtl_world_->progress()));
      set_fault(*rtl_, o);
      rtl_->on_violation = [&c](const std::string& what) { c.broke(what); };
      rtl_->on_fate = [this](std::uint64_t write, doorbell_rtl::fate f) {
        using fate = leaving_scoreboard::fate;
        rtl_world_->decided(write, f == doorbell_rtl::fate::merged  ? fate::merged
                                   : f == doorbell_rtl::fate::aside ? fate::aside
                                                                    : fate::dropped);
      };
      bind(*rtl_world_, *rtl_, rtl_world_->qpc, rtl_world_->dma);
      rtl_world_->watch(rtl_->streams());
    }
  }
  [[nodiscard]] std::array<const unit*, sides> units() const override { return {model_.get(), rtl_.get()}; }
  void finish(const options& o, report& r) override {
    if (rtl_world_) rtl_world_->publish(r.covered);
    for (doorbell_surroundings* w : {model_world_.get(), rtl_world_.get()}) {
      if (!w || !r.problem.empty()) continue;
      r.problem = w->leak_check();
      r.differences += !r.problem.empty();
    }
    if (rtl_) count_overflows(r.covered);
    finish_rtl(rtl_.get(), o, r);
  }

 private:
  void count_overflows(coverage& c) const {
    for (const statistic& s : rtl_->stats().all()) {
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

  const clock_domain clock_{frequency{400e6}};
  std::unique_ptr<doorbell_surroundings> model_world_, rtl_world_;
  std::unique_ptr<doorbell> model_;
  std::unique_ptr<doorbell_rtl> rtl_;
  std::unique_ptr<stall_adaptor<context_request>> qps_;
  std::unique_ptr<stall_adaptor<dma_request>> records_;
};

}  // namespace

std::unique_ptr<bench> make_doorbell_bench() {
  return std::make_unique<doorbell_bench>();
}

}  // namespace hcasim::lockstep
