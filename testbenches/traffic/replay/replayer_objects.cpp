// The objects of a replay, made before the traffic begins.
#include <algorithm>
#include <stdexcept>

#include "testbenches/kit/world.h"
#include "testbenches/traffic/replay/replayer.h"

namespace hcasim::replay {

using namespace kit;  // NOLINT(google-build-using-namespace): verbs

namespace {

constexpr int most_cqes = 1 << 22;
constexpr std::uint64_t most_inline = 64_KiB;

// `peer`: null of a QP for datagrams.
qp_options options_of(const trace_qp& q, const trace_qp* peer) {
  qp_options o;
  o.type = q.type;
  o.mtu = q.mtu;
  o.timeout = q.timeout;
  o.retry = q.retry;
  o.rnr_retry = q.rnr_retry;
  o.rnr_timer = q.rnr_timer;
  o.read_depth = std::max<std::uint8_t>(q.reads, 1);
  o.port = q.port;
  o.service_level = q.way.service_level;
  o.peer_read_depth = peer ? std::max<std::uint8_t>(peer->reads, 1) : 0;
  return o;
}

}  // namespace

void replayer::make_queue(trace_queue& q, queue_state& s, process_context& p) const {
  if (q.events) s.channel = made(ibv_create_comp_channel(p.c, p.context));
  s.cq = made(ibv_create_cq(p.c, p.context, std::clamp<int>(static_cast<int>(q.entries), 1, most_cqes), nullptr, s.channel, 0));
}

ibv_xrcd* replayer::domain_of(std::uint32_t node, process_context& p) {
  const ibv_xrcd_init_attr fresh{0, true, false};
  if (!domains_[node]) domains_[node] = made(ibv_open_xrcd(p.c, p.context, &fresh));
  return domains_[node];
}

void replayer::make_shared(std::size_t i, process_context& p) {
  const trace_shared& s = trace_.shared[i];
  ibv_srq_init_attr_ex init{};
  init.attr = {s.receives, std::max(s.segments, 1U), 0};
  init.pd = p.pd;
  if (s.queue != nothing) {
    init.srq_type = IBV_SRQT_XRC;
    init.xrcd = domain_of(s.node, p);
    init.cq = queues_[s.queue].cq;
  }
  shared_[i].srq = made(ibv_create_srq_ex(p.c, p.context, &init));
  if (s.queue != nothing) (void)ibv_get_srq_num(shared_[i].srq, &shared_[i].number);
}

void replayer::make_qp(std::size_t i, process_context& p) {
  const trace_qp& q = trace_.qps[i];
  ibv_qp_init_attr init{};
  init.send_cq = q.send_queue == nothing ? nullptr : queues_[q.send_queue].cq;
  init.recv_cq = q.receive_queue == nothing ? nullptr : queues_[q.receive_queue].cq;
  init.srq = q.shared == nothing ? nullptr : shared_[q.shared].srq;
  init.cap = q.cap;
  init.qp_type = q.type;
  init.create_flags = q.privileged ? unsigned{HCAX_QP_PRIVILEGED} : 0U;
  if (q.type == IBV_QPT_XRC_RECV) {
    ibv_qp_init_attr_ex target{};
    target.qp_type = q.type;
    target.xrcd = domain_of(q.node, p);
    qps_[i].qp = made(ibv_create_qp_ex(p.c, p.context, &target));
  } else {
    qps_[i].qp = made(ibv_create_qp(p.c, p.pd, &init));
  }
  qps_[i].at = p.address_of(qps_[i].qp, options_of(q, nullptr));
  by_qpn_[q.node][qps_[i].qp->qp_num] = i;
}

void replayer::make_objects(std::uint32_t number, process_context& p, traffic::flow_memory& memory) {
  inline_data_[number] = p.memory.allocate(most_inline);
  for (std::size_t i = 0; i < regions_.size(); ++i) {
    const trace_region& r = trace_.regions[i];
    if (r.node != number || r.bytes == 0) continue;
    const std::uint64_t offset = r.memory == traffic::memory_kind::device ? 0 : r.offset;
    const traffic::memory_piece m = memory.allocate(p, r.memory, r.bytes + offset, page_policy::scattered);
    regions_[i] = {traffic::address_in(m, offset, offset),
                   made(traffic::flow_memory::enter(p.c, p.pd, m, offset, r.bytes, all_rights))};
  }
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    const trace_key& k = trace_.keys[i];
    if (k.node != number) continue;
    if (k.kind == key_kind::fast) {
      keys_[i].fast = made(hcax_alloc_fast_mr(p.c, p.pd, std::max(k.pages, 1U)));
    } else {
      keys_[i].window = made(ibv_alloc_mw(p.c, p.pd, k.kind == key_kind::window1 ? IBV_MW_TYPE_1 : IBV_MW_TYPE_2));
    }
  }
  for (std::size_t i = 0; i < queues_.size(); ++i) {
    if (trace_.queues[i].node == number && trace_.queues[i].entries != 0) make_queue(trace_.queues[i], queues_[i], p);
  }
  for (std::size_t i = 0; i < shared_.size(); ++i) {
    if (trace_.shared[i].node == number && trace_.shared[i].receives != 0) make_shared(i, p);
  }
  for (std::size_t i = 0; i < qps_.size(); ++i) {
    const trace_qp& q = trace_.qps[i];
    if (q.node == number && (q.send_queue != nothing || q.type == IBV_QPT_XRC_RECV)) make_qp(i, p);
  }
}

void replayer::connect(std::uint32_t number, process_context& p) {
  for (std::size_t i = 0; i < qps_.size(); ++i) {
    const trace_qp& q = trace_.qps[i];
    if (q.node != number || !qps_[i].qp) continue;
    const bool has_peer = q.type != IBV_QPT_UD;
    const address to = has_peer ? qps_[q.peer].at : address{};
    const ibv_global_route route = global_route_to(to.lid);
    qp_options o = options_of(q, has_peer ? &trace_.qps[q.peer] : nullptr);
    if (has_peer && q.way.global) o.global = &route;
    p.must_connect(qps_[i].qp, to, o);
  }
  for (const trace_group& g : trace_.groups) {
    for (const std::uint32_t q : g.qps) {
      if (trace_.qps[q].node == number && ibv_attach_mcast(p.c, qps_[q].qp, &g.gid, g.lid) != 0)
        throw std::runtime_error("a QP cannot join its multicast group; see hca.command_unit for the number of groups");
    }
  }
  for (const trace_thread& t : trace_.threads) {
    if (t.node != number) continue;
    for (const trace_step& s : t.steps) {
      if (s.kind == step_kind::post && trace_.qps[s.object].type == IBV_QPT_UD) make_way(s, p);
    }
  }
}

replayer::way_name replayer::way_of(const trace_step& s) const {
  const trace_qp& from = trace_.qps[s.object];
  const trace_place& to = s.remote;
  const std::uint32_t lid = to.group ? trace_.groups[to.of].lid : qps_[to.of].at.lid;
  return {from.node, from.port, to.group ? to.of : nothing, lid, s.way};
}

void replayer::make_way(const trace_step& s, process_context& p) {
  ibv_ah*& way = ways_[way_of(s)];
  if (way) return;
  const trace_place& to = s.remote;
  const std::uint16_t lid = to.group ? trace_.groups[to.of].lid : qps_[to.of].at.lid;
  ibv_ah_attr at{lid, s.way.service_level, trace_.qps[s.object].port};
  if (to.group || s.way.global) {
    at.is_global = 1;
    if (to.group) {
      at.grh.dgid = trace_.groups[to.of].gid;
    } else {
      at.grh = global_route_to(lid);
    }
  }
  way = made(ibv_create_ah(p.c, p.pd, &at));
}

}  // namespace hcasim::replay
