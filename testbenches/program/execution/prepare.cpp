#include "testbenches/program/execution/prepare.h"

#include <algorithm>
#include <bit>

#include "models/system/system_config.h"
#include "testbenches/program/description/names.h"

namespace hcasim {
namespace {

std::unique_ptr<testbench> find_testbench(const std::string& name, const place& where) {
  if (auto bench = testbench_registry::create(name)) return bench;
  const auto names = testbench_registry::names();
  throw description_error(where, "",
                          fmt::format("there is no testbench '{}'; {}", name, suggestion(name, names, "testbenches")));
}

// `least_nodes`: the testbench needs at least its default number of nodes.
std::unique_ptr<platform> make_machine(platform_factory make, testbench& bench, std::size_t& least_nodes) {
  auto machine = make();
  if (system_config* c = machine->config()) bench.defaults(*c);
  least_nodes = machine->nodes();
  return machine;
}

}  // namespace

knob_tree make_tree(platform& machine, testbench* bench, series_options* series) {
  return knob_tree([&machine, bench, series](knob_visitor& v) {
    machine.knobs(v);
    if (series) v.group("statistics", *series, "over time");
    if (!bench) return;
    v.enter(bench->knob_group(), "of the testbench");
    bench->knobs(v);
    v.leave();
  });
}

prepared_run::prepared_run(const std::string& name, const place& where, platform_factory factory)
    : name_(name),
      bench_(find_testbench(name, where)),
      machine_(make_machine(factory, *bench_, least_nodes_)),
      tree_(make_tree(*machine_, bench_.get(), &series_)) {
  if (named_members* const members = bench_->members()) tree_.set_naming(naming_of(*members));
}

knob_tree::naming prepared_run::naming_of(named_members& members) {
  const std::string group = std::string(bench_->knob_group()) + ".";
  const auto below = [group](std::string_view path) {
    return path.substr(path.starts_with(group) ? group.size() : path.size());
  };
  return {[&members, below](std::string_view path) { return members.make(below(path)); },
          [&members, below](std::string_view path) { return members.tells_nodes(below(path)); },
          [this, &members] {
            least_nodes_ = members.nodes();
            if (least_nodes_ != 0) machine_->set_nodes(least_nodes_);
          }};
}

// Lets the testbench check its knobs; its complaint gets the place of the knob.
void prepared_run::check_bench(const description& d) {
  const std::string group(bench_->knob_group());
  try {
    if (const system_config* const c = machine_->config()) {
      bench_->check(*c, d.seed(), [&](std::string_view knob) {
        const place where = d.origin(fmt::format("{}.{}", group, knob));
        return where.line ? std::filesystem::path(where.source).parent_path() : std::filesystem::path();
      });
    }
  } catch (const knob_error& e) {
    const std::string path = fmt::format("{}.{}", group, e.path());
    const place where = d.origin(path);
    if (where.source.empty()) throw input_error(fmt::format("{}: {}", path, e.what()));
    throw description_error(where, path, e.what());
  }
}

// Raises the defaults of the driver's tables to what the testbench makes. What the description says comes on top once more.
void prepared_run::grow_tables(description& d) {
  system_config* const c = machine_->config();
  bool grown = false;
  const auto hold = [&](std::uint32_t& log, std::uint64_t objects) {
    constexpr std::uint64_t reserved = 2;  // numbers that are never given out: QP0 and QP1, key 0
    const auto needed = static_cast<std::uint32_t>(std::bit_width(objects + reserved - 1));
    grown |= needed > log;
    log = std::max(log, needed);
  };
  for (std::size_t i = 0; c && i < c->nodes.size(); ++i) {
    const driver_objects o = bench_->objects_at(i);
    driver::driver_config& tables = c->nodes[i].driver;
    hold(tables.log_qps, o.qps);
    hold(tables.log_cqs, o.cqs);
    hold(tables.log_mrs, o.keys);
  }
  if (grown) d.apply(tree_);
}

void prepared_run::apply(description& d) {
  d.apply(tree_);
  machine_->check();
  if (const std::size_t n = machine_->nodes(); n < least_nodes_) {
    throw input_error(
        fmt::format("nodes: {} needs {} hosts, and there are {}; write nodes: {}", name_, least_nodes_, n, least_nodes_));
  } else if (const std::size_t driven = bench_->driven_nodes(n, least_nodes_); n > driven) {
    throw input_error(fmt::format("nodes: there are {} hosts, but {} would drive only {}; write nodes: {}{}", n, name_, driven,
                                  driven, driven == 2 ? ", and topology: switch for a switch between them" : ""));
  }
  check_bench(d);
  grow_tables(d);
  if (!series_.series.empty() && series_.interval == never) {
    throw input_error(
        "statistics.series: has no effect without statistics.interval; write for example statistics.interval: 10 us");
  }
  seed_ = d.seed();
  presets_ = d.presets();
}

std::vector<idle_setting> prepared_run::idle(const description& d) const {
  std::vector<idle_group> groups;
  const knob_tree::leaf* const topology = tree_.find("topology");
  const system_config* const c = machine_->config();
  const std::size_t ends = machine_->nodes() + (c && c->outside.count != 0 ? 1 : 0);
  const bool switched = !topology || topology->text() == "switch" || (topology->text() == "automatic" && ends > 2);
  if (!switched) groups.push_back({"switch", {"topology", "nodes"}, "without a switch; write topology: switch"});
  for (std::size_t i = 0; c && i < c->nodes.size(); ++i) {
    const std::string& host = c->nodes[i].beside;
    if (host.empty()) continue;
    for (const char* const group : {"host", "pcie", "iommu", "peer0", "peer1", "device0", "device1"}) {
      groups.push_back({fmt::format("node{}.{}", i, group),
                        {fmt::format("node{}.beside", i)},
                        fmt::format("at an adapter in the host of {}; write it for that node", host)});
    }
  }
  return idle_settings(d, tree_, groups);
}

void prepared_run::refuse_idle(const description& d) const {
  for (const idle_setting& s : idle(d)) throw description_error(s.where, s.pattern, s.text);
}

}  // namespace hcasim
