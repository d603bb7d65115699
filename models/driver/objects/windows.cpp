// Memory windows [C2.1, C2.2, C.3]. The key byte of type 1 is chosen here [A5].
#include "models/driver/device/device.h"
#include "models/driver/on_demand/lent_pages.h"
#include "models/driver/verbs/post.h"

namespace hcasim::verbs {

using namespace driver;

ibv_mw* ibv_alloc_mw(cpu& c, ibv_pd* domain, ibv_mw_type type) {
  auto& pd = static_cast<protection_domain&>(*domain);
  process& p = of(pd.context);
  p.device->enter_kernel(c);
  if (type != IBV_MW_TYPE_1 && type != IBV_MW_TYPE_2) return refuse(EINVAL);
  const command_result r =
      run(c, &p, {.code = HCA_CMD_ALLOC_MW, .object = pd.number, .modifier = static_cast<std::uint32_t>(type)});
  if (r.error) {
    errno = r.error;
    return nullptr;
  }
  auto* mw = new memory_window;
  mw->context = pd.context;
  mw->pd = domain;
  mw->type = type;
  mw->key = mw->rkey = r.value;
  mw->handle = p.mws.add(mw);
  ++pd.users;
  return mw;
}

int ibv_dealloc_mw(cpu& c, ibv_mw* handle) {
  process& p = of(handle->context);
  p.device->enter_kernel(c);
  memory_window* mw = p.mws.find(handle->handle);
  if (!mw) return ENOENT;
  const command_result r = run(c, &p, {.code = HCA_CMD_FREE_MW, .object = mw->key});
  if (r.error) return r.error;
  --static_cast<protection_domain*>(mw->pd)->users;
  p.mws.remove(mw->handle);
  delete mw;
  return 0;
}

int hcax_query_mw(cpu& c, ibv_mw* handle, hcax_mw_attr* attr) {
  process& p = of(handle->context);
  p.device->enter_kernel(c);
  const memory_window* mw = p.mws.find(handle->handle);
  if (!mw) return ENOENT;
  hca_mrc m{};
  const command_result r = run(c, &p, {.code = HCA_CMD_QUERY_MW, .object = mw->key, .out = out_bytes(m)});
  if (r.error) return r.error;
  *attr = {};
  attr->type = mw->type;
  attr->rkey = hca_key_make(hca_key_index(mw->key), m.key_byte);
  attr->bound = m.parent != 0;
  if (!attr->bound) return 0;
  attr->lkey = m.parent;
  attr->addr = (m.access & HCA_ACCESS_ZERO_BASED) != 0 ? 0 : m.start;
  attr->length = m.length;
  attr->access = m.access;
  attr->qp_num = mw->type == IBV_MW_TYPE_2 ? m.qpn : 0;
  return 0;
}

int ibv_bind_mw(cpu& c, ibv_qp* qp, ibv_mw* mw, ibv_mw_bind* bind) {
  const ibv_mw_bind_info& info = bind->bind_info;
  if (mw->type != IBV_MW_TYPE_1) return EINVAL;
  if (!info.mr && (info.addr != 0 || info.length != 0)) return EINVAL;
  if (info.mw_access_flags & IBV_ACCESS_ZERO_BASED) return EINVAL;
  if (info.mr) {
    const auto& mr = static_cast<const memory_region&>(*info.mr);
    if (mr.pd != mw->pd) return EPERM;
    if (mr.access & HCA_ACCESS_ZERO_BASED) return EINVAL;
    const bool bindable = mr.kind == region_kind::plain || mr.kind == region_kind::fast || mr.kind == region_kind::space ||
                          (mr.lent_by && mr.lent_by->complete());
    if (!bindable) return ENOTSUP;
  }
  ibv_send_wr wr{};
  ibv_send_wr* bad = nullptr;
  wr.wr_id = bind->wr_id;
  wr.opcode = IBV_WR_BIND_MW;
  wr.send_flags = bind->send_flags;
  wr.bind_mw.mw = mw;
  wr.bind_mw.rkey = ibv_inc_rkey(mw->rkey);
  wr.bind_mw.bind_info = info;
  const int error = post_sends(c, static_cast<queue_pair&>(*qp), &wr, &bad, IBV_MW_TYPE_1);
  if (!error) mw->rkey = wr.bind_mw.rkey;
  return error;
}

}  // namespace hcasim::verbs
