/* Address-space objects: finding them, switching what an access sees, retiring them [S1, S7, S11]. */
#include "firmware/control/state.h"

struct fw_space* fw_space_of(struct firmware* fw, uint32_t key) {
  uint32_t i = 0;
  while (i < fw->space_slots && fw->spaces[i].key != key) i++;
  hal_work(fw->hal, HAL_WORK_CHUNK, i + 1);
  return i < fw->space_slots ? &fw->spaces[i] : NULL;
}

struct fw_space* fw_space_slot(struct firmware* fw) {
  struct fw_space* s = fw_space_of(fw, 0);
  if (s != NULL || fw->space_slots == fw->limits.max_spaces) return s;
  s = &fw->spaces[fw->space_slots++];
  s->key = 0;
  return s;
}

static void move(struct firmware* fw, struct fw_space* s, uint64_t shift) {
  for (uint32_t n = s->first; n != FW_NO_LINK; n = fw->segments[n].next) fw->segments[n].va += shift;
  s->table_va += shift;
}

/* Makes the segments, moved by `shift`, and the table what accesses see, by one MRC write. With `drain` it returns when no
 * access that saw the older ones is under way. On failure nothing has changed. */
int fw_space_switch(struct firmware* fw, struct fw_space* s, uint64_t shift, uint32_t windows, bool drain) {
  uint32_t extent = 0;
  uint32_t extents = 0;
  int status = fw_extents_write(fw, s, shift, &extent, &extents);
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
      .start = start + shift,
      .length = fw_segments_end(fw, s) - start,
      .table = s->root,
      .table_va = s->table_va + shift,
      .extent = extent,
      .extent_count = extents,
  };
  status = fw_mrc_store(fw, s->key, &m);
  if (status != HCA_OK) {
    fw_extents_free(fw, extent, extents, false);
    return status;
  }
  if (drain || s->extent_count > 1) hal_key_drain(fw->hal, hca_key_index(s->key));
  fw_extents_free(fw, s->extent, s->extent_count, true);
  s->extent = extent;
  s->extent_count = extents;
  if (shift != 0) move(fw, s, shift);
  return HCA_OK;
}

/* The key dies, then everything behind it is given back. */
int fw_space_retire(struct firmware* fw, struct fw_space* s) {
  struct hca_mrc dead;
  fw_mrc_dead(s->key, &dead);
  const int status = fw_mrc_store(fw, s->key, &dead);
  if (status != HCA_OK) return status;
  hal_key_drain(fw->hal, hca_key_index(s->key));
  hal_translation_drop(fw->hal, HCA_TAG_REGION | hca_key_index(s->key), 0, FW_ALL);
  fw_extents_free(fw, s->extent, s->extent_count, true);
  fw_space_free_table(fw, s);
  fw_segments_drop(fw, s->first);
  fw_key_put(fw, s->key);
  s->key = 0;
  fw->live_spaces--;
  return HCA_OK;
}

/* A connection's address spaces go with it [S7]. HCA_BUSY, and nothing done, while windows are bound to one of them. */
int fw_space_retire_qp(struct firmware* fw, uint32_t qpn) {
  struct hca_mrc m;
  for (uint32_t i = 0; i < fw->space_slots; i++) {
    if (fw->spaces[i].key == 0 || fw->spaces[i].qpn != qpn) continue;
    const int status = fw_mrc_load(fw, fw->spaces[i].key, &m);
    if (status != HCA_OK) return status;
    if (m.parent != 0) return HCA_BUSY;
  }
  for (uint32_t i = 0; i < fw->space_slots; i++) {
    if (fw->spaces[i].key == 0 || fw->spaces[i].qpn != qpn) continue;
    const uint32_t index = hca_key_index(fw->spaces[i].key);
    hal_key_lock(fw->hal, index);
    const int status = fw_space_retire(fw, &fw->spaces[i]);
    hal_key_unlock(fw->hal, index);
    if (status != HCA_OK) return status;
  }
  return HCA_OK;
}
