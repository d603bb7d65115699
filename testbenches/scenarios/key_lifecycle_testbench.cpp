#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/system/system_config.h"
#include "testbenches/program/execution/testbench.h"
#include "testbenches/scenarios/key_lifecycle.h"

namespace hcasim {
namespace {

using kit::lifecycle_row;

double per_change(const lifecycle_row& r, ps t) {
  return static_cast<double>(t.count()) / r.changes;
}

// The parts of one change's time, in clock cycles of the adapter.
struct breakdown {
  double total, software, firmware, unit, rest;
};

class key_lifecycle final : public testbench {
 public:
  [[nodiscard]] std::string_view name() const override { return "key_lifecycle"; }
  [[nodiscard]] std::string_view summary() const override {
    return "cost of changing the rights to a page in six ways, among 1 to 65 536 live keys";
  }
  void knobs(knob_visitor& k) override {
    k.count("most_keys", most_, 1, 65536, "live keys: 1, 64, 4 096 and 65 536, as far as this");
    k.count("changes", o_.changes, 2, 1e6, "changes in each way, half of them take the right away");
    k.count("lanes", o_.lanes, 1, 64, "connections of the traffic");
  }
  void defaults(system_config& c) override { c.nodes.resize(2); }

  void run(run_context& context) override {
    std::erase_if(o_.live_keys, [this](std::uint32_t keys) { return keys > most_; });
    kit::lifecycle_outcome r;
    o_.parts = context.parts();
    kit::start_lifecycle(context.build(), o_, context.seed(), r);
    context.start();
    if (!r.problem.empty()) context.fail(r.problem);
    context.check(r.ok, "the changes did not come to their end");
    if (!r.ok) return;
    clock_ = context.config().nodes[1].hca.clock.hertz;
    print_costs(context.result(), r);
    print_cycles(context.result(), r);
    print_winners(context.result(), r);
    for (const lifecycle_row& row : r.rows) {
      if (row.live_keys != r.rows.back().live_keys) continue;
      context.result().headline(std::string(kit::name_of(row.way)), per_change(row, row.total) * 1e-6, "us", aim::low,
                                "mean time of a change among the most live keys, nothing else going on");
    }
    std::uint64_t changes = 0;
    for (const lifecycle_row& row : r.rows) changes += row.changes + row.grant.latencies.size() + row.revoke.latencies.size();
    context.result().operations(changes);
  }

 private:
  void print_costs(result& out, const kit::lifecycle_outcome& r) const {
    table& t = out.table("a page taken from a peer and given back", {{"live keys"},
                                                                     {"way"},
                                                                     {"revoke p50", "us"},
                                                                     {"p99", "us"},
                                                                     {"grant p50", "us"},
                                                                     {"p99", "us"},
                                                                     {"traffic p99", "us"},
                                                                     {"stall", "ns"},
                                                                     {"PCIe", "B"},
                                                                     {"CPU", "us"},
                                                                     {"misses"}});
    for (std::size_t i = 0; i < r.rows.size(); ++i) {
      const lifecycle_row& x = r.rows[i];
      const kit::latency_record& still = r.undisturbed[i / kit::rights_ways];
      t.row(x.live_keys, kit::name_of(x.way), to_us(x.revoke.percentile(50)), to_us(x.revoke.percentile(99)),
            to_us(x.grant.percentile(50)), to_us(x.grant.percentile(99)), to_us(x.traffic.percentile(99)),
            to_ns(kit::stall_of(still, x.traffic)), x.pcie_bytes / x.changes, per_change(x, x.cpu) * 1e-6,
            x.misses / x.changes);
    }
  }

  [[nodiscard]] breakdown cycles(const lifecycle_row& x) const {
    const double cycle = 1e12 / clock_;
    breakdown b{per_change(x, x.total) / cycle, per_change(x, x.cpu) / cycle, per_change(x, x.commands) / cycle,
                per_change(x, x.unit) / cycle, 0};
    b.rest = b.total - b.software - b.firmware - b.unit;
    return b;
  }

  void print_cycles(result& out, const kit::lifecycle_outcome& r) const {
    table& t = out.table("where the time of one change goes, nothing else going on", {{"live keys"},
                                                                                      {"way"},
                                                                                      {"software", "cycles"},
                                                                                      {"firmware", "cycles"},
                                                                                      {"window_unit", "cycles"},
                                                                                      {"PCIe and queues", "cycles"},
                                                                                      {"in all", "cycles"}});
    for (const lifecycle_row& x : r.rows) {
      const breakdown b = cycles(x);
      t.row(x.live_keys, kit::name_of(x.way), b.software, b.firmware, b.unit, b.rest, b.total);
    }
  }

  void print_winners(result& out, const kit::lifecycle_outcome& r) const {
    table& t = out.table("the fastest way, and why", {{"live keys"}, {"way"}, {"cycles"}, {"because"}});
    for (std::size_t i = 0; i < r.rows.size(); i += kit::rights_ways) {
      std::vector<const lifecycle_row*> order;
      for (std::size_t k = 0; k < kit::rights_ways; ++k) order.push_back(&r.rows[i + k]);
      std::sort(order.begin(), order.end(), [](const auto* a, const auto* b) { return a->total < b->total; });
      t.row(order[0]->live_keys, kit::name_of(order[0]->way), std::round(cycles(*order[0]).total), reason(order));
    }
  }

  // Against the next way of another kind: one that goes through the firmware if this one does not, and the other way round.
  [[nodiscard]] std::string reason(const std::vector<const lifecycle_row*>& order) const {
    const bool commands = order[0]->commands > ps(0);
    const auto other =
        std::find_if(order.begin() + 1, order.end(), [&](const lifecycle_row* x) { return (x->commands > ps(0)) != commands; });
    const lifecycle_row& next = other == order.end() ? *order[1] : **other;
    const breakdown a = cycles(*order[0]);
    const breakdown b = cycles(next);
    struct part {
      const char* name;
      double saved;
    };
    std::vector<part> parts = {{"software", b.software - a.software},
                               {"firmware", b.firmware - a.firmware},
                               {"PCIe and queues", b.rest - a.rest},
                               {"window_unit", b.unit - a.unit}};
    std::sort(parts.begin(), parts.end(), [](const part& x, const part& y) { return std::abs(x.saved) > std::abs(y.saved); });
    std::string text = fmt::format("{:.0f} less than {}:", b.total - a.total, kit::name_of(next.way));
    for (const part& p : parts) text += fmt::format(" {} {:+.0f}", p.name, -p.saved);
    return text;
  }

  kit::lifecycle_options o_;
  std::uint32_t most_ = 65536;
  double clock_ = 1e9;
};

const testbench_registration<key_lifecycle> registers_key_lifecycle;

}  // namespace
}  // namespace hcasim
