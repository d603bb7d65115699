#include <algorithm>

#include "models/driver/device/access.h"
#include "models/driver/device/device.h"
#include "models/driver/objects/shared_queue.h"
#include "models/driver/verbs/verbs_observer.h"

namespace hcasim::verbs {

using namespace driver;

ibv_cq* ibv_create_cq(cpu& c, ibv_context* context, int cqe, void* cq_context, ibv_comp_channel* channel, int comp_vector) {
  if (cqe < 1 || cqe > 1 << 22 || comp_vector < 0 || comp_vector >= context->num_comp_vectors) return refuse(EINVAL);
  process& p = of(context);
  device& d = *context->device;
  d.enter_kernel(c);
  auto cq = std::make_unique<completion_queue>();
  while (1 << cq->log_entries < cqe) ++cq->log_entries;
  if (cq->buffer.allocate(c, p, std::uint64_t{HCA_CQE_BYTES} << cq->log_entries, d.config().queue_memory))
    return refuse(ENOMEM);
  cq->record = p.records.get(c);
  if (!cq->record) return refuse(ENOMEM);

  const unsigned shift = uniform_shift(cq->buffer.runs(), d.info().page_shifts);
  const std::vector<std::uint64_t> pages = cq->buffer.pages(shift);
  hca_create_cq create{};
  create.log_entries = HCA_U8(cq->log_entries);
  create.page_shift = HCA_U8(shift);
  create.eqn = HCA_U8(d.completion_eq(comp_vector));
  create.pages = static_cast<std::uint32_t>(pages.size());
  create.record = p.records.address(cq->record);
  create.uar = p.uar_number;
  const command_result r =
      run(c, context, {.code = HCA_CMD_CREATE_CQ, .in = in_bytes(create), .list = std::as_bytes(std::span(pages))});
  if (r.error) {
    p.records.put(cq->record);
    (void)d.may_let_go(c, p);
    return refuse(r.error);
  }
  cq->context = context;
  cq->channel = channel;
  cq->cq_context = cq_context;
  cq->cqe = 1 << cq->log_entries;
  cq->number = r.value;
  cq->handle = p.cqs.add(cq.get());
  d.cqs().set(cq->number, cq.get());
  if (channel) ++channel->refcnt;
  return cq.release();
}

int ibv_destroy_cq(cpu& c, ibv_cq* handle) {
  completion_queue& cq = of(handle);
  process& p = of(cq.context);
  device& d = *cq.context->device;
  d.enter_kernel(c);
  if (cq.users > 0) return EBUSY;
  const command_result r = run(c, cq.context, {.code = HCA_CMD_DESTROY_CQ, .object = cq.number});
  if (r.error) return r.error;
  if (!p.lost) d.cqs().set(cq.number, nullptr);
  if (cq.channel) {
    auto& channel = static_cast<completion_channel&>(*cq.channel);
    const auto gone = static_cast<int>(std::erase(channel.pending, &cq));
    if (gone > 0 && channel.notify) channel.notify(-gone);
    --cq.channel->refcnt;
  }
  drop_async_events(p, [&](const ibv_async_event& e) { return e.event_type == IBV_EVENT_CQ_ERR && e.element.cq == &cq; });
  cq.acknowledge.sleep_until(c, [&] { return cq.acknowledged >= cq.events + cq.async_events; });
  p.records.put(cq.record);
  cq.buffer.release(c);
  p.cqs.remove(cq.handle);
  delete &cq;
  return 0;
}

int ibv_modify_cq(cpu& c, ibv_cq* handle, ibv_modify_cq_attr* attr) {
  completion_queue& cq = of(handle);
  if (attr->attr_mask != IBV_CQ_ATTR_MODERATE) return EINVAL;
  device& d = *cq.context->device;
  d.enter_kernel(c);
  const std::uint32_t moderation = attr->moderate.cq_count | static_cast<std::uint32_t>(attr->moderate.cq_period) << 16;
  return run(c, cq.context, {.code = HCA_CMD_MODIFY_CQ, .object = cq.number, .modifier = moderation}).error;
}

namespace {

void fill_send(queue_pair& qp, const hca_cqe& e, const send_entry& sent, ibv_wc& wc) {
  wc.wr_id = sent.wr_id;
  wc.opcode = completion_opcode(static_cast<hca_wqe_opcode>(sent.opcode));
  wc.byte_len = e.byte_count;
  wc.qp_num = qp.qp_num;
}

void fill_shared_receive(cpu& c, shared_queue& srq, const hca_cqe& e, ibv_wc& wc) {
  wc.wr_id = srq.ids[e.index % srq.ids.size()];
  free_slot(c, srq, e.index);
}

void fill_receive(const hca_cqe& e, ibv_wc& wc) {
  wc.opcode = e.opcode == HCA_WQE_WRITE_IMM ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV;
  wc.byte_len = e.byte_count;
  wc.qp_num = e.qpn;
  wc.src_qp = e.source_qpn;
  wc.slid = e.source_lid;
  wc.sl = e.service_level;
  if (e.flags & HCA_CQE_GRH) wc.wc_flags |= IBV_WC_GRH;
  if (e.flags & HCA_CQE_WITH_IMM) {
    wc.wc_flags |= IBV_WC_WITH_IMM;
    wc.imm_data = e.immediate;
  } else if (e.flags & HCA_CQE_WITH_INV) {
    wc.wc_flags |= IBV_WC_WITH_INV;
    wc.invalidated_rkey = e.immediate;
  }
}

// The device does not know the numbers of the older life any more.
queue_pair* find_lost(process& p, std::uint32_t qpn) {
  for (queue_pair* qp : p.qps.slots()) {
    if (qp && qp->qp_num == qpn) return qp;
  }
  return nullptr;
}

// Takes one flushed completion that a QP still owes this CQ, in order, once the adapter sends no more. False = it owes none.
bool flush_one(queue_pair& qp, const completion_queue& cq, ibv_wc& wc) {
  wc = {};
  wc.status = IBV_WC_WR_FLUSH_ERR;
  wc.qp_num = qp.qp_num;
  if (qp.send_cq == &cq) {
    if (const send_entry* sent = qp.ring.take_oldest()) {
      wc.wr_id = sent->wr_id;
      wc.opcode = completion_opcode(static_cast<hca_wqe_opcode>(sent->opcode));
      return true;
    }
  }
  if (qp.recv_cq != &cq || qp.rq_head == qp.rq_tail) return false;
  wc.wr_id = qp.rq_ids[qp.rq_head++ & qp.rq_mask];
  wc.opcode = IBV_WC_RECV;
  return true;
}

int flush_lost(process& p, const completion_queue& cq, int num_entries, ibv_wc* wc) {
  int found = 0;
  for (queue_pair* qp : p.qps.slots()) {
    if (!qp || p.device->may_move(p)) continue;
    qp->state = IBV_QPS_ERR;
    while (found < num_entries && flush_one(*qp, cq, wc[found])) ++found;
  }
  return found;
}

bool owes(const process& p, const completion_queue& cq) {
  if (!p.lost || p.device->may_move(p)) return false;
  return std::any_of(p.qps.slots().begin(), p.qps.slots().end(), [&](const queue_pair* qp) {
    return qp && ((qp->send_cq == &cq && qp->ring.outstanding() != 0) || (qp->recv_cq == &cq && qp->rq_head != qp->rq_tail));
  });
}

void fill(const hca_cqe& e, ibv_wc& wc) {
  wc = {};
  wc.status = static_cast<ibv_wc_status>(e.status);
  wc.vendor_err = e.vendor_error;
  wc.completion_timestamp = e.timestamp;
}

shared_queue* find_lost_queue(process& p, std::uint32_t number) {
  for (shared_queue* srq : p.srqs.slots()) {
    if (srq && srq->number == number) return srq;
  }
  return nullptr;
}

// XRC: the receive belongs to its SRQ, in whichever process the QP is.
bool translate_xrc(cpu& c, process& p, const completion_queue& cq, const hca_cqe& e, ibv_wc& wc) {
  shared_queue* const srq = p.lost ? find_lost_queue(p, e.srqn) : p.device->srqs().find(e.srqn & HCA_QPN_ANY);
  if (!srq || srq->cq != &cq || !(e.flags & HCA_CQE_RECEIVE)) return false;
  fill(e, wc);
  fill_shared_receive(c, *srq, e, wc);
  fill_receive(e, wc);
  return true;
}

// False = nothing for software (a NOP, a block inside a WQE, or a QP that is gone).
bool translate(cpu& c, process& p, const completion_queue& cq, const hca_cqe& e, ibv_wc& wc) {
  if (e.srqn != 0) [[unlikely]]
    return translate_xrc(c, p, cq, e, wc);
  queue_pair* qp = p.lost ? find_lost(p, e.qpn) : e.qpn <= HCA_QPN_ANY ? p.device->qps().find(e.qpn) : nullptr;
  if (!qp) return false;
  fill(e, wc);
  if (e.flags & HCA_CQE_RECEIVE) {
    if (qp->srq) {
      fill_shared_receive(c, static_cast<shared_queue&>(*qp->srq), e, wc);
    } else if (qp->rq_ids.empty()) {
      return false;
    } else {
      wc.wr_id = qp->rq_ids[e.index & qp->rq_mask];
      ++qp->rq_head;
    }
    fill_receive(e, wc);
    return true;
  }
  if (qp->ring.size() == 0) return false;
  const send_entry* const sent = qp->ring.complete(e.index);
  if (!sent || sent->opcode == HCA_WQE_NOP) return false;
  fill_send(*qp, e, *sent, wc);
  return true;
}

}  // namespace

int ibv_poll_cq(cpu& c, ibv_cq* handle, int num_entries, ibv_wc* wc) {
  completion_queue& cq = of(handle);
  process& p = of(cq.context);
  const driver_config& config = cq.context->device->config();
  const ps begin = c.time();
  c.spend(config.poll_call);
  c.catch_up();
  const queue_lock::holder held(cq.lock, c);
  const std::uint32_t first = cq.ci;
  int found = 0;
  while (found < num_entries) {
    hca_cqe e;
    if (cq.ci == first) {
      e = load<hca_cqe>(c, cq.slot(cq.ci));
    } else {  // landed before the first was loaded, or is left to the next poll
      e = p.bytes.get<hca_cqe>(cq.slot(cq.ci));
      c.spend(c.machine().config().load_cost);
    }
    if ((e.owner & 1) != cq.owner_of(cq.ci)) break;
    ++cq.ci;
    c.spend(config.poll_cqe);
    if (translate(c, p, cq, e, wc[found])) ++found;
  }
  if (cq.ci == first) {
    ++p.stats.empty_polls;
    if (observer_of_verbs) [[unlikely]]
      observer_of_verbs->polled(c, begin, cq, {});
    return p.lost ? flush_lost(p, cq, num_entries, wc) : 0;
  }
  p.stats.cqes += cq.ci - first;
  if (++cq.polls_since_record >= config.cq_record_interval) {
    cq.polls_since_record = 0;
    store(c, cq.record, hca_cq_record{cq.ci, 0});
  }
  if (observer_of_verbs) [[unlikely]]
    observer_of_verbs->polled(c, begin, cq, {wc, static_cast<std::size_t>(found)});
  return found;
}

bool wait_cq(cpu& c, ibv_cq* handle, ps timeout) {
  completion_queue& cq = of(handle);
  if (observer_of_verbs) [[unlikely]]
    observer_of_verbs->waits(c, c.time(), cq, false);
  const std::uint64_t slot = cq.slot(cq.ci);
  const std::uint64_t watch = c.watch(slot, HCA_CQE_BYTES);
  const auto owner = c.machine().memory_bytes().get<std::uint8_t>(slot + HCA_CQE_BYTES - 1);
  const bool there = (owner & 1) == cq.owner_of(cq.ci) || owes(of(cq.context), cq) || c.wait_write(watch, timeout);
  c.unwatch(watch);
  return there;
}

int ibv_req_notify_cq(cpu& c, ibv_cq* handle, int solicited_only) {
  completion_queue& cq = of(handle);
  const queue_lock::holder held(cq.lock, c);
  if (of(cq.context).lost) return EIO;
  if (observer_of_verbs) [[unlikely]]
    observer_of_verbs->waits(c, c.time(), cq, true);
  store(c, cq.record, hca_cq_record{cq.ci, 0});
  cq.polls_since_record = 0;
  const std::uint32_t arm = solicited_only ? HCA_ARM_SOLICITED : HCA_ARM_NEXT;
  ring(c, of(cq.context).uar, HCA_UAR_CQ, cq.number | arm << 24, cq.ci);
  return 0;
}

const char* ibv_wc_status_str(ibv_wc_status status) {
  static constexpr const char* text[] = {
      "success",
      "local length error",
      "local QP operation error",
      "local EE context operation error",
      "local protection error",
      "Work Request Flushed Error",
      "memory management operation error",
      "bad response error",
      "local access error",
      "remote invalid request error",
      "remote access error",
      "remote operation error",
      "transport retry counter exceeded",
      "RNR retry counter exceeded",
      "local RDD violation error",
      "remote invalid RD request",
      "aborted error",
      "invalid EE context number",
      "invalid EE context state",
      "fatal error",
      "response timeout error",
      "general error",
  };
  const auto i = static_cast<unsigned>(status);
  return i < std::size(text) ? text[i] : "unknown";
}

}  // namespace hcasim::verbs
