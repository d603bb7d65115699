/* Keys and their MRCs, of regions and windows alike [A9]. A function sees only its own [B.1]. A free index keeps its last key
 * byte in ICM, and the next owner gets another one. Without tag memory every owner begins with byte 0, and a stale key may
 * reach the next owner [A10]. */
#include "firmware/control/state.h"

uint64_t fw_mrc_address(const struct firmware* fw, uint32_t index) {
  return fw->area.mrc_base + (uint64_t)index * sizeof(struct hca_mrc);
}

/* Counts, or draws: a linear congruential generator, of which the upper bits are good. */
uint8_t fw_key_byte_after(struct firmware* fw, uint8_t last) {
  if ((fw->limits.flags & FW_RANDOM_KEY_BYTES) == 0) return HCA_U8(last + 1U);
  fw->drawn = fw->drawn * 1664525U + 1013904223U;
  return HCA_U8(last + 1U + (fw->drawn >> 16) % 255U);
}

static int read_entry(struct firmware* fw, uint32_t index, struct hca_mrc* m) {
  const int status = fw_read(fw, fw_mrc_address(fw, index), m, sizeof *m);
  return status == HCA_OK && !hca_mrc_sound(m) ? HCA_DAMAGED : status;
}

int fw_key_take(struct firmware* fw, uint32_t* key) {
  uint32_t index = 0;
  struct hca_mrc last;
  if (!fw_bitmap_take(fw, &fw->mrs, &index)) return HCA_NO_RESOURCES;
  if ((fw->limits.flags & FW_NO_TAG_MEMORY) != 0) {
    *key = hca_key_make(index, 0);
    return HCA_OK;
  }
  const int status = read_entry(fw, index, &last);
  if (status != HCA_OK) {
    fw_bitmap_put(&fw->mrs, index);
    return status;
  }
  *key = hca_key_make(index, fw_key_byte_after(fw, last.key_byte));
  return HCA_OK;
}

void fw_key_put(struct firmware* fw, uint32_t key) {
  fw_bitmap_put(&fw->mrs, hca_key_index(key));
}

bool fw_key_live(const struct firmware* fw, uint32_t key) {
  return hca_key_index(key) != 0 && fw_bitmap_has(&fw->mrs, hca_key_index(key));
}

int fw_mrc_load_index(struct firmware* fw, uint32_t key, struct hca_mrc* m) {
  if (!fw_key_live(fw, key)) return HCA_BAD_OBJECT;
  hal_cache_drop(fw->hal, HAL_CACHE_MRC, hca_key_index(key));
  const int status = read_entry(fw, hca_key_index(key), m);
  if (status != HCA_OK) return status;
  return m->function == fw->function ? HCA_OK : HCA_BAD_OBJECT;
}

int fw_mrc_load(struct firmware* fw, uint32_t key, struct hca_mrc* m) {
  const int status = fw_mrc_load_index(fw, key, m);
  if (status != HCA_OK) return status;
  return m->key_byte == hca_key_byte(key) ? HCA_OK : HCA_BAD_OBJECT;
}

int fw_mrc_store(struct firmware* fw, uint32_t key, const struct hca_mrc* m) {
  const int status = fw_write(fw, fw_mrc_address(fw, hca_key_index(key)), m, sizeof *m);
  if (status != HCA_OK) return status;
  hal_dma_fence(fw->hal);
  hal_cache_drop(fw->hal, HAL_CACHE_MRC, hca_key_index(key));
  return HCA_OK;
}

/* Returns when no access admitted by the entry's older contents is under way, and none of its translations is cached. */
void fw_key_quiesce(struct firmware* fw, uint32_t key) {
  hal_key_drain(fw->hal, hca_key_index(key));
  hal_translation_drop(fw->hal, HCA_TAG_REGION | hca_key_index(key), 0, FW_ALL);
}

/* The index stays taken. A dead entry keeps its key byte, for the next owner [A10]. */
int fw_key_kill(struct firmware* fw, uint32_t key, uint8_t key_byte) {
  const struct hca_mrc dead = {.key_byte = key_byte};
  const int status = fw_mrc_store(fw, key, &dead);
  if (status == HCA_OK) fw_key_quiesce(fw, key);
  return status;
}
