#include "models/system/system.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "firmware/abi/pci_config.h"
#include "models/system/faulty_units.h"
#include "models/system/mtu.h"
#include "tlm/base/delegate.h"

namespace hcasim {

std::uint64_t mtu_within(std::uint64_t mtu, std::uint64_t buffer) {
  constexpr std::uint64_t credit = 64;  // holds the headers
  while (buffer != 0 && mtu >= 256 && align_down(buffer, credit) < mtu + credit) mtu /= 2;
  if (mtu < 256)
    throw std::invalid_argument("link.buffer: " + std::to_string(buffer) +
                                " B hold no packet of the least MTU, 256 B; give it 320 B at least, or 0 for no limit");
  return mtu;
}

namespace {

// Returns the ends of cables: the nodes' ports, and the outside.
unsigned ends_of(const system_config& c) {
  unsigned ends = c.outside.count != 0 ? 1 : 0;
  for (const node_config& n : c.nodes) ends += n.hca.port.count;
  return ends;
}

// Throws std::invalid_argument if cables alone cannot join the nodes.
void check_direct(const system_config& c) {
  const std::size_t n = c.nodes.size();
  const bool has_outside = c.outside.count != 0;
  if (n + (has_outside ? 1 : 0) > 2) {
    throw std::invalid_argument("topology: direct joins at most 2 nodes; use switch for " + std::to_string(n) +
                                (has_outside ? " and the outside" : ""));
  }
  const std::uint32_t first = c.nodes.front().hca.port.count;
  const std::uint32_t second = has_outside ? 1 : c.nodes.back().hca.port.count;
  if (first != second) {
    throw std::invalid_argument("topology: direct joins ports of the same number, and node0 has " + std::to_string(first) +
                                (has_outside ? ", the outside " : ", node1 ") + std::to_string(second) +
                                " (hca.port.count); use switch");
  }
}

bool may_be_direct(const system_config& c) {
  const std::size_t others = c.nodes.size() - 1 + (c.outside.count != 0 ? 1 : 0);
  const auto has_one_port = [](const node_config& n) { return n.hca.port.count == 1; };
  if (others != 1) return others == 0;
  return c.nodes.size() == 2 ? c.nodes[0].hca.port.count == c.nodes[1].hca.port.count : has_one_port(c.nodes[0]);
}

unsigned peer_count(const node_config& c) {
  return static_cast<unsigned>(
      std::count_if(c.peer.begin(), c.peer.end(), [](const auto& p) { return p.kind != peer_kind::none; }));
}

unsigned device_count(const node_config& c) {
  return static_cast<unsigned>(std::count_if(c.device.begin(), c.device.end(), [](const auto& d) { return d.there(); }));
}

// Returns the number of the node that `n.beside` names, which comes before node `i` and has a host of its own.
std::size_t host_of(const system_config& c, std::size_t i) {
  const std::string& name = c.nodes[i].beside;
  for (std::size_t h = 0; h < i; ++h) {
    if (name != "node" + std::to_string(h)) continue;
    if (!c.nodes[h].beside.empty()) {
      throw std::invalid_argument("node" + std::to_string(i) + ".beside: " + name + " is in the host of " + c.nodes[h].beside +
                                  "; name that");
    }
    return h;
  }
  throw std::invalid_argument("node" + std::to_string(i) + ".beside: '" + name + "' is no earlier node" +
                              (i == 0 ? "; the first node has a host of its own" : "; the first is node0"));
}

// The adapters of a host have its settings, and interrupts one after the other.
void share_hosts(system_config& c) {
  std::vector<unsigned> adapters(c.nodes.size(), 1);
  std::vector<std::uint32_t> vectors(c.nodes.size());
  const auto last_vector = [](const node_config& n) { return n.driver.first_vector + n.driver.completion_vectors + 2; };
  for (std::size_t i = 0; i < c.nodes.size(); ++i) {
    node_config& n = c.nodes[i];
    vectors[i] = last_vector(n);
    if (n.beside.empty()) continue;
    const std::size_t h = host_of(c, i);
    if (c.nodes[h].iommu.enabled) {
      throw std::invalid_argument("node" + std::to_string(h) +
                                  ".iommu.enabled: a host with an IOMMU has one adapter, and node" + std::to_string(i) +
                                  ".beside puts another one there");
    }
    if (peer_count(n) + device_count(n) != 0) {
      throw std::invalid_argument("node" + std::to_string(i) + ": peer devices of a host belong to node" + std::to_string(h) +
                                  ", whose host it is");
    }
    n.host = c.nodes[h].host;
    n.pcie = c.nodes[h].pcie;
    n.iommu = c.nodes[h].iommu;
    n.hca.requester_id = node::adapter_requester(adapters[h]++);
    n.driver.first_vector += vectors[h];
    vectors[h] = last_vector(n);
  }
}

// Values common to two descriptions are taken from one of them.
system_config resolved(system_config c) {
  share_hosts(c);
  std::uint32_t lid = 1;
  for (node_config& n : c.nodes) n.hca.port.lid = lid++;
  for (node_config& n : c.nodes) {
    if (n.hca.port.count > 1) n.hca.port.second_lid = lid++;
    n.hca.port.virtual_lanes = c.link.virtual_lanes;
    n.hca.port.mtu = mtu_within(n.hca.port.mtu, c.link.buffer);
    n.hca.dma_engine.mrrs = n.pcie.mrrs;
    n.driver.ats = n.hca.atc.enabled;
    n.driver.ats_pages = n.hca.atc.enabled && n.hca.atc.page_requests != 0;
    n.driver.table_bytes = std::min(n.driver.table_bytes, n.hca.command_unit.table_bytes);
    n.driver.extent_lines = std::min(n.driver.extent_lines, n.hca.command_unit.max_segments);
  }
  c.ib_switch.virtual_lanes = c.link.virtual_lanes;
  if (c.fabric == topology::automatic) c.fabric = may_be_direct(c) ? topology::direct : topology::with_switch;
  return c;
}

}  // namespace

node::node(const sc_core::sc_module_name& name, const node_config& config, std::uint64_t seed, packet_pool& packets,
           unsigned beside)
    : sc_module(name),
      own_host_(std::make_unique<hcasim::host>("host", config.host, seed)),
      own_pcie_(std::make_unique<hcasim::pcie>("pcie", config.pcie, 1 + peer_count(config) + device_count(config) + beside)),
      host(*own_host_),
      pcie(*own_pcie_),
      hca("hca", config.hca, packets),
      first_beside_(1 + peer_count(config) + device_count(config)) {
  add_iommu(config.iommu);
  plug_in(0, 0, config);
  add_peers(config);
  add_devices(config);
}

node::node(const sc_core::sc_module_name& name, const node_config& config, packet_pool& packets, node& other)
    : sc_module(name), host(other.host), pcie(other.pcie), hca("hca", config.hca, packets) {
  const unsigned i = other.adapters_++;
  plug_in(other.first_beside_ + i - 1, i, config);
}

void node::plug_in(unsigned slot, unsigned i, const node_config& config) {
  if (config.hca.atc.enabled) {
    if (!iommu) throw std::invalid_argument("hca.atc.enabled: an adapter's own translations need an IOMMU");
    pcie.map_requester(slot, config.hca.requester_id);
  }
  hca.plug_in(pcie.device(slot).up, pcie.device(slot).down);
  pcie.map_bar(slot, adapter_bar(i), HCA_BAR_SIZE);
  pcie.map_reset(slot, call<&node::reset_adapter>(this));
  pcie.map_power(slot, [this](bool on) { hca.power(on); });
  const driver::adapter_place place{.bar = adapter_bar(i),
                                    .config_space = PCI_CONFIG_WINDOW + std::uint64_t{slot} * PCI_CONFIG_BYTES,
                                    .requester = config.hca.requester_id,
                                    .iommu = iommu ? iommu_base : 0};
  device_ = std::make_unique<driver::device>(host, place, config.driver);
}

void node::add_iommu(const iommu_config& config) {
  if (config.enabled) {
    own_iommu_ = std::make_unique<hcasim::iommu>("iommu", config, iommu_base);
    iommu = own_iommu_.get();
    host.mmio.bind(iommu->cpu);
    iommu->mmio.bind(pcie.cpu);
    pcie.memory.bind(iommu->devices);
    pcie.interrupts.bind(iommu->messages);
    iommu->memory.bind(host.memory);
    iommu->interrupts.bind(host.interrupts);
  } else {
    host.mmio.bind(pcie.cpu);
    pcie.memory.bind(host.memory);
    pcie.interrupts.bind(host.interrupts);
  }
}

void node::add_peers(const node_config& config) {
  for (std::size_t i = 0; i < config.peer.size(); ++i) {
    if (config.peer[i].kind == peer_kind::none) continue;
    const auto slot = static_cast<unsigned>(peers_.size() + 1);
    peers_.push_back(std::make_unique<peer_device>(("peer" + std::to_string(i)).c_str(), config.peer[i]));
    peers_.back()->pcie.bind(pcie.device(slot).up);
    pcie.device(slot).down.bind(peers_.back()->bar);
    pcie.map_bar(slot, peer_bar(slot - 1), PEER_BAR_BYTES);
  }
}

void node::add_devices(const node_config& config) {
  for (std::size_t i = 0; i < config.device.size(); ++i) {
    const rtl_device_config& d = config.device[i];
    if (!d.there()) continue;
    const std::string unit_name = "device" + std::to_string(i);
    const std::string path = std::string(this->name()) + "." + unit_name;
    const auto slot = static_cast<unsigned>(1 + peers_.size() + rtl_devices_.size());
    const rtl::chosen what = rtl::choose("device", path, d.implementation, d.of_rtl, nullptr, rtl::knobs_of(d));
    rtl_devices_.push_back(std::make_unique<rtl_device>(unit_name.c_str(), d, what,
                                                        rtl_device::pcie_function{.requester = device_requester(i),
                                                                                  .bar = device_bar(i),
                                                                                  .payload = config.pcie.mps,
                                                                                  .read_request = config.pcie.mrrs,
                                                                                  .completion_boundary = config.pcie.rcb}));
    rtl_devices_.back()->memory().bind(pcie.device(slot).up);
    pcie.device(slot).down.bind(rtl_devices_.back()->bar());
    pcie.map_bar(slot, device_bar(i), d.bar);
  }
}

void node::reset_adapter() {
  for (const auto& [place, unit] : faulty_units(hca)) unit->withdraw();
  hca.reset();
}

system::system(const sc_core::sc_module_name& name, const system_config& config) : sc_module(name), config_(config) {
  if (config_.nodes.empty()) throw std::invalid_argument("a system needs at least one node");
  config_ = resolved(config);
  if (config_.fabric == topology::direct) check_direct(config_);
  add_nodes();
  std::vector<std::string> adapters(1);  // by LID
  for (const auto& one : nodes_) adapters.emplace_back(one->hca.name());
  for (const auto& one : nodes_) {
    if (one->hca.port2) adapters.emplace_back(one->hca.name());
  }
  watchdog_ = std::make_unique<hcasim::watchdog>(*this, std::move(adapters),
                                                 hcasim::watchdog::limits{config_.stall_limit, config_.stall_events});
  if (config_.fabric == topology::with_switch) {
    join_by_switch();
  } else {
    join_directly();
  }
  faults_ = std::make_unique<fault_schedule>(*this, config_.faults, config_.seed);
}

link& system::add_link() {
  links_.push_back(
      std::make_unique<link>(("link" + std::to_string(links_.size())).c_str(), config_.link, packets_, config_.seed));
  return *links_.back();
}

void system::plug(std::size_t node, unsigned port, link& l, unsigned end) {
  hcasim::hca& adapter = nodes_[node]->hca;
  hcasim::port& p = adapter.port_at(port);
  l.on_change(end, [&adapter, port](bool up) { adapter.command_unit.port_changed(port, up); });
  p.on_power([&l, end](bool on) { l.power(end, on); });
  p.link_out.bind(l.in[end]);
  l.out[end].bind(p.link_in);
}

void system::join_by_switch() {
  switch_ = std::make_unique<ib_switch>("switch", config_.ib_switch, ends_of(config_), packets_);
  std::vector<std::array<unsigned, HCA_PORTS>> at(nodes_.size());
  unsigned next = 0;
  const auto join = [&](std::size_t i, unsigned port) {
    const port_config& c = config_.nodes[i].hca.port;
    link& l = add_link();
    plug(i, port, l, 0);
    switch_->attach(next, l, 1);
    switch_->set_route(static_cast<std::uint16_t>(port == 0 ? c.lid : c.second_lid), next);
    at[i][port] = next++;
  };
  for (std::size_t i = 0; i < nodes_.size(); ++i) join(i, 0);
  if (config_.outside.count != 0) {
    outside_ = &add_link();
    switch_->attach(next, *outside_, 1);
    for (unsigned i = 0; i < config_.outside.count; ++i) {
      switch_->set_route(static_cast<std::uint16_t>(config_.outside.first + i), next);
    }
    ++next;
  }
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i]->hca.port2) join(i, 1);
    nodes_[i]->hca.command_unit.on_group([this, ports = at[i]](unsigned port, std::uint16_t lid, bool joins) {
      switch_->set_member(lid, ports.at(port), joins);
    });
  }
}

void system::join_directly() {
  if (nodes_.size() == 2) {
    for (unsigned port = 0; port < nodes_[0]->hca.ports(); ++port) {
      link& l = add_link();
      plug(0, port, l, 0);
      plug(1, port, l, 1);
    }
    return;
  }
  link& l = add_link();
  plug(0, 0, l, 0);
  if (config_.outside.count != 0) {
    outside_ = &l;
  } else if (nodes_[0]->hca.port2) {
    plug(0, 1, l, 1);
  } else {
    l.out[1].bind(l.in[1]);  // unused: the port turns packets to itself around
  }
}

// A host goes after the adapters of later nodes in it.
system::~system() {
  faults_.reset();
  watchdog_.reset();
  switch_.reset();
  links_.clear();
  while (!nodes_.empty()) nodes_.pop_back();
}

void system::add_nodes() {
  std::vector<unsigned> beside(config_.nodes.size());
  for (std::size_t i = 0; i < config_.nodes.size(); ++i) {
    if (!config_.nodes[i].beside.empty()) ++beside[host_of(config_, i)];
  }
  for (std::size_t i = 0; i < config_.nodes.size(); ++i) {
    const node_config& c = config_.nodes[i];
    const std::string name = "node" + std::to_string(i);
    nodes_.push_back(c.beside.empty() ? std::make_unique<node>(name.c_str(), c, config_.seed + i, packets_, beside[i])
                                      : std::make_unique<node>(name.c_str(), c, packets_, *nodes_[host_of(config_, i)]));
  }
}

void system::plug_outside(initiator_socket<packet>& sends, target_socket<packet>& receives) {
  if (config_.outside.count == 0) throw std::logic_error("the system was described without an outside");
  const unsigned end = switch_ ? 0 : 1;
  sends.bind(outside_->in[end]);
  outside_->out[end].bind(receives);
}

}  // namespace hcasim
