/* L_Key and R_Key: index (bits 31..8) selects the MRC, key byte (bits 7..0) must equal the byte stored there. Index 0 is
 * never handed out, so key 0 is always invalid. */
#pragma once

#include "firmware/abi/layout.h"

enum { HCA_KEY_INDEX_BITS = 24 };

static inline uint32_t hca_key_index(uint32_t key) {
  return key >> 8;
}
static inline uint8_t hca_key_byte(uint32_t key) {
  return HCA_U8(key);
}
static inline uint32_t hca_key_make(uint32_t index, uint8_t byte) {
  return (index << 8) | byte;
}
