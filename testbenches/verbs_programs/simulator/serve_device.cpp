// Requests about the device, protection domains and address handles.
#include <endian.h>

#include <algorithm>
#include <cstdio>

#include "testbenches/verbs_programs/channel/qp_attributes.h"
#include "testbenches/verbs_programs/simulator/handler.h"
#include "testbenches/verbs_programs/simulator/tokens.h"

namespace hcasim::applications {
namespace {

using namespace verbs;

int query_device(caller& k, const channel::query_device& in, channel::nothing&) {
  ibv_context* context = k.who.contexts.find(in.context);
  if (!context) return EINVAL;
  ibv_device_attr a{};
  if (const int error = ibv_query_device(k.c, context, &a)) return error;
  channel::device_attributes out{};
  std::copy(std::begin(a.fw_ver), std::end(a.fw_ver), out.fw_ver);
  out.node_guid = a.node_guid;
  out.max_mr_size = a.max_mr_size;
  out.page_size_cap = a.page_size_cap;
  out.vendor_id = a.vendor_id;
  out.vendor_part_id = a.vendor_part_id;
  out.hw_ver = a.hw_ver;
  out.device_cap_flags = a.device_cap_flags;
  out.atomic_cap = a.atomic_cap;
  out.odp_general_caps = a.odp_general_caps;
  out.max_qp = a.max_qp;
  out.max_qp_wr = a.max_qp_wr;
  out.max_sge = a.max_sge;
  out.max_cq = a.max_cq;
  out.max_cqe = a.max_cqe;
  out.max_mr = a.max_mr;
  out.max_mw = a.max_mw;
  out.max_pd = a.max_pd;
  out.max_ah = a.max_ah;
  out.max_mcast_grp = a.max_mcast_grp;
  out.max_mcast_qp_attach = a.max_mcast_qp_attach;
  out.max_total_mcast_qp_attach = a.max_total_mcast_qp_attach;
  out.max_srq = a.max_srq;
  out.max_srq_wr = a.max_srq_wr;
  out.max_srq_sge = a.max_srq_sge;
  out.max_qp_rd_atom = a.max_qp_rd_atom;
  out.max_qp_init_rd_atom = a.max_qp_init_rd_atom;
  out.phys_port_cnt = a.phys_port_cnt;
  out.max_dm_size = context->device->info().device_memory;
  std::memcpy(k.data.data(), &out, sizeof out);
  return 0;
}

struct lane_rate {
  std::uint32_t code;
  double gbps;
};

// Describes the narrowest usual link that is not slower, by a port's codes.
void describe_rate(bit_rate rate, std::uint32_t& width, std::uint32_t& speed) {
  constexpr lane_rate speeds[] = {{1, 2.5}, {2, 5}, {4, 10}, {16, 14}, {32, 25}, {64, 50}, {128, 100}, {256, 200}};
  constexpr lane_rate widths[] = {{2, 4}, {1, 1}, {8, 12}};
  double best = 0;
  for (const lane_rate& w : widths) {
    for (const lane_rate& s : speeds) {
      const double both = w.gbps * s.gbps;
      if (both < rate.gbps() * 0.999 || (best != 0 && both >= best)) continue;
      best = both;
      width = w.code;
      speed = s.code;
    }
  }
  if (best == 0) {
    width = widths[2].code;
    speed = speeds[7].code;
  }
}

int query_port(caller& k, const channel::query_port& in, channel::query_port::answer& out) {
  ibv_context* context = k.who.contexts.find(in.context);
  if (!context || in.port > UINT8_MAX) return EINVAL;
  ibv_port_attr port{};
  if (const int error = ibv_query_port(k.c, context, static_cast<std::uint8_t>(in.port), &port)) return error;
  out.state = port.state;
  out.max_mtu = port.max_mtu;
  out.active_mtu = port.active_mtu;
  out.lid = k.who.ethernet ? 0 : port.lid;
  describe_rate(k.who.link_rate, out.width, out.speed);
  out.ethernet = k.who.ethernet;
  out.gids = static_cast<std::uint32_t>(k.who.port_gids(in.port).size());
  return 0;
}

int query_gid(caller& k, const channel::query_gid& in, channel::query_gid::answer& out) {
  ibv_context* context = k.who.contexts.find(in.context);
  if (!context || in.port > UINT8_MAX) return EINVAL;
  ibv_gid own{};
  if (const int error = ibv_query_gid(k.c, context, static_cast<std::uint8_t>(in.port), 0, &own)) return error;
  const std::vector<port_gid> all = k.who.port_gids(in.port);
  if (in.index >= all.size()) return EINVAL;
  const std::uint64_t words[] = {htobe64(all[in.index].value.prefix), htobe64(all[in.index].value.interface)};
  std::memcpy(out.gid, words, sizeof words);
  out.type = static_cast<std::uint32_t>(all[in.index].type);
  return 0;
}

static_assert(channel::clock_khz == HCA_CLOCK_KHZ);

int query_clock(caller& k, const channel::query_clock& in, channel::query_clock::answer& out) {
  ibv_context* context = k.who.contexts.find(in.context);
  return context ? hcax_query_clock(k.c, context, &out.ticks) : EINVAL;
}

int alloc_pd(caller& k, const channel::alloc_pd& in, channel::made& out) {
  ibv_context* context = k.who.contexts.find(in.context);
  if (!context) return EINVAL;
  ibv_pd* pd = ibv_alloc_pd(k.c, context);
  if (!pd) return errno;
  out.object = k.who.pds.add(pd);
  return 0;
}

int dealloc_pd(caller& k, const channel::dealloc_pd& in, channel::nothing&) {
  ibv_pd* pd = k.who.pds.find(in.pd);
  if (!pd) return ENOENT;
  const int error = ibv_dealloc_pd(k.c, pd);
  if (!error) k.who.pds.remove(in.pd);
  return error;
}

int create_channel(caller& k, const channel::create_channel& in, channel::made& out) {
  ibv_context* context = k.who.contexts.find(in.context);
  std::vector<descriptor> with = k.descriptors(2);
  if (!context || with.size() != 2) return EINVAL;
  ibv_comp_channel* made = ibv_create_comp_channel(k.c, context);
  if (!made) return errno;
  static_cast<driver::completion_channel*>(made)->notify = tokens_in(std::move(with[0]), std::move(with[1]), k.who.sleeping);
  out.object = k.who.channels.add(made);
  return 0;
}

int destroy_channel(caller& k, const channel::destroy_channel& in, channel::nothing&) {
  ibv_comp_channel* gone = k.who.channels.find(in.channel);
  if (!gone) return ENOENT;
  const int error = ibv_destroy_comp_channel(k.c, gone);
  if (!error) k.who.channels.remove(in.channel);
  return error;
}

int create_ah(caller& k, const channel::create_ah& in, channel::made& out) {
  ibv_pd* pd = k.who.pds.find(in.pd);
  if (!pd) return EINVAL;
  ibv_ah_attr attr{};
  channel::each_route(attr, in.to, channel::to_verbs);
  if (const int error = k.who.route(attr)) return error;
  ibv_ah* ah = ibv_create_ah(k.c, pd, &attr);
  if (!ah) return errno;
  out.object = k.who.ahs.add(ah);
  return 0;
}

int destroy_ah(caller& k, const channel::destroy_ah& in, channel::nothing&) {
  ibv_ah* ah = k.who.ahs.find(in.ah);
  if (!ah) return ENOENT;
  const int error = ibv_destroy_ah(k.c, ah);
  if (!error) k.who.ahs.remove(in.ah);
  return error;
}

}  // namespace

void add_device_requests(handler_table& t) {
  add<channel::query_device, query_device>(t);
  add<channel::query_port, query_port>(t);
  add<channel::query_gid, query_gid>(t);
  add<channel::query_clock, query_clock>(t);
  add<channel::alloc_pd, alloc_pd>(t);
  add<channel::dealloc_pd, dealloc_pd>(t);
  add<channel::create_channel, create_channel>(t);
  add<channel::destroy_channel, destroy_channel>(t);
  add<channel::create_ah, create_ah>(t);
  add<channel::destroy_ah, destroy_ah>(t);
}

}  // namespace hcasim::applications
