#include <sys/prctl.h>

#include "testbenches/checks/hostile/hostile.h"
#include "testbenches/kit/leak_check.h"
#include "testbenches/program/execution/testbench.h"

namespace hcasim {
namespace {

class hostile final : public testbench {
 public:
  [[nodiscard]] std::string_view name() const override { return "hostile"; }
  [[nodiscard]] std::string_view summary() const override {
    return "a peer that breaks every rule, beside good traffic: no byte outside a grant changed or shown, nothing left over";
  }
  void knobs(knob_visitor& k) override {
    k.count("forged", o_.packets, 4, 1e12, "packets of the hostile peer");
    k.count("qps", o_.qps, 1, 256, "QPs that it is the peer of");
    k.time("apart", o_.apart, 1_ns, 1_ms, "time from one packet of the hostile peer to the next, on average");
    k.count("operations", o_.operations, 0, 1e12, "operations of the good traffic; 0: one for ten packets");
  }
  // Few keys and QP numbers: each is reused again and again, and the firmware soon has records of all.
  void defaults(system_config& c) override {
    for (node_config& n : c.nodes) {
      n.hca.command_unit.log_mrs = 9;
      n.hca.command_unit.log_qps = 9;
    }
  }
  void run(run_context& context) override {
    ::prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);  // resident memory grows by the page, not by 2 MiB now and then
    kit::hostile_outcome r;
    o_.parts = context.parts();
    hcasim::system& s = context.build();
    if (context.config().fabric == topology::with_switch) {
      throw input_error("hostile: the hostile peer is on the one cable between two nodes; topology: direct");
    }
    kit::start_hostile(s, o_, context.seed(), r);
    context.start();
    context.check(r.problem.empty(), r.problem.c_str());
    context.check(r.good.problem.empty(), r.good.problem.c_str());
    context.check(r.ok, "the victim did not come to its end");
    context.check(r.good.ok && r.good.received == r.good.done[2], "the good traffic did not come to its end");
    if (r.ok) r.leak_check = kit::leak_check(s);
    for (const std::string& what : r.leak_check) context.fail("left over: " + what);
    // The hosts touch pages until all of their memory is in use, and the monitor remembers so much of every QP. A byte that
    // each packet leaves behind is found in some millions.
    constexpr double step = 3;
    context.check(r.grown_mib < step + 0.5e-6 * static_cast<double>(o_.packets), "memory grows with the packets");
    tell(context.result(), r);
  }

 private:
  void tell(result& out, const kit::hostile_outcome& r) {
    table& sent = out.table("packets of the hostile peer", {{"kind"}, {"count"}});
    std::uint64_t all = 0;
    for (std::size_t i = 0; i < r.sent.size(); ++i) {
      sent.row(kit::attack_names[i], r.sent[i]);
      all += r.sent[i];
    }
    table& t = out.table("what became of it", {{"event"}, {"count"}});
    t.row("lives of its QPs", r.lives);
    t.row("grants given, changed and taken away", r.changes);
    t.row("completions of its QPs", r.completions);
    t.row("bytes moved by DMA in what is guarded", r.moved);
    t.row("of these, outside a grant", r.outside);
    t.row("bytes shown to the hostile peer", r.shown);
    t.row("of these, shown by no grant", r.wrongly_shown);
    t.row("bytes moved or shown for a packet that had no right to", r.misused);
    t.row("operations of the good traffic, every byte checked",
          r.good.done[0] + r.good.done[1] + r.good.done[2] + r.good.done[3]);
    out.figure("outside", static_cast<double>(r.outside + r.wrongly_shown + r.misused), "B",
               "bytes touched, changed or shown outside a grant");
    out.operations(all);
  }

  kit::hostile_options o_;
};

const testbench_registration<hostile> registers_hostile;

}  // namespace
}  // namespace hcasim
