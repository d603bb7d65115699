/* Life cycle of queue pairs. */
#include "firmware/control/state.h"

uint64_t fw_qpc_address(const struct firmware* fw, uint32_t qpn) {
  return fw->area.qpc_base + (uint64_t)qpn * sizeof(struct hca_qpc);
}

bool fw_qpc_live(const struct firmware* fw, uint32_t qpn) {
  return qpn >= 2 && fw_bitmap_has(&fw->qps, qpn);
}

static int read_context(struct firmware* fw, uint32_t qpn, struct hca_qpc* q) {
  const int status = fw_read(fw, fw_qpc_address(fw, qpn), q, sizeof *q);
  return status == HCA_OK && !hca_qpc_sound(q) ? HCA_DAMAGED : status;
}

int fw_qpc_load(struct firmware* fw, uint32_t qpn, struct hca_qpc* q) {
  hal_cache_drop(fw->hal, HAL_CACHE_QPC, qpn);
  return read_context(fw, qpn, q);
}

bool fw_is_qp(const struct hca_qpc* q) {
  return q->transport != HCA_TRANSPORT_SRQ && q->transport != HCA_TRANSPORT_GROUP;
}

static int load_own(struct firmware* fw, uint32_t qpn, struct hca_qpc* q) {
  if (!fw_qpc_live(fw, qpn)) return HCA_BAD_OBJECT;
  const int status = fw_qpc_load(fw, qpn, q);
  if (status != HCA_OK) return status;
  return fw_is_qp(q) && q->function == fw->function ? HCA_OK : HCA_BAD_OBJECT;
}

/* The data path waits for the context of this QP until fw_qpc_give, and then sees all changes at once. */
int fw_qpc_take(struct firmware* fw, uint32_t qpn, struct hca_qpc* q) {
  hal_qpc_take(fw->hal, qpn);
  const int status = read_context(fw, qpn, q);
  if (status != HCA_OK) hal_qpc_give(fw->hal, qpn);
  return status;
}

void fw_qpc_give(struct firmware* fw, uint32_t qpn) {
  hal_dma_fence(fw->hal);
  hal_qpc_give(fw->hal, qpn);
}

/* Changes a taken context to `now`, or leaves `before`. */
int fw_qpc_change(struct firmware* fw, uint32_t qpn, const struct hca_qpc* before, const struct hca_qpc* now) {
  const int status = fw_write_changes(fw, fw_qpc_address(fw, qpn), before, now, sizeof *now);
  if (status != HCA_OK) fw_write_changes(fw, fw_qpc_address(fw, qpn), now, before, sizeof *now);
  fw_qpc_give(fw, qpn);
  return status;
}

/* Writes a taken context as a whole. */
int fw_qpc_put(struct firmware* fw, uint32_t qpn, const struct hca_qpc* q) {
  const int status = fw_write(fw, fw_qpc_address(fw, qpn), q, sizeof *q);
  fw_qpc_give(fw, qpn);
  return status;
}

static int check_cq(const struct firmware* fw, uint32_t cqn) {
  return cqn != 0 && fw_bitmap_has(&fw->cqs, cqn) ? HCA_OK : HCA_BAD_OBJECT;
}

/* Checks the queues of a QP of this transport, and their CQs. */
static int check_queues(struct firmware* fw, const struct hca_create_qp* p) {
  switch (p->transport) {
    case HCA_TRANSPORT_XRC_TGT:
      return p->sq_pages == 0 && p->rq_pages == 0 && (p->send_cqn | p->recv_cqn | p->srqn | p->pd) == 0 && p->xrcd != 0
                 ? HCA_OK
                 : HCA_BAD_PARAMETER;
    case HCA_TRANSPORT_XRC_INI:
      return p->rq_pages == 0 && (p->recv_cqn | p->srqn | p->xrcd) == 0 ? check_cq(fw, p->send_cqn) : HCA_BAD_PARAMETER;
    default:
      break;
  }
  if (p->xrcd != 0) return HCA_BAD_PARAMETER;
  if (check_cq(fw, p->send_cqn) != HCA_OK || check_cq(fw, p->recv_cqn) != HCA_OK) return HCA_BAD_OBJECT;
  if (p->srqn == 0) return HCA_OK;
  return p->rq_pages == 0 ? fw_srq_own(fw, p->srqn) : HCA_BAD_PARAMETER;
}

static int check(struct firmware* fw, const struct hca_create_qp* p) {
  for (unsigned i = 0; i < sizeof p->reserved1 / sizeof p->reserved1[0]; i++) {
    if (p->reserved1[i] != 0) return HCA_BAD_PARAMETER;
  }
  if (p->transport > HCA_TRANSPORT_XRC_TGT || p->transport == 2 || p->transport == HCA_TRANSPORT_SRQ) return HCA_UNSUPPORTED;
  if ((p->flags & ~(unsigned)HCA_QP_PRIVILEGED) != 0 || p->signal_all > 1 || p->pd > FW_NUMBER_MASK ||
      p->xrcd > FW_NUMBER_MASK || p->record % 8 != 0 || p->uar >= HCA_UAR_COUNT)
    return HCA_BAD_PARAMETER;
  /* Indices are 16 bits, and a full queue must differ from an empty one. */
  if (p->sq_pages != 0 && (p->log_sq_bytes < 6 || p->log_sq_bytes > 6 + 15)) return HCA_BAD_PARAMETER;
  if (p->rq_pages != 0) {
    if (p->rq_stride_shift < 4 || p->rq_stride_shift > 10 || p->log_rq_bytes < p->rq_stride_shift) return HCA_BAD_PARAMETER;
    if (p->log_rq_bytes - p->rq_stride_shift > 15) return HCA_BAD_PARAMETER;
  }
  return check_queues(fw, p);
}

static void join_cq(struct firmware* fw, uint32_t cqn) {
  if (cqn != 0) fw->cq_users[cqn]++;
}

int fw_create_qp(struct firmware* fw, struct hca_command* c) {
  struct hca_create_qp p;
  struct hca_qpc q;
  uint32_t qpn = 0;
  if (c->in_bytes < sizeof p) return HCA_BAD_LENGTH;
  int status = fw_read(fw, c->in_address, &p, sizeof p);
  if (status != HCA_OK) return status;
  if (c->in_bytes != sizeof p + ((uint64_t)p.sq_pages + p.rq_pages) * 8) return HCA_BAD_LENGTH;
  status = check(fw, &p);
  if (status != HCA_OK) return status;
  if (!fw_bitmap_take(fw, &fw->qps, &qpn)) return HCA_NO_RESOURCES;

  struct hca_buffer sq;
  struct hca_buffer rq;
  memset(&sq, 0, sizeof sq);
  memset(&rq, 0, sizeof rq);
  const uint64_t pages = c->in_address + sizeof p;
  status = fw_list_build(fw, pages, p.sq_pages, p.page_shift, p.log_sq_bytes, &sq);
  const bool sq_built = status == HCA_OK;
  bool rq_built = false;
  if (status == HCA_OK) {
    status = fw_list_build(fw, pages + p.sq_pages * 8ULL, p.rq_pages, p.page_shift, p.log_rq_bytes, &rq);
    rq_built = status == HCA_OK;
  }
  if (status == HCA_OK) status = fw_qpc_take(fw, qpn, &q); /* the generation of its last life [C.1] */
  if (status == HCA_OK) {
    const struct hca_qpc fresh = {
        .transport = p.transport,
        .pd = p.pd,
        .send_cqn = p.send_cqn,
        .recv_cqn = p.recv_cqn,
        .signal_all = p.signal_all,
        .function = fw->function,
        .srqn = p.srqn,
        .record = p.record,
        .generation = q.generation + 1,
        .flags = p.flags,
        .uar = p.uar,
        .xrcd = p.xrcd,
        .sq = sq,
        .rq = rq,
        .rq_stride_shift = p.rq_pages != 0 ? p.rq_stride_shift : 0,
    };
    q = fresh;
    fw_qp_clear(&fw->limits, &q);
    status = fw_qpc_put(fw, qpn, &q);
  }
  if (status != HCA_OK) {
    if (sq_built) fw_list_free(fw, &sq);
    if (rq_built) fw_list_free(fw, &rq);
    fw_bitmap_put(&fw->qps, qpn);
    return status;
  }
  join_cq(fw, p.send_cqn);
  join_cq(fw, p.recv_cqn);
  if (p.srqn != 0) fw->srq_users[p.srqn]++;
  c->result[0] = qpn;
  return HCA_OK;
}

/* Returns the SRQ slot of a receive taken by this QP and not finished: the SRQ's consumer gets no completion for it. */
static uint32_t slot_in_use(const struct hca_qpc* q) {
  return q->srqn != 0 && q->in_wqe_held != 0 ? q->in_wqe + 1U : 0;
}

static void leave_cq(struct firmware* fw, uint32_t cqn) {
  if (cqn != 0 && fw_bitmap_has(&fw->cqs, cqn) && fw->cq_users[cqn] != 0) fw->cq_users[cqn]--;
}

int fw_destroy_qp(struct firmware* fw, struct hca_command* c) {
  const uint32_t qpn = c->object;
  struct hca_qpc q;
  int status = load_own(fw, qpn, &q);
  if (status != HCA_OK) return status;
  if ((fw->limits.flags & FW_WINDOWS_2A) != 0 && q.bound_windows != 0) return HCA_BUSY; /* [C.1] */
  if (q.groups != 0) return HCA_BUSY;
  status = fw_space_retire_qp(fw, qpn);
  if (status != HCA_OK) return status;
  hal_qp_control(fw->hal, qpn, HAL_QP_STOP);
  status = fw_qpc_take(fw, qpn, &q);
  if (status != HCA_OK) return status;
  const struct hca_qpc dead = {.state = HCA_QP_RESET, .generation = q.generation};
  status = fw_qpc_put(fw, qpn, &dead);
  if (status != HCA_OK) return status;
  hal_translation_drop(fw->hal, (uint32_t)HCA_TAG_SQ | qpn, 0, FW_ALL);
  hal_translation_drop(fw->hal, (uint32_t)HCA_TAG_RQ | qpn, 0, FW_ALL);
  fw_list_free(fw, &q.sq);
  fw_list_free(fw, &q.rq);
  c->result[0] = slot_in_use(&q);
  c->result[1] = q.srqn;
  if (q.transport != HCA_TRANSPORT_XRC_TGT) {
    leave_cq(fw, q.send_cqn);
    leave_cq(fw, q.recv_cqn);
    if (fw_qpc_live(fw, q.srqn) && fw->srq_users[q.srqn] != 0) fw->srq_users[q.srqn]--;
  }
  fw_bitmap_put(&fw->qps, qpn);
  return HCA_OK;
}

/* A mailbox of MODIFY_QP. */
struct modification {
  struct hca_modify_qp attributes;
  struct hca_route route;
};

static int to_reset(struct firmware* fw, uint32_t qpn, uint32_t result[2]) {
  struct hca_qpc q;
  hal_qp_control(fw->hal, qpn, HAL_QP_STOP);
  const int status = fw_qpc_take(fw, qpn, &q);
  if (status != HCA_OK) return status;
  result[0] = slot_in_use(&q);
  result[1] = q.srqn;
  fw_qp_clear(&fw->limits, &q);
  return fw_qpc_put(fw, qpn, &q);
}

static int change(struct firmware* fw, uint32_t qpn, uint32_t mask, const struct modification* m, struct hca_qpc* before) {
  const struct hca_modify_qp* a = &m->attributes;
  int status = fw_qpc_take(fw, qpn, before);
  if (status != HCA_OK) return status;
  const bool own = fw_is_qp(before) && before->function == fw->function;
  const uint8_t to = (mask & HCA_QP_STATE) != 0 ? a->state : before->state;
  status = own ? fw_qp_transition(before->transport, before->state, to, mask) : HCA_BAD_OBJECT;
  struct hca_qpc now = *before;
  if (status == HCA_OK) {
    fw_qp_apply(&now, mask, a, &m->route);
    return fw_qpc_change(fw, qpn, before, &now);
  }
  fw_qpc_give(fw, qpn);
  return status;
}

static int read_modification(struct firmware* fw, const struct hca_command* c, struct modification* m) {
  memset(&m->route, 0, sizeof m->route);
  const bool route = (c->modifier & HCA_QP_ROUTE) != 0;
  const int status = fw_read_in(fw, c, m, route ? sizeof *m : sizeof m->attributes);
  if (status != HCA_OK) return status;
  return hca_route_sound(&m->route) && m->route.global == route ? HCA_OK : HCA_BAD_PARAMETER;
}

int fw_modify_qp(struct firmware* fw, struct hca_command* c) {
  const uint32_t known = HCA_QP_STATE | HCA_QP_ACCESS | HCA_QP_PORT | HCA_QP_QKEY | HCA_QP_AV | HCA_QP_PATH_MTU |
                         HCA_QP_TIMEOUT | HCA_QP_RETRY_COUNT | HCA_QP_RNR_RETRY | HCA_QP_RQ_PSN | HCA_QP_MAX_READ_OUT |
                         HCA_QP_MIN_RNR_TIMER | HCA_QP_SQ_PSN | HCA_QP_MAX_READ_IN | HCA_QP_DEST_QPN | HCA_QP_SQD_NOTIFY |
                         HCA_QP_ROUTE;
  const uint32_t mask = c->modifier;
  struct modification m;
  struct hca_qpc before;
  int status = read_modification(fw, c, &m);
  if (status != HCA_OK) return status;
  const struct hca_modify_qp a = m.attributes;
  if (!fw_qpc_live(fw, c->object)) return HCA_BAD_OBJECT;
  if ((mask & ~known) != 0) return HCA_BAD_PARAMETER;
  status = fw_qp_values(&fw->limits, mask, &a);
  if (status != HCA_OK) return status;

  if ((mask & HCA_QP_STATE) != 0 && a.state == HCA_QP_RESET) {
    if (mask != HCA_QP_STATE) return HCA_BAD_PARAMETER;
    status = load_own(fw, c->object, &before);
    return status == HCA_OK ? to_reset(fw, c->object, c->result) : status;
  }
  status = change(fw, c->object, mask, &m, &before);
  if (status != HCA_OK || (mask & HCA_QP_STATE) == 0) return status;
  if (before.state == HCA_QP_RESET) hal_qp_start(fw->hal, c->object, before.uar, false);
  if (before.state == HCA_QP_RTS && a.state == HCA_QP_SQD) {
    const bool notify = (mask & HCA_QP_SQD_NOTIFY) != 0 && a.sqd_notify != 0;
    hal_qp_control(fw->hal, c->object, notify ? HAL_QP_DRAIN_NOTIFY : HAL_QP_DRAIN);
  }
  if (before.state == HCA_QP_SQD && a.state == HCA_QP_RTS) hal_qp_control(fw->hal, c->object, HAL_QP_GO_ON);
  if (before.state == HCA_QP_SQE && a.state == HCA_QP_RTS) hal_qp_control(fw->hal, c->object, HAL_QP_RESUME);
  if (a.state == HCA_QP_ERR) hal_qp_control(fw->hal, c->object, HAL_QP_FLUSH);
  return HCA_OK;
}

int fw_query_qp(struct firmware* fw, struct hca_command* c) {
  struct hca_qpc q;
  const int status = load_own(fw, c->object, &q);
  return status == HCA_OK ? fw_write_out(fw, c, &q, sizeof q) : status;
}
