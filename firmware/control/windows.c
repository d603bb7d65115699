/* Memory windows and fast-register regions: their entries. Later changes are the data path's [C.2, C.3]. */
#include "firmware/control/state.h"

static int store_fresh(struct firmware* fw, struct hca_command* c, struct hca_mrc* m) {
  uint32_t key = 0;
  if (m->pd > FW_NUMBER_MASK) return HCA_BAD_PARAMETER;
  int status = fw_key_take(fw, &key);
  if (status != HCA_OK) return status;
  m->key_byte = hca_key_byte(key);
  m->function = fw->function;
  status = fw_mrc_store(fw, key, m);
  if (status != HCA_OK) {
    fw_key_put(fw, key);
    return status;
  }
  c->result[0] = key;
  return HCA_OK;
}

/* A new window reaches nothing before its bind: type 1 is valid with length 0, type 2 is free [B.2, C2.1]. */
int fw_alloc_mw(struct firmware* fw, struct hca_command* c) {
  if (c->modifier != 1 && c->modifier != 2) return HCA_BAD_PARAMETER;
  struct hca_mrc m = {.page_shift = 12, .levels = 1, .pd = c->object, .qpn = HCA_QPN_ANY};
  m.kind = c->modifier == 1 ? HCA_MRC_WINDOW_1 : HCA_MRC_WINDOW_2;
  m.state = c->modifier == 1 ? HCA_MRC_VALID : HCA_MRC_FREE;
  m.flags = c->modifier == 1 ? 0 : HCA_MRC_REMOTE_INVALIDATE;
  return store_fresh(fw, c, &m);
}

static int load_window(struct firmware* fw, uint32_t key, struct hca_mrc* m) {
  const int status = fw_mrc_load_index(fw, key, m);
  if (status != HCA_OK) return status;
  return m->kind == HCA_MRC_WINDOW_1 || m->kind == HCA_MRC_WINDOW_2 ? HCA_OK : HCA_BAD_OBJECT;
}

/* The caller may not know the key byte: a failed bind, or another thread's, changes it [C2.4]. */
int fw_query_mw(struct firmware* fw, struct hca_command* c) {
  struct hca_mrc m;
  const int status = load_window(fw, c->object, &m);
  return status == HCA_OK ? fw_write_out(fw, c, &m, sizeof m) : status;
}

/* Always permitted: unbinds as well [C2.2]. */
int fw_free_mw(struct firmware* fw, struct hca_command* c) {
  struct hca_mrc m;
  const int status = load_window(fw, c->object, &m);
  if (status != HCA_OK) return status;
  hal_window_close(fw->hal, hca_key_index(c->object));
  hal_cache_drop(fw->hal, HAL_CACHE_MRC, hca_key_index(c->object));
  fw_key_put(fw, c->object);
  return HCA_OK;
}

int fw_alloc_fast(struct firmware* fw, struct hca_command* c) {
  if (c->modifier == 0 || c->modifier > HCA_PTE_PER_NODE) return HCA_BAD_PARAMETER;
  struct hca_mrc m = {.kind = HCA_MRC_FAST,
                      .state = HCA_MRC_FREE,
                      .page_shift = 12,
                      .levels = 1,
                      .flags = HCA_MRC_REMOTE_INVALIDATE,
                      .pd = c->object,
                      .qpn = HCA_QPN_ANY,
                      .extent_count = c->modifier};
  return store_fresh(fw, c, &m);
}

int fw_alloc_physical(struct firmware* fw, struct hca_command* c) {
  struct hca_mrc m = {.kind = HCA_MRC_PHYSICAL, .state = HCA_MRC_VALID, .pd = c->object, .qpn = HCA_QPN_ANY, .length = FW_ALL};
  const int status = fw_access_check(c->modifier, &m.access);
  if (status != HCA_OK) return status;
  if ((m.access & (HCA_ACCESS_ZERO_BASED | HCA_ACCESS_MW_BIND)) != 0) return HCA_BAD_PARAMETER;
  return store_fresh(fw, c, &m);
}

int fw_alloc_null(struct firmware* fw, struct hca_command* c) {
  const uint32_t of_peers = HCA_ACCESS_REMOTE_WRITE | HCA_ACCESS_REMOTE_READ;
  if ((c->modifier & ~of_peers) != 0) return HCA_BAD_PARAMETER;
  struct hca_mrc m = {.kind = HCA_MRC_NULL,
                      .state = HCA_MRC_VALID,
                      .access = HCA_ACCESS_LOCAL_WRITE | c->modifier,
                      .pd = c->object,
                      .qpn = HCA_QPN_ANY,
                      .length = FW_ALL};
  return store_fresh(fw, c, &m);
}

/* Physical memory for privileged QPs of every PD, never for a peer [A8]. */
int fw_reserve_lkey(struct firmware* fw, struct hca_command* c) {
  struct hca_mrc m = {.kind = HCA_MRC_PHYSICAL,
                      .state = HCA_MRC_VALID,
                      .flags = HCA_MRC_PRIVILEGED,
                      .access = HCA_ACCESS_LOCAL_WRITE,
                      .qpn = HCA_QPN_ANY,
                      .length = FW_ALL};
  return store_fresh(fw, c, &m);
}

/* Tells whether one of the `count` windows of the region lies in [va, va + length) [S13]. All keys are looked at until all
 * windows are found; the region is locked, so no window is added meanwhile. Counted windows not found are `leaving`: their
 * entries have changed. Accesses admitted by older entries are under way, anywhere in the region. */
int fw_windows_within(struct firmware* fw, uint32_t region, uint32_t count, uint64_t va, uint64_t length, bool* within,
                      bool* leaving) {
  struct hca_mrc m;
  *within = false;
  for (uint32_t i = 1; count != 0 && i < fw->mrs.bits; i++) {
    if (!fw_bitmap_has(&fw->mrs, i)) continue;
    hal_work(fw->hal, HAL_WORK_CHUNK, 1);
    const int status = fw_mrc_load_index(fw, hca_key_make(i, 0), &m);
    if (status == HCA_BAD_OBJECT) continue; /* of another function */
    if (status != HCA_OK) return status;
    if ((m.kind != HCA_MRC_WINDOW_1 && m.kind != HCA_MRC_WINDOW_2) || m.parent != region) continue;
    count--;
    if (m.length != 0 && m.start < va + length && va < m.start + m.length) *within = true;
    if (*within) return HCA_OK;
  }
  *leaving = count != 0;
  return HCA_OK;
}

/* Returns when no access admitted by an older entry of any window is under way: the windows that leave the region are no longer
 * known. An unreadable entry may be one of them. */
void fw_windows_drain(struct firmware* fw) {
  struct hca_mrc m;
  for (uint32_t i = 1; i < fw->mrs.bits; i++) {
    if (!fw_bitmap_has(&fw->mrs, i)) continue;
    hal_work(fw->hal, HAL_WORK_CHUNK, 1);
    const int status = load_window(fw, hca_key_make(i, 0), &m);
    if (status != HCA_BAD_OBJECT) hal_key_drain(fw->hal, i);
  }
}

/* Unbinds every window of a region that binds can no longer use, and returns when the region counts none. A window that goes by
 * itself is counted until its last access is over. HCA_BUSY = this takes too long. */
int fw_windows_unbind(struct firmware* fw, uint32_t region) {
  struct hca_mrc m;
  int status = fw_mrc_load(fw, region, &m);
  for (uint32_t i = 1; status == HCA_OK && m.parent != 0 && i < fw->mrs.bits; i++) {
    struct hca_mrc window;
    if (!fw_bitmap_has(&fw->mrs, i)) continue;
    hal_work(fw->hal, HAL_WORK_CHUNK, 1);
    status = fw_mrc_load_index(fw, hca_key_make(i, 0), &window);
    if (status == HCA_BAD_OBJECT) status = HCA_OK; /* of another function */
    if (status != HCA_OK) return status;
    if ((window.kind != HCA_MRC_WINDOW_1 && window.kind != HCA_MRC_WINDOW_2) || window.parent != region) continue;
    hal_window_unbind(fw->hal, i, region);
    status = fw_mrc_load(fw, region, &m);
  }
  for (uint32_t tries = 0; status == HCA_OK && m.parent != 0; tries++) {
    if (tries == FW_PATIENCE) return HCA_BUSY;
    hal_work(fw->hal, HAL_WORK_COMMAND, 1);
    status = fw_mrc_load(fw, region, &m);
  }
  return status;
}
