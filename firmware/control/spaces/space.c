/* Address-space objects: finding them, switching the view of accesses, retiring them [S1, S7, S11]. */
#include "firmware/control/state.h"

uint32_t fw_space_chains(uint32_t items) {
  uint32_t chains = 1;
  while (chains < items) chains *= 2;
  return chains;
}

void fw_spaces_forget(struct firmware* fw) {
  fw->space_slots = 0;
  fw->free_spaces = FW_NO_LINK;
  fw->live_spaces = 0;
  memset(fw->space_chains, 0xff, fw_space_chains(fw->limits.max_spaces) * sizeof(uint32_t));
  fw_clear(fw->qp_spaces, (size_t)1 << fw->limits.log_qps);
}

static uint32_t* chain_of(const struct firmware* fw, uint32_t key) {
  const uint32_t hash = hca_key_index(key) * 0x9e3779b1U;
  return &fw->space_chains[(hash ^ hash >> 16) & (fw_space_chains(fw->limits.max_spaces) - 1)];
}

static uint32_t first_of_qp(const struct firmware* fw, uint32_t qpn) {
  return fw->qp_spaces[qpn] != 0 ? fw->qp_spaces[qpn] - 1 : FW_NO_LINK;
}

/* Returns how many spaces of the QP stand before it. */
static uint32_t unlink_from_qp(struct firmware* fw, const struct fw_space* s, uint32_t n) {
  uint32_t before = first_of_qp(fw, s->qpn);
  uint32_t looked_at = 1;
  if (before == n) {
    fw->qp_spaces[s->qpn] = s->qp_next != FW_NO_LINK ? 1 + s->qp_next : 0;
    return 0;
  }
  for (; fw->spaces[before].qp_next != n; looked_at++) before = fw->spaces[before].qp_next;
  fw->spaces[before].qp_next = s->qp_next;
  return looked_at;
}

struct fw_space* fw_space_of(struct firmware* fw, uint32_t key) {
  uint32_t looked_at = 1;
  uint32_t n = *chain_of(fw, key);
  for (; n != FW_NO_LINK && fw->spaces[n].key != key; looked_at++) n = fw->spaces[n].next;
  hal_work(fw->hal, HAL_WORK_CHUNK, looked_at);
  return n != FW_NO_LINK && fw->spaces[n].function == fw->function ? &fw->spaces[n] : NULL;
}

struct fw_space* fw_space_take(struct firmware* fw, const struct fw_space* fresh) {
  uint32_t n = fw->free_spaces;
  if (n != FW_NO_LINK) {
    fw->free_spaces = fw->spaces[n].next;
  } else if (fw->space_slots < fw->limits.max_spaces) {
    n = fw->space_slots++;
  } else {
    return NULL;
  }
  struct fw_space* const s = &fw->spaces[n];
  *s = *fresh;
  s->next = *chain_of(fw, s->key);
  *chain_of(fw, s->key) = n;
  if (s->qpn != HCA_QPN_ANY) {
    s->qp_next = first_of_qp(fw, s->qpn);
    fw->qp_spaces[s->qpn] = 1 + n;
  }
  fw->live_spaces++;
  return s;
}

void fw_space_put(struct firmware* fw, struct fw_space* s) {
  const uint32_t n = (uint32_t)(s - fw->spaces);
  uint32_t looked_at = 1;
  uint32_t* link = chain_of(fw, s->key);
  for (; *link != n; looked_at++) link = &fw->spaces[*link].next;
  *link = s->next;
  if (s->qpn != HCA_QPN_ANY) looked_at += unlink_from_qp(fw, s, n);
  hal_work(fw->hal, HAL_WORK_CHUNK, looked_at);
  s->key = 0;
  s->next = fw->free_spaces;
  fw->free_spaces = n;
  fw->live_spaces--;
}

/* Counts the bound windows. The data path changes nothing in a space's MRC but this count. It counts none where the rights
 * allow no binding: there the MRC is as written. */
int fw_space_windows(struct firmware* fw, const struct fw_space* s, uint32_t* windows) {
  struct hca_mrc m;
  *windows = 0;
  if ((s->access & HCA_ACCESS_MW_BIND) == 0) return HCA_OK;
  const int status = fw_mrc_load(fw, s->key, &m);
  if (status == HCA_OK) *windows = m.parent;
  return status;
}

/* Shows accesses the segments, moved by `shift`, and the table, by one MRC write. With `drain`, returns when no access of the
 * older ones is under way. On failure nothing has changed. */
int fw_space_switch(struct firmware* fw, struct fw_space* s, const struct fw_change* c, uint32_t windows, bool drain) {
  struct fw_tree tree;
  int status = fw_extents_change(fw, s, c, &tree);
  if (status != HCA_OK) return status;
  const uint64_t start = fw_segments_start(fw, s);
  const struct hca_mrc m = {
      .kind = HCA_MRC_ADDRESS_SPACE,
      .state = HCA_MRC_VALID,
      .key_byte = hca_key_byte(s->key),
      .page_shift = 12,
      .levels = (uint8_t)s->levels,
      .function = fw->function,
      .access = s->access,
      .pd = s->pd,
      .qpn = s->qpn,
      .parent = windows,
      .start = start + c->shift,
      .length = fw_segments_end(fw, s) - start,
      .table = s->root,
      .table_va = s->table_va + c->shift,
      .extent = tree.root * HCA_EXTENTS_PER_LINE,
      .extent_count = tree.levels,
  };
  status = fw_mrc_store(fw, s->key, &m);
  if (status != HCA_OK) {
    fw_lines_undo(fw);
    return status;
  }
  if (drain || fw->left_lines != FW_NO_LINK) hal_key_drain(fw->hal, hca_key_index(s->key));
  fw_lines_change_over(fw);
  s->tree = tree;
  s->seen_home = start - s->moved;
  s->seen_length = m.length;
  s->moved += c->shift;
  s->table_va += c->shift;
  return HCA_OK;
}

/* The key dies, then everything behind it is given back. */
int fw_space_retire(struct firmware* fw, struct fw_space* s) {
  const int status = fw_key_kill(fw, s->key, hca_key_byte(s->key));
  if (status != HCA_OK) return status;
  fw_extents_free(fw, s);
  fw_space_free_table(fw, s);
  fw_segments_drop_all(fw, s);
  fw_key_put(fw, s->key);
  fw_space_put(fw, s);
  return HCA_OK;
}

/* The state is FREE before the windows go, so no bind begins while the queue pair still runs; the windows translate through the
 * table. */
static int unbind_all(struct firmware* fw, uint32_t key) {
  struct hca_mrc m;
  hal_key_lock(fw->hal, hca_key_index(key));
  int status = fw_mrc_load(fw, key, &m);
  if (status == HCA_OK) {
    m.state = HCA_MRC_FREE;
    status = fw_mrc_store(fw, key, &m);
  }
  hal_key_unlock(fw->hal, hca_key_index(key));
  return status == HCA_OK && m.parent != 0 ? fw_windows_unbind(fw, key) : status;
}

/* A connection's address spaces go with it, and with them the windows bound to them [S7]. */
int fw_space_retire_qp(struct firmware* fw, uint32_t qpn) {
  while (first_of_qp(fw, qpn) != FW_NO_LINK) {
    struct fw_space* const s = &fw->spaces[first_of_qp(fw, qpn)];
    const uint32_t index = hca_key_index(s->key);
    int status = (s->access & HCA_ACCESS_MW_BIND) != 0 ? unbind_all(fw, s->key) : HCA_OK;
    if (status != HCA_OK) return status;
    hal_key_lock(fw->hal, index);
    status = fw_space_retire(fw, s);
    hal_key_unlock(fw->hal, index);
    if (status != HCA_OK) return status;
  }
  return HCA_OK;
}
