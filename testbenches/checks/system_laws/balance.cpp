#include "testbenches/checks/system_laws/balance.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "testbenches/program/description/names.h"
#include "testbenches/program/recording/resources.h"
#include "testbenches/program/results/hierarchy.h"

namespace hcasim::metamorphic {
namespace {

using sums = std::map<std::string, double>;  // sums over all nodes: hca.requester.packets

std::string without_node(const std::string& name) {
  return name.starts_with("node") ? name.substr(name.find('.') + 1) : name;
}

sums all_counters() {
  sums all;
  for (const unit* u : all_units()) {
    for (const statistic& s : u->stats().all()) {
      const auto* const* c = std::get_if<const counter*>(&s.value);
      if (c) all[without_node(short_name(u->name())) + "." + s.name] += static_cast<double>((*c)->value());
    }
  }
  return all;
}

// The sum of all counters that one of the patterns matches.
double sum_of(const sums& all, const std::vector<const char*>& patterns) {
  double sum = 0;
  for (const auto& [name, v] : all) {
    if (std::any_of(patterns.begin(), patterns.end(), [&](const char* p) { return glob_match(p, name); })) sum += v;
  }
  return sum;
}

struct equation {
  const char* what;
  std::vector<const char*> left;
  std::vector<const char*> right;
};

// Returns the equations of runs without loss.
const std::vector<equation>& equations() {
  static const std::vector<equation> list = {
      {"packets: ports send what ports receive",
       {"hca.port*.egress_packets", "hca.port*.loopback_packets"},
       {"hca.port*.ingress_packets"}},
      {"bytes: ports send what ports receive", {"hca.port*.egress_bytes"}, {"hca.port*.ingress_bytes"}},
      {"packets: a port hands on what it receives",
       {"hca.port*.ingress_packets"},
       {"hca.port*.to_requester", "hca.port*.to_responder", "hca.port*.dropped_*"}},
      {"packets: requesters send what responders receive",
       {"hca.requester.packets", "hca.port*.loopback_packets"},
       {"hca.responder.packets"}},
      {"payload: requesters send what responders place", {"hca.requester.payload_sent"}, {"hca.responder.payload_written"}},
      {"WQEs: the send queue hands over what the requester takes", {"hca.send_queue.wqes"}, {"hca.requester.operations"}},
      {"changes: the send queue hands over what the window unit does",
       {"hca.send_queue.changes"},
       {"hca.window_unit.bind*", "hca.window_unit.invalidate*", "hca.window_unit.fast_reg*"}},
      {"bursts: PCIe reads what the engine asks for", {"pcie.device0_reads"}, {"hca.dma_engine.read_bursts"}},
      {"bursts: PCIe writes what the engine hands over", {"pcie.device0_writes"}, {"hca.dma_engine.write_bursts"}},
      {"bursts: memory and devices are read as often as PCIe reads",
       {"pcie.device?_reads"},
       {"host.dma_reads", "peer?.bar_reads"}},
  };
  return list;
}

}  // namespace

std::vector<std::string> unbalanced(hcasim::system& s, const traffic_options& o) {
  std::vector<std::string> found;
  const sums all = all_counters();
  const bool translated = s.config().nodes[0].iommu.enabled;
  for (const equation& e : equations()) {
    // Packets for which an on-demand page was missing are sent again.
    if (o.memory == memory_kind::on_demand && std::string_view(e.what).starts_with("payload")) continue;
    // Reads and requests of the IOMMU itself are counted as well.
    if (translated && std::string_view(e.what).starts_with("bursts")) continue;
    // Packets for a group turn round at their own port as well.
    if (o.members != 0 && std::string_view(e.what).starts_with("bytes")) continue;
    // Each member of a group has the payload.
    const bool copied = o.members != 0 && std::string_view(e.what).starts_with("payload");
    const double left = sum_of(all, e.left) * (copied ? o.members : 1);
    const double right = sum_of(all, e.right);
    if (left != right) found.push_back(fmt::format("{}: {} and {}", e.what, left, right));
  }
  const auto count = [&](const char* name) { return sum_of(all, {name}); };
  const auto receives = static_cast<double>(std::count(o.mix.begin(), o.mix.end(), op::send));
  const double messages = static_cast<double>(o.messages * o.flows.size());
  if (receives == 0 && count("hca.completion.cqes") != count("hca.send_queue.wqes")) {
    found.push_back(fmt::format("CQEs: {} for {} WQEs", count("hca.completion.cqes"), count("hca.send_queue.wqes")));
  }
  if (count("hca.send_queue.wqes") < messages) found.emplace_back("fewer WQEs were executed than messages were posted");
  // Dropped are packets that turned round at a port without members, and no others.
  if (count("hca.responder.dropped") != count("hca.port*.loopback_packets")) {
    found.push_back(fmt::format("responders dropped {} packets", count("hca.responder.dropped")));
  }
  for (const char* never : {"hca.requester.timeouts", "hca.requester.discarded", "hca.completion.cqes_lost",
                            "hca.completion.write_failures", "hca.dma_engine.failures"}) {
    if (count(never) != 0) found.push_back(fmt::format("{} is {}", never, count(never)));
  }
  return found;
}

namespace {

struct queue_of {
  const char* level;                    // unit and statistic, of any node
  std::vector<const char*> histograms;  // histograms of the same unit
};
const std::vector<queue_of>& queues() {
  static const std::vector<queue_of> list = {
      {"*.hca.doorbell.fifo", {"fifo_wait"}},
      {"*.hca.page_walker.walkers_busy", {"walk_latency"}},
      {"*.hca.window_unit.pending", {"*_time"}},
      {"*.iommu.walkers_busy", {"walk_time"}},
      {"*.iommu.waiting", {"wait_time"}},
      {"*.hca.atc.requests_outstanding", {"request_time"}},
      {"*.hca.atc.pages_outstanding", {"page_time"}},
      {"*.hca.atc.held", {"wait_time"}},
      {"*.pcie.device0_outstanding_reads", {"device0_read_time"}},
      {"*.pcie.device1_outstanding_reads", {"device1_read_time"}},
      {"*.pcie.device0_writes_in_flight", {"device0_write_time"}},
      {"*.pcie.device1_writes_in_flight", {"device1_write_time"}},
      {"*.peer0.copy_queue", {"copy_time"}},
  };
  return list;
}

}  // namespace

std::vector<std::string> unlike_little(const measurement& m) {
  std::vector<std::string> found;
  const measurement::part all = m.whole();
  for (std::size_t i = 0; i < m.entries().size(); ++i) {
    const unit* const of = m.entries()[i].of;
    const std::string name = short_name(of->name()) + "." + m.entries()[i].reader.of().name;
    if (!std::holds_alternative<level*>(m.entries()[i].reader.of().value)) continue;
    const auto& list = queues();
    const auto q = std::find_if(list.begin(), list.end(), [&](const queue_of& one) { return glob_match(one.level, name); });
    if (q == list.end()) continue;
    double waits = 0;
    for (std::size_t h = 0; h < m.entries().size(); ++h) {
      if (m.entries()[h].of == of && glob_match(q->histograms[0], m.entries()[h].reader.of().name)) {
        waits += all.values[h].samples.sum();
      }
    }
    const double area = all.values[i].over;
    // A level's area is a sum of floating-point products.
    if (std::abs(area - waits) > 1e-6 * std::max(area, waits) + 1) {
      found.push_back(fmt::format("{}: {:.3f} us by its level, {:.3f} us by its waits", name, area / 1e6, waits / 1e6));
    }
  }
  return found;
}

}  // namespace hcasim::metamorphic
