// Requests about objects that several QPs share: multicast groups and XRC domains.
#include <algorithm>

#include "testbenches/verbs_programs/simulator/handler.h"

namespace hcasim::applications {
namespace {

using namespace verbs;

template <class Request>
ibv_gid gid_of(const Request& in) {
  ibv_gid gid;
  std::copy(std::begin(in.gid), std::end(in.gid), gid.raw);
  return gid;
}

struct group {
  ibv_gid gid;
  std::uint16_t lid;
};

// A group of RoCE is its GID alone.
template <class Request>
group group_of(const caller& k, const Request& in) {
  group g{gid_of(in), in.lid};
  if (!k.who.ethernet) return g;
  cm::gid named;
  std::copy(std::begin(in.gid), std::end(in.gid), named.begin());
  named = cm::fabric_group(named);
  if (named == cm::gid{}) return g;
  std::copy(named.begin(), named.end(), g.gid.raw);
  g.lid = k.who.connections.lid_of_group(named);
  return g;
}

int join_group(caller& k, const channel::join_group& in, channel::nothing&) {
  ibv_qp* qp = k.who.qps.find(in.qp);
  const group g = group_of(k, in);
  return qp ? ibv_attach_mcast(k.c, qp, &g.gid, g.lid) : EINVAL;
}

int leave_group(caller& k, const channel::leave_group& in, channel::nothing&) {
  ibv_qp* qp = k.who.qps.find(in.qp);
  const group g = group_of(k, in);
  return qp ? ibv_detach_mcast(k.c, qp, &g.gid, g.lid) : EINVAL;
}

int open_xrcd(caller& k, const channel::open_xrcd& in, channel::made& out) {
  ibv_context* context = k.who.contexts.find(in.context);
  if (!context) return EINVAL;
  const ibv_xrcd_init_attr attr{in.file, in.create != 0, in.exclusive != 0};
  ibv_xrcd* xrcd = ibv_open_xrcd(k.c, context, &attr);
  if (!xrcd) return errno;
  out.object = k.who.xrcds.add(xrcd);
  return 0;
}

int close_xrcd(caller& k, const channel::close_xrcd& in, channel::nothing&) {
  ibv_xrcd* xrcd = k.who.xrcds.find(in.xrcd);
  if (!xrcd) return ENOENT;
  const int error = ibv_close_xrcd(k.c, xrcd);
  if (!error) k.who.xrcds.remove(in.xrcd);
  return error;
}

int open_qp(caller& k, const channel::open_qp& in, channel::made& out) {
  ibv_xrcd* xrcd = k.who.xrcds.find(in.xrcd);
  if (!xrcd) return EINVAL;
  const ibv_qp_open_attr attr{xrcd, in.qp_num, as_context(in.user)};
  ibv_qp* qp = ibv_open_qp(k.c, xrcd->context, &attr);
  if (!qp) return errno;
  ++k.who.connected;
  out.object = k.who.qps.add(qp);
  return 0;
}

}  // namespace

void add_group_requests(handler_table& t) {
  add<channel::join_group, join_group>(t);
  add<channel::leave_group, leave_group>(t);
  add<channel::open_xrcd, open_xrcd>(t);
  add<channel::close_xrcd, close_xrcd>(t);
  add<channel::open_qp, open_qp>(t);
}

}  // namespace hcasim::applications
