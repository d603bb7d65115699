/* The pages of a segment in an address space's table. Every node counts its entries, and every segment knows the leaves of its
 * ends. So a change inside a remaining leaf reads nothing of the table. */
#include "firmware/control/state.h"

static uint64_t entry_number(const struct fw_space* s, uint64_t va) {
  return (va - s->table_va) / FW_PAGE;
}

uint64_t fw_space_pages(uint64_t va, uint64_t length) {
  return (va + length - 1) / FW_PAGE - va / FW_PAGE + 1;
}

/* Enters the pages of the region (its VA is final, its chunks are those of the last fw_chunks_open). */
int fw_space_map(struct firmware* fw, const struct fw_space* s, const struct hca_region* r, struct fw_pages* p) {
  const uint64_t begin = entry_number(s, r->va);
  const uint64_t last = entry_number(s, r->va + r->length - 1);
  uint64_t number = begin;
  uint32_t first = (uint32_t)number % HCA_PTE_PER_NODE;
  fw_runs_begin(fw, r);
  for (;;) {
    struct hca_chunk run;
    bool end = false;
    int status = fw_runs_next(fw, &run, &end);
    if (status != HCA_OK) return status;
    if (end) return number == last + 1 ? HCA_OK : HCA_BAD_PARAMETER;
    for (uint64_t offset = 0; offset < run.length; offset += FW_PAGE, number++) {
      const uint32_t at = (uint32_t)number % HCA_PTE_PER_NODE;
      if (number > last) return HCA_BAD_PARAMETER;
      fw->node[0][at] = (run.address + offset) | HCA_PTE_PRESENT;
      if (at != HCA_PTE_PER_NODE - 1 && number != last) continue;
      const bool in_last = number == last;
      uint32_t between = FW_NO_LINK;
      uint32_t* const leaf = in_last ? &p->last_leaf : p->entered == 0 ? &p->first_leaf : &between;
      status = fw_space_write_leaf(fw, s, number, first, at, leaf);
      if (status != HCA_OK) return status;
      if (in_last && p->entered == 0) p->first_leaf = p->last_leaf;
      p->entered = number + 1 - begin;
      first = 0;
    }
  }
}

static uint64_t both(uint64_t first, uint64_t end, uint64_t other_first, uint64_t other_end, uint64_t* from) {
  *from = first > other_first ? first : other_first;
  const uint64_t to = fw_min64(end, other_end);
  return to > *from ? to - *from : 0;
}

/* Both functions take entries first..last of the subtree out and return whether it has become empty. The root stays. */
static bool unmap_leaf(struct firmware* fw, const struct fw_space* s, const struct fw_pages* p, uint64_t node, uint64_t first,
                       uint64_t last) {
  uint32_t* const live = fw_icm_live(fw, node);
  const uint64_t entered = entry_number(s, p->va);
  const uint64_t cleared = entry_number(s, p->clear_va);
  uint64_t from = 0;
  *live -= (uint32_t)both(first, last + 1, entered, entered + p->entered, &from);
  if (*live == 0 && node != s->root) return true;
  const uint32_t count = (uint32_t)both(first, last + 1, cleared, cleared + p->clear_length / FW_PAGE, &from);
  if (count == 0) return false;
  memset(fw->node[0], 0, count * sizeof(hca_pte));
  fw_write_sure(fw, node + from % HCA_PTE_PER_NODE * 8ULL, fw->node[0], count * 8);
  hal_work(fw->hal, HAL_WORK_ENTRY, count);
  return false;
}

static bool unmap_node(struct firmware* fw, const struct fw_space* s, const struct fw_pages* p, uint64_t node, uint32_t height,
                       uint64_t first, uint64_t last) {
  if (height == 1) return unmap_leaf(fw, s, p, node, first, last);
  hca_pte* const entries = fw->node[height - 1];
  const unsigned shift = HCA_PTE_BITS * (height - 1);
  const uint64_t base = first >> shift;
  const uint32_t count = (uint32_t)((last >> shift) - base) + 1;
  const uint64_t at = node + base % HCA_PTE_PER_NODE * 8;
  uint32_t gone = 0;
  if (fw_read_sure(fw, at, entries, count * 8) != HCA_OK) return false;
  for (uint32_t i = 0; i < count; i++) {
    const uint64_t child = hca_pte_address(entries[i]);
    const uint64_t child_first = (base + i) << shift;
    const uint64_t child_last = child_first + (1ULL << shift) - 1;
    if ((entries[i] & HCA_PTE_PRESENT) == 0) continue;
    if (!fw_icm_in_use(fw, child, FW_NODE_CLASS)) return false; /* damaged: no access within the extents reaches it */
    const uint64_t from = first > child_first ? first : child_first;
    if (!unmap_node(fw, s, p, child, height - 1, from, fw_min64(last, child_last))) continue;
    fw_icm_put(fw, child, FW_NODE_CLASS);
    entries[i] = 0;
    gone++;
  }
  uint32_t* const live = fw_icm_live(fw, node);
  *live -= gone;
  hal_work(fw->hal, HAL_WORK_ENTRY, count);
  if (*live == 0 && node != s->root) return true;
  if (gone != 0) fw_write_sure(fw, at, entries, count * 8);
  return false;
}

bool fw_space_unmap(struct firmware* fw, const struct fw_space* s, const struct fw_pages* p) {
  const uint64_t used = fw->icm.used;
  const uint64_t first = entry_number(s, p->va);
  const uint64_t last = entry_number(s, p->va + p->length - 1);
  const bool one_leaf = first / HCA_PTE_PER_NODE == last / HCA_PTE_PER_NODE && p->first_leaf != FW_NO_LINK;
  const uint64_t leaf = one_leaf ? fw_icm_page_address(fw, p->first_leaf) : 0;
  if (one_leaf && *fw_icm_live(fw, leaf) > p->entered) {
    unmap_leaf(fw, s, p, leaf, first, last);
  } else {
    unmap_node(fw, s, p, s->root, s->levels, first, last);
  }
  return fw->icm.used != used;
}
