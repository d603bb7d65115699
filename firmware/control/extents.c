/* The extent list of an address space: its segments, merged where they touch. A list is written beside the one in use. */
#include "firmware/control/state.h"

/* Takes the segments from `*n` on that touch each other. */
static struct hca_extent next_extent(const struct firmware* fw, const struct fw_space* s, uint32_t* n, uint64_t shift) {
  struct hca_extent e = {fw_segment_va(fw, s, *n) + shift, 0};
  do {
    e.length += fw->segments[*n].length;
    *n = fw->segments[*n].next;
  } while (*n != FW_NO_LINK && fw_segment_va(fw, s, *n) + shift == e.start + e.length);
  return e;
}

int fw_extents_write(struct firmware* fw, const struct fw_space* s, uint64_t shift, uint32_t* first) {
  enum { BATCH = 256 }; /* a node's room */
  *first = 0;
  if (s->extents <= 1) return HCA_OK;
  hal_work(fw->hal, HAL_WORK_CHUNK, s->segments);

  const uint32_t lines = (s->extents + HCA_EXTENTS_PER_LINE - 1) / HCA_EXTENTS_PER_LINE;
  uint32_t line = 0;
  if (!fw_bitmap_take_run(fw, &fw->lines, lines, &line)) return HCA_NO_RESOURCES;
  *first = line * HCA_EXTENTS_PER_LINE;
  uint64_t to = fw->area.extent_base + line * 64ULL;
  for (uint32_t n = s->first; n != FW_NO_LINK;) {
    uint32_t filled = 0;
    memset(fw->node[0], 0, sizeof fw->node[0]);
    for (; n != FW_NO_LINK && filled < BATCH; filled++) {
      const struct hca_extent e = next_extent(fw, s, &n, shift);
      memcpy((unsigned char*)fw->node[0] + filled * sizeof e, &e, sizeof e);
    }
    const uint32_t bytes = (filled + HCA_EXTENTS_PER_LINE - 1) / HCA_EXTENTS_PER_LINE * 64;
    const int status = fw_write(fw, to, fw->node[0], bytes);
    if (status != HCA_OK) {
      fw_lines_free(fw, line, lines, false);
      return status;
    }
    to += bytes;
  }
  return HCA_OK;
}

void fw_extents_free(struct firmware* fw, uint32_t first, uint32_t count, bool published) {
  if (count <= 1) return;
  fw_lines_free(fw, first / HCA_EXTENTS_PER_LINE, (count + HCA_EXTENTS_PER_LINE - 1) / HCA_EXTENTS_PER_LINE, published);
}

void fw_lines_free(struct firmware* fw, uint32_t line, uint32_t lines, bool published) {
  for (uint32_t i = line; i - line < lines && fw_bitmap_has(&fw->lines, i); i++) {
    if (published) hal_cache_drop(fw->hal, HAL_CACHE_EXTENT, i);
    fw_bitmap_put(&fw->lines, i);
  }
}
