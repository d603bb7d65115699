#include <algorithm>
#include <fstream>
#include <stdexcept>

#include <fmt/format.h>

#include "models/system/mtu.h"
#include "testbenches/program/description/errors.h"
#include "testbenches/program/description/quantity.h"
#include "testbenches/program/execution/testbench.h"
#include "testbenches/traffic/engine.h"
#include "testbenches/traffic/replay/replay_run.h"
#include "testbenches/traffic/report.h"

namespace hcasim {
namespace {

class traffic_testbench final : public testbench, public named_members {
 public:
  [[nodiscard]] std::string_view name() const override { return "traffic"; }
  [[nodiscard]] std::string_view summary() const override {
    return "flows between groups of hosts: any pattern, mix, size and load, by description";
  }
  [[nodiscard]] std::string_view knob_group() const override { return "traffic"; }
  // A recorded traffic takes the place of the example, which then is not among the resolved values either.
  void knobs(knob_visitor& k) override {
    if (!o_.replay.empty() && !flows_named_) {
      o_.groups.clear();
      o_.flows.clear();
    }
    o_.knobs(k);
  }
  named_members* members() override { return this; }
  [[nodiscard]] std::size_t driven_nodes(std::size_t hosts, std::size_t /*needed*/) const override {
    const std::size_t driven = nodes();
    return driven == 0 ? hosts : driven;  // the check tells why there are none
  }

  // Groups and flows that a description names take the place of the example's.
  bool make(std::string_view path) override {
    if (path == "groups" || path == "flows") {
      if (path == "groups" && !std::exchange(groups_named_, true)) o_.groups.clear();
      if (!std::exchange(flows_named_, true)) o_.flows.clear();
      return true;
    }
    const bool group = path.starts_with("groups.");
    const bool flow = path.starts_with("flows.");
    const std::string member(path.substr(std::min(path.size(), path.find('.') + 1)));
    if (!(group || flow) || member.find('.') != std::string::npos) return false;
    const bool named =
        !member.empty() && std::isalpha(static_cast<unsigned char>(member.front())) != 0 &&
        member.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == std::string::npos;
    if (!named) throw quantity_error(fmt::format("'{}' is no name; write letters, digits and _, a letter first", member));
    make(group ? "groups" : "flows");
    const auto same = [&](const auto& m) { return m.name == member; };
    if (group && std::none_of(o_.groups.begin(), o_.groups.end(), same)) o_.groups.push_back({member, ""});
    if (flow && std::none_of(o_.flows.begin(), o_.flows.end(), same)) o_.flows.push_back({member, {}});
    return true;
  }
  [[nodiscard]] bool tells_nodes(std::string_view path) const override {
    return path.starts_with("groups.") || path == "replay";
  }
  [[nodiscard]] std::size_t nodes() const override {
    if (!o_.replay.empty()) return replay::nodes_of(o_.replay);
    std::size_t n = 0;
    for (const auto& g : o_.groups) {
      try {
        for (const std::size_t h : traffic::parse_hosts(g.hosts)) n = std::max(n, h + 1);
      } catch (const traffic::pattern_error&) {  // check() tells
      }
    }
    return n;
  }

  void check(const system_config& machine, std::uint64_t seed, const folder_lookup& folder_of) override {
    check_replay_knobs();
    if (!o_.replay.empty()) {
      trace_ = replay::load(o_.replay);
      for (const replay::trace_region& r : trace_.regions) {
        if (r.memory == traffic::memory_kind::gpu && r.bytes != 0 && !gpu_of(machine.nodes.at(r.node))) {
          throw knob_error("replay",
                           fmt::format("the record has memory of a GPU on node {0}; write node{0}.peer0.kind: gpu", r.node));
        }
      }
      for (const replay::trace_qp& q : trace_.qps) {
        if (q.port > machine.nodes.at(q.node).hca.port.count)
          throw knob_error(
              "replay", fmt::format("the record uses port {1} of node {0}; write node{0}.hca.port.count: {1}", q.node, q.port));
      }
      return;
    }
    for (auto& f : o_.flows) {
      const std::string path = "flows." + f.name + ".";
      f.options.size = traffic::located(f.options.size, folder_of(path + "size"));
      f.options.gap = traffic::located(f.options.gap, folder_of(path + "gap"));
    }
    traffic::machine_limits limits;
    limits.link_rate = machine.link.rate.bits_per_second;
    limits.lanes = machine.link.virtual_lanes;
    const auto& driver = machine.nodes.front().driver;
    limits.post_cost = driver.post_wqe + driver.post_segment + driver.poll_cqe;
    limits.receive_cost = limits.post_cost + driver.post_call;
    limits.max_inline = machine.nodes.front().hca.command_unit.max_inline;
    for (const node_config& n : machine.nodes) limits.hosts.push_back(limits_of(machine, n));
    plan_ = traffic::make_plan(o_, limits, seed, folder_of);
  }

  [[nodiscard]] driver_objects objects_at(std::size_t node) const override {
    driver_objects o;
    for (const traffic::planned_flow& f : plan_.flows) {
      o.qps += f.qps_at(node);
      o.cqs += f.options.cqs == traffic::queue_use::own ? f.qps_at(node) : f.options.threads + 1;
      o.keys += f.options.threads + 1;  // of payloads and receives
      const std::vector<std::size_t> targets = f.targets();
      if (std::find(targets.begin(), targets.end(), node) != targets.end()) o.keys += f.options.regions;
    }
    for (const replay::trace_qp& q : trace_.qps) o.qps += q.node == node ? 1 : 0;
    return o;
  }

  void run(run_context& context) override {
    if (!o_.replay.empty()) return run_replay(context);
    auto& engine = context.make<traffic::engine>(context.build(), plan_, context.seed(), context.parts(),
                                                 [&context](const std::string& text) { context.note(text); });
    engine.start();
    context.start();
    for (std::size_t i = 0; i < plan_.flows.size(); ++i) {
      if (const std::string& why = engine.records()[i].failure(); !why.empty())
        context.fail(fmt::format("flow {}: {}", plan_.flows[i].name, why));
    }
    check_flows(context, engine);
    check_steady(context, engine);
    context.check(engine.finished(), "not every host came to the end of its traffic");
    const traffic::measured_traffic m{plan_,        engine.records(),      engine.begin(),
                                      engine.end(), engine.phase_begins(), engine.known()};
    traffic::report(m, context.result());
    std::ofstream rates(context.folder() / "rates.csv");
    traffic::write_rates(m, rates);
    for (const auto& [host, busy] : engine.software_busy()) {
      context.resource(fmt::format("node{}.host", host), "software", busy,
                       "share of the time that the busiest posting thread did not wait");
    }
  }

 private:
  // A flow without a message in the measured time has figures that say nothing.
  void check_flows(run_context& context, const traffic::engine& e) const {
    for (std::size_t i = 0; i < plan_.flows.size(); ++i) {
      const traffic::planned_flow& f = plan_.flows[i];
      const traffic::flow_record& r = e.records()[i];
      if (f.options.phase != 1 && r.first_post() == never) {
        context.fail(
            fmt::format("flow {}: the measured time ended before phase {} began; raise measure, or write measure: never",
                        f.name, f.options.phase));
      } else if (r.failure().empty() && r.messages() == 0 && !e.known()) {
        context.fail(fmt::format(
            "flow {}: none of its messages completed in the measured time, so its figures say nothing; raise measure{}", f.name,
            f.open() ? " or its rate" : ", or lower warm_up"));
      }
    }
  }
  // The run says so when its figures are not known as well as its description asks.
  void check_steady(run_context& context, const traffic::engine& e) const {
    if (!e.known() || e.end() < e.begin() + plan_.measure || e.known()->within()) return;
    const traffic::steadiness::quantity& q = e.known()->worst();
    if (q.means.mean() == 0)
      return context.fail(fmt::format("flow {} completed no message in {:.4g} us, so its figures are not steady; raise measure",
                                      q.flow, to_us(plan_.measure)));
    context.fail(
        fmt::format("the figures are not steady within {:.3g} % after {:.4g} us: the {} of flow {} is known to {:.2g} %, and "
                    "its batches of {} us have a correlation of {:.2f} (at most {}); raise measure, warm_up or precision",
                    100 * plan_.precision, to_us(plan_.measure), q.what, q.flow, 100 * traffic::steadiness::relative_error(q),
                    to_us(traffic::steadiness::batch_of(q)), q.means.correlation(), kit::batch_means::most_correlation));
  }

  void check_replay_knobs() const {
    const traffic::traffic_options d;
    const bool of_flows = flows_named_ || o_.warm_up != d.warm_up || o_.measure != d.measure || o_.until != d.until;
    if (!o_.replay.empty() && of_flows)
      throw knob_error("replay", "groups, flows, warm_up, measure and until say nothing of a recorded traffic; leave them out");
    if (o_.until != traffic::run_until::steady && o_.precision != d.precision)
      throw knob_error("precision", "has no effect without until: steady; leave it out");
    if (o_.replay.empty() && (o_.times != d.times || o_.own != d.own))
      throw knob_error(o_.times != d.times ? "replay_times" : "replay_own_time", "has no effect without replay; leave it out");
    if (o_.times == traffic::replay_times::original && o_.own != d.own)
      throw knob_error("replay_own_time", "has no effect with replay_times: original; leave one out");
  }

  void run_replay(run_context& context) {
    std::vector<std::optional<std::size_t>> gpus;
    for (const node_config& n : context.config().nodes) gpus.push_back(gpu_of(n));
    auto& r = context.make<replay::replayer>(context.build(), std::move(trace_), replay::replay_options{o_.times, o_.own},
                                             std::move(gpus), context.parts());
    r.start();
    context.start();
    replay::report(r, context);
  }

  // Returns the number of the node's first GPU among its peer devices.
  static std::optional<std::size_t> gpu_of(const node_config& n) {
    for (std::size_t i = 0; i < n.peer.size(); ++i) {
      if (n.peer[i].kind == peer_kind::gpu) return i;
    }
    return std::nullopt;
  }

  static traffic::machine_limits::host limits_of(const system_config& machine, const node_config& n) {
    traffic::machine_limits::host out;
    out.gpu = gpu_of(n);
    if (out.gpu) out.gpu_bytes = n.peer[*out.gpu].memory;
    out.adapter_bytes = n.hca.device_memory.size;
    out.ports = n.hca.port.count;
    out.reads = n.hca.command_unit.max_read_depth;
    try {
      out.mtu = mtu_within(n.hca.port.mtu, machine.link.buffer);
    } catch (const std::invalid_argument&) {
      // The machine refuses a buffer without room for a packet when it is built.
    }
    out.beside = n.beside;
    out.on_demand = n.hca.command_unit.on_demand || n.driver.on_demand == driver::on_demand_mode::iommu;
    return out;
  }

  traffic::traffic_options o_ = traffic::traffic_options::example();
  bool groups_named_ = false;
  bool flows_named_ = false;
  traffic::plan plan_;
  replay::trace trace_;
};

const testbench_registration<traffic_testbench> registers_traffic;

}  // namespace
}  // namespace hcasim
