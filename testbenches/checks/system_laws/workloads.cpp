#include "testbenches/checks/system_laws/workloads.h"

#include <algorithm>
#include <stdexcept>

#include "testbenches/kit/peer.h"

namespace hcasim::metamorphic {
namespace {

// Software without cost, so that the hardware is measured; adapters in their default configuration.
void quick_software(setup& s) {
  for (node_config& n : s.config.nodes) {
    for (ps* cost :
         {&n.host.load_cost, &n.host.store_cost, &n.host.poll_cost, &n.host.mmio_write_cost, &n.host.combined_line_cost,
          &n.driver.post_call, &n.driver.post_wqe, &n.driver.post_segment, &n.driver.poll_call, &n.driver.poll_cqe}) {
      *cost = ps(0);
    }
    n.host.poll_interval = ps(1);
  }
}

void streams(setup& s, op what, std::uint64_t size, std::uint32_t qps, std::uint32_t window) {
  s.config.nodes.resize(2);
  quick_software(s);
  s.traffic.mix = {what};
  s.traffic.bytes = size;
  s.traffic.qps = qps;
  s.traffic.window = window;
  s.traffic.batch = std::max(window / 2, 1U);
  s.traffic.messages = std::uint64_t{qps} * window * 8;
}

void small_writes(setup& s) {
  streams(s, op::write, 64, 24, 32);
}
void small_reads(setup& s) {
  streams(s, op::read, 64, 16, 32);
}
// More units: if WQEs wait long behind other reads, the turns of a few units would be all that is measured.
void many_units(setup& s) {
  for (node_config& n : s.config.nodes) n.hca.send_queue.units = 16;
}
// The software of a server with its default costs.
void costly_software(setup& s) {
  const system_config usual;
  streams(s, op::write, 64, 32, 16);
  for (node_config& n : s.config.nodes) {
    n.host = usual.nodes[0].host;
    n.driver = usual.nodes[0].driver;
  }
}
void all_to_all(setup& s) {
  streams(s, op::read, 8, 12, 16);
  s.config.nodes.resize(3, s.config.nodes[0]);
  s.traffic.flows = {{0, 1}, {0, 2}, {1, 0}, {1, 2}, {2, 0}, {2, 1}};
  s.traffic.messages = 6000;  // with fewer, the queues in the responders grow and shrink meanwhile
}
void sends(setup& s) {
  streams(s, op::send, 64, 48, 16);
  s.traffic.messages = 56'000;  // receives fetched before the begin are used up early
}
void atomics(setup& s) {
  streams(s, op::fetch_add, 8, 96, 16);
  many_units(s);
  s.traffic.region = 4096 * 8;
  s.traffic.anywhere = true;
  s.traffic.messages *= 2;
}
void mixed(setup& s) {
  streams(s, op::write, 512, 16, 32);
  s.traffic.mix = {op::write, op::read, op::send};
  s.traffic.messages *= 4;  // queues of the start are gone early
}
void both_ways(setup& s) {
  streams(s, op::write, 2048, 16, 8);
  s.traffic.mix = {op::write, op::read};
  s.traffic.flows = {{0, 1}, {1, 0}};
  s.traffic.messages = 6000;  // as in `mixed`
}
void bulk_writes(setup& s) {
  streams(s, op::write, 16384, 16, 4);
  s.traffic.messages = 1600;
  s.traffic.mtu = traffic::path_mtu::mtu_4096;
}
void many_qps(setup& s) {
  streams(s, op::write, 64, 96, 16);
  for (node_config& n : s.config.nodes) {
    n.hca.qpc_cache.sets = 8;
    n.hca.send_queue.units = 8;
    n.hca.dma_engine.read_tags = 256;  // so many reads of 64 B keep the link busy, and PCIe binds
  }
}
void many_regions(setup& s) {
  streams(s, op::read, 64, 32, 16);
  many_units(s);
  s.traffic.regions = 67;
  s.traffic.region = 32_KiB;
  s.traffic.anywhere = true;  // one after the other, and LRU would keep none of them
  s.traffic.messages *= 2;
  for (node_config& n : s.config.nodes) {
    n.hca.mrc_cache.sets = 8;
    n.hca.page_walker.leaf_sets = 8;
    n.hca.page_walker.upper_entries = 8;
  }
}
void binds(setup& s) {
  streams(s, op::write, 64, 16, 32);
  many_units(s);
  s.traffic.mix = {op::bind, op::write, op::write, op::write};
  s.traffic.flows = {{0, 1}, {1, 0}};
  s.traffic.messages *= 3;
}
void windows(setup& s) {
  streams(s, op::write, 64, 16, 32);
  s.traffic.mix = {op::write, op::read};
  s.traffic.windows = traffic::window_use::type_2;
}
void on_demand(setup& s) {
  streams(s, op::write, 64, 24, 1);
  s.traffic.mix = {op::write, op::read};
  s.traffic.memory = memory_kind::on_demand;
  s.traffic.messages = 2400;
  s.traffic.page_by_page = true;
  s.traffic.rnr_timer = 4;  // 40 us: some faults are always waiting for the software that serves them
}
void peer_memory(setup& s) {
  streams(s, op::write, 1024, 32, 16);
  s.traffic.mix = {op::write, op::read};
  s.traffic.memory = memory_kind::gpu;
  s.config = kit::with_peers(s.config);
}
void behind_iommu(setup& s) {
  streams(s, op::write, 256, 32, 32);
  many_units(s);
  s.traffic.mix = {op::write, op::read};
  s.traffic.region = 16_MiB;
  s.traffic.anywhere = true;  // as in many_regions
  for (node_config& n : s.config.nodes) {
    n.hca.dma_engine.read_tags = 256;  // the IOMMU binds, not its waiting requests
    n.iommu.enabled = true;
    n.iommu.entries = 64;
  }
}
void own_translations(setup& s) {
  behind_iommu(s);
  s.traffic.messages *= 2;  // hits among the translations differ from run to run
  for (node_config& n : s.config.nodes) {
    n.hca.atc.enabled = true;
    n.hca.atc.entries = 64;
    n.iommu.walkers = 16;  // the translation requests under way bind, and not these by turns
  }
}
void star(setup& s) {
  streams(s, op::write, 1024, 16, 16);
  s.config.nodes.resize(4, s.config.nodes[0]);
  s.config.fabric = topology::with_switch;
  s.traffic.flows = {{0, 3}, {1, 3}, {2, 3}};  // all through one port: with others the rate would be a mean over two things
  s.traffic.messages = 3000;                   // as in `mixed`
}
void doorbells(setup& s) {
  streams(s, op::write, 32, 64, 4);
  s.traffic.send_inline = true;
  s.traffic.one_by_one = true;
  // Doorbells that are merged or find no room are fetched by DMA as well: the faster the software, the more a message would
  // cost.
  for (node_config& n : s.config.nodes) {
    n.hca.doorbell.coalesce = false;
    n.hca.doorbell.blueflame_stall = true;
  }
  s.traffic.batch = 1;
  s.traffic.messages *= 8;  // long enough to catch up with the first turns of all QPs
}
// Every packet with a GRH.
void global_routes(setup& s) {
  mixed(s);
  s.traffic.global_routes = true;
}
// XRC: receives in SRQs, and keys judged by their PD. A single SRQ would bind: its list is gone through one by one.
void shared_receives(setup& s) {
  mixed(s);
  s.traffic.service = traffic::transport::xrc;
  s.traffic.srqs = s.traffic.qps;
}
void groups(setup& s) {
  streams(s, op::send, 64, 16, 16);
  s.traffic.service = traffic::transport::ud;
  s.traffic.members = 2;
  s.traffic.messages *= 4;
}

// Adapters with two ports, small caches and a second level behind each: PCIe and pipelines are shared by the ports.
void two_ports(setup& s) {
  streams(s, op::write, 512, 64, 8);
  s.traffic.mix = {op::write, op::read};
  s.traffic.ports = traffic::port_use::both;
  s.traffic.messages *= 2;
  for (node_config& n : s.config.nodes) {
    n.hca.port.count = 2;
    n.hca.qpc_cache.sets = n.hca.mrc_cache.sets = 4;
    n.hca.qpc_cache.second_sets = n.hca.mrc_cache.second_sets = 64;
  }
}

constexpr workload all[] = {{"small_writes", small_writes},
                            {"small_reads", small_reads},
                            {"costly_software", costly_software},
                            {"all_to_all", all_to_all},
                            {"sends", sends},
                            {"atomics", atomics},
                            {"mixed", mixed},
                            {"both_ways", both_ways},
                            {"bulk_writes", bulk_writes},
                            {"many_qps", many_qps},
                            {"many_regions", many_regions},
                            {"binds", binds},
                            {"windows", windows},
                            {"on_demand", on_demand},
                            {"peer_memory", peer_memory},
                            {"behind_iommu", behind_iommu},
                            {"own_translations", own_translations},
                            {"star", star},
                            {"doorbells", doorbells},
                            {"global_routes", global_routes},
                            {"shared_receives", shared_receives},
                            {"groups", groups},
                            {"two_ports", two_ports}};

}  // namespace

std::span<const workload> workloads() {
  return all;
}

const workload& workload_named(std::string_view name) {
  for (const workload& w : all) {
    if (name == w.name) return w;
  }
  throw std::logic_error("there is no workload " + std::string(name));
}

}  // namespace hcasim::metamorphic
