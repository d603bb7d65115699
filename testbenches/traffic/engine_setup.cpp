// Objects of a run: regions, QPs and queues on each host, connected.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include <fmt/format.h>

#include "testbenches/kit/windows.h"
#include "testbenches/traffic/engine.h"
#include "tlm/packet.h"

namespace hcasim::traffic {
namespace {

using namespace kit;  // NOLINT(google-build-using-namespace): verbs

constexpr std::uint32_t largest_receive_queue = 4096;

page_policy pages_of(const flow_options& o) {
  return o.page == 1_GiB ? page_policy::huge_1g : o.page == 2_MiB ? page_policy::huge_2m : page_policy::scattered;
}

// Makes the CQs of a posting thread with so many QPs.
thread_queues source_queues(process_context& p, const planned_flow& f, std::size_t qps) {
  const flow_options& o = f.options;
  const std::size_t count = o.cqs == queue_use::own ? qps : 1;
  // Each message completes once, and its key arrives once.
  const std::uint64_t most = o.outstanding != 0 ? o.outstanding : std::uint64_t{f.requests()} * qps / count;
  return {p, count, most, {o.wait, o.moderation_count, o.moderation_time}};
}

}  // namespace

qp_options engine::qp_settings(const planned_flow& f, std::size_t number) const {
  constexpr std::array<ibv_qp_type, 4> types{IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD, IBV_QPT_XRC_SEND};
  qp_options q;
  q.send_depth = 1;
  q.receive_depth = 1;
  q.sge = 1;
  q.type = types[static_cast<std::size_t>(f.options.service)];
  q.mtu = static_cast<ibv_mtu>(static_cast<int>(f.options.mtu) + 1);
  q.timeout = static_cast<std::uint8_t>(f.options.timeout);
  q.rnr_timer = static_cast<std::uint8_t>(f.options.rnr_timer);
  q.port = f.port_of(number);
  q.read_depth = static_cast<std::uint8_t>(f.read_depth);
  q.service_level = static_cast<std::uint8_t>(f.options.service_level);
  return q;
}

// Makes the SRQs of a target, each with room for every message under way.
void engine::make_shared_queues(std::size_t flow, std::size_t host, process_context& p, std::uint32_t count) {
  receiver_settings& r = flows_[flow].receivers[host];
  if (plan_.flows[flow].options.service == transport::xrc) {
    const ibv_xrcd_init_attr domain{0, true, false};
    r.domain = ibv_open_xrcd(p.c, p.context, &domain);
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    if (!r.domain) {
      ibv_srq_init_attr init{nullptr, {r.depth, 1, 0}};
      r.shared.push_back(made(ibv_create_srq(p.c, p.pd, &init)));
      continue;
    }
    ibv_srq_init_attr_ex init{};
    init.attr = {r.depth, 1, 0};
    init.srq_type = IBV_SRQT_XRC;
    init.pd = p.pd;
    init.xrcd = r.domain;
    init.cq = r.queues.of(0);
    r.shared.push_back(made(ibv_create_srq_ex(p.c, p.context, &init)));
    std::uint32_t number = 0;
    if (ibv_get_srq_num(r.shared.back(), &number) != 0) throw std::runtime_error("an SRQ of XRC has no number");
    flows_[flow].srqs[host].push_back(number);
  }
}

// Makes the receive side of a target: CQ, buffer and, if its QPs share them, SRQs.
receiver_settings& engine::make_receiver(std::size_t flow, std::size_t host, process_context& p, flow_memory& memory) {
  const planned_flow& f = plan_.flows[flow];
  const bool shared = f.options.shared_receives || f.options.service == transport::xrc;
  const auto qps = static_cast<std::uint32_t>(
      f.options.qps * std::max(f.options.members, 1U) *
      std::count_if(f.pairs.begin(), f.pairs.end(), [&](const host_pair& x) { return x.to == host; }));
  receiver_settings& r = flows_[flow].receivers[host];
  r.record = &records_[flow];
  r.host = host;
  r.header = f.options.service == transport::ud ? HCA_GRH_BYTES : 0;
  r.depth = f.options.receives != 0 ? f.options.receives : std::min(2 * f.depth() * (shared ? qps : 1), largest_receive_queue);
  const std::uint64_t bytes = std::max<std::uint64_t>(f.longest + HCA_GRH_BYTES, virtual_memory::page);
  r.buffer = memory.region(p, f.options.memory, bytes, page_policy::scattered);
  const bool own = f.options.cqs == queue_use::own && f.options.service != transport::xrc;
  r.queues = thread_queues(p, own ? qps : 1, std::uint64_t{r.depth} * (shared ? f.options.srqs : own ? 1 : qps), {});
  if (shared) make_shared_queues(flow, host, p, f.options.srqs);
  r.qps.resize(qps);
  if (needs_key(f.keyed())) r.granters.resize(qps);
  return r;
}

// Makes a target's QP of a pair, and in a group all members. `at`: its place among the receiver's QPs.
void engine::make_target_qp(const planned_flow& f, process_context& p, flow_memory& memory, receiver_settings* r,
                            std::size_t at, qp_options q, connection& x) {
  if (r && r->domain) {
    ibv_qp_init_attr_ex init{};
    init.qp_type = q.type = IBV_QPT_XRC_RECV;
    init.xrcd = r->domain;
    x.target_qp = made(ibv_create_qp_ex(p.c, p.context, &init));
  } else {
    if (r) q.receive_depth = r->depth;
    if (r && !r->shared.empty()) q.srq = r->shared[at % r->shared.size()];
    // A change and a SEND for each key, and as many again whose completions have not been polled.
    if (needs_key(f.keyed())) q.send_depth = 4 * f.depth();
    q.privileged = f.keyed() == operation::fast_write;
    x.target_qp = p.create_qp(q, nullptr, r ? r->queues.of(at) : nullptr);
  }
  x.target = p.address_of(x.target_qp, q);
  if (!r) return;
  r->qps[at] = x.target_qp;
  for (std::uint32_t i = 0; i < f.options.members; ++i) {
    if (i != 0) r->qps[at + i] = p.create_qp(q, nullptr, r->queues.of(at + i));
    x.members.push_back(r->qps[at + i]);
  }
  if (!needs_key(f.keyed())) return;
  const key_granter::settings keys{f.keyed(), x.target_qp, f.depth(), f.longest, f.options.memory};
  r->granters[at] = std::make_unique<key_granter>(p, memory, keys);
  x.keyed = r->granters[at]->memory();
}

void engine::make_target(std::size_t flow, std::size_t host, process_context& p, flow_memory& memory) {
  const planned_flow& f = plan_.flows[flow];
  const flow_options& o = f.options;
  remote_regions& regions = flows_[flow].targets[host];
  for (std::uint32_t i = 0; i < o.regions; ++i) {
    const region r = memory.region(p, o.memory, o.region, pages_of(o));
    regions.push_back({r.addr, r.mr->rkey});
    flows_[flow].regions[host].push_back(r);
  }
  const bool receives = f.receives() || o.service == transport::xrc;
  receiver_settings* const receiver = receives ? &make_receiver(flow, host, p, memory) : nullptr;
  std::size_t before = 0;
  for (std::size_t i = 0; i < f.pairs.size(); ++i) {
    if (f.pairs[i].to != host) continue;
    for (std::uint32_t k = 0; k < o.qps; ++k) {
      const std::size_t q = plan_.reversed ? o.qps - 1 - k : k;
      const qp_options settings = qp_settings(f, i * o.qps + q);
      connection& x = flows_[flow].connections[i * o.qps + q];
      make_target_qp(f, p, memory, receiver, (before + q) * std::max(o.members, 1U), settings, x);
    }
    before += o.qps;
  }
}

void engine::make_source(std::size_t flow, std::size_t host, process_context& p, flow_memory& memory) {
  const planned_flow& f = plan_.flows[flow];
  const flow_options& o = f.options;
  qp_options q = qp_settings(f, 0);
  q.send_depth = std::max(f.requests(), 4U);
  if (needs_key(f.keyed())) q.receive_depth = 2 * f.depth();
  if (o.send_inline) q.inline_bytes = static_cast<std::uint32_t>(f.longest);
  std::vector<thread_queues>& queues = flows_[flow].queues[host];
  const std::size_t each = ceil_div(f.qps_of(host), o.threads);
  const std::uint64_t bytes = std::max<std::uint64_t>(f.longest, virtual_memory::page);
  for (std::uint32_t t = 0; t < o.threads; ++t) {
    queues.push_back(source_queues(p, f, each));
    flows_[flow].buffers[host].push_back(memory.region(p, o.source_memory, bytes, page_policy::scattered));
  }
  std::size_t number = 0;
  for (std::size_t i = 0; i < f.pairs.size(); ++i) {
    for (std::uint32_t k = 0; f.pairs[i].from == host && k < o.qps; ++k) {
      const std::size_t at = i * o.qps + (plan_.reversed ? o.qps - 1 - k : k);
      connection& x = flows_[flow].connections[at];
      q.port = f.port_of(at);
      make_source_qp(f, p, q, queues[number % o.threads].of(number / o.threads), x);
      ++number;
    }
  }
}

void engine::make_source_qp(const planned_flow& f, process_context& p, const qp_options& q, ibv_cq* cq, connection& x) {
  x.source_qp = p.create_qp(q, nullptr, cq);
  x.source = p.address_of(x.source_qp, q);
  if (f.has(operation::bind)) x.own = made(ibv_alloc_mw(p.c, p.pd, IBV_MW_TYPE_1));
}

void engine::connect(std::size_t flow, std::size_t host, process_context& p) {
  const planned_flow& f = plan_.flows[flow];
  for (std::size_t i = 0; i < f.connections(); ++i) {
    connection& x = flows_[flow].connections[i];
    const host_pair& pair = f.pairs[i / f.options.qps];
    if (pair.to == host) connect_target(flow, p, i);
    if (pair.from != host) continue;
    const ibv_global_route way = global_route_to(x.target.lid);
    qp_options q = qp_settings(f, i);
    if (f.options.global_routes) q.global = &way;
    p.must_connect(x.source_qp, x.target, q);
    if (f.options.service != transport::ud) continue;
    ibv_ah_attr to{x.target.lid, q.service_level, q.port, f.options.global_routes, way};
    if (f.options.members != 0) to = group_of(flow, i);
    x.way = made(ibv_create_ah(p.c, p.pd, &to));
    if (f.options.members != 0) x.target.qpn = wire::group_qpn;
  }
}

// Returns the multicast group of a connection.
ibv_ah_attr engine::group_of(std::size_t flow, std::size_t of) const {
  std::size_t number = of;
  for (std::size_t i = 0; i < flow; ++i) number += plan_.flows[i].options.members != 0 ? plan_.flows[i].connections() : 0;
  ibv_gid gid{{0xff, 0x12}};
  gid.raw[14] = static_cast<std::uint8_t>(number >> 8);
  gid.raw[15] = static_cast<std::uint8_t>(number);
  const auto lid = static_cast<std::uint16_t>(HCA_MULTICAST_LID + 1 + number);
  const ibv_global_route way{.dgid = gid, .flow_label = 0, .sgid_index = 0, .hop_limit = 1, .traffic_class = 0};
  const planned_flow& f = plan_.flows[flow];
  return {lid, static_cast<std::uint8_t>(f.options.service_level), f.port_of(of), 1, way};
}

void engine::connect_target(std::size_t flow, process_context& p, std::size_t number) {
  const planned_flow& f = plan_.flows[flow];
  const connection& x = flows_[flow].connections[number];
  qp_options q = qp_settings(f, number);
  if (f.options.service == transport::xrc) q.type = IBV_QPT_XRC_RECV;
  const ibv_global_route way = global_route_to(x.source.lid);
  if (f.options.global_routes) q.global = &way;
  p.must_connect(x.target_qp, x.source, q);
  const ibv_ah_attr group = group_of(flow, number);
  for (ibv_qp* const member : x.members) {
    if (member != x.target_qp) p.must_connect(member, x.source, q);
    const int error = ibv_attach_mcast(p.c, member, &group.grh.dgid, group.dlid);
    if (error != 0)
      throw verb_error(fmt::format("a multicast group takes no member: {}; groups take numbers of QPs (driver.log_qps)",
                                   std::strerror(error)));
  }
}

// Binds the long-lived windows over a target's regions; their keys take the place of the regions'.
void engine::open_windows(std::size_t flow, std::size_t host, process_context& p) {
  const planned_flow& f = plan_.flows[flow];
  const bool of_each_qp = f.options.windows == window_use::type_2;
  remote_regions& named = flows_[flow].targets[host];
  const auto open = [&](ibv_qp* qp, std::size_t i) {
    const region& r = flows_[flow].regions[host][i];
    const ibv_mw_bind_info all{r.mr, r.addr, r.length, qp_rights};
    ibv_mw* const mw = made(ibv_alloc_mw(p.c, p.pd, of_each_qp ? IBV_MW_TYPE_2 : IBV_MW_TYPE_1));
    const ibv_wc wc = of_each_qp ? bind(p.c, qp, mw, ibv_inc_rkey(mw->rkey), all) : bind_type_1(p.c, qp, mw, all);
    if (wc.status != IBV_WC_SUCCESS)
      throw verb_error(fmt::format("a long-lived window cannot be bound: {}", ibv_wc_status_str(wc.status)));
    return remote_region{named[i].address, mw->rkey};
  };
  for (std::size_t i = 0; i < f.connections(); ++i) {
    if (f.pairs[i / f.options.qps].to != host) continue;
    connection& x = flows_[flow].connections[i];
    for (std::size_t r = 0; of_each_qp && r < named.size(); ++r) x.windows.push_back(open(x.target_qp, r));
    if (of_each_qp) continue;
    for (std::size_t r = 0; r < named.size(); ++r) named[r] = open(x.target_qp, r);
    return;
  }
}

}  // namespace hcasim::traffic
