// Features that several queue pairs have in common: multicast groups and XRC domains.
#include <fcntl.h>
#include <sys/stat.h>

#include "testbenches/verbs_programs/preload/libc.h"
#include "testbenches/verbs_programs/preload/objects.h"

namespace hcasim::preload {
namespace {

// Names the file behind a domain: processes with the same file open share the domain. 0 = there is no file.
int identify(int fd, std::uint64_t& file) {
  struct stat s {};
  if (fd == -1) return 0;
  if (::fstat(fd, &s) != 0) return errno;
  file = (static_cast<std::uint64_t>(s.st_dev) << 40 ^ s.st_ino) | 1ULL << 63;
  return 0;
}

ibv_xrcd* open_xrcd(ibv_context* context, ibv_xrcd_init_attr* attr) {
  constexpr std::uint32_t needed = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
  if (attr->comp_mask != needed) return refused<ibv_xrcd>(EINVAL);
  channel::open_xrcd in{name_of(context), 0, (attr->oflags & O_CREAT) != 0, (attr->oflags & O_EXCL) != 0};
  channel::made out{};
  if (const int error = identify(attr->fd, in.file)) return refused<ibv_xrcd>(error);
  if (attr->fd == -1) in.create = 1;
  if (const int error = call(in, out)) return refused<ibv_xrcd>(error);
  auto* x = made<xrcd_object>();
  x->xrcd.context = context;
  x->name = out.object;
  return &x->xrcd;
}

int close_xrcd(ibv_xrcd* xrcd) {
  const int error = command(channel::close_xrcd{of<xrcd_object>(xrcd)->name});
  if (!error) std::free(of<xrcd_object>(xrcd));
  return error;
}

ibv_qp* open_qp(ibv_context* context, ibv_qp_open_attr* attr) {
  constexpr std::uint32_t needed = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE;
  if ((attr->comp_mask & needed) != needed || (attr->comp_mask & ~(needed | IBV_QP_OPEN_ATTR_CONTEXT)))
    return refused<ibv_qp>(EINVAL);
  if (attr->qp_type != IBV_QPT_XRC_RECV) return refused<ibv_qp>(EINVAL);
  auto* q = made<qp_object>();
  channel::made out{};
  const channel::open_qp in{of<xrcd_object>(attr->xrcd)->name, reinterpret_cast<std::uint64_t>(q), attr->qp_num};
  if (const int error = call(in, out)) {
    std::free(q);
    return refused<ibv_qp>(error);
  }
  void* const user = (attr->comp_mask & IBV_QP_OPEN_ATTR_CONTEXT) ? attr->qp_context : nullptr;
  return made_qp(*q, context, out.object, attr->qp_num, IBV_QPT_XRC_RECV, user);
}

template <class Request>
int change_group(ibv_qp* qp, const ibv_gid* gid, std::uint16_t lid) {
  Request r{name_of(qp), {}, lid};
  std::memcpy(r.gid, gid->raw, sizeof r.gid);
  return command(r);
}

}  // namespace

void add_group_operations(context_object& c) {
  c.verbs.open_xrcd = open_xrcd;
  c.verbs.close_xrcd = close_xrcd;
  c.verbs.open_qp = open_qp;
}

}  // namespace hcasim::preload

using namespace hcasim;
using namespace hcasim::preload;

HCASIM_PUBLIC int ibv_attach_mcast(ibv_qp* qp, const ibv_gid* gid, std::uint16_t lid) {
  return mine() ? change_group<channel::join_group>(qp, gid, lid) : HCASIM_REAL(ibv_attach_mcast)(qp, gid, lid);
}

HCASIM_PUBLIC int ibv_detach_mcast(ibv_qp* qp, const ibv_gid* gid, std::uint16_t lid) {
  return mine() ? change_group<channel::leave_group>(qp, gid, lid) : HCASIM_REAL(ibv_detach_mcast)(qp, gid, lid);
}
