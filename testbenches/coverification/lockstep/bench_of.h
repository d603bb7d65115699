// The bench of one unit: the model and the RTL, each in surroundings that offer the stream and answer the unit.
#pragma once

#include <memory>
#include <string>

#include "testbenches/coverification/lockstep/benches.h"

namespace hcasim::lockstep {

// Model, Rtl: the units. Surroundings: made of (name, stream, options, clock, comparison, side), with progress(), the number of
// items offered, and publish(coverage).
template <class Model, class Rtl, class Surroundings>
class bench_of : public bench {
 public:
  [[nodiscard]] const char* name() const override { return name_; }
  [[nodiscard]] unsigned faults() const override { return faulty_(0)->mutants(); }
  [[nodiscard]] std::array<const unit*, sides> units() const override { return {model_.get(), rtl_.get()}; }
  void elaborate(const item_stream& stream, const options& o, comparison& c) override {
    describe(stream, c);
    if (o.model) {
      const rtl::shell_options shell = surround(model_side, stream, o, c);
      model_ = make_model("model", o);
      join_by_stalls(*around_[model_side], *model_, shell);
    }
    if (o.rtl) {
      const rtl::shell_options shell = surround(rtl_side, stream, o, c);
      rtl_ = make_rtl("rtl", o, design_of(o), shell);
      set_fault(*rtl_, o);
      rtl_->on_violation = [&c](const std::string& what) { c.broke(what); };
      join(*around_[rtl_side], *rtl_);
    }
  }
  void finish(const options& o, report& r) override {
    if (rtl_) around_[rtl_side]->publish(r.covered);
    for (const side s : {model_side, rtl_side}) {
      if (!around_[s] || !r.problem.empty()) continue;
      r.problem = leak_check(*around_[s], s);
      r.differences += !r.problem.empty();
    }
    finish_rtl(rtl_.get(), o, r);
  }

 protected:
  // `faulty`: the RTL with seeded faults; `covered`: with coverage, null = there is none.
  bench_of(const char* name, rtl::design_factory plain, rtl::design_factory faulty, rtl::design_factory covered)
      : name_(name), plain_(plain), faulty_(faulty), covered_(covered) {}
  [[nodiscard]] const clock_domain& clock() const { return clock_; }
  // Returns null when the side does not run.
  [[nodiscard]] Surroundings* around(side s) const { return around_[s].get(); }
  [[nodiscard]] const Rtl* rtl_unit() const { return rtl_.get(); }

 private:
  [[nodiscard]] rtl::design_factory design_of(const options& o) const {
    if (o.design) return o.design;
    if (o.covered && covered_) return covered_;
    return o.instrumented ? faulty_ : plain_;
  }
  // Sets how a difference is told.
  virtual void describe(const item_stream& stream, comparison& c) = 0;
  [[nodiscard]] virtual std::unique_ptr<Model> make_model(const char* name, const options& o) = 0;
  [[nodiscard]] virtual std::unique_ptr<Rtl> make_rtl(const char* name, const options& o, rtl::design_factory design,
                                                      const rtl::shell_options& shell) = 0;
  // Binds the model behind adaptors, which stall its channels as the shell stalls the streams of the RTL.
  virtual void join_by_stalls(Surroundings& around, Model& m, const rtl::shell_options& shell) = 0;
  virtual void join(Surroundings& around, Rtl& r) = 0;
  [[nodiscard]] virtual rtl::shell_options shell(const options& o) const { return shell_of(o); }
  // Returns a problem that only the end of the run shows; empty = none.
  [[nodiscard]] virtual std::string leak_check(Surroundings&, side) { return {}; }

  rtl::shell_options surround(side s, const item_stream& stream, const options& o, comparison& c) {
    around_[s] = std::make_unique<Surroundings>(s == rtl_side ? "around_rtl" : "around_model", stream, o, clock_, c, s);
    rtl::shell_options with = shell(o);
    with.progress = &around_[s]->progress();
    return with;
  }

  const char* const name_;
  const rtl::design_factory plain_;
  const rtl::design_factory faulty_;
  const rtl::design_factory covered_;
  const clock_domain clock_{frequency{400e6}};
  std::unique_ptr<Surroundings> around_[sides];
  std::unique_ptr<Model> model_;
  std::unique_ptr<Rtl> rtl_;
};

}  // namespace hcasim::lockstep
