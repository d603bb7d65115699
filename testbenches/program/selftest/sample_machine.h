// A small machine with one knob of every kind, for the runner's tests.
#pragma once

#include <string>
#include <vector>

#include "tlm/base/knobs.h"

namespace hcasim::selftest {

struct cache_config {
  std::uint32_t ways = 4;
  std::uint64_t size = 64_KiB;
  enum class policy_kind { lru, random, fifo } policy = policy_kind::lru;

  void knobs(knob_visitor& k) {
    k.count("ways", ways, 1, 64, "entries of a set");
    k.bytes("size", size, 64, static_cast<double>(1_GiB), "bytes held");
    k.choice("policy", policy, {"lru", "random", "fifo"}, "which entry goes");
  }
};

struct node_config {
  cache_config mrc_cache;
  cache_config qpc_cache;
  ps latency = 200_ns;
  double depth = 6;
  frequency clock{350e6};
  bool enabled = true;

  void knobs(knob_visitor& k) {
    k.enter("hca", "the adapter");
    k.group("mrc_cache", mrc_cache, "memory region contexts");
    k.group("qpc_cache", qpc_cache, "queue pair contexts");
    k.clock("clock", clock, {1e6}, {2e9}, "core clock");
    k.cycles("depth", depth, 1, 100, "pipeline depth");
    k.leave();
    k.enter("pcie", "the link to the host");
    k.time("latency", latency, 0_ps, 1_ms, "round trip of a read");
    k.flag("enabled", enabled, "use it at all");
    k.leave();
  }
};

struct machine_config {
  std::uint32_t node_count = 2;
  std::vector<node_config> nodes{2};
  bit_rate rate{100e9};
  double loss = 0;
  std::string comment;

  void knobs(knob_visitor& k) {
    k.count("nodes", node_count, 1, 8, "hosts with an adapter each");
    nodes.resize(node_count);
    for (std::size_t i = 0; i < nodes.size(); ++i) k.group("node" + std::to_string(i), nodes[i], "a host");
    k.enter("link", "the cable");
    k.rate("rate", rate, {1e9}, {400e9}, "data rate");
    k.ratio("loss", loss, 0, 1, "share of the packets lost");
    k.text("comment", comment, "free text");
    k.leave();
  }
};

}  // namespace hcasim::selftest
