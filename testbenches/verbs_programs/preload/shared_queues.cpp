// Shared receive queues.
#include "testbenches/verbs_programs/preload/libc.h"
#include "testbenches/verbs_programs/preload/objects.h"

namespace hcasim::preload {
namespace {

ibv_srq* make_srq(ibv_pd* pd, void* user, ibv_srq_attr& attr, ibv_xrcd* xrcd, ibv_cq* cq) {
  auto* s = made<srq_object>();
  channel::create_srq::answer out{};
  const int error = call(channel::create_srq{name_of(pd), reinterpret_cast<std::uint64_t>(s), attr.max_wr, attr.max_sge,
                                             xrcd ? of<xrcd_object>(xrcd)->name : 0, name_of(cq)},
                         out);
  if (error) {
    std::free(s);
    return refused<ibv_srq>(error);
  }
  s->name = out.object;
  s->home = pd->context;
  s->number = out.srq_num;
  s->srq.context = pd->context;
  s->srq.srq_context = user;
  s->srq.pd = s->pd = pd;
  hold(pd);
  s->srq.handle = channel::number_of(out.object);
  ::pthread_mutex_init(&s->srq.mutex, nullptr);
  ::pthread_cond_init(&s->srq.cond, nullptr);
  attr.max_wr = out.max_wr;
  attr.max_sge = out.max_sge;
  return &s->srq;
}

ibv_srq* create_srq_ex(ibv_context*, ibv_srq_init_attr_ex* attr) {
  constexpr std::uint32_t needed =
      IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
  if (attr->comp_mask & ~needed) return refused<ibv_srq>(EOPNOTSUPP);
  const ibv_srq_type type = (attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE) ? attr->srq_type : IBV_SRQT_BASIC;
  if (type == IBV_SRQT_TM) return refused<ibv_srq>(EOPNOTSUPP);
  if (type == IBV_SRQT_BASIC && (attr->comp_mask & IBV_SRQ_INIT_ATTR_PD))  // the other attributes do not apply
    return make_srq(attr->pd, attr->srq_context, attr->attr, nullptr, nullptr);
  if (attr->comp_mask != needed || attr->srq_type != IBV_SRQT_XRC || !attr->xrcd || !attr->cq) return refused<ibv_srq>(EINVAL);
  return make_srq(attr->pd, attr->srq_context, attr->attr, attr->xrcd, attr->cq);
}

int get_srq_num(ibv_srq* srq, std::uint32_t* number) {
  *number = of<srq_object>(srq)->number;
  return *number != 0 ? 0 : EINVAL;
}

}  // namespace

void add_shared_queue_operations(context_object& c) {
  c.verbs.create_srq_ex = create_srq_ex;
  c.verbs.get_srq_num = get_srq_num;
}

}  // namespace hcasim::preload

using namespace hcasim;
using namespace hcasim::preload;

HCASIM_PUBLIC ibv_srq* ibv_create_srq(ibv_pd* pd, ibv_srq_init_attr* init) {
  if (!mine()) return HCASIM_REAL(ibv_create_srq)(pd, init);
  return make_srq(pd, init->srq_context, init->attr, nullptr, nullptr);
}

HCASIM_PUBLIC int ibv_modify_srq(ibv_srq* srq, ibv_srq_attr* attr, int mask) {
  if (!mine()) return HCASIM_REAL(ibv_modify_srq)(srq, attr, mask);
  return command(channel::modify_srq{name_of(srq), static_cast<std::uint32_t>(mask), attr->max_wr, attr->srq_limit});
}

HCASIM_PUBLIC int ibv_query_srq(ibv_srq* srq, ibv_srq_attr* attr) {
  if (!mine()) return HCASIM_REAL(ibv_query_srq)(srq, attr);
  channel::query_srq::answer out{};
  const int error = command(channel::query_srq{name_of(srq)}, out);
  if (!error) *attr = {out.max_wr, out.max_sge, out.limit};
  return error;
}

HCASIM_PUBLIC int ibv_destroy_srq(ibv_srq* srq) {
  if (!mine()) return HCASIM_REAL(ibv_destroy_srq)(srq);
  channel::events_answer out{};
  if (const int error = command(channel::destroy_srq{name_of(srq)}, out)) return error;
  wait_for_events(srq->events_completed, out.async);
  let_go(of<srq_object>(srq)->pd);
  std::free(of<srq_object>(srq));
  return 0;
}
