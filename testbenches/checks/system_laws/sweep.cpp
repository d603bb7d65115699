#include "testbenches/checks/system_laws/sweep.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "testbenches/checks/system_laws/workloads.h"
#include "testbenches/program/command_line/system_platform.h"
#include "testbenches/program/description/quantity.h"
#include "testbenches/program/execution/prepare.h"

namespace hcasim::metamorphic {
namespace {

struct machine_of {
  explicit machine_of(const setup& s) : machine(make_system_platform()) { *machine->config() = s.config; }
  machine_of() : machine(make_system_platform()) {}
  std::unique_ptr<platform> machine;
  knob_tree tree = make_tree(*machine, nullptr);
};

setup arranged(const workload& w) {
  setup s;
  w.arrange(s);
  return s;
}

bool whole(knob_kind k) {
  return k != knob_kind::ratio && k != knob_kind::cycles;
}

// Returns the least step with an effect, for a knob that is zero everywhere.
double unit_of(const knob_tree::leaf& l) {
  if (l.kind == knob_kind::time) return 10'000;
  if (l.kind == knob_kind::bytes) return 4096;
  return l.kind == knob_kind::ratio ? 0.01 : 4;
}

std::vector<double> values_around(const knob_tree::leaf& l, double usual, bool all) {
  const bool counted = l.kind == knob_kind::count || l.kind == knob_kind::bytes;
  const double here = number_of(l);
  const double middle = here > 0 ? here : usual > 0 ? usual : unit_of(l);
  std::vector<double> v{here};
  const std::vector<int> some{-2, 0, 2};
  const std::vector<int> many{-5, -4, -3, -2, -1, 0, 1, 2, 3, 4};
  const bool logarithm = l.path.find(".log_") != std::string::npos;
  for (const int power : all ? many : some) v.push_back(logarithm ? middle + power : middle * std::pow(2.0, power));
  if (all && counted) v.push_back(l.min);
  for (double& x : v) {
    if (whole(l.kind)) x = std::floor(x);
    x = std::clamp(x, l.min, l.max);
  }
  std::sort(v.begin(), v.end());
  v.erase(std::unique(v.begin(), v.end()), v.end());
  return v;
}

struct unit_workloads {
  const char* group;
  std::vector<std::string_view> workloads;
};
// Returns the workloads that exercise each unit.
const std::vector<unit_workloads>& workloads_of_units() {
  static const std::vector<unit_workloads> list = {
      {"host", {"small_writes", "costly_software"}},
      {"pcie", {"both_ways"}},
      {"iommu", {"behind_iommu"}},
      {"atc", {"own_translations"}},
      {"doorbell", {"doorbells"}},
      {"send_queue", {"small_writes", "doorbells"}},
      {"requester", {"mixed"}},
      {"responder", {"small_reads", "atomics", "all_to_all"}},
      {"key_check", {"windows"}},
      {"window_unit", {"binds"}},
      {"page_walker", {"many_regions"}},
      {"dma_engine", {"small_writes", "small_reads", "atomics", "costly_software"}},
      {"completion", {"small_writes"}},
      {"command_unit", {"on_demand"}},
      {"port", {"small_writes"}},
      {"qpc_cache", {"many_qps"}},
      {"cqc_cache", {"small_writes"}},
      {"mrc_cache", {"many_regions"}},
      {"driver", {"doorbells", "costly_software"}},
      {"peer0", {"peer_memory"}},
      {"link", {"both_ways"}},
      {"switch", {"star"}},
  };
  return list;
}

std::string group_of(const std::string& knob) {
  const auto dot = knob.rfind('.');
  if (dot == std::string::npos) return "";
  const auto before = knob.rfind('.', dot - 1);
  return knob.substr(before == std::string::npos ? 0 : before + 1, dot - (before == std::string::npos ? 0 : before + 1));
}

std::vector<double> numbers_of(const knob_tree& tree) {
  std::vector<double> numbers;
  for (const knob_tree::leaf& l : tree.leaves()) numbers.push_back(number_of(l));
  return numbers;
}

// Tries values on copies of a workload's machine.
class unchanging {
 public:
  explicit unchanging(const workload& w)
      : workload_(w), machine_(std::in_place, arranged(w)), numbers_(numbers_of(machine_->tree)) {}

  // Returns the value, or nothing when the machine is another one with it: its nodes differ, or the knob makes them anew.
  std::string value(const std::string& knob, const std::string& own) {
    machine_->tree.set(knob, own, {knob});
    if (numbers_of(machine_->tree) == numbers_) return own;
    machine_.emplace(arranged(workload_));
    return {};
  }

 private:
  const workload& workload_;
  std::optional<machine_of> machine_;
  std::vector<double> numbers_;
};

}  // namespace

bool full() {
  return std::getenv("HCASIM_FULL") != nullptr;
}

std::vector<knob_sweep> knobs_of(const workload& w, bool all_values) {
  machine_of here(arranged(w));
  machine_of usual;
  unchanging tried(w);
  std::vector<knob_sweep> out;
  for (const knob_tree::leaf& l : here.tree.leaves()) {
    const std::string path = general_path(l.path);
    const role what = role_of(l).value_or(role::none);
    if (path.empty() || what == role::none) continue;
    const knob_tree::leaf* plain = usual.tree.find(l.path);
    std::vector<double> values = values_around(l, plain ? number_of(*plain) : 0, all_values);
    const listed_knob* k = listed(l);
    if (k && k->zero_is_all && values.front() == 0) std::rotate(values.begin(), values.begin() + 1, values.end());
    if (less_is_better(what)) std::reverse(values.begin(), values.end());
    knob_sweep s{path, what, {}, tried.value(path, format_quantity(l.kind, number_of(l)))};
    for (const double v : values) s.values.push_back(format_quantity(l.kind, v));
    out.push_back(std::move(s));
  }
  return out;
}

void make_ample(setup& s) {
  machine_of here(s);
  for (const knob_tree::leaf& l : here.tree.leaves()) {
    if (role_of(l) != role::pool) continue;
    l.assign(format_quantity(l.kind, std::min(number_of(l) * 8, l.max)));
  }
  s.config = *here.machine->config();
  // A write that waits for its translation holds up all later ones: no rate binds then, however many may be under way.
  for (node_config& n : s.config.nodes) n.hca.atc.entries *= 8;
  if (s.traffic.bytes <= 1024) {
    s.traffic.qps = std::max(s.traffic.qps, 32U);
    s.traffic.messages =
        std::max(s.traffic.messages, std::uint64_t{s.traffic.qps} * s.traffic.window * 8 / s.traffic.flows.size());
  }
}

void make_roomy(setup& s) {
  for (node_config& n : s.config.nodes) {
    for (context_cache_config* c : {&n.hca.qpc_cache, &n.hca.cqc_cache, &n.hca.mrc_cache, &n.hca.extent_cache}) c->sets = 4096;
    n.hca.page_walker.leaf_sets = 4096;
    n.hca.page_walker.leaf_ways = 16;
    n.hca.page_walker.upper_entries = 4096;
    n.hca.page_walker.upper_ways = 64;
    n.iommu.entries = n.hca.atc.entries = 65536;
    n.iommu.ways = n.hca.atc.ways = 64;
    n.iommu.node_entries = 65536;
    n.hca.dma_engine.atomic_buckets = 65536;
  }
}

namespace {

// `to`: its number then; that of now leaves the knob alone.
std::vector<changed_knob> changed_knobs(const workload& w, void (*adjust)(setup&), double (*to)(const knob_tree::leaf&)) {
  setup s = arranged(w);
  adjust(s);
  machine_of here(s);
  std::vector<changed_knob> out;
  for (const knob_tree::leaf& l : here.tree.leaves()) {
    const std::string path = general_path(l.path);
    const double then = to(l);
    if (path.empty() || then == number_of(l)) continue;
    out.push_back({path, *role_of(l), l.text(), format_quantity(l.kind, std::clamp(then, l.min, l.max))});
  }
  return out;
}

double scarce(const knob_tree::leaf& l) {
  const double now = number_of(l);
  switch (role_of(l).value_or(role::none)) {
    case role::interval:
      return std::max(now, l.kind == knob_kind::time ? 1000.0 : 1.0) * 128;
    case role::throughput:
      return std::floor(now / 64);
    case role::pool:
      return listed(l)->zero_is_all ? std::max(l.min, unit_of(l)) : l.min;
    default:
      return now;
  }
}

}  // namespace

std::vector<changed_knob> doubled_latencies(const workload& w, void (*adjust)(setup&)) {
  return changed_knobs(w, adjust,
                       [](const knob_tree::leaf& l) { return number_of(l) * (role_of(l) == role::latency ? 2 : 1); });
}

std::vector<changed_knob> scarcities(const workload& w, void (*adjust)(setup&)) {
  return changed_knobs(w, adjust, scarce);
}

bool has_its_turn(const std::string& knob, const workload& w) {
  const std::string group = group_of(knob);
  for (const unit_workloads& h : workloads_of_units()) {
    if (group == h.group && std::find(h.workloads.begin(), h.workloads.end(), w.name) != h.workloads.end()) return true;
  }
  std::uint64_t number = 0xcbf29ce484222325;  // FNV-1a; its high bits are the well mixed ones
  for (const char c : knob) number = (number ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return std::string_view(workloads()[(number >> 32) % workloads().size()].name) == w.name;
}

}  // namespace hcasim::metamorphic
