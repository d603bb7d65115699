#include "testbenches/program/execution/prepare.h"

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
    v.enter("parameters", "of the testbench");
    bench->knobs(v);
    v.leave();
  });
}

prepared_run::prepared_run(const std::string& name, const place& where, platform_factory factory)
    : name_(name),
      bench_(find_testbench(name, where)),
      machine_(make_machine(factory, *bench_, least_nodes_)),
      tree_(make_tree(*machine_, bench_.get(), &series_)) {}

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
  if (!series_.series.empty() && series_.interval == never) {
    throw input_error(
        "statistics.series: has no effect without statistics.interval; write for example statistics.interval: 10 us");
  }
  seed_ = d.seed();
  presets_ = d.presets();
}

}  // namespace hcasim
