/* Event queues and completion queues. Number 0 is a valid EQN: asynchronous events go there. CQN 0 is not handed out. */
#include "firmware/control/state.h"

int fw_create_eq(struct firmware* fw, struct hca_command* c) {
  struct hca_eqc e;
  uint32_t eqn = 0;
  const int status = fw_read_in(fw, c, &e, sizeof e);
  if (status != HCA_OK) return status;
  const bool reserved_zero = (e.buffer.reserved0 | e.buffer.reserved1 | e.reserved[0] | e.reserved[1] | e.reserved[2]) == 0;
  if (!reserved_zero || e.buffer.page_shift != 0 || e.buffer.pages % 64 != 0) return HCA_BAD_PARAMETER;
  if (e.buffer.log_bytes < 6 || e.buffer.log_bytes > 22 || e.vector >= HCA_MSIX_VECTORS) return HCA_BAD_PARAMETER;
  if (!fw_bitmap_take_lowest(fw, &fw->eqs, &eqn)) return HCA_NO_RESOURCES;
  fw->eq_users[eqn] = 0;
  hal_set_eq(fw->hal, eqn, &e);
  c->result[0] = eqn;
  return HCA_OK;
}

int fw_destroy_eq(struct firmware* fw, struct hca_command* c) {
  if (!fw_bitmap_has(&fw->eqs, c->object)) return HCA_BAD_OBJECT;
  if (fw->eq_users[c->object] != 0) return HCA_BUSY;
  hal_set_eq(fw->hal, c->object, NULL);
  fw_bitmap_put(&fw->eqs, c->object);
  return HCA_OK;
}

static uint64_t address(const struct firmware* fw, uint32_t cqn) {
  return fw->area.cqc_base + (uint64_t)cqn * sizeof(struct hca_cqc);
}

static bool live(const struct firmware* fw, uint32_t cqn) {
  return cqn != 0 && fw_bitmap_has(&fw->cqs, cqn);
}

static int store(struct firmware* fw, uint32_t cqn, const struct hca_cqc* q) {
  const int status = fw_write(fw, address(fw, cqn), q, sizeof *q);
  if (status != HCA_OK) return status;
  hal_dma_fence(fw->hal);
  hal_cache_drop(fw->hal, HAL_CACHE_CQC, cqn);
  return HCA_OK;
}

int fw_create_cq(struct firmware* fw, struct hca_command* c) {
  struct hca_create_cq p;
  uint32_t cqn = 0;
  if (c->in_bytes < sizeof p) return HCA_BAD_LENGTH;
  int status = fw_read(fw, c->in_address, &p, sizeof p);
  if (status != HCA_OK) return status;
  if (c->in_bytes != sizeof p + p.pages * 8ULL) return HCA_BAD_LENGTH;
  if (p.reserved0 != 0 || p.reserved1 != 0 || p.uar >= HCA_UAR_COUNT) return HCA_BAD_PARAMETER;
  if (p.record % 8 != 0 || p.log_entries > 22 || p.pages == 0) return HCA_BAD_PARAMETER;
  if (!fw_bitmap_has(&fw->eqs, p.eqn)) return HCA_BAD_OBJECT;
  if (!fw_bitmap_take(fw, &fw->cqs, &cqn)) return HCA_NO_RESOURCES;

  struct hca_cqc q = {.record = p.record, .state = HCA_CQ_VALID, .arm = HCA_ARM_NONE, .eqn = p.eqn};
  status = fw_list_build(fw, c->in_address + sizeof p, p.pages, p.page_shift, p.log_entries + 6U, &q.buffer);
  if (status == HCA_OK) {
    status = store(fw, cqn, &q);
    if (status != HCA_OK) fw_list_free(fw, &q.buffer);
  }
  if (status != HCA_OK) {
    fw_bitmap_put(&fw->cqs, cqn);
    return status;
  }
  hal_cq_page(fw->hal, cqn, p.uar);
  fw->cq_users[cqn] = 0;
  fw->eq_users[p.eqn]++;
  c->result[0] = cqn;
  return HCA_OK;
}

static int load(struct firmware* fw, uint32_t cqn, struct hca_cqc* q) {
  hal_cache_drop(fw->hal, HAL_CACHE_CQC, cqn);
  const int status = fw_read(fw, address(fw, cqn), q, sizeof *q);
  return status == HCA_OK && !hca_cqc_sound(q) ? HCA_DAMAGED : status;
}

int fw_destroy_cq(struct firmware* fw, struct hca_command* c) {
  const uint32_t cqn = c->object;
  struct hca_cqc q;
  if (!live(fw, cqn)) return HCA_BAD_OBJECT;
  if (fw->cq_users[cqn] != 0) return HCA_BUSY;
  int status = load(fw, cqn, &q);
  if (status != HCA_OK) return status;
  const struct hca_cqc dead = {.state = HCA_CQ_INVALID};
  status = store(fw, cqn, &dead);
  if (status != HCA_OK) return status;
  hal_cq_page(fw->hal, cqn, HAL_NO_PAGE);
  hal_translation_drop(fw->hal, (uint32_t)HCA_TAG_CQ | cqn, 0, FW_ALL);
  fw_list_free(fw, &q.buffer);
  if (fw_bitmap_has(&fw->eqs, q.eqn) && fw->eq_users[q.eqn] != 0) fw->eq_users[q.eqn]--;
  fw_bitmap_put(&fw->cqs, cqn);
  return HCA_OK;
}

/* Gives a taken CQ another buffer. */
static int replace_buffer(struct firmware* fw, uint32_t cqn, const struct hca_resize_cq* p, const struct hca_buffer* buffer,
                          struct hca_cqc* old) {
  int status = fw_read(fw, address(fw, cqn), old, sizeof *old);
  if (status != HCA_OK) return status;
  if (!hca_cqc_sound(old)) return HCA_DAMAGED;
  if (old->state != HCA_CQ_VALID) return HCA_BAD_STATE;
  const uint32_t unseen = old->pi - p->ci;
  if (unseen > old->pi - old->ci || unseen > 1U << p->log_entries) return HCA_BAD_PARAMETER;
  struct hca_cqc now = *old;
  now.buffer = *buffer;
  now.ci = p->ci;
  status = fw_write(fw, address(fw, cqn), &now, sizeof now);
  if (status != HCA_OK) return status;
  hal_dma_fence(fw->hal);
  hal_translation_drop(fw->hal, (uint32_t)HCA_TAG_CQ | cqn, 0, FW_ALL);
  return HCA_OK;
}

int fw_resize_cq(struct firmware* fw, struct hca_command* c) {
  struct hca_resize_cq p;
  struct hca_buffer buffer;
  struct hca_cqc old;
  if (c->in_bytes < sizeof p) return HCA_BAD_LENGTH;
  int status = fw_read(fw, c->in_address, &p, sizeof p);
  if (status != HCA_OK) return status;
  if (c->in_bytes != sizeof p + p.pages * 8ULL) return HCA_BAD_LENGTH;
  if (p.reserved0 != 0 || p.reserved1 != 0 || p.log_entries > 22 || p.pages == 0) return HCA_BAD_PARAMETER;
  if (!live(fw, c->object)) return HCA_BAD_OBJECT;
  status = fw_list_build(fw, c->in_address + sizeof p, p.pages, p.page_shift, p.log_entries + 6U, &buffer);
  if (status != HCA_OK) return status;
  hal_cqc_take(fw->hal, c->object);
  status = replace_buffer(fw, c->object, &p, &buffer, &old);
  hal_cqc_give(fw->hal, c->object);
  fw_list_free(fw, status == HCA_OK ? &old.buffer : &buffer);
  if (status == HCA_OK) c->result[0] = old.pi;
  return status;
}

/* Sets the interrupt moderation of a taken CQ. */
static int set_moderation(struct firmware* fw, uint32_t cqn, uint32_t moderation) {
  struct hca_cqc q;
  int status = fw_read(fw, address(fw, cqn), &q, sizeof q);
  if (status != HCA_OK) return status;
  if (!hca_cqc_sound(&q)) return HCA_DAMAGED;
  q.moderation_count = (uint16_t)(moderation & 0xffff);
  q.moderation_us = (uint16_t)(moderation >> 16);
  status = fw_write(fw, address(fw, cqn), &q, sizeof q);
  if (status == HCA_OK) hal_dma_fence(fw->hal);
  return status;
}

int fw_modify_cq(struct firmware* fw, struct hca_command* c) {
  if (!live(fw, c->object)) return HCA_BAD_OBJECT;
  hal_cqc_take(fw->hal, c->object);
  const int status = set_moderation(fw, c->object, c->modifier);
  hal_cqc_give(fw->hal, c->object);
  return status;
}
