#include <algorithm>
#include <bit>

#include "models/driver/device/access.h"
#include "models/driver/device/device.h"
#include "models/driver/objects/address.h"
#include "models/driver/objects/address_space.h"
#include "models/driver/objects/shared_queue.h"
#include "models/driver/verbs/qp_transition.h"
#include "models/driver/verbs/verbs_observer.h"

namespace hcasim::driver {

namespace {

void count_users(const queue_pair& qp, bool more) {
  const auto count = [more](std::uint32_t& users) { more ? ++users : --users; };
  if (qp.pd) count(static_cast<protection_domain*>(qp.pd)->users);
  if (qp.send_cq) count(static_cast<completion_queue*>(qp.send_cq)->users);
  if (qp.recv_cq) count(static_cast<completion_queue*>(qp.recv_cq)->users);
  if (qp.srq) count(static_cast<shared_queue*>(qp.srq)->users);
  if (qp.xrcd) count(qp.xrcd->users);
}

}  // namespace

void enter(queue_pair& qp) {
  qp.handle = of(qp.context).qps.add(&qp);
  if (qp.target) qp.target->handles.push_back(&qp);
  count_users(qp, true);
}

void leave(queue_pair& qp) {
  count_users(qp, false);
  of(qp.context).qps.remove(qp.handle);
}

}  // namespace hcasim::driver

namespace hcasim::verbs {

using namespace driver;

namespace {

constexpr std::uint32_t max_receive_wr = 1 << 15;
constexpr std::uint32_t psn_mask = 0xff'ffff;
constexpr std::uint32_t gone = ~0U;  // the QPN of a CQE that has no receiver any more

bool transport_of(ibv_qp_type type, hca_transport& out) {
  switch (type) {
    case IBV_QPT_RC:
      out = HCA_TRANSPORT_RC;
      return true;
    case IBV_QPT_UC:
      out = HCA_TRANSPORT_UC;
      return true;
    case IBV_QPT_UD:
      out = HCA_TRANSPORT_UD;
      return true;
    case IBV_QPT_XRC_SEND:
      out = HCA_TRANSPORT_XRC_INI;
      return true;
    case IBV_QPT_XRC_RECV:
      out = HCA_TRANSPORT_XRC_TGT;
      return true;
  }
  return false;
}

addressing longest_address(const send_limits& limits) {
  switch (limits.transport) {
    case HCA_TRANSPORT_UD:
      return limits.wide_datagrams ? addressing::wide_datagram : addressing::global_datagram;
    case HCA_TRANSPORT_XRC_INI:
      return addressing::xrc;
    default:
      return addressing::connected;
  }
}

// Sizes both rings, and writes their real sizes back into `cap`. Returns 0, EINVAL or ENOMEM.
int size_queues(cpu& c, process& p, queue_pair& qp, ibv_qp_cap& cap) {
  const device& d = *p.device;
  const hca_device_info& info = d.info();
  if (qp.target) {
    cap = {};
    return 0;
  }
  // A QP with an SRQ, or an initiator of XRC, has no receive queue: its receive sizes are not judged.
  if (qp.srq || qp.qp_type == IBV_QPT_XRC_SEND) cap.max_recv_wr = cap.max_recv_sge = 0;
  if (cap.max_send_sge > info.max_sge || cap.max_recv_sge > info.max_sge || cap.max_inline_data > info.max_inline)
    return EINVAL;
  const std::uint32_t sges = std::max(cap.max_send_sge, 1U);
  const bool reliable = hca_transport_reliable(qp.limits.transport) != 0;
  const bool datagram = qp.limits.transport == HCA_TRANSPORT_UD;
  const addressing to = longest_address(qp.limits);
  const unsigned header = header_bytes(reliable ? HCA_WQE_COMPARE_SWAP : datagram ? HCA_WQE_SEND : HCA_WQE_WRITE, to);
  const unsigned inline_header = header_bytes(datagram ? HCA_WQE_SEND : HCA_WQE_WRITE, to);
  const unsigned longest = std::max({blocks_with_segments(header, 1), blocks_with_segments(inline_header, sges),
                                     blocks_with_inline(inline_header, cap.max_inline_data)});
  if (longest > std::min<std::uint32_t>(info.max_wqe_blocks, HCA_WQE_MAX_BLOCKS)) return EINVAL;
  const std::uint32_t blocks = send_ring::size_for(std::max(cap.max_send_wr, 1U), longest);
  if (blocks == 0 || cap.max_recv_wr > max_receive_wr) return EINVAL;

  cap.max_send_wr = (blocks - (longest - 1)) / longest;
  cap.max_send_sge = sges;
  cap.max_inline_data = std::min(inline_capacity(inline_header, longest), info.max_inline);
  qp.limits.max_sge = sges;
  qp.limits.max_inline = cap.max_inline_data;
  qp.ring.resize(blocks, cap.max_send_wr);
  const page_policy policy = d.config().queue_memory;
  if (qp.sq.allocate(c, p, std::uint64_t{blocks} * HCA_WQE_BLOCK, policy)) return ENOMEM;

  cap.max_recv_sge = std::bit_ceil(std::max(cap.max_recv_sge, 1U));
  qp.rq_stride_shift = static_cast<unsigned>(std::countr_zero(cap.max_recv_sge)) + 4;
  if (cap.max_recv_wr > 0) {
    cap.max_recv_wr = std::bit_ceil(cap.max_recv_wr);
    qp.rq_mask = cap.max_recv_wr - 1;
    qp.rq_ids.assign(cap.max_recv_wr, 0);
    if (qp.rq.allocate(c, p, std::uint64_t{cap.max_recv_wr} << qp.rq_stride_shift, policy)) return ENOMEM;
  }
  qp.record = p.records.get(c);
  return qp.record ? 0 : ENOMEM;
}

std::uint32_t number_of(const ibv_cq* cq) {
  return cq ? static_cast<const completion_queue*>(cq)->number : 0;
}

command_result create_target(cpu& c, queue_pair& qp) {
  hca_create_qp create{};
  create.transport = HCA_TRANSPORT_XRC_TGT;
  create.uar = of(qp.context).uar_number;
  create.xrcd = qp.xrcd->domain->number;
  return run(c, qp.context, {.code = HCA_CMD_CREATE_QP, .in = in_bytes(create)});
}

command_result create_on_adapter(cpu& c, queue_pair& qp) {
  if (qp.target) return create_target(c, qp);
  device& d = *qp.context->device;
  unsigned shift = uniform_shift(qp.sq.runs(), d.info().page_shifts);
  if (qp.rq.bytes()) shift = std::min(shift, uniform_shift(qp.rq.runs(), d.info().page_shifts));
  std::vector<std::uint64_t> pages = qp.sq.pages(shift);
  hca_create_qp create{};
  create.transport = HCA_U8(static_cast<unsigned>(qp.limits.transport));
  create.log_sq_bytes = HCA_U8(static_cast<unsigned>(std::countr_zero(qp.sq.bytes())));
  create.rq_stride_shift = HCA_U8(qp.rq_stride_shift);
  create.page_shift = HCA_U8(shift);
  create.signal_all = qp.signal_all ? 1 : 0;
  create.flags = qp.privileged ? HCA_QP_PRIVILEGED : 0;
  create.pd = static_cast<protection_domain*>(qp.pd)->number;
  create.send_cqn = number_of(qp.send_cq);
  create.recv_cqn = number_of(qp.recv_cq);
  create.record = of(qp.context).records.address(qp.record);
  create.uar = of(qp.context).uar_number;
  create.srqn = qp.srq ? static_cast<shared_queue*>(qp.srq)->number : 0;
  create.sq_pages = static_cast<std::uint32_t>(pages.size());
  if (qp.rq.bytes()) {
    const std::vector<std::uint64_t> more = qp.rq.pages(shift);
    pages.insert(pages.end(), more.begin(), more.end());
    create.log_rq_bytes = HCA_U8(static_cast<unsigned>(std::countr_zero(qp.rq.bytes())));
    create.rq_pages = static_cast<std::uint32_t>(more.size());
  }
  return run(c, qp.context, {.code = HCA_CMD_CREATE_QP, .in = in_bytes(create), .list = std::as_bytes(std::span(pages))});
}

// CQEs of this QP left unpolled must not reach a later QP of the same number.
void clean_cq(cpu& c, process& p, completion_queue& cq, queue_pair& qp) {
  for (std::uint32_t i = cq.ci; i - cq.ci <= cq.mask(); ++i) {
    const auto e = p.bytes.get<hca_cqe>(cq.slot(i));
    if ((e.owner & 1) != cq.owner_of(i)) return;
    c.spend(c.machine().config().load_cost);
    if (e.qpn != qp.qp_num || e.srqn != 0) continue;
    store(c, cq.slot(i) + offsetof(hca_cqe, qpn), gone);
    if (qp.srq && (e.flags & HCA_CQE_RECEIVE)) free_slot(c, static_cast<shared_queue&>(*qp.srq), e.index);
  }
}

// `in_use`: the SRQ's WQE that the QP had taken, as 1 + its slot or 0, and the SRQ. Completions of an XRC target belong to its
// SRQs, and stay.
void clean_cqs(cpu& c, queue_pair& qp, const command_result& in_use) {
  process& p = of(qp.context);
  c.sync();
  if (qp.send_cq) clean_cq(c, p, *static_cast<completion_queue*>(qp.send_cq), qp);
  if (qp.recv_cq && qp.recv_cq != qp.send_cq) clean_cq(c, p, *static_cast<completion_queue*>(qp.recv_cq), qp);
  if (in_use.value == 0) return;
  const auto slot = static_cast<std::uint16_t>(in_use.value - 1);
  if (qp.srq) return free_slot(c, static_cast<shared_queue&>(*qp.srq), slot);
  shared_queue* const srq = qp.target ? p.device->srqs().find(in_use.extra) : nullptr;
  if (srq && srq->xrcd && srq->xrcd->domain == qp.xrcd->domain) free_slot(c, *srq, slot);
}

ibv_qp* create(cpu& c, ibv_context* context, ibv_pd* domain, ibv_xrcd* xrcd, ibv_qp_init_attr* attr) {
  process& p = of(context);
  device& d = *p.device;
  d.enter_kernel(c);
  auto qp = std::make_unique<queue_pair>();
  if (!transport_of(attr->qp_type, qp->limits.transport)) return refuse(EINVAL);
  const bool target = attr->qp_type == IBV_QPT_XRC_RECV;
  const bool initiator = attr->qp_type == IBV_QPT_XRC_SEND;
  if (target ? !xrcd || domain : xrcd || !domain || !attr->send_cq) return refuse(EINVAL);
  if (!target && !initiator && !attr->recv_cq) return refuse(EINVAL);
  ibv_srq* const srq = target || initiator ? nullptr : attr->srq;
  if (srq && static_cast<shared_queue*>(srq)->xrcd) return refuse(EINVAL);
  qp->context = context;
  qp->qp_context = attr->qp_context;
  qp->pd = domain;
  qp->send_cq = target ? nullptr : attr->send_cq;
  qp->recv_cq = target || initiator ? nullptr : attr->recv_cq;
  qp->srq = srq;
  qp->qp_type = attr->qp_type;
  qp->state = IBV_QPS_RESET;
  qp->signal_all = attr->sq_sig_all != 0;
  qp->privileged = qp->limits.privileged = (attr->create_flags & HCAX_QP_PRIVILEGED) != 0;
  qp->limits.wide_datagrams = p.device->config().wide_datagrams;
  qp->cap = attr->cap;
  if (target) {
    qp->xrcd = static_cast<xrc_opening*>(xrcd);
    qp->target = std::make_shared<xrc_target>();
  }
  if (const int error = size_queues(c, p, *qp, qp->cap)) return refuse(error);
  const command_result r = create_on_adapter(c, *qp);
  if (r.error) {
    if (qp->record != 0) p.records.put(qp->record);
    (void)d.may_let_go(c, p);
    return refuse(r.error);
  }
  attr->cap = qp->cap;
  qp->qp_num = r.value;
  enter(*qp);
  d.qps().set(qp->qp_num, qp.get());
  if (observer_of_verbs) [[unlikely]]
    observer_of_verbs->made(*qp);
  return qp.release();
}

// Closes one opening of the QP; true = others are left.
bool leave_target(queue_pair& qp) {
  if (!qp.target) return false;
  process& p = of(qp.context);
  std::vector<queue_pair*>& handles = qp.target->handles;
  if (handles.size() == 1) return false;
  std::erase(handles, &qp);
  if (!p.lost) p.device->qps().set(qp.qp_num, handles.front());
  return true;
}

}  // namespace

ibv_qp* ibv_create_qp(cpu& c, ibv_pd* domain, ibv_qp_init_attr* attr) {
  return create(c, domain->context, domain, nullptr, attr);
}

ibv_qp* ibv_create_qp_ex(cpu& c, ibv_context* context, ibv_qp_init_attr_ex* attr) {
  return create(c, context, attr->pd, attr->xrcd, attr);
}

int ibv_destroy_qp(cpu& c, ibv_qp* handle) {
  auto& qp = static_cast<queue_pair&>(*handle);
  process& p = of(qp.context);
  device& d = *p.device;
  d.enter_kernel(c);
  if (!qp.groups.empty()) return EBUSY;
  if (observer_of_verbs) [[unlikely]]
    observer_of_verbs->ending(qp);
  if (!leave_target(qp)) {
    const command_result r = run(c, qp.context, {.code = HCA_CMD_DESTROY_QP, .object = qp.qp_num});
    if (r.error) return r.error;
    while (!qp.spaces.empty()) retired(c, *qp.spaces.back());  // the keys of the connection went with it [S7]
    clean_cqs(c, qp, r);
    if (!p.lost) d.qps().set(qp.qp_num, nullptr);
  }
  drop_async_events(p, [&](const ibv_async_event& e) {
    return e.event_type != IBV_EVENT_CQ_ERR && e.event_type != IBV_EVENT_DEVICE_FATAL &&
           e.event_type != IBV_EVENT_SRQ_LIMIT_REACHED && e.event_type != IBV_EVENT_SRQ_ERR && e.element.qp == &qp;
  });
  qp.acknowledge.sleep_until(c, [&] { return qp.acknowledged >= qp.events; });
  leave(qp);
  if (qp.record != 0) p.records.put(qp.record);
  qp.sq.release(c);
  qp.rq.release(c);
  delete &qp;
  return 0;
}

namespace {

hca_modify_qp attributes(const ibv_qp_attr& a) {
  hca_modify_qp m{};
  m.state = HCA_U8(static_cast<unsigned>(a.qp_state));
  m.mtu_shift = HCA_U8(static_cast<unsigned>(a.path_mtu) + 7);
  m.access = HCA_U8(a.qp_access_flags & (HCA_ACCESS_REMOTE_WRITE | HCA_ACCESS_REMOTE_READ | HCA_ACCESS_REMOTE_ATOMIC));
  m.service_level = a.ah_attr.sl;
  m.retry_count = a.retry_cnt;
  m.rnr_retry = a.rnr_retry;
  m.timeout = a.timeout;
  m.min_rnr_timer = a.min_rnr_timer;
  m.max_read_out = a.max_rd_atomic;
  m.max_read_in = a.max_dest_rd_atomic;
  m.dest_lid = a.ah_attr.dlid;
  m.dest_qpn = a.dest_qp_num;
  m.sq_psn = a.sq_psn & psn_mask;  // programs draw 32 bits, and the Linux core takes 24 of them
  m.rq_psn = a.rq_psn & psn_mask;
  m.qkey = a.qkey;
  m.sqd_notify = a.en_sqd_async_notify ? 1 : 0;
  m.port = HCA_U8(a.port_num - 1U);
  return m;
}

bool values_ok(const device& d, const ibv_qp_attr& a, int mask) {
  if ((mask & IBV_QP_PORT) && !d.has_port(a.port_num)) return false;
  if ((mask & IBV_QP_PKEY_INDEX) && a.pkey_index != 0) return false;
  if (mask & IBV_QP_ALT_PATH) return false;  // the adapter has no path migration
  if ((mask & IBV_QP_AV) && !peer_ok(d, a.ah_attr)) return false;
  if ((mask & IBV_QP_PATH_MTU) && (a.path_mtu < IBV_MTU_256 || a.path_mtu > IBV_MTU_4096)) return false;
  return true;
}

void reset_queues(cpu& c, queue_pair& qp, const command_result& in_use) {
  clean_cqs(c, qp, in_use);
  qp.ring.reset();
  qp.rq_head = qp.rq_tail = 0;
  if (qp.record != 0) store(c, qp.record, hca_qp_record{0, 0});
}

void set_state(queue_pair& qp, ibv_qp_state state) {
  qp.state = state;
  if (!qp.target) return;
  for (queue_pair* each : qp.target->handles) each->state = state;
}

}  // namespace

int ibv_modify_qp(cpu& c, ibv_qp* handle, ibv_qp_attr* attr, int attr_mask) {
  // The attributes that the adapter knows have the same bits in both masks; the others are the driver's alone.
  constexpr int adapter_mask = HCA_QP_STATE | HCA_QP_ACCESS | HCA_QP_PORT | HCA_QP_QKEY | HCA_QP_AV | HCA_QP_PATH_MTU |
                               HCA_QP_TIMEOUT | HCA_QP_RETRY_COUNT | HCA_QP_RNR_RETRY | HCA_QP_RQ_PSN | HCA_QP_MAX_READ_OUT |
                               HCA_QP_MIN_RNR_TIMER | HCA_QP_SQ_PSN | HCA_QP_MAX_READ_IN | HCA_QP_DEST_QPN | HCA_QP_SQD_NOTIFY;
  auto& qp = static_cast<queue_pair&>(*handle);
  device& d = *qp.context->device;
  d.enter_kernel(c);
  attr_mask = applicable_attributes(qp.qp_type, attr_mask);
  const ibv_qp_state from = (attr_mask & IBV_QP_CUR_STATE) ? attr->cur_qp_state : qp.state;
  const ibv_qp_state to = (attr_mask & IBV_QP_STATE) ? attr->qp_state : from;
  if (!transition_ok(qp.qp_type, from, to, attr_mask) || !values_ok(d, *attr, attr_mask)) return EINVAL;
  const bool global = (attr_mask & IBV_QP_AV) && attr->ah_attr.is_global;
  const struct {
    hca_modify_qp attributes;
    hca_route route;
  } m{attributes(*attr), route_to(attr->ah_attr)};
  const command_result r =
      run(c, qp.context,
          {.code = HCA_CMD_MODIFY_QP,
           .object = qp.qp_num,
           .modifier = static_cast<std::uint32_t>(attr_mask & adapter_mask) | (global ? std::uint32_t{HCA_QP_ROUTE} : 0U),
           .in = in_bytes(m).first(global ? sizeof m : sizeof m.attributes)});
  if (r.error) return r.error;
  if (attr_mask & IBV_QP_PORT) qp.limits.port = attr->port_num;
  set_state(qp, to);
  if (observer_of_verbs) [[unlikely]]
    observer_of_verbs->modified(qp, *attr, attr_mask);
  if (to == IBV_QPS_RESET) reset_queues(c, qp, r);
  return 0;
}

int ibv_query_qp(cpu& c, ibv_qp* handle, ibv_qp_attr* attr, int, ibv_qp_init_attr* init_attr) {
  auto& qp = static_cast<queue_pair&>(*handle);
  device& d = *qp.context->device;
  d.enter_kernel(c);
  hca_qpc q{};
  const command_result r = run(c, qp.context, {.code = HCA_CMD_QUERY_QP, .object = qp.qp_num, .out = out_bytes(q)});
  if (r.error) return r.error;
  *attr = {};
  attr->qp_state = attr->cur_qp_state = static_cast<ibv_qp_state>(q.state);
  set_state(qp, attr->qp_state);
  attr->path_mtu = static_cast<ibv_mtu>(q.mtu_shift >= 8 ? q.mtu_shift - 7 : 0);
  attr->qkey = q.qkey;
  attr->rq_psn = q.expected_psn;
  attr->sq_psn = q.next_psn;
  attr->dest_qp_num = q.dest_qpn;
  attr->qp_access_flags = q.access;
  attr->cap = qp.cap;
  attr->ah_attr = address_of(static_cast<std::uint8_t>(q.port + 1), q.dest_lid, q.service_level, q.route);
  attr->sq_draining = q.state == HCA_QP_SQD && q.sq_draining != 0;
  attr->max_rd_atomic = q.max_read_out;
  attr->max_dest_rd_atomic = q.max_read_in;
  attr->min_rnr_timer = q.min_rnr_timer;
  attr->port_num = static_cast<std::uint8_t>(q.port + 1);
  attr->timeout = q.timeout;
  attr->retry_cnt = q.retry_count;
  attr->rnr_retry = q.rnr_retry;
  if (init_attr)
    *init_attr = {qp.qp_context,
                  qp.send_cq,
                  qp.recv_cq,
                  qp.srq,
                  qp.cap,
                  qp.qp_type,
                  qp.signal_all ? 1 : 0,
                  qp.privileged ? unsigned{HCAX_QP_PRIVILEGED} : 0U};
  return 0;
}

}  // namespace hcasim::verbs
