// Queue pairs.
#include "testbenches/applications/channel/qp_attributes.h"
#include "testbenches/applications/preload/objects.h"
#include "testbenches/applications/preload/real.h"

namespace hcasim::preload {
namespace {

ibv_qp* make_qp(ibv_pd* pd, ibv_qp_init_attr_ex& attr, ibv_qp_cap& cap) {
  auto* q = made<qp_object>();
  channel::create_qp::answer out{};
  const int error =
      call(channel::create_qp{name_of(pd), name_of(attr.send_cq), name_of(attr.recv_cq),
                              attr.srq ? of<srq_object>(attr.srq)->name : 0, reinterpret_cast<std::uint64_t>(q),
                              channel::packed_cap(attr.cap), static_cast<std::uint32_t>(attr.qp_type), attr.sq_sig_all != 0},
           out);
  if (error) {
    std::free(q);
    return refused<ibv_qp>(error);
  }
  q->name = out.object;
  ibv_qp& base = q->qp.qp_base;
  base.context = pd->context;
  base.qp_context = attr.qp_context;
  base.pd = pd;
  base.send_cq = attr.send_cq;
  base.recv_cq = attr.recv_cq;
  base.srq = attr.srq;
  base.handle = channel::number_of(out.object);
  base.qp_num = out.qp_num;
  base.state = IBV_QPS_RESET;
  base.qp_type = attr.qp_type;
  ::pthread_mutex_init(&base.mutex, nullptr);
  ::pthread_cond_init(&base.cond, nullptr);
  cap = channel::unpacked_cap<ibv_qp_cap>(out.cap);
  return &base;
}

ibv_qp* create_qp_ex(ibv_context*, ibv_qp_init_attr_ex* attr) {
  constexpr std::uint32_t known = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS | IBV_QP_INIT_ATTR_CREATE_FLAGS;
  constexpr std::uint64_t operations = (IBV_QP_EX_WITH_SEND_WITH_INV << 1) - 1;
  if ((attr->comp_mask & ~known) || !(attr->comp_mask & IBV_QP_INIT_ATTR_PD)) return refused<ibv_qp>(EOPNOTSUPP);
  const bool extended = attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
  if ((attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) && attr->create_flags) return refused<ibv_qp>(EOPNOTSUPP);
  if (extended && (attr->send_ops_flags & ~operations)) return refused<ibv_qp>(EOPNOTSUPP);
  ibv_qp* qp = make_qp(attr->pd, *attr, attr->cap);
  if (qp && extended) open_extended(*of<qp_object>(qp), attr->send_ops_flags);
  return qp;
}

}  // namespace

void add_queue_pair_operations(context_object& c) {
  c.verbs.create_qp_ex = create_qp_ex;
}

}  // namespace hcasim::preload

using namespace hcasim;
using namespace hcasim::preload;

HCASIM_PUBLIC ibv_qp* ibv_create_qp(ibv_pd* pd, ibv_qp_init_attr* attr) {
  if (!mine()) return HCASIM_REAL(ibv_create_qp)(pd, attr);
  ibv_qp_init_attr_ex all{};
  std::memcpy(static_cast<void*>(&all), attr, sizeof *attr);
  return make_qp(pd, all, attr->cap);
}

HCASIM_PUBLIC ibv_qp_ex* ibv_qp_to_qp_ex(ibv_qp* qp) {
  if (!mine()) return HCASIM_REAL(ibv_qp_to_qp_ex)(qp);
  return of<qp_object>(qp)->extended ? &of<qp_object>(qp)->qp : nullptr;
}

HCASIM_PUBLIC int ibv_modify_qp(ibv_qp* qp, ibv_qp_attr* attr, int mask) {
  if (!mine()) return HCASIM_REAL(ibv_modify_qp)(qp, attr, mask);
  channel::qp_attributes attributes = channel::packed(*attr);
  attributes.is_global = attr->ah_attr.is_global;
  attributes.dgid = in_host_order(attr->ah_attr.grh.dgid);
  const int error = call(channel::modify_qp{of<qp_object>(qp)->name, static_cast<std::uint32_t>(mask), attributes});
  if (!error && (mask & IBV_QP_STATE)) qp->state = attr->qp_state;
  return error;
}

HCASIM_PUBLIC int ibv_query_qp(ibv_qp* qp, ibv_qp_attr* attr, int mask, ibv_qp_init_attr* init) {
  if (!mine()) return HCASIM_REAL(ibv_query_qp)(qp, attr, mask, init);
  channel::query_qp::answer out{};
  if (const int error = call(channel::query_qp{of<qp_object>(qp)->name}, out)) return error;
  *attr = channel::unpacked<ibv_qp_attr>(out.attributes);
  qp->state = attr->qp_state;
  if (init)
    *init = {qp->qp_context, qp->send_cq, qp->recv_cq, qp->srq, attr->cap, qp->qp_type, static_cast<int>(out.signal_all)};
  return 0;
}

HCASIM_PUBLIC int ibv_destroy_qp(ibv_qp* qp) {
  if (!mine()) return HCASIM_REAL(ibv_destroy_qp)(qp);
  channel::events_answer out{};
  auto* q = of<qp_object>(qp);
  if (const int error = call(channel::destroy_qp{q->name}, out)) return error;
  wait_for_events(qp->events_completed, out.async);
  delete q->pending;
  std::free(q);
  return 0;
}
