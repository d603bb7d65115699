#include "testbenches/verbs_programs/simulator/client.h"

#include <endian.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>

namespace hcasim::applications {

using namespace verbs;

client::client(node& n, std::uint32_t node_number, outside_memory& bytes, activity& a, const client_services& run,
               std::uint64_t seed)
    : where(n),
      number(node_number),
      changes(a),
      sleeping(run.sleeping),
      connections(run.connections),
      stats(run.stats),
      config(run.config),
      link_rate(run.link_rate),
      memory(n.host.memory_bytes(), seed),
      queues(n.host.memory_bytes(), seed + 1) {
  memory.set_source(bytes);
  memory.set_pin_limit(config.locked_memory);
}

void client::number_lives(std::uint64_t process) {
  constexpr unsigned reuses = 12;  // bits left for later objects of a slot
  const std::uint64_t life = process << reuses;
  const auto begin = [life](auto&... of) { (of.first_life(life), ...); };
  begin(contexts, pds, mrs, mws, dms, channels, cqs, qps, srqs, ahs, xrcds, connection_files, timer_files);
}

namespace {

gid halves(const std::uint8_t* raw) {
  gid g{};
  for (unsigned i = 0; i < 8; ++i) {
    g.prefix = g.prefix << 8 | raw[i];
    g.interface = g.interface << 8 | raw[8 + i];
  }
  return g;
}

cm::gid bytes_of(const ibv_gid& g) {
  cm::gid out;
  std::copy(std::begin(g.raw), std::end(g.raw), out.begin());
  return out;
}

}  // namespace

std::vector<port_gid> client::port_gids(std::uint32_t port) const {
  if (port > 1) return {{{cm::gid_prefix, hca_port_guid(where.device().lid_of(port))}, gid_type::infiniband}};
  const cm::network& net = connections.net();
  const gid own{cm::gid_prefix, net.port_of(number).guid};
  if (!ethernet) return {{gids ? gids->of_node(number) : own, gid_type::infiniband}};
  const gid by_ip = gids ? gids->of_node(number) : halves(cm::gid_of(number, net).data());
  return {{own, gid_type::roce_v1}, {own, gid_type::roce_v2}, {by_ip, gid_type::roce_v1}, {by_ip, gid_type::roce_v2}};
}

int client::route(ibv_ah_attr& to) const {
  return ethernet ? route_roce(to) : route_outside(to);
}

int client::route_outside(ibv_ah_attr& to) const {
  if (!gids || to.is_global == 0) return 0;
  to.dlid = gids->lid_of(halves(to.grh.dgid.raw));
  to.is_global = 0;
  return to.dlid == 0 ? ENETUNREACH : 0;
}

int client::route_roce(ibv_ah_attr& to) const {
  if (to.is_global == 0 || to.grh.sgid_index >= port_gids().size()) return EINVAL;
  to.grh.sgid_index = 0;
  const cm::network& net = connections.net();
  const cm::gid named = bytes_of(to.grh.dgid);
  if (const cm::gid group = cm::fabric_group(named); group != cm::gid{}) {
    std::copy(group.begin(), group.end(), to.grh.dgid.raw);
    to.dlid = connections.lid_of_group(group);
    return to.dlid == 0 ? ENOMEM : 0;
  }
  std::uint32_t node = cm::node_of(named, net);
  if (const std::uint16_t lid = gids ? gids->lid_of(halves(named.data())) : std::uint16_t{0}; lid != 0) {
    for (node = 0; node < net.nodes() && net.port_of(node).lid != lid;) ++node;
    if (node == net.nodes()) {
      to.dlid = lid;
      to.is_global = 0;  // the gateway alone knows addresses outside
      return 0;
    }
  }
  if (node >= net.nodes()) return ENETUNREACH;
  const cm::port p = net.port_of(node);
  const std::uint64_t words[] = {htobe64(cm::gid_prefix), htobe64(p.guid)};
  std::memcpy(to.grh.dgid.raw, words, sizeof words);
  to.dlid = p.lid;
  return 0;
}

int client::close(cpu& c, ibv_context* context) {
  const auto its = [context](const auto& object) { return object.context == context; };
  cqs.each([&](ibv_cq& cq) {
    if (!its(cq)) return;
    for (const auto& run : driver::of(&cq).buffer.runs()) where.host.unwatch_pages(run.physical, run.bytes);
  });
  qps.each([&](const ibv_qp& qp) {
    const bool counted = qp.qp_type == IBV_QPT_XRC_RECV || (qp.state != IBV_QPS_RESET && qp.state != IBV_QPS_INIT);
    if (its(qp) && counted) --connected;
  });
  pds.remove_if(its);
  mrs.remove_if(its);
  mws.remove_if(its);
  dms.remove_if(its);
  channels.remove_if(its);
  cqs.remove_if(its);
  qps.remove_if(its);
  srqs.remove_if(its);
  ahs.remove_if(its);
  xrcds.remove_if(its);
  contexts.remove_if([context](const ibv_context& x) { return &x == context; });
  std::erase_if(openings, [this](const auto& o) { return !contexts.find(o.first); });
  return ibv_close_device(c, context);
}

void client::close_all(cpu& c) {
  connection_files.remove_if([this](cm::file& f) {
    connections.close(f);
    return true;
  });
  timer_files.remove_if([](timer_file& t) {
    t.close();
    return true;
  });
  std::vector<ibv_context*> open;
  contexts.each([&](ibv_context& x) {
    if (std::find(open.begin(), open.end(), &x) == open.end()) open.push_back(&x);
  });
  for (ibv_context* x : open) close(c, x);
  memory.lose(c, 0, ~std::uint64_t{0});
}

}  // namespace hcasim::applications
