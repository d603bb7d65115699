#include "testbenches/program/command_line/system_platform.h"

#include <algorithm>
#include <bit>
#include <filesystem>

#include "models/adapter/hca/hca_memories.h"
#include "models/system/fault_catalogue.h"
#include "models/system/limits.h"
#include "models/system/system.h"
#include "testbenches/program/description/names.h"
#include "testbenches/program/description/quantity.h"
#include "testbenches/program/execution/testbench.h"
#include "testbenches/program/recording/resources.h"
#include "testbenches/program/results/hierarchy.h"
#include "tlm/rtl/shell.h"

namespace hcasim {
namespace {

// Leaves out the knobs that the system sets itself: setting them is an error. LIDs are numbered, virtual lanes are the link's,
// the DMA engine's MRRS is PCIe's.
class without_derived : public knob_visitor {
 public:
  explicit without_derived(knob_visitor& to) : to_(to) {}

  void visit(knob k) override {
    const bool derived = (within("port") && (k.name == "lid" || k.name == "virtual_lanes")) ||
                         (within("switch") && k.name == "virtual_lanes") || (within("dma_engine") && k.name == "mrrs");
    if (!derived) to_.visit(std::move(k));
  }
  void enter(std::string_view name, std::string_view help) override {
    groups_.emplace_back(name);
    to_.enter(name, help);
  }
  void leave() override {
    groups_.pop_back();
    to_.leave();
  }

 private:
  [[nodiscard]] bool within(std::string_view group) const { return !groups_.empty() && groups_.back() == group; }

  knob_visitor& to_;
  std::vector<std::string> groups_;
};

std::string_view trimmed(std::string_view s) {
  while (!s.empty() && s.front() == ' ') s.remove_prefix(1);
  while (!s.empty() && s.back() == ' ') s.remove_suffix(1);
  return s;
}

ps time_of(const std::string& which, const std::string& text) {
  try {
    const long double v = parse_quantity(knob_kind::time, text);
    if (v < 0) throw quantity_error("a time is not negative");
    return ps(static_cast<std::int64_t>(v));
  } catch (const quantity_error& e) {
    throw input_error(which + e.what());
  }
}

// Turns a list of YAML, "[{at: 3 us, ...}, {...}]", into entries with semicolons between them.
std::string entries_of(std::string_view text) {
  std::string out;
  bool inside = false;
  for (const char c : text) {
    if (c == '[' || c == ']' || (c == ',' && !inside && text.find('{') != std::string_view::npos)) continue;
    if (c == '{' || c == '}') inside = c == '{';
    out += c == '}' ? ';' : c == '{' ? ' ' : c;
  }
  return out;
}

// "at: 3 us, where: node0.pcie, what: poisoned_read; every: 1 ms, ..."
std::vector<fault_order> read_faults(std::string_view text) {
  std::vector<fault_order> orders;
  for (const std::string& entry : split(entries_of(text), ';')) {
    if (trimmed(entry).empty()) continue;
    const std::string which = fmt::format("faults, entry {}: ", orders.size() + 1);
    fault_order o;
    bool timed = false;
    for (const std::string& pair : split(entry, ',')) {
      const std::size_t colon = pair.find(':');
      const std::string key(trimmed(std::string_view(pair).substr(0, colon)));
      const std::string value(colon == std::string::npos ? std::string_view()
                                                         : trimmed(std::string_view(pair).substr(colon + 1)));
      if (value.empty()) throw input_error(fmt::format("{}'{}' has no value; write for example at: 3 us", which, key));
      if (key == "at" || key == "every") {
        (key == "at" ? o.at : o.every) = time_of(which, value);
        timed = true;
      } else if (key == "length") {
        o.length = time_of(which, value);
      } else if (key == "where") {
        o.where = value;
      } else if (key == "what") {
        o.what = value;
      } else if (key == "count") {
        const bool number = value.find_first_not_of("0123456789") == std::string::npos && value.size() < 10;
        if (!number || std::stoull(value) == 0)
          throw input_error(fmt::format("{}count: {} is not a number from 1 on", which, value));
        o.count = std::stoull(value);
      } else {
        throw input_error(fmt::format("{}a fault has no '{}'; it has at, every, where, what, count and length", which, key));
      }
    }
    if (!timed) throw input_error(which + "it has no time; write at: TIME or every: TIME");
    if (o.where.empty()) throw input_error(which + "it has no place; write for example where: node0.pcie");
    if (o.what.empty()) throw input_error(which + "it has no kind; write for example what: poisoned_read");
    orders.push_back(o);
  }
  return orders;
}

// The files of memory_peers/<name>/ of every driver that peer clients have registered with; of several drivers apart, by node.
void write_memory_peers(system& s, const std::filesystem::path& folder) {
  std::vector<std::size_t> having;
  for (std::size_t i = 0; i < s.nodes(); ++i) {
    if (!s.at(i).device().peers().names().empty()) having.push_back(i);
  }
  for (const std::size_t i : having) {
    s.at(i).device().peers().write(having.size() == 1 ? folder : folder / fmt::format("node{}", i));
  }
}

// Returns the operations that faults of the same place and kind have asked for, and whether some do so again and again.
std::pair<std::uint64_t, bool> asked_like(const fault_order& o, const std::vector<fault_account>& all) {
  std::pair<std::uint64_t, bool> asked{0, false};
  for (const fault_account& a : all) {
    if (a.order->where != o.where || a.order->what != o.what) continue;
    asked.first += a.times * a.order->count;
    asked.second |= a.order->every > 0_ps;
  }
  return asked;
}

// A fault that has not begun, or has met no operation, says nothing about the machine. One that comes again and again may end
// with some to come.
void refuse_faults_to_come(run_context& run, const system& s) {
  const std::vector<fault_account> all = s.faults().accounts();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const fault_order& o = *all[i].order;
    if (all[i].times != 0) {
      const auto [asked, again] = asked_like(o, all);
      const std::uint64_t met = asked - std::min(asked, all[i].to_come);
      if (met == asked || (again && met != 0)) continue;
      run.fail(fmt::format(
          "faults, entry {}: {} {} at {} has met {} of {} (count: operations to be affected), because no more came by the end "
          "at {}; choose an earlier time or a smaller count",
          i + 1, o.where, o.what, time_text(o.at), met, asked, time_text(now())));
      continue;
    }
    run.fail(fmt::format("faults, entry {}: {} {} at {} has not begun, because the run ended at {}; choose an earlier time",
                         i + 1, o.where, o.what, time_text(o.at), time_text(now())));
  }
}

fault_effects effects_of_faults(system& s) {
  fault_effects e;
  for (std::size_t i = 0; i < s.links(); ++i) e.lost_packets += s.cable(i).lost_to_faults();
  for (std::size_t i = 0; i < s.nodes(); ++i) {
    const driver::device& d = s.at(i).device();
    if (*d.failure() == '\0') continue;
    e.happened.push_back(fmt::format("node{}: the device failed at {}: {}", i, time_text(d.failed_at()), d.failure()));
  }
  for (const fault_account& a : s.faults().accounts()) {
    if (a.times == 0) continue;
    const std::string often = a.times == 1 ? std::string() : fmt::format(" {} times, the last", a.times);
    e.happened.push_back(
        fmt::format("the description made {} fail by {}{} at {}", a.order->where, a.order->what, often, time_text(a.last)));
  }
  return e;
}

class system_platform : public platform {
 public:
  void knobs(knob_visitor& k) override {
    if (visited_) config_.nodes.resize(nodes_, config_.nodes.front());
    visited_ = true;
    nodes_ = static_cast<std::uint32_t>(config_.nodes.size());
    k.count("nodes", nodes_, 1, most_nodes, "hosts, each with one adapter");
    k.text("faults", faults_,
           "what fails when: a list of {at: TIME, where: PLACE, what: KIND}, or every: TIME; see docs/faults.md");
    without_derived own(k);
    config_.knobs(own);
  }

  void check() override {
    config_.faults = read_faults(faults_);
    if (config_.fabric == topology::direct && config_.nodes.size() > 2) {
      throw input_error(fmt::format("topology: one cable joins two nodes, but there are {}; write topology: switch or nodes: 2",
                                    config_.nodes.size()));
    }
    for (std::size_t i = 0; i < config_.nodes.size(); ++i) {
      const pcie_config& p = config_.nodes[i].pcie;
      const std::string path = fmt::format("node{}.pcie.", i);
      if (!has_pcie_lanes(p.lanes))
        throw input_error(fmt::format("{}lanes: no link has {} lanes; write 1, 2, 4, 8, 12 or 16", path, p.lanes));
      power_of_two(path + "mps", p.mps);
      power_of_two(path + "mrrs", p.mrrs);
      power_of_two(path + "rcb", p.rcb);
      if (p.completion_payload) power_of_two(path + "completion_payload", p.completion_payload);
      power_of_two(fmt::format("node{}.hca.port.mtu", i), config_.nodes[i].hca.port.mtu);
      check_paging(i);
    }
  }

  system_config* config() override { return &config_; }

  system& build(run_context& run) override {
    system_config config = config_;
    config.seed = run.seed();
    try {
      auto& s = run.make<system>("system", config);
      run.watched([&s] { return s.watch().stalled(); }, [&s] { return s.watch().waiting(); });
      run.at_end([&run, &s] { write_memory_peers(s, run.folder()); });
      run.at_end([&run, &s] { refuse_faults_to_come(run, s); });
      run.explained_by([&s] { return effects_of_faults(s); });
      return s;
    } catch (const std::invalid_argument& e) {
      throw input_error(fmt::format("the description does not fit together: {}; see 'hcasim params' and docs/units", e.what()));
    }
  }

  void memories(memory_list& to) const override {
    for (std::size_t i = 0; i < config_.nodes.size(); ++i) {
      to.within(fmt::format("node{}.hca", i),
                [&] { hcasim::memories(config_.nodes[i].hca, config_.link.virtual_lanes, config_.link.buffer, to); });
    }
  }

  [[nodiscard]] std::span<const fault_place> faults() const override { return fault_catalogue(); }
  [[nodiscard]] std::size_t nodes() const override { return config_.nodes.size(); }
  void set_nodes(std::size_t n) override {
    nodes_ = static_cast<std::uint32_t>(n);
    config_.nodes.resize(n, config_.nodes.front());
  }
  [[nodiscard]] std::vector<std::string> ways_of_rtl() const override {
    std::vector<std::string> ways;
    for (unit* u : all_units()) {
      if (auto* const shell = dynamic_cast<rtl::shell*>(u))
        ways.push_back(fmt::format("{}: {} runs {}", short_name(shell->name()), shell->design().name(), shell->way()));
    }
    return ways;
  }

 private:
  static void power_of_two(const std::string& path, std::uint64_t v) {
    if (std::has_single_bit(v)) return;
    throw input_error(fmt::format("{}: {} is not a power of two; write {} or {}", path, size(v), size(std::bit_floor(v)),
                                  size(std::bit_ceil(v))));
  }
  // Without page requests the driver would page by the adapter's own tables.
  void check_paging(std::size_t node) const {
    const node_config& n = config_.nodes[node];
    const bool asks = n.iommu.enabled && n.hca.atc.enabled && n.hca.atc.page_requests != 0;
    if (n.driver.on_demand == driver::on_demand_mode::adapter || asks) return;
    throw input_error(
        fmt::format("node{0}.driver.on_demand: iommu needs page requests; write node{0}.iommu.enabled: true, "
                    "node{0}.hca.atc.enabled: true and node{0}.hca.atc.page_requests: 1 or more",
                    node));
  }
  static std::string size(std::uint64_t v) { return format_quantity(knob_kind::bytes, static_cast<long double>(v)); }

  system_config config_;
  std::string faults_;
  std::uint32_t nodes_ = 0;
  bool visited_ = false;
};

}  // namespace

std::unique_ptr<platform> make_system_platform() {
  return std::make_unique<system_platform>();
}

}  // namespace hcasim
