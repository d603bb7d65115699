/* Checks whether an entry read from ICM can have been written there: its types, ranges and reserved bits. A reader of an
 * unsound entry uses none of its fields. A sound entry may still be damaged, for which there is the integrity code. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <string.h>

#include "firmware/abi/context.h"
#include "firmware/abi/mrc.h"

enum { HCA_NUMBER_MASK = 0x00ffffff }; /* QPN, CQN, PD, PSN: 24 bits */

static inline bool hca_page_shift_sound(unsigned shift) {
  return shift == 12 || shift == 16 || shift == 21 || shift == 30;
}

/* Returns whether tables of `levels` levels have an entry with this number, and tables of one level less do not. */
static inline bool hca_levels_sound(unsigned levels, uint64_t last_entry) {
  if (levels < 1 || levels > 4) return false;
  const bool reached = (last_entry >> (HCA_PTE_BITS * levels)) == 0;
  return reached && (levels == 1 || (last_entry >> (HCA_PTE_BITS * (levels - 1))) != 0);
}

/* Returns whether the buffer has 2^least to 2^most bytes in a possible table, or is none. */
static inline bool hca_buffer_sound(const struct hca_buffer* b, unsigned least, unsigned most) {
  if (b->reserved0 != 0 || b->reserved1 != 0 || b->pages % 64 != 0) return false;
  if (b->log_bytes == 0) return b->pages == 0 && b->page_shift == 0 && b->levels == 0;
  if (b->log_bytes < least || b->log_bytes > most) return false;
  if (b->page_shift == 0) return b->levels == 0;
  const unsigned log_pages = b->log_bytes > b->page_shift ? (unsigned)b->log_bytes - b->page_shift : 0U;
  return hca_page_shift_sound(b->page_shift) && hca_levels_sound(b->levels, (1ULL << log_pages) - 1);
}

/* Returns whether the receive queue is possible, in WQEs of at least 2^least_stride bytes; indices are 16 bits. */
static inline bool hca_receives_sound(const struct hca_qpc* q, unsigned least_stride) {
  if (!hca_buffer_sound(&q->rq, least_stride, 10 + 15)) return false;
  if (q->rq.log_bytes == 0) return q->rq_stride_shift == 0;
  return q->rq_stride_shift >= least_stride && q->rq_stride_shift <= 10 && q->rq.log_bytes >= q->rq_stride_shift &&
         q->rq.log_bytes - q->rq_stride_shift <= 15;
}

static inline bool hca_qpc_reserved_zero(const struct hca_qpc* q) {
  uint32_t any = q->reserved2 | q->reserved4;
  for (unsigned i = 0; i < sizeof q->reserved3; i++) any |= q->reserved3[i];
  for (unsigned i = 0; i < sizeof q->reserved5 / sizeof q->reserved5[0]; i++) any |= q->reserved5[i];
  return any == 0;
}

static inline bool hca_srq_sound(const struct hca_qpc* q) {
  const bool queue = (q->state == HCA_QP_RESET || q->state == HCA_QP_RTR) && hca_receives_sound(q, 5) && q->rq.log_bytes != 0;
  const uint32_t slots = queue ? 1U << (q->rq.log_bytes - q->rq_stride_shift) : 0;
  const bool domain = q->xrcd == 0 ? q->recv_cqn == 0 : q->recv_cqn != 0; /* XRC: the CQ of its receives */
  return domain && q->srqn == 0 && q->sq.log_bytes == 0 && q->srq_limit < slots && q->in_wqe < slots;
}

/* Returns whether the first `members` places hold the QPs of a group, and the places behind are 0. */
static inline bool hca_group_sound(const struct hca_group* g) {
  uint32_t reserved = g->reserved2[0] | g->reserved2[1] | g->reserved2[2];
  for (unsigned i = 0; i < 4; i++) reserved |= g->reserved1[i];
  for (unsigned i = 0; i < sizeof g->reserved0; i++) reserved |= g->reserved0[i];
  if (reserved != 0 || g->port >= HCA_PORTS || g->state != HCA_QP_RTR || g->members > HCA_GROUP_MEMBERS ||
      g->next > HCA_NUMBER_MASK)
    return false;
  for (unsigned i = 0; i < HCA_GROUP_MEMBERS; i++) {
    if (i < g->members ? g->qpn[i] == 0 || g->qpn[i] > HCA_NUMBER_MASK : g->qpn[i] != 0) return false;
  }
  return hca_gid_is_group(&g->gid) && hca_lid_is_group(g->lid);
}

/* Returns whether the opcode stands for a message in progress: SEND FIRST, WRITE FIRST, or none. */
static inline bool hca_inbound_sound(uint8_t inbound) {
  return inbound == HCA_INBOUND_NONE || inbound == 0x00 || inbound == 0x06;
}

/* Returns whether the context has the queues and CQs of its transport. */
static inline bool hca_queues_sound(const struct hca_qpc* q) {
  const bool unbegun = q->state == HCA_QP_RESET;
  switch (q->transport) {
    case HCA_TRANSPORT_RC:
    case HCA_TRANSPORT_UC:
    case HCA_TRANSPORT_UD:
      if (q->xrcd != 0 || (!unbegun && (q->send_cqn == 0 || q->recv_cqn == 0))) return false;
      return hca_receives_sound(q, 4) && (q->srqn == 0 || q->rq.log_bytes == 0);
    case HCA_TRANSPORT_XRC_INI:
      return q->xrcd == 0 && q->srqn == 0 && q->rq.log_bytes == 0 && (unbegun || q->send_cqn != 0) && hca_receives_sound(q, 4);
    case HCA_TRANSPORT_XRC_TGT:
      return q->xrcd != 0 && q->send_cqn == 0 && q->sq.log_bytes == 0 && q->rq.log_bytes == 0 && hca_receives_sound(q, 4);
    default:
      return false;
  }
}

static inline bool hca_qpc_sound(const struct hca_qpc* q) {
  if (q->transport == HCA_TRANSPORT_GROUP) {
    struct hca_group g;
    memcpy(&g, q, sizeof g);
    return hca_group_sound(&g);
  }
  const unsigned rights = HCA_ACCESS_REMOTE_WRITE | HCA_ACCESS_REMOTE_READ | HCA_ACCESS_REMOTE_ATOMIC;
  const uint32_t numbers =
      q->pd | q->send_cqn | q->recv_cqn | q->dest_qpn | q->srqn | q->xrcd | q->next_psn | q->una_psn | q->expected_psn | q->msn;
  const unsigned flags = q->signal_all | q->sq_draining | q->nak_sent | q->in_wqe_held | q->flags;
  if (!hca_qpc_reserved_zero(q) || numbers > HCA_NUMBER_MASK || flags > 1 || q->state > HCA_QP_ERR) return false;
  if (q->port >= HCA_PORTS) return false;
  if ((q->access & ~rights) != 0 || q->service_level > 15 || q->retry_count > 7 || q->rnr_retry > 7) return false;
  if (q->timeout > 31 || q->min_rnr_timer > 31 || q->record % 8 != 0 || q->in_remaining > 1U << 31) return false;
  if (!hca_route_sound(&q->route) || (q->groups != 0 && q->transport != HCA_TRANSPORT_UD)) return false;
  if (!hca_inbound_sound(q->inbound) || !hca_buffer_sound(&q->sq, 6, 6 + 15)) return false;
  if (q->transport == HCA_TRANSPORT_SRQ) return q->mtu_shift == 0 && hca_srq_sound(q);
  const bool moves = q->state >= HCA_QP_RTR && q->state <= HCA_QP_SQE;
  if (q->mtu_shift == 0 ? moves : q->mtu_shift < 8 || q->mtu_shift > 12) return false;
  return q->srq_limit == 0 && hca_queues_sound(q);
}

static inline bool hca_cqc_sound(const struct hca_cqc* c) {
  if (c->reserved0 != 0 || (c->reserved1[0] | c->reserved1[1] | c->reserved1[2]) != 0) return false;
  if (c->state > HCA_CQ_OVERFLOWN || c->arm > 2 || c->record % 8 != 0) return false;
  if (!hca_buffer_sound(&c->buffer, 6, 6 + 22)) return false;
  if (c->buffer.log_bytes == 0) return c->state == HCA_CQ_INVALID;
  return c->pi - c->ci <= 1U << (c->buffer.log_bytes - 6);
}

/* Returns whether the region has a page table. */
static inline bool hca_mrc_table_sound(const struct hca_mrc* m) {
  if (!hca_page_shift_sound(m->page_shift) || m->levels < 1 || m->levels > 4 || m->table % 64 != 0) return false;
  if (m->length == 0) return true;
  const uint64_t last = (m->start + m->length - 1 - m->table_va) >> m->page_shift;
  return (last >> (HCA_PTE_BITS * m->levels)) == 0;
}

/* The form of a valid or free entry of one kind. */
struct hca_mrc_form {
  unsigned flags;           /* flags that are set */
  unsigned optional_flags;  /* flags that may be set */
  bool table;               /* the entry has a page table; otherwise page size, levels and table are 0 */
  bool keeps_va;            /* table_va may be set without a table */
  bool extent;              /* `extent` may be set */
  unsigned extent_multiple; /* of `extent` */
  uint32_t most_extents;
};

/* Returns null for a kind without a form. */
static inline const struct hca_mrc_form* hca_mrc_form_of(uint8_t kind) {
  static const struct hca_mrc_form forms[HCA_MRC_KINDS] = {
      {0, 0, false, false, false, 1, 0},                                       /* NONE */
      {0, HCA_MRC_ON_DEMAND, true, false, false, 1, 0},                        /* REGION */
      {0, HCA_MRC_PRIVILEGED, false, false, false, 1, 0},                      /* PHYSICAL */
      {HCA_MRC_REMOTE_INVALIDATE, 0, true, false, false, 1, HCA_PTE_PER_NODE}, /* FAST */
      {0, 0, false, false, false, 1, 0},                                       /* NULL */
      {0, 0, true, false, false, 1, 0},                                        /* DEVICE_MEMORY */
      {0, 0, true, false, false, 1, 0},                                        /* DMABUF */
      {0, 0, true, false, true, HCA_EXTENTS_PER_LINE, HCA_EXTENT_LEVELS},      /* ADDRESS_SPACE */
      {0, 0, true, false, false, 1, 0},                                        /* WINDOW_1 */
      {HCA_MRC_REMOTE_INVALIDATE, 0, true, false, true, 1, 0},                 /* WINDOW_2 */
      {0, 0, false, true, true, HCA_EXTENTS_PER_LINE, 0xffffffffU},            /* INDIRECT */
  };
  return kind == HCA_MRC_NONE || kind >= HCA_MRC_KINDS ? NULL : &forms[kind];
}

/* Returns whether nothing but the key byte of its last owner is left in the entry. */
static inline bool hca_mrc_empty(const struct hca_mrc* m) {
  return (m->state | m->page_shift | m->levels | m->flags) == 0 && m->function == 0 && m->access == 0 && m->pd == 0 &&
         m->qpn == 0 && m->parent == 0 && (m->start | m->length | m->table | m->table_va) == 0 &&
         (m->extent | m->extent_count) == 0;
}

static inline bool hca_mrc_sound(const struct hca_mrc* m) {
  const unsigned rights = HCA_ACCESS_LOCAL_WRITE | HCA_ACCESS_REMOTE_WRITE | HCA_ACCESS_REMOTE_READ | HCA_ACCESS_REMOTE_ATOMIC |
                          HCA_ACCESS_MW_BIND | HCA_ACCESS_ZERO_BASED | HCA_ACCESS_HUGETLB | HCA_ACCESS_RELAXED_ORDERING;
  if (m->state > HCA_MRC_VALID || (m->access & ~rights) != 0 || m->pd > HCA_NUMBER_MASK || m->qpn > HCA_NUMBER_MASK)
    return false;
  if (m->start + m->length < m->start) return false;
  if (m->kind == HCA_MRC_NONE) return hca_mrc_empty(m);
  const struct hca_mrc_form* f = hca_mrc_form_of(m->kind);
  if (f == NULL || (m->flags & ~f->optional_flags) != f->flags) return false;
  if (f->extent ? m->extent % f->extent_multiple != 0 : m->extent != 0) return false;
  if (m->extent_count > f->most_extents) return false;
  if (f->table) return hca_mrc_table_sound(m);
  return m->page_shift == 0 && m->levels == 0 && m->table == 0 && (f->keeps_va || m->table_va == 0);
}

/* Returns whether a line of four extents is possible: at least one, in order. */
static inline bool hca_extents_sound(const struct hca_extent* e) {
  for (unsigned i = 0; i < HCA_EXTENTS_PER_LINE; i++) {
    const bool follows = i == 0 || (e[i - 1].length != 0 && e[i - 1].start + e[i - 1].length < e[i].start);
    const bool there = e[i].length != 0 && e[i].start + e[i].length > e[i].start && follows;
    if (!there && (i == 0 || e[i].length != 0 || e[i].start != 0)) return false;
  }
  return true;
}

/* Returns whether a line above extents is possible: at least two children, in order. */
static inline bool hca_extent_node_sound(const struct hca_extent_node* n) {
  if (n->start[0] == HCA_EXTENT_NONE) return false;
  for (unsigned i = 1; i < HCA_EXTENT_CHILDREN - 1; i++) {
    if (n->start[i] != HCA_EXTENT_NONE && n->start[i] <= n->start[i - 1]) return false;
  }
  return true;
}

/* Returns whether an entry of a leaf or of a node above is sound: an address and its flags, or nothing. */
static inline bool hca_pte_sound(hca_pte entry) {
  const hca_pte flags = HCA_PTE_PRESENT | HCA_PTE_READ_ONLY;
  return entry == 0 || ((entry & HCA_PTE_PRESENT) != 0 && (entry & ~HCA_PTE_ADDRESS & ~flags) == 0);
}
