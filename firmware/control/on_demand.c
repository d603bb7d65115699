/* On-demand regions: tables empty at first, and pages that come and go [E9]. Nodes are full, as in an address space. A node
 * exists only while a page below does. */
#include "firmware/control/state.h"

enum { LENGTH_BITS = 48 };

static struct fw_space table_of(const struct hca_mrc* m) {
  struct fw_space s;
  memset(&s, 0, sizeof s);
  s.root = m->table;
  s.table_va = m->table_va;
  s.levels = m->levels;
  return s;
}

void fw_on_demand_free(struct firmware* fw, const struct hca_mrc* m) {
  struct fw_space s = table_of(m);
  fw_space_free_table(fw, &s);
}

/* Wakes accesses that still wait for a page of the region: the fate of the key is known. */
void fw_on_demand_wake(struct firmware* fw, uint32_t key) {
  hal_pages(fw->hal, hca_key_index(key), 0, FW_ALL, HAL_PAGES_READY);
}

int fw_register_on_demand(struct firmware* fw, struct hca_command* c, const struct hca_region* r) {
  struct hca_mrc m = {.kind = HCA_MRC_REGION,
                      .state = HCA_MRC_VALID,
                      .page_shift = 12,
                      .flags = HCA_MRC_ON_DEMAND,
                      .function = fw->function,
                      .pd = r->pd,
                      .qpn = HCA_QPN_ANY,
                      .start = r->va,
                      .length = r->length,
                      .table_va = fw_align_down(r->va, FW_PAGE)};
  uint32_t key = 0;
  if ((fw->limits.flags & FW_ON_DEMAND) == 0) return HCA_UNSUPPORTED;
  int status = fw_access_check(r->access & ~(uint32_t)HCA_ACCESS_ON_DEMAND, &m.access);
  if (status != HCA_OK) return status;
  if ((m.access & (HCA_ACCESS_ZERO_BASED | HCA_ACCESS_MW_BIND)) != 0) return HCA_BAD_PARAMETER;
  if (r->pd > FW_NUMBER_MASK || r->chunks != 0 || c->modifier != HCA_REGISTER_HOST) return HCA_BAD_PARAMETER;
  if (r->length == 0 || r->length > 1ULL << LENGTH_BITS || r->va + r->length < r->va) return HCA_BAD_PARAMETER;
  if ((r->va ^ r->first_offset) % FW_PAGE != 0) return HCA_BAD_PARAMETER;
  m.levels = (uint8_t)fw_levels(fw_entries(r->va, r->length, 12));
  if (m.levels > fw->limits.max_levels) return HCA_NO_RESOURCES;
  status = fw_key_take(fw, &key);
  if (status != HCA_OK) return status;
  m.key_byte = hca_key_byte(key);
  status = fw_space_new_node(fw, 0, 0, &m.table);
  if (status == HCA_OK) {
    status = fw_mrc_store(fw, key, &m);
    if (status != HCA_OK) fw_on_demand_free(fw, &m);
  }
  if (status != HCA_OK) {
    fw_key_put(fw, key);
    return status;
  }
  c->result[0] = key;
  c->result[1] = m.page_shift;
  return HCA_OK;
}

/* Reads a command's region and pages. */
static int pages_of(struct firmware* fw, const struct hca_command* c, struct hca_mrc* m, struct hca_pages* p) {
  if (c->in_bytes < sizeof *p) return HCA_BAD_LENGTH;
  int status = fw_mrc_load(fw, c->object, m);
  if (status != HCA_OK) return status;
  if (m->kind != HCA_MRC_REGION || (m->flags & HCA_MRC_ON_DEMAND) == 0) return HCA_BAD_OBJECT;
  status = fw_read(fw, c->in_address, p, sizeof *p);
  if (status != HCA_OK) return status;
  const uint64_t entries = fw_entries(m->start, m->length, 12);
  const uint64_t first = (p->va - m->table_va) / FW_PAGE;
  if (p->va % FW_PAGE != 0 || p->count == 0 || first >= entries || p->count > entries - first) return HCA_BAD_PARAMETER;
  return HCA_OK;
}

static uint64_t last_va(const struct hca_pages* p) {
  return p->va + p->count * FW_PAGE - 1;
}

int fw_fill_pages(struct firmware* fw, struct hca_command* c) {
  struct hca_mrc m;
  struct hca_pages p;
  hca_pte* const entries = fw->node[2];
  int status = pages_of(fw, c, &m, &p);
  if (status != HCA_OK) return status;
  if (p.count > HCA_FILL_PAGES || c->in_bytes != sizeof p + p.count * sizeof(hca_pte)) return HCA_BAD_LENGTH;
  const uint32_t count = (uint32_t)p.count;
  status = fw_read(fw, c->in_address + sizeof p, entries, count * (uint32_t)sizeof(hca_pte));
  if (status != HCA_OK) return status;
  for (uint32_t i = 0; i < count; i++) {
    const uint64_t low = entries[i] & (FW_PAGE - 1) & ~(uint64_t)HCA_PTE_READ_ONLY;
    if (entries[i] != 0 && low != HCA_PTE_PRESENT) return HCA_BAD_PARAMETER;
  }
  const struct fw_space s = table_of(&m);
  const uint64_t number = (p.va - m.table_va) / FW_PAGE;
  for (uint32_t i = 0; i < count && status == HCA_OK;) {
    uint32_t n = 0;
    const uint32_t at = (uint32_t)((number + i) % HCA_PTE_PER_NODE);
    while (i + n < count && at + n < HCA_PTE_PER_NODE && entries[i + n] != 0) {
      fw->node[0][at + n] = entries[i + n];
      n++;
    }
    uint32_t leaf = FW_NO_LINK;
    if (n != 0) status = fw_space_write_leaf(fw, &s, number + i, at, at + n - 1, &leaf);
    i += n != 0 ? n : 1;
  }
  hal_dma_fence(fw->hal);
  if (status == HCA_OK) hal_pages(fw->hal, hca_key_index(c->object), p.va, last_va(&p), HAL_PAGES_READY);
  return status;
}

static uint32_t slot(uint64_t number, unsigned height) {
  return (uint32_t)(number >> (HCA_PTE_BITS * (height - 1))) % HCA_PTE_PER_NODE;
}

/* Clears entries first..last of the subtree, frees nodes that become empty, and returns whether this one has. Pages may be
 * filled twice, and absent pages zapped: only a look at the whole node tells. */
static bool zap_node(struct firmware* fw, uint64_t node, uint32_t height, uint64_t first, uint64_t last) {
  hca_pte* const entries = fw->node[height - 1];
  const uint64_t child_span = 1ULL << (HCA_PTE_BITS * (height - 1));
  const uint32_t from = slot(first, height);
  const uint32_t to = slot(last, height);
  if (fw_read_sure(fw, node, entries, sizeof fw->node[0]) != HCA_OK) {
    /* Other entries of a damaged node are useless too: their pages are asked for again at their next use. */
    memset(entries, 0, sizeof fw->node[0]);
    fw_write_sure(fw, node + from * 8ULL, &entries[from], (to - from + 1) * 8);
    return false;
  }
  for (uint32_t i = from; i <= to; i++) {
    if ((entries[i] & HCA_PTE_PRESENT) == 0) continue;
    if (height > 1) {
      const uint64_t child = hca_pte_address(entries[i]);
      const uint64_t child_first = i == from ? first % child_span : 0;
      const uint64_t child_last = i == to ? last % child_span : child_span - 1;
      const bool sound = fw_icm_in_use(fw, child, FW_NODE_CLASS);
      if (sound && !zap_node(fw, child, height - 1, child_first, child_last)) continue;
      if (sound) fw_icm_put(fw, child, FW_NODE_CLASS);
    }
    entries[i] = 0;
  }
  hal_work(fw->hal, HAL_WORK_ENTRY, to - from + 1);
  for (uint32_t i = 0; i < HCA_PTE_PER_NODE; i++) {
    if (entries[i] == 0) continue;
    fw_write_sure(fw, node + from * 8ULL, &entries[from], (to - from + 1) * 8);
    return false;
  }
  return true;
}

/* Clears the pages of [va, va + length). The root stays, even when it is empty. */
static void zap(struct firmware* fw, const struct fw_space* s, uint64_t va, uint64_t length) {
  const uint64_t first = (va - s->table_va) / FW_PAGE;
  const uint64_t last = (va + length - 1 - s->table_va) / FW_PAGE;
  if (!zap_node(fw, s->root, s->levels, first, last)) return;
  memset(fw->node[0], 0, sizeof fw->node[0]);
  fw_write_sure(fw, s->root, fw->node[0], sizeof fw->node[0]);
}

/* The entries go first, then their cached copies. A later access finds nothing. An earlier access holds the key's older epoch
 * until its last byte has moved. */
int fw_zap_pages(struct firmware* fw, struct hca_command* c) {
  struct hca_mrc m;
  struct hca_pages p;
  int status = pages_of(fw, c, &m, &p);
  if (status != HCA_OK) return status;
  if (c->in_bytes != sizeof p) return HCA_BAD_LENGTH;
  const uint32_t index = hca_key_index(c->object);
  const struct fw_space s = table_of(&m);
  zap(fw, &s, p.va, p.count * FW_PAGE);
  hal_dma_fence(fw->hal);
  hal_translation_drop(fw->hal, HCA_TAG_REGION | index, p.va, last_va(&p));
  hal_key_drain(fw->hal, index);
  return fw->fatal ? HCA_MEMORY_FAULT : HCA_OK;
}

int fw_refuse_fault(struct firmware* fw, struct hca_command* c) {
  struct hca_mrc m;
  struct hca_pages p;
  const int status = pages_of(fw, c, &m, &p);
  if (status != HCA_OK) return status;
  if (c->in_bytes != sizeof p) return HCA_BAD_LENGTH;
  if (c->modifier > 1) return HCA_BAD_PARAMETER;
  const enum hal_pages outcome = c->modifier != 0 ? HAL_PAGES_READ_ONLY : HAL_PAGES_UNMAPPED;
  hal_pages(fw->hal, hca_key_index(c->object), p.va, last_va(&p), outcome);
  return HCA_OK;
}
