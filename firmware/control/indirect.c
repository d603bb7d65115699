/* Indirect regions: lists of pieces of other regions [E7]. An element's key is judged when it is used, not here. */
#include "firmware/control/state.h"

enum { BATCH = 256 }; /* elements in a node's room */

static uint32_t line_count(uint32_t elements) {
  return (elements + HCA_EXTENTS_PER_LINE - 1) / HCA_EXTENTS_PER_LINE;
}

/* Copies the elements from the mailbox into the extent area; `length` receives the sum. */
static int copy_elements(struct firmware* fw, uint64_t from, uint64_t to, uint32_t elements, uint64_t* length) {
  *length = 0;
  for (uint32_t done = 0; done < elements;) {
    const uint32_t n = fw_min32(elements - done, BATCH);
    memset(fw->node[0], 0, sizeof fw->node[0]);
    int status = fw_read(fw, from + done * sizeof(struct hca_element), fw->node[0], n * (uint32_t)sizeof(struct hca_element));
    if (status != HCA_OK) return status;
    hal_work(fw->hal, HAL_WORK_CHUNK, n);
    for (uint32_t i = 0; i < n; i++) {
      struct hca_element e;
      memcpy(&e, (const unsigned char*)fw->node[0] + i * sizeof e, sizeof e);
      if (e.length == 0 || e.length > 1U << 31 || e.va + e.length < e.va) return HCA_BAD_PARAMETER;
      *length += e.length;
    }
    status = fw_write(fw, to + done * sizeof(struct hca_element), fw->node[0], line_count(n) * 64);
    if (status != HCA_OK) return status;
    done += n;
  }
  return HCA_OK;
}

void fw_indirect_free(struct firmware* fw, const struct hca_mrc* m) {
  fw_lines_free(fw, m->extent / HCA_EXTENTS_PER_LINE, line_count(m->extent_count), true);
}

int fw_register_indirect(struct firmware* fw, struct hca_command* c) {
  struct hca_region r;
  uint32_t key = 0;
  uint32_t line = 0;
  uint64_t length = 0;
  struct hca_mrc m = {.kind = HCA_MRC_INDIRECT, .state = HCA_MRC_VALID, .function = fw->function, .qpn = HCA_QPN_ANY};
  int status = fw_region_fetch(fw, c, &r);
  if (status != HCA_OK) return status;
  status = fw_access_check(r.access, &m.access);
  if (status != HCA_OK) return status;
  if (r.pd > FW_NUMBER_MASK || r.chunks == 0 || r.first_offset != 0) return HCA_BAD_PARAMETER;
  if ((m.access & HCA_ACCESS_MW_BIND) != 0 || ((m.access & HCA_ACCESS_ZERO_BASED) != 0 && r.va != 0)) return HCA_BAD_PARAMETER;
  const uint32_t lines = line_count(r.chunks);
  if (!fw_bitmap_take_run(fw, &fw->lines, lines, &line)) return HCA_NO_RESOURCES;

  const uint64_t to = fw->area.extent_base + line * 64ULL;
  status = copy_elements(fw, c->in_address + sizeof r, to, r.chunks, &length);
  if (status == HCA_OK && (length != r.length || r.va + r.length < r.va)) status = HCA_BAD_PARAMETER;
  if (status == HCA_OK) status = fw_key_take(fw, &key);
  if (status == HCA_OK) {
    m.key_byte = hca_key_byte(key);
    m.pd = r.pd;
    m.start = r.va;
    m.length = r.length;
    m.extent = line * HCA_EXTENTS_PER_LINE;
    m.extent_count = r.chunks;
    status = fw_mrc_store(fw, key, &m);
    if (status != HCA_OK) fw_key_put(fw, key);
  }
  if (status != HCA_OK) {
    fw_lines_free(fw, line, lines, false);
    return status;
  }
  c->result[0] = key;
  return HCA_OK;
}
