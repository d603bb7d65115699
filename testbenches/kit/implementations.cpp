#include "testbenches/kit/implementations.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <stdexcept>
#include <string_view>

namespace hcasim::kit {
namespace {

struct choice {
  const char* name;
  implementation& (*of)(hca_config&);
};
constexpr choice choices[] = {
    {"doorbell", [](hca_config& h) -> implementation& { return h.doorbell.implementation; }},
    {"key_check", [](hca_config& h) -> implementation& { return h.key_check.implementation; }},
    {"completion", [](hca_config& h) -> implementation& { return h.completion.implementation; }},
    {"page_walker", [](hca_config& h) -> implementation& { return h.page_walker.implementation; }},
    {"walker_dma_bridge", [](hca_config& h) -> implementation& { return h.walker_dma_bridge.implementation; }},
    {"qpc_cache", [](hca_config& h) -> implementation& { return h.qpc_cache.implementation; }},
    {"mrc_cache", [](hca_config& h) -> implementation& { return h.mrc_cache.implementation; }},
    {"extent_cache", [](hca_config& h) -> implementation& { return h.extent_cache.implementation; }},
    {"cqc_cache", [](hca_config& h) -> implementation& { return h.cqc_cache.implementation; }},
};

}  // namespace

system_config with_rtl(system_config config, const std::string& units) {
  std::istringstream list(units);
  for (std::string name; std::getline(list, name, ',');) {
    const std::size_t equals = name.find('=');
    const implementation what{equals == std::string::npos ? "rtl" : name.substr(equals + 1)};
    name.resize(std::min(equals, name.size()));
    bool found = false;
    for (const choice& c : choices) {
      if (name != "all" && name != c.name) continue;
      found = true;
      for (node_config& n : config.nodes) c.of(n.hca) = what;
    }
    if (!found) throw std::invalid_argument("HCASIM_RTL: there is no RTL of '" + name + "'");
  }
  return config;
}

// Gives every adapter what presets of real ones have, with little room, so that the mechanisms meet.
void make_scarce(hca_config& h) {
  h.processing_units = {.units = 2,
                        .wqe = 9,
                        .request_in = 10,
                        .response_in = 9,
                        .acknowledge_in = 2,
                        .response_out = 4,
                        .read_line = 2,
                        .write_piece = 14};
  h.send_queue.early_blueflame = true;
  h.send_queue.evict_outstanding = true;
  h.send_queue.wqe_cache = 64;
  h.send_queue.refetches = 1;
  h.page_walker.hit_under_miss = false;
  h.page_walker.second_sets = h.page_walker.second_ways = 2;
  for (context_cache_config* c : {&h.qpc_cache, &h.cqc_cache, &h.mrc_cache, &h.extent_cache}) {
    c->sets = 1;  // contexts are evicted all the time
    c->write_changes = true;
    c->second_sets = c->second_ways = 2;
  }
  h.icm.map_sets = 1;
  h.icm.map_ways = 2;
  h.dma_engine.write_latency = 20;
  h.dma_engine.atomic_interval = 8;
  h.dma_engine.atomic_waiters = 1;
}

// Puts all adapters into the first host, but for nodes with devices of their own.
void share_a_host(system_config& c) {
  for (std::size_t i = 1; i < c.nodes.size(); ++i) {
    const node_config& n = c.nodes[i];
    const bool has_peers = std::any_of(n.peer.begin(), n.peer.end(), [](const auto& p) { return p.kind != peer_kind::none; });
    if (!has_peers && !c.nodes[0].iommu.enabled) c.nodes[i].beside = "node0";
  }
}

system_config as_in_environment(system_config config) {
  if (std::getenv("HCASIM_SCARCE")) {
    for (node_config& n : config.nodes) {
      make_scarce(n.hca);
      n.host.last_level_cache = {.size = 64_KiB, .ways = 4, .ddio_ways = 1};
    }
  }
  if (std::getenv("HCASIM_ONE_HOST")) share_a_host(config);
  if (std::getenv("HCASIM_IOMMU")) {
    for (node_config& n : config.nodes) {
      n.iommu.enabled = true;
      n.hca.atc.enabled = std::string_view(std::getenv("HCASIM_IOMMU")) == "ats";
    }
  }
  if (std::getenv("HCASIM_REREG_KEY")) {
    for (node_config& n : config.nodes) n.driver.rereg_key = driver::rereg_key_policy::renew;
  }
  const char* const units = std::getenv("HCASIM_RTL");
  return units ? with_rtl(std::move(config), units) : config;
}

}  // namespace hcasim::kit
