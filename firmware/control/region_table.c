/* The page table behind a region's entry; no access uses the table during a change. */
#include "firmware/control/state.h"

/* Finds page size and geometry, and builds the table; fills the translation part of `m`. */
int fw_region_translate(struct firmware* fw, struct hca_region* r, uint32_t access, struct hca_mrc* m) {
  struct fw_survey s = {r->va, 0, 0};
  struct fw_table t = {0, 0, 1, 12};
  int status = fw_range_check(r, access);
  if (status != HCA_OK) return status;
  r->access = access;
  if (r->length != 0) {
    status = fw_survey_chunks(fw, r, &s);
    if (status != HCA_OK) return status;
    t.shift = fw_choose_page_shift(fw->limits.page_shifts, s.mask, s.first, r->length);
    if (t.shift == 0) return HCA_UNSUPPORTED;
    t.entries = fw_entries(s.first, r->length, t.shift);
    t.levels = fw_levels(t.entries);
    if (t.levels > fw->limits.max_levels) return HCA_NO_RESOURCES;
  }
  m->page_shift = (uint8_t)t.shift;
  m->levels = (uint8_t)t.levels;
  m->start = r->va;
  m->length = r->length;
  m->table_va = r->va - (s.first & ((1ULL << t.shift) - 1));
  return HCA_OK;
}

static struct fw_table geometry(const struct hca_mrc* m) {
  struct fw_table t = {m->table, 0, m->levels, m->page_shift};
  if (m->length != 0) t.entries = ((m->start + m->length - 1 - m->table_va) >> (m->page_shift & 63)) + 1;
  return t;
}

int fw_region_build(struct firmware* fw, const struct hca_region* r, struct hca_mrc* m) {
  struct fw_table t = geometry(m);
  const int status = fw_table_build(fw, r, &t);
  m->table = t.root;
  return status;
}

void fw_region_release(struct firmware* fw, const struct hca_mrc* m) {
  const struct fw_table t = geometry(m);
  if (t.root != 0 && t.entries != 0 && t.levels - 1 < FW_MAX_LEVELS) fw_table_free(fw, t.root, t.levels, t.entries);
}

int fw_region_load(struct firmware* fw, uint32_t key, struct hca_mrc* m) {
  const int status = fw_mrc_load(fw, key, m);
  if (status != HCA_OK) return status;
  return m->kind == HCA_MRC_REGION ? HCA_OK : HCA_BAD_OBJECT;
}
