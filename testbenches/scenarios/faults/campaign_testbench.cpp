#include "testbenches/program/execution/testbench.h"
#include "testbenches/scenarios/faults/campaign.h"
#include "testbenches/scenarios/faults/recovery.h"

namespace hcasim {
namespace {

class fault_campaign final : public testbench {
 public:
  [[nodiscard]] std::string_view name() const override { return "fault_campaign"; }
  [[nodiscard]] std::string_view summary() const override { return "every fault at random times under load, and its outcome"; }
  void knobs(knob_visitor& k) override {
    k.count("faults", o_.faults, 1, 1e7, "faults in all");
    k.count("between", o_.between, 1, 1e6, "requests that must succeed between two of them");
    k.time("watched", o_.watched, 1_us, 1000_ms, "time after a fault before it is judged");
    k.text("where", o_.where, "only at places that begin so; empty: anywhere");
    k.text("what", o_.what, "only faults of this kind; empty: of any");
    k.count("processes", o_.stream.processes, 1, 16, "processes at each end, each with a stream of its own");
    k.choice("memory", o_.stream.memory, {"pinned", "on_demand", "peer"},
             "what the stream moves: pinned, paged in on demand, or at node 1 that of its peer device");
    k.count("qps", o_.stream.qps, 1, 64, "QPs of each stream");
    k.count("window", o_.stream.window, 1, 64, "requests outstanding on each");
    k.bytes("size", o_.stream.size, 64, 65536, "of each WRITE and READ");
  }
  // Small caches: otherwise hardly anything is read from ICM.
  void defaults(system_config& c) override {
    faults::watch_closely(c);
    for (node_config& n : c.nodes) {
      n.hca.qpc_cache.sets = n.hca.qpc_cache.ways = 1;
      n.hca.mrc_cache.sets = n.hca.mrc_cache.ways = 1;
    }
  }
  void run(run_context& context) override {
    faults::campaign_outcome r;
    system& s = context.build();
    try {
      faults::start_campaign(s, o_, context.seed(), r);
    } catch (const std::invalid_argument& refused) {
      throw input_error(refused.what());
    }
    context.start();
    faults::recovery_outcome end;
    faults::judge_recovery(s, end);
    context.check(r.problem.empty(), r.problem.c_str());
    context.check(r.stream.over, "the stream did not come to its end");

    auto& result = context.result();
    table& t = result.table("outcomes", {{"fault"}, {"masked"}, {"corrected"}, {"contained"}, {"recovered"}, {"lost"}});
    std::array<std::uint64_t, faults::outcomes> sum{};
    for (const auto& [fault, n] : r.by_fault()) {
      t.row(fault, n[0], n[1], n[2], n[3], n[4]);
      for (std::size_t i = 0; i < n.size(); ++i) sum[i] += n[i];
    }
    // A fault that was lost is repeated by the same seed with as many faults as its number says.
    table& lost = result.table("lost: repeat with --seed and --faults", {{"fault"}, {"seed"}, {"faults"}, {"how"}});
    for (std::size_t i = 0; i < r.trials.size(); ++i) {
      const faults::trial& one = r.trials[i];
      if (one.became == faults::outcome::lost) lost.row(one.place + " " + one.what, context.seed(), i + 1, one.how);
    }
    for (std::size_t i = 0; i < sum.size(); ++i) {
      result.figure(faults::outcome_names[i], static_cast<double>(sum[i]), "1", "faults that ended so");
    }
    result.figure("requests", static_cast<double>(r.stream.done), "1", "that ended well, their bytes checked");
    bool believed = false;
    for (const faults::trial& one : r.trials) {
      const bool may = faults::may_be_believed(context.config(), one.what);
      believed |= may;
      if (one.became == faults::outcome::lost && !may) context.fail(one.place + " " + one.what + " was lost: " + one.how);
    }
    for (const std::string& what : end.left) {
      if (!believed) context.fail(what);
    }
    result.figure("left", static_cast<double>(end.left.size()), "1", "places where something was not given back");
  }

 private:
  faults::campaign_options o_;
};

const testbench_registration<fault_campaign> registers_fault_campaign;

}  // namespace
}  // namespace hcasim
