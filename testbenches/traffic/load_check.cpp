#include "testbenches/traffic/load_check.h"

#include <algorithm>
#include <map>
#include <numeric>

#include <fmt/format.h>

#include "testbenches/program/description/errors.h"
#include "testbenches/program/description/quantity.h"

namespace hcasim::traffic {
namespace {

double sum_of(const std::array<double, operations>& weights) {
  return std::accumulate(weights.begin(), weights.end(), 0.0);
}

const char* knob_of_load(const planned_flow& f) {
  return f.options.gap.empty() ? "rate" : "gap";
}

// Bits per second that the link of a host's port carries in each direction for the open loops.
using host_port = std::pair<std::size_t, std::size_t>;
struct link_load {
  std::map<host_port, double> out;
  std::map<host_port, double> in;
};

void add_load(link_load& to, const planned_flow& f) {
  const double sum = sum_of(f.options.weights);
  for (const host_pair& p : f.pairs) {
    const double rate = f.source_rate(p.from) * f.duty() * f.share(p);
    for (std::size_t i = 0; i < operations; ++i) {
      const auto op = static_cast<operation>(i);
      const double payload = is_sized(op) ? f.size.mean() : own_bytes(op);
      const double bits = rate * f.options.weights[i] / sum * wire_bytes(op, payload, f.mtu_bytes()) * 8;
      for (const std::size_t port : {1U, 2U}) {
        to.out[{pulls(op) ? p.to : p.from, port}] += bits * f.share_of_port(port);
        to.in[{pulls(op) ? p.from : p.to, port}] += bits * f.share_of_port(port);
      }
    }
  }
}

void check_links(const plan& p, const machine_limits& limits) {
  link_load all;
  for (const planned_flow& f : p.flows) {
    if (!f.open()) continue;
    add_load(all, f);
    for (const auto* side : {&all.out, &all.in}) {
      for (const auto& [at, load] : *side) {
        if (load <= limits.link_rate) continue;
        throw knob_error(
            fmt::format("flows.{}.{}", f.name, f.options.gap.empty() ? "rate" : "gap"),
            fmt::format("host {} would {} {:.4g} Gb/s over a link of {:.4g} Gb/s; {} by the factor {:.3g}, or raise "
                        "link.rate",
                        at.first, side == &all.out ? "send" : "receive", load / 1e9, limits.link_rate / 1e9,
                        f.options.gap.empty() ? "lower it" : "lengthen it",
                        f.options.gap.empty() ? limits.link_rate / load : load / limits.link_rate));
      }
    }
  }
}

// The receiving thread of a flow takes each receive and posts another one.
void check_receivers(const plan& p, const machine_limits& limits) {
  for (const planned_flow& f : p.flows) {
    if (!f.open() || !f.receives()) continue;
    double share = 0;
    for (std::size_t i = 0; i < operations; ++i) {
      const auto op = static_cast<operation>(i);
      if (takes_receive(op)) share += f.options.weights[i];
    }
    share *= std::max(f.options.members, 1U) / sum_of(f.options.weights);
    std::map<std::size_t, double> rates;
    for (const host_pair& pair : f.pairs) rates[pair.to] += f.source_rate(pair.from) * f.duty() * f.share(pair) * share;
    const double cost = to_seconds(std::max(limits.receive_cost, 1_ps));
    for (const auto& [host, rate] : rates) {
      if (rate * cost <= 1) continue;
      throw knob_error(fmt::format("flows.{}.{}", f.name, knob_of_load(f)),
                       fmt::format("host {} would receive {:.4g} messages/s, and the flow's thread there takes {:.4g} at most "
                                   "(driver.post_call, post_wqe, post_segment, poll_cqe); lower the load, or make two flows",
                                   host, rate, 1 / cost));
    }
  }
}

// Bytes of the targets' and the sources' memory of a flow on a host.
std::uint64_t target_bytes(const planned_flow& f, std::size_t host) {
  constexpr std::uint64_t page = 4_KiB;
  const auto qps = static_cast<std::uint64_t>(
      f.options.qps * std::count_if(f.pairs.begin(), f.pairs.end(), [&](const host_pair& x) { return x.to == host; }));
  if (qps == 0) return 0;
  const std::uint64_t slots = needs_key(f.keyed()) ? qps * f.depth() * align_up(f.longest, page) : 0;
  const std::uint64_t receives = f.receives() ? align_up(f.longest + page, page) : 0;
  return f.options.regions * align_up(f.options.region, page) + slots + receives;
}

std::uint64_t source_bytes(const planned_flow& f, std::size_t host) {
  const bool posts = std::any_of(f.pairs.begin(), f.pairs.end(), [&](const host_pair& x) { return x.from == host; });
  return posts ? f.options.threads * align_up(f.longest, std::uint64_t{4_KiB}) : 0;
}

void check_memory(const plan& p, memory_kind kind, std::size_t host, std::uint64_t room, const std::string& mend) {
  std::uint64_t wanted = 0;
  for (const planned_flow& f : p.flows) {
    const std::uint64_t there = f.options.memory == kind ? target_bytes(f, host) : 0;
    const std::uint64_t here = f.options.source_memory == kind ? source_bytes(f, host) : 0;
    wanted += there + here;
    if (wanted <= room || there + here == 0) continue;
    const auto text = [](std::uint64_t bytes) { return format_quantity(knob_kind::bytes, static_cast<long double>(bytes)); };
    throw knob_error(fmt::format("flows.{}.{}", f.name, there != 0 ? "memory" : "source_memory"),
                     fmt::format("the flows need {} of it in host {}, and there are {}; write fewer or smaller regions, or {}",
                                 text(wanted), host, text(room), mend));
  }
}

void check_on_demand(const plan& p, const machine_limits& limits) {
  const auto able = [&](std::size_t host) { return host >= limits.hosts.size() || limits.hosts[host].on_demand; };
  for (const planned_flow& f : p.flows) {
    for (const host_pair& x : f.pairs) {
      const bool target = f.options.memory == memory_kind::on_demand && !able(x.to);
      if (!target && (f.options.source_memory != memory_kind::on_demand || able(x.from))) continue;
      throw knob_error(
          fmt::format("flows.{}.{}", f.name, target ? "memory" : "source_memory"),
          fmt::format("the adapter of host {} has no on-demand regions; write hca.command_unit.on_demand: true, or "
                      "memory of another kind",
                      target ? x.to : x.from));
    }
  }
}

void check_ports(const plan& p, const machine_limits& limits) {
  for (const planned_flow& f : p.flows) {
    if (f.options.ports == port_use::first) continue;
    const std::string knob = fmt::format("flows.{}.ports", f.name);
    if (f.options.ports == port_use::both && f.options.qps == 1)
      throw knob_error(knob, "a pair has one QP, which uses one port; write qps: 2 or more");
    for (const host_pair& x : f.pairs) {
      for (const std::size_t host : {x.from, x.to}) {
        if (host >= limits.hosts.size() || limits.hosts[host].ports > 1) continue;
        throw knob_error(knob, fmt::format("the adapter of host {0} has one port; write node{0}.hca.port.count: 2", host));
      }
    }
  }
}

void check_mtu(const plan& p, const machine_limits& limits) {
  for (const planned_flow& f : p.flows) {
    for (const host_pair& x : f.pairs) {
      for (const std::size_t host : {x.from, x.to}) {
        if (host >= limits.hosts.size() || f.mtu_bytes() <= static_cast<double>(limits.hosts[host].mtu)) continue;
        throw knob_error(fmt::format("flows.{}.mtu", f.name),
                         fmt::format("packets of host {0} have {1} B at most; write mtu: {1}, or raise node{0}.hca.port.mtu or "
                                     "link.buffer",
                                     host, limits.hosts[host].mtu));
      }
    }
  }
}

}  // namespace

double wire_bytes(operation o, double payload, double mtu) {
  constexpr double each = 8 + 12 + 4 + 2;  // LRH, BTH, ICRC, VCRC
  constexpr double reth = 16;
  constexpr double aeth = 4;
  constexpr double atomic = 28;
  if (o == operation::bind) return 0;
  if (is_atomic(o)) return each + atomic;
  const double packets = std::max(1.0, payload / mtu);
  if (o == operation::read) return payload + packets * each + (packets > 1 ? 2 : 1) * aeth;
  return payload + packets * each + (o == operation::send ? 0 : reth);
}

void check_loads(const plan& p, const machine_limits& limits) {
  check_ports(p, limits);
  check_mtu(p, limits);
  check_links(p, limits);
  check_receivers(p, limits);
}

void check_memories(const plan& p, const machine_limits& limits) {
  check_on_demand(p, limits);
  for (std::size_t h = 0; h < std::min(p.hosts, limits.hosts.size()); ++h) {
    check_memory(p, memory_kind::device, h, limits.hosts[h].adapter_bytes, "raise hca.device_memory.size");
    check_memory(p, memory_kind::gpu, h, limits.hosts[h].gpu_bytes, "raise the memory of the peer device");
  }
}

}  // namespace hcasim::traffic
