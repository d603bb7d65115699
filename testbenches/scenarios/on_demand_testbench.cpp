#include "models/system/system_config.h"
#include "testbenches/program/execution/testbench.h"
#include "testbenches/scenarios/on_demand.h"

namespace hcasim {
namespace {

class on_demand final : public testbench {
 public:
  [[nodiscard]] std::string_view name() const override { return "on_demand"; }
  [[nodiscard]] std::string_view summary() const override {
    return "on-demand paging beside pinning: the first touch of a page, a share of a buffer, a page taken back under traffic";
  }
  void knobs(knob_visitor& k) override {
    k.count("pages", o_.pages, 2, 65536, "pages of the buffer");
    k.count("window", o_.window, 1, 64, "operations of 4 KiB under way");
    k.count("takes", o_.takes, 1, 100000, "pages that the operating system moves, alone and under traffic");
  }
  void defaults(system_config& c) override { c.nodes.resize(2); }

  void run(run_context& context) override {
    kit::paging_outcome r;
    o_.parts = context.parts();
    kit::start_paging(context.build(), o_, context.seed(), r);
    context.start();
    if (!r.problem.empty()) context.fail(r.problem);
    context.check(r.ok, "the programs did not come to their end");
    if (!r.ok) return;
    result& out = context.result();
    table& touches =
        out.table("one page of 4 KiB, touched alone",
                  {{"operation"}, {"first touch", "us"}, {"again", "us"}, {"pinned", "us"}, {"a fault costs", "us"}});
    for (const kit::touch_row& t : r.touches)
      touches.row(t.what, to_us(t.first), to_us(t.again), to_us(t.pinned), to_us(t.first - t.again));
    double faults = 0;
    for (const kit::touch_row& t : r.touches) faults += to_us(t.first - t.again) / static_cast<double>(r.touches.size());
    out.headline("a fault costs", faults, "us", aim::low,
                 "the first touch of a page less the second, mean over the operations");
    table& shares = out.table("a buffer registered, touched in part, and de-registered", {{"touched", "%"},
                                                                                          {"pages"},
                                                                                          {"way"},
                                                                                          {"faults"},
                                                                                          {"prepare", "us"},
                                                                                          {"transfer", "us"},
                                                                                          {"release", "us"},
                                                                                          {"in all", "us"},
                                                                                          {"CPU of the caller", "us"}});
    for (const kit::share_row& s : r.shares) {
      shares.row(100 * s.share, s.touched, kit::paging_ways[static_cast<unsigned>(s.way)], s.faults, to_us(s.prepare),
                 to_us(s.transfer), to_us(s.release), to_us(s.total()), s.owner_cpu);
    }
    table& takes = out.table("the operating system moves a page", {{"traffic"}, {"p50", "us"}, {"p99", "us"}, {"max", "us"}});
    for (const auto& [name, h] : {std::pair{"none", &r.take_idle}, {"READs of these pages", &r.take_loaded}}) {
      takes.row(name, us(h->percentile(50)), us(h->percentile(99)), us(h->max()));
    }
    out.figure("pinning pays from", 100 * break_even(r), "%",
               "share of the buffer touched from which pinning it takes less time in all");
    out.operations(static_cast<std::uint64_t>(r.operations));
  }

 private:
  static double us(std::uint64_t v) { return static_cast<double>(v) * 1e-6; }
  // Between the shares that were tried, linearly; above 1: never.
  static double break_even(const kit::paging_outcome& r) {
    double last_share = 0;
    double last_lead = 0;
    for (std::size_t i = 0; i + 2 < r.shares.size(); i += 3) {
      const double lead = to_us(r.shares[i + 2].total()) - to_us(r.shares[i].total());  // of on demand over pinned
      const double share = r.shares[i].share;
      if (lead <= 0) return i == 0 ? 0 : last_share + (share - last_share) * last_lead / (last_lead - lead);
      last_share = share;
      last_lead = lead;
    }
    return 2;
  }

  kit::paging_options o_;
};

const testbench_registration<on_demand> registers_on_demand;

}  // namespace
}  // namespace hcasim
