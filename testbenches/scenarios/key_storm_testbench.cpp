#include "testbenches/program/execution/testbench.h"
#include "testbenches/scenarios/key_storm.h"

namespace hcasim {
namespace {

class key_storm final : public testbench {
 public:
  [[nodiscard]] std::string_view name() const override { return "key_storm"; }
  [[nodiscard]] std::string_view summary() const override {
    return "windows opened and closed under remote WRITEs; no byte lands after a window is closed";
  }
  void knobs(knob_visitor& k) override {
    k.choice("type", type_, {"1", "2"}, "of the windows: closed by a bind to nothing, or by LOCAL_INV");
    k.count("changes", o_.changes, 1, 1e9, "windows opened and closed in all");
    k.count("windows", o_.windows, 1, 65536, "windows, each over a page");
    k.count("lanes", o_.lanes, 1, 256, "connections of the writer, one WRITE outstanding on each");
    k.count("depth", o_.depth, 1, 1024, "binds outstanding");
  }
  void run(run_context& context) override {
    o_.type = type_ == window_type::type_1 ? 1 : 2;
    kit::storm_outcome r;
    o_.parts = context.parts();
    kit::start_storm(context.build(), o_, context.seed(), r);
    context.start();
    context.check(r.problem.empty(), r.problem.c_str());
    context.check(r.ok, "the storm did not come to its end");
    context.check(r.late_bytes == 0, "bytes landed after their window was closed");
    context.check(r.wrongly_granted == 0, "a dead key was granted");
    context.check(r.wrongly_denied == 0, "a good key was denied");
    hcasim::result& out = context.result();
    out.headline("changes", r.changes_per_ms(), "1/ms", aim::high, "windows opened and closed per simulated millisecond");
    table& t = out.table("what happened", {{"event"}, {"count"}});
    t.row("binds", r.binds);
    t.row(o_.type == 1 ? "unbinds" : "invalidates", r.unbinds);
    if (o_.type == 2) t.row("changes flushed with their connection", r.flushed);
    t.row("WRITEs granted", r.granted);
    t.row("WRITEs denied", r.denied);
    t.row("granted with a dead key", r.wrongly_granted);
    t.row("denied with a good key", r.wrongly_denied);
    t.row("bytes landed under a closed window", r.late_bytes);
    out.operations(r.binds + r.unbinds + r.granted + r.denied);
  }

 private:
  enum class window_type : std::uint8_t { type_1, type_2 };

  kit::storm_options o_;
  window_type type_ = window_type::type_1;
};

const testbench_registration<key_storm> registers_key_storm;

}  // namespace
}  // namespace hcasim
