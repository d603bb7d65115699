// Queue pairs.
#include "testbenches/verbs_programs/channel/qp_attributes.h"
#include "testbenches/verbs_programs/preload/libc.h"
#include "testbenches/verbs_programs/preload/objects.h"

namespace hcasim::preload {
namespace {

ibv_qp* make_qp(ibv_context* context, ibv_qp_init_attr_ex& attr, ibv_qp_cap& cap) {
  auto* q = made<qp_object>();
  channel::create_qp::answer out{};
  const bool target = attr.qp_type == IBV_QPT_XRC_RECV;
  const bool initiator = attr.qp_type == IBV_QPT_XRC_SEND;
  ibv_cq* const send = target ? nullptr : attr.send_cq;
  ibv_cq* const receive = target || initiator ? nullptr : attr.recv_cq;
  ibv_srq* const srq = target || initiator ? nullptr : attr.srq;
  const int error =
      call(channel::create_qp{target ? 0 : name_of(attr.pd), name_of(send), name_of(receive), name_of(srq),
                              target && attr.xrcd ? of<xrcd_object>(attr.xrcd)->name : 0, reinterpret_cast<std::uint64_t>(q),
                              channel::packed_cap(attr.cap), static_cast<std::uint32_t>(attr.qp_type), attr.sq_sig_all != 0},
           out);
  if (error) {
    std::free(q);
    return refused<ibv_qp>(error);
  }
  ibv_qp& base = *made_qp(*q, context, out.object, out.qp_num, attr.qp_type, attr.qp_context);
  base.pd = q->pd = attr.pd;  // as given, of every type
  hold(q->pd);
  base.send_cq = attr.send_cq;
  base.recv_cq = attr.recv_cq;
  base.srq = attr.srq;
  cap = channel::unpacked_cap<ibv_qp_cap>(out.cap);
  return &base;
}

// Returns the extended calls that a type of QP may have.
std::uint64_t operations_of(ibv_qp_type type) {
  constexpr std::uint64_t datagrams = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM;
  constexpr std::uint64_t unreliable = datagrams | IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
                                       IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_LOCAL_INV;
  constexpr std::uint64_t all = unreliable | IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
                                IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_SEND_WITH_INV;
  switch (type) {
    case IBV_QPT_RC:
    case IBV_QPT_XRC_SEND:
      return all;
    case IBV_QPT_UC:
      return unreliable;
    case IBV_QPT_UD:
      return datagrams;
    default:
      return 0;
  }
}

ibv_qp* create_qp_ex(ibv_context* context, ibv_qp_init_attr_ex* attr) {
  constexpr std::uint32_t known =
      IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_XRCD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS | IBV_QP_INIT_ATTR_CREATE_FLAGS;
  const bool target = attr->qp_type == IBV_QPT_XRC_RECV;
  if (attr->comp_mask & ~known) return refused<ibv_qp>(EOPNOTSUPP);
  if (!(attr->comp_mask & (target ? IBV_QP_INIT_ATTR_XRCD : IBV_QP_INIT_ATTR_PD))) return refused<ibv_qp>(EINVAL);
  const bool extended = attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
  if ((attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) && attr->create_flags) return refused<ibv_qp>(EOPNOTSUPP);
  if (extended && (attr->send_ops_flags & ~operations_of(attr->qp_type))) return refused<ibv_qp>(EOPNOTSUPP);
  ibv_qp_init_attr_ex all = *attr;
  if (!(attr->comp_mask & IBV_QP_INIT_ATTR_PD)) all.pd = nullptr;
  if (!(attr->comp_mask & IBV_QP_INIT_ATTR_XRCD)) all.xrcd = nullptr;
  ibv_qp* qp = make_qp(context, all, attr->cap);
  if (qp && extended) open_extended(*of<qp_object>(qp), attr->send_ops_flags);
  return qp;
}

}  // namespace

ibv_qp* made_qp(qp_object& q, ibv_context* context, handle name, std::uint32_t number, ibv_qp_type type, void* user) {
  q.name = name;
  q.home = context;
  ibv_qp& base = q.qp.qp_base;
  base.context = context;
  base.qp_context = user;
  base.handle = channel::number_of(name);
  base.qp_num = number;
  base.state = IBV_QPS_RESET;
  base.qp_type = type;
  ::pthread_mutex_init(&base.mutex, nullptr);
  ::pthread_cond_init(&base.cond, nullptr);
  return &base;
}

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
  all.pd = pd;
  all.xrcd = nullptr;
  return make_qp(pd->context, all, attr->cap);
}

HCASIM_PUBLIC ibv_qp_ex* ibv_qp_to_qp_ex(ibv_qp* qp) {
  if (!mine()) return HCASIM_REAL(ibv_qp_to_qp_ex)(qp);
  return of<qp_object>(qp)->extended ? &of<qp_object>(qp)->qp : nullptr;
}

HCASIM_PUBLIC int ibv_modify_qp(ibv_qp* qp, ibv_qp_attr* attr, int mask) {
  if (!mine()) return HCASIM_REAL(ibv_modify_qp)(qp, attr, mask);
  const int error = command(channel::modify_qp{name_of(qp), static_cast<std::uint32_t>(mask), channel::packed(*attr)});
  if (error) return error;
  if (mask & IBV_QP_STATE) qp->state = attr->qp_state;
  if (mask & IBV_QP_AV) of<qp_object>(qp)->address = attr->ah_attr;
  return 0;
}

HCASIM_PUBLIC int ibv_query_qp(ibv_qp* qp, ibv_qp_attr* attr, int mask, ibv_qp_init_attr* init) {
  if (!mine()) return HCASIM_REAL(ibv_query_qp)(qp, attr, mask, init);
  channel::query_qp::answer out{};
  if (const int error = command(channel::query_qp{name_of(qp)}, out)) return error;
  *attr = channel::unpacked<ibv_qp_attr>(out.attributes);
  if (of_context(qp->context)->ethernet) attr->ah_attr = of<qp_object>(qp)->address;
  if (mask & IBV_QP_STATE) qp->state = attr->qp_state;
  if (init)
    *init = {qp->qp_context, qp->send_cq, qp->recv_cq, qp->srq, attr->cap, qp->qp_type, static_cast<int>(out.signal_all)};
  return 0;
}

HCASIM_PUBLIC int ibv_destroy_qp(ibv_qp* qp) {
  if (!mine()) return HCASIM_REAL(ibv_destroy_qp)(qp);
  channel::events_answer out{};
  auto* q = of<qp_object>(qp);
  if (const int error = command(channel::destroy_qp{name_of(qp)}, out)) return error;
  wait_for_events(qp->events_completed, out.async);
  let_go(q->pd);
  delete q->pending;
  std::free(q);
  return 0;
}
