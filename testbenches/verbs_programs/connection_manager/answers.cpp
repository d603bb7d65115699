#include "testbenches/verbs_programs/connection_manager/answers.h"

#include <endian.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace hcasim::applications::cm {
namespace {

constexpr std::uint16_t default_pkey = 0xffff;
constexpr std::uint8_t exactly = 2;       // a selector of path records
constexpr std::uint8_t packet_life = 18;  // 4.096 us * 2^18: what subnet managers give out
constexpr std::uint8_t ack_timeout = 19;  // there and back, and the peer's delay
constexpr std::uint32_t no_device = ~std::uint32_t{0};

struct path {
  std::uint32_t from;
  std::uint32_t to;
  std::uint16_t source_lid;  // 0 = RoCE, for both LIDs
  std::uint16_t destination_lid;
  std::uint8_t mtu;
  std::uint8_t rate;
};

bool has_path(const identifier& id) {
  return id.state.life >= id_life::route_found && id.state.life != id_life::listening;
}

path path_of(const identifier& id, const network& net) {
  const port a = net.port_of(id.of->node);
  const port b = net.port_of(id.destination.node);
  const auto lid = [](const port& p) { return p.ethernet ? std::uint16_t{0} : p.lid; };
  return {id.of->node, id.destination.node, lid(a), lid(b), std::min(a.mtu, b.mtu), std::min(a.rate, b.rate)};
}

void put_gid(std::uint8_t* out, std::uint32_t node, const network& net) {
  const gid g = gid_of(node, net);
  std::copy(g.begin(), g.end(), out);
}

std::uint64_t guid_of(const identifier& id, const network& net) {
  return id.on_device() ? htobe64(net.port_of(id.of->node).guid) : 0;
}

// Writes an address into the room of sockaddr_in6, which holds any IP address.
void put_ip(const endpoint& e, std::uint16_t space, const network& net, sockaddr_in6& out) {
  __kernel_sockaddr_storage a;
  write_address(e, space, net, a);
  std::memcpy(&out, &a, sizeof out);
}

}  // namespace

rdma_ucm_query_route_resp route_of(const identifier& id, const network& net) {
  rdma_ucm_query_route_resp out{};
  put_ip(id.source, id.space, net, out.src_addr);
  put_ip(id.destination, id.space, net, out.dst_addr);
  out.node_guid = guid_of(id, net);
  out.ibdev_index = id.on_device() ? 0 : no_device;
  out.port_num = id.on_device() ? 1 : 0;
  if (!has_path(id)) return out;
  const path p = path_of(id, net);
  out.num_paths = 1;
  ib_user_path_rec& r = out.ib_route[0];
  put_gid(r.dgid, p.to, net);
  put_gid(r.sgid, p.from, net);
  r.dlid = htobe16(p.destination_lid);
  r.slid = htobe16(p.source_lid);
  r.reversible = 1;
  r.numb_path = 1;
  r.pkey = htobe16(default_pkey);
  r.mtu_selector = r.rate_selector = r.packet_life_time_selector = exactly;
  r.mtu = p.mtu;
  r.rate = p.rate;
  r.packet_life_time = packet_life;
  return out;
}

rdma_ucm_query_addr_resp addresses_of(const identifier& id, const network& net) {
  rdma_ucm_query_addr_resp out{};
  out.src_size = static_cast<std::uint16_t>(write_address(id.source, id.space, net, out.src_addr));
  out.dst_size = static_cast<std::uint16_t>(write_address(id.destination, id.space, net, out.dst_addr));
  out.node_guid = guid_of(id, net);
  out.ibdev_index = id.on_device() ? 0 : no_device;
  out.port_num = id.on_device() ? 1 : 0;
  out.pkey = default_pkey;
  return out;
}

rdma_ucm_query_addr_resp gids_of(const identifier& id, const network& net) {
  identifier by_gid = id;
  by_gid.source.family = by_gid.destination.family = ib_family;
  if (id.destination.family == 0) by_gid.destination.node = any_node;
  return addresses_of(by_gid, net);
}

// A PathRecord as subnet administration has it (IBTA 15.2.5.16).
path_answer paths_of(const identifier& id, const network& net) {
  path_answer out{};
  if (!has_path(id)) return out;
  const path p = path_of(id, net);
  out.paths = 1;
  out.path.flags = IB_PATH_GMP | IB_PATH_PRIMARY | IB_PATH_BIDIRECTIONAL;
  std::uint8_t record[sizeof out.path.path_rec] = {};
  put_gid(record + 8, p.to, net);
  put_gid(record + 24, p.from, net);
  const std::uint16_t lids[] = {htobe16(p.destination_lid), htobe16(p.source_lid)};
  std::memcpy(record + 40, lids, sizeof lids);
  record[49] = 0x81;  // reversible; one path
  const std::uint16_t pkey = htobe16(default_pkey);
  std::memcpy(record + 50, &pkey, sizeof pkey);
  constexpr std::uint8_t exact = exactly << 6;
  record[54] = exact | p.mtu;
  record[55] = exact | p.rate;
  record[56] = exact | packet_life;
  std::memcpy(out.path.path_rec, record, sizeof record);
  return out;
}

void put_route(ib_uverbs_ah_attr& to, std::uint32_t node, const network& net) {
  const port p = net.port_of(node);
  to.port_num = 1;
  to.dlid = p.ethernet ? std::uint16_t{0} : p.lid;
  if (!p.ethernet) return;
  constexpr std::uint8_t hops = 64;
  to.is_global = 1;
  put_gid(to.grh.dgid, node, net);
  to.grh.sgid_index = ip_gid_index;
  to.grh.hop_limit = hops;
}

int qp_attributes_of(const identifier& id, std::uint32_t qp_state, const network& net, ib_uverbs_qp_attr& out) {
  enum : std::uint32_t { init = 1, rtr = 2, rts = 3 };  // enum ib_qp_state
  enum : std::uint32_t {                                // enum ib_qp_attr_mask
    state = 1 << 0,
    access = 1 << 3,
    pkey_index = 1 << 4,
    port_num = 1 << 5,
    qkey = 1 << 6,
    address_vector = 1 << 7,
    path_mtu = 1 << 8,
    timeout = 1 << 9,
    retry_count = 1 << 10,
    rnr_retry = 1 << 11,
    rq_psn = 1 << 12,
    max_rd_atomic = 1 << 13,
    min_rnr_timer = 1 << 15,
    sq_psn = 1 << 16,
    max_dest_rd_atomic = 1 << 17,
    dest_qpn = 1 << 20,
  };
  constexpr std::uint32_t remote_write = 2;
  constexpr std::uint32_t remote_read_and_atomic = 4 | 8;
  if (!id.on_device()) return EINVAL;
  out = {};
  out.qp_state = qp_state;
  out.port_num = 1;
  const bool reliable = id.qp_type == reliable_qp;
  const bool answers = reliable || id.qp_type == xrc_target_qp;
  const bool asks = reliable || id.qp_type == xrc_initiator_qp;
  const bool known = has_begun(id.state);
  if (id.datagram()) {
    out.qkey = id.own.qkey ? id.own.qkey : default_qkey;
    out.qp_attr_mask = state | pkey_index | port_num | qkey;
    return 0;
  }
  switch (qp_state) {
    case init:
      out.qp_attr_mask = state | access | pkey_index | port_num;
      if (known) out.qp_access_flags = remote_write | (id.own.responder_resources ? remote_read_and_atomic : 0);
      return 0;
    case rtr: {
      if (!known || id.peers.qp_num == 0) return EINVAL;
      const path p = path_of(id, net);
      out.qp_attr_mask = state | address_vector | path_mtu | dest_qpn | rq_psn;
      put_route(out.ah_attr, p.to, net);
      out.path_mtu = p.mtu;
      out.dest_qp_num = id.peers.qp_num;
      out.rq_psn = id.own.first_psn;
      if (!answers) return 0;
      out.qp_attr_mask |= max_dest_rd_atomic | min_rnr_timer;
      out.max_dest_rd_atomic = id.own.responder_resources;
      return 0;
    }
    case rts:
      if (!known || id.peers.qp_num == 0) return EINVAL;
      out.qp_attr_mask = state | sq_psn;
      out.sq_psn = id.peers.first_psn;
      if (!asks && !answers) return 0;
      out.qp_attr_mask |= timeout;
      out.timeout = id.ack_timeout ? id.ack_timeout : ack_timeout;
      if (!asks) return 0;
      out.qp_attr_mask |= retry_count | rnr_retry | max_rd_atomic;
      out.retry_cnt = id.own.retry_count;
      out.rnr_retry = id.own.rnr_retry_count;
      out.max_rd_atomic = id.own.initiator_depth;
      return 0;
    default:
      return EINVAL;
  }
}

}  // namespace hcasim::applications::cm
