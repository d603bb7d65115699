/* Shared receive queues. They live among the queue pairs, with one of their numbers and one of their contexts. */
#include "firmware/control/state.h"

static int load_own(struct firmware* fw, uint32_t srqn, struct hca_qpc* q) {
  if (!fw_qpc_live(fw, srqn)) return HCA_BAD_OBJECT;
  const int status = fw_qpc_load(fw, srqn, q);
  if (status != HCA_OK) return status;
  return q->transport == HCA_TRANSPORT_SRQ && q->function == fw->function ? HCA_OK : HCA_BAD_OBJECT;
}

int fw_srq_own(struct firmware* fw, uint32_t srqn) {
  struct hca_qpc q;
  const int status = load_own(fw, srqn, &q);
  return status == HCA_OK && q.xrcd != 0 ? HCA_BAD_OBJECT : status;
}

static int check(const struct hca_create_srq* p) {
  if (p->reserved0 != 0 || p->uar >= HCA_UAR_COUNT || p->pd > FW_NUMBER_MASK || p->record % 8 != 0) return HCA_BAD_PARAMETER;
  if (p->pages == 0 || p->stride_shift < 5 || p->stride_shift > 10 || p->log_bytes < p->stride_shift) return HCA_BAD_PARAMETER;
  return p->log_bytes - p->stride_shift > 15 ? HCA_BAD_PARAMETER : HCA_OK;
}

/* `head`: bytes of the mailbox before the pages. */
static int create(struct firmware* fw, struct hca_command* c, const struct hca_create_xrc_srq* x, uint32_t head) {
  const struct hca_create_srq p = x->srq;
  struct hca_buffer rq;
  struct hca_qpc old;
  uint32_t srqn = 0;
  if (c->in_bytes != head + p.pages * 8ULL) return HCA_BAD_LENGTH;
  int status = check(&p);
  if (status != HCA_OK) return status;
  if (!fw_bitmap_take(fw, &fw->qps, &srqn)) return HCA_NO_RESOURCES;

  status = fw_list_build(fw, c->in_address + head, p.pages, p.page_shift, p.log_bytes, &rq);
  const bool built = status == HCA_OK;
  if (status == HCA_OK) status = fw_qpc_take(fw, srqn, &old); /* a later QP of this number goes on counting its lives */
  if (status == HCA_OK) {
    const struct hca_qpc q = {
        .state = HCA_QP_RTR,
        .transport = HCA_TRANSPORT_SRQ,
        .pd = p.pd,
        .function = fw->function,
        .record = p.record,
        .generation = old.generation,
        .uar = p.uar,
        .recv_cqn = x->cqn,
        .xrcd = x->xrcd,
        .rq = rq,
        .rq_stride_shift = p.stride_shift,
    };
    status = fw_qpc_put(fw, srqn, &q);
  }
  if (status != HCA_OK) {
    if (built) fw_list_free(fw, &rq);
    fw_bitmap_put(&fw->qps, srqn);
    return status;
  }
  fw->srq_users[srqn] = 0;
  if (x->cqn != 0) fw->cq_users[x->cqn]++;
  hal_qp_start(fw->hal, srqn, p.uar, true);
  c->result[0] = srqn;
  return HCA_OK;
}

int fw_create_srq(struct firmware* fw, struct hca_command* c) {
  struct hca_create_xrc_srq x;
  memset(&x, 0, sizeof x);
  if (c->in_bytes < sizeof x.srq) return HCA_BAD_LENGTH;
  const int status = fw_read(fw, c->in_address, &x.srq, sizeof x.srq);
  return status == HCA_OK ? create(fw, c, &x, sizeof x.srq) : status;
}

int fw_create_xrc_srq(struct firmware* fw, struct hca_command* c) {
  struct hca_create_xrc_srq x;
  if (c->in_bytes < sizeof x) return HCA_BAD_LENGTH;
  const int status = fw_read(fw, c->in_address, &x, sizeof x);
  if (status != HCA_OK) return status;
  if (x.xrcd == 0 || x.xrcd > FW_NUMBER_MASK) return HCA_BAD_PARAMETER;
  if (x.cqn == 0 || !fw_bitmap_has(&fw->cqs, x.cqn)) return HCA_BAD_OBJECT;
  return create(fw, c, &x, sizeof x);
}

int fw_destroy_srq(struct firmware* fw, struct hca_command* c) {
  const uint32_t srqn = c->object;
  struct hca_qpc q;
  int status = load_own(fw, srqn, &q);
  if (status != HCA_OK) return status;
  if (fw->srq_users[srqn] != 0) return HCA_BUSY;
  hal_qp_control(fw->hal, srqn, HAL_QP_STOP);
  status = fw_qpc_take(fw, srqn, &q);
  if (status != HCA_OK) return status;
  const struct hca_qpc dead = {.state = HCA_QP_RESET, .generation = q.generation};
  status = fw_qpc_put(fw, srqn, &dead);
  if (status != HCA_OK) return status;
  hal_translation_drop(fw->hal, (uint32_t)HCA_TAG_RQ | srqn, 0, FW_ALL);
  fw_list_free(fw, &q.rq);
  if (q.recv_cqn != 0 && fw->cq_users[q.recv_cqn] != 0) fw->cq_users[q.recv_cqn]--;
  fw_bitmap_put(&fw->qps, srqn);
  return HCA_OK;
}

/* Counts receives posted by software and not taken by a message; UINT16_MAX = unknown, without a record. */
static int count_posted(struct firmware* fw, const struct hca_qpc* q, uint16_t* posted) {
  uint32_t pi = 0;
  *posted = UINT16_MAX;
  if (q->record == 0) return HCA_OK;
  const int status = fw_read(fw, q->record + offsetof(struct hca_qp_record, rq_pi), &pi, sizeof pi);
  if (status == HCA_OK) *posted = (uint16_t)(pi - q->rq_ci);
  return status;
}

/* A limit above the posted receives is reached at once: the event is raised, and the limit ends [H12]. */
int fw_modify_srq(struct firmware* fw, struct hca_command* c) {
  struct hca_qpc old;
  uint16_t posted = 0;
  int status = load_own(fw, c->object, &old);
  if (status != HCA_OK) return status;
  if (c->modifier >= 1U << (old.rq.log_bytes - old.rq_stride_shift)) return HCA_BAD_PARAMETER;
  status = fw_qpc_take(fw, c->object, &old);
  if (status != HCA_OK) return status;
  status = count_posted(fw, &old, &posted);
  if (status != HCA_OK) {
    fw_qpc_give(fw, c->object);
    return status;
  }
  struct hca_qpc now = old;
  const bool reached = posted < c->modifier;
  now.srq_limit = reached ? 0 : c->modifier;
  status = fw_qpc_change(fw, c->object, &old, &now);
  if (status == HCA_OK && reached) hal_event(fw->hal, HCA_EVENT_SRQ_LIMIT, c->object);
  return status;
}

int fw_query_srq(struct firmware* fw, struct hca_command* c) {
  struct hca_qpc q;
  const int status = load_own(fw, c->object, &q);
  return status == HCA_OK ? fw_write_out(fw, c, &q, sizeof q) : status;
}

/* No WQE is read while the context is taken. */
static int replace_buffer(struct firmware* fw, uint32_t srqn, const struct hca_buffer* buffer, struct hca_buffer* replaced) {
  struct hca_qpc old;
  int status = fw_qpc_take(fw, srqn, &old);
  if (status != HCA_OK) return status;
  struct hca_qpc now = old;
  now.rq = *buffer;
  *replaced = old.rq;
  status = fw_write_changes(fw, fw_qpc_address(fw, srqn), &old, &now, sizeof now);
  if (status != HCA_OK) fw_write_changes(fw, fw_qpc_address(fw, srqn), &now, &old, sizeof old);
  hal_translation_drop(fw->hal, (uint32_t)HCA_TAG_RQ | srqn, 0, FW_ALL);
  fw_qpc_give(fw, srqn);
  return status;
}

int fw_resize_srq(struct firmware* fw, struct hca_command* c) {
  struct hca_resize_srq p;
  struct hca_buffer fresh;
  struct hca_buffer replaced;
  struct hca_qpc q;
  if (c->in_bytes < sizeof p) return HCA_BAD_LENGTH;
  int status = fw_read(fw, c->in_address, &p, sizeof p);
  if (status != HCA_OK) return status;
  if (c->in_bytes != sizeof p + p.pages * 8ULL) return HCA_BAD_LENGTH;
  status = load_own(fw, c->object, &q);
  if (status != HCA_OK) return status;
  if (p.reserved0 != 0 || p.pages == 0 || p.log_bytes < q.rq.log_bytes) return HCA_BAD_PARAMETER;
  if (p.log_bytes - q.rq_stride_shift > 15) return HCA_BAD_PARAMETER;
  status = fw_list_build(fw, c->in_address + sizeof p, p.pages, p.page_shift, p.log_bytes, &fresh);
  if (status != HCA_OK) return status;
  status = replace_buffer(fw, c->object, &fresh, &replaced);
  fw_list_free(fw, status == HCA_OK ? &replaced : &fresh);
  return status;
}
