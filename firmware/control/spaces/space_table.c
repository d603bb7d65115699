/* The page table of an address space, in full nodes of 4 KiB pages. Leaves come and go in place, and the table grows at its
 * root. Its table_va is always a multiple of its span. Nothing here changes the MRC. */
#include "firmware/control/state.h"

uint64_t fw_space_span(uint32_t levels) {
  return FW_PAGE << (HCA_PTE_BITS * levels);
}

static uint64_t entry_number(const struct fw_space* s, uint64_t va) {
  return (va - s->table_va) / FW_PAGE;
}

static uint32_t slot(uint64_t number, unsigned height) {
  return (uint32_t)(number >> (HCA_PTE_BITS * (height - 1))) % HCA_PTE_PER_NODE;
}

/* A new node with one entry set, or none. */
int fw_space_new_node(struct firmware* fw, uint32_t at, hca_pte entry, uint64_t* node) {
  if (!fw_icm_take(fw, FW_NODE_CLASS, node)) return HCA_NO_RESOURCES;
  memset(fw->node[1], 0, sizeof fw->node[1]);
  fw->node[1][at] = entry;
  *fw_icm_live(fw, *node) = entry != 0;
  const int status = fw_write(fw, *node, fw->node[1], sizeof fw->node[1]);
  if (status != HCA_OK) fw_icm_put(fw, *node, FW_NODE_CLASS);
  return status;
}

static int first_root(struct firmware* fw, struct fw_space* s, uint64_t va, uint64_t last) {
  uint32_t levels = 1;
  while ((va ^ last) >= fw_space_span(levels) && levels <= fw->limits.max_levels) levels++;
  /* Aligned spans that part at a high bit of the VA cannot be joined. */
  if (levels > fw->limits.max_levels) return HCA_NO_RESOURCES;
  const int status = fw_space_new_node(fw, 0, 0, &s->root);
  if (status != HCA_OK) {
    s->root = 0;
    return status;
  }
  s->levels = levels;
  s->table_va = fw_align_down(va, fw_space_span(levels));
  return HCA_OK;
}

/* Grows the table until it covers [va, va + length). On failure it is as before. */
int fw_space_grow(struct firmware* fw, struct fw_space* s, uint64_t va, uint64_t length) {
  const uint64_t last = va + length - 1;
  const struct fw_space before = *s;
  if (s->root == 0) return first_root(fw, s, va, last);
  while ((s->table_va ^ va) >= fw_space_span(s->levels) || (s->table_va ^ last) >= fw_space_span(s->levels)) {
    const uint32_t at = (uint32_t)(s->table_va / fw_space_span(s->levels)) % HCA_PTE_PER_NODE;
    uint64_t root = 0;
    int status = HCA_NO_RESOURCES;
    if (s->levels < fw->limits.max_levels) status = fw_space_new_node(fw, at, s->root | HCA_PTE_PRESENT, &root);
    if (status != HCA_OK) {
      fw_space_shrink(fw, s, &before);
      return status;
    }
    s->root = root;
    s->levels++;
    s->table_va = fw_align_down(s->table_va, fw_space_span(s->levels));
  }
  return HCA_OK;
}

/* Takes back roots that were just added; they have one child each. */
void fw_space_shrink(struct firmware* fw, struct fw_space* s, const struct fw_space* before) {
  while (s->levels > before->levels) {
    hca_pte child = 0;
    const uint32_t at = slot(entry_number(s, before->table_va), s->levels);
    if (s->levels - 1 == before->levels) {
      child = before->root;
    } else if (fw_read_sure(fw, s->root + at * 8ULL, &child, 8) != HCA_OK) {
      return;
    }
    fw_icm_put(fw, s->root, FW_NODE_CLASS);
    s->root = hca_pte_address(child);
    s->levels--;
    s->table_va = fw_align_down(before->table_va, fw_space_span(s->levels));
  }
}

int fw_space_entry(struct firmware* fw, const struct fw_space* s, uint64_t va, hca_pte* entry) {
  uint64_t node = s->root;
  *entry = 0;
  for (uint32_t height = s->levels; height > 0; height--) {
    const int status = fw_read(fw, node + slot(entry_number(s, va), height) * 8ULL, entry, 8);
    if (status != HCA_OK) return status;
    if ((*entry & HCA_PTE_PRESENT) == 0) break;
    node = hca_pte_address(*entry);
  }
  return HCA_OK;
}

/* Writes entries first..last of node[0] to the leaf of entry `number`, and makes missing nodes above. A child is written before
 * its parent points to it. `leaf` is the leaf's page of the area, if known; the function fills it in. */
int fw_space_write_leaf(struct firmware* fw, const struct fw_space* s, uint64_t number, uint32_t first, uint32_t last,
                        uint32_t* leaf) {
  uint64_t node = *leaf != FW_NO_LINK ? fw_icm_page_address(fw, *leaf) : s->root;
  hal_work(fw->hal, HAL_WORK_ENTRY, last - first + 1);
  for (uint32_t height = *leaf != FW_NO_LINK ? 1 : s->levels; height > 1; height--) {
    const uint64_t link = node + slot(number, height) * 8ULL;
    const uint64_t parent = node;
    hca_pte entry = 0;
    int status = fw_read(fw, link, &entry, 8);
    if (status != HCA_OK) return status;
    if ((entry & HCA_PTE_PRESENT) == 0) {
      status = fw_space_new_node(fw, 0, 0, &node);
      if (status != HCA_OK) return status;
      entry = node | HCA_PTE_PRESENT;
      status = fw_write(fw, link, &entry, 8);
      if (status != HCA_OK) {
        fw_icm_put(fw, node, FW_NODE_CLASS);
        return status;
      }
      ++*fw_icm_live(fw, parent);
    }
    node = hca_pte_address(entry);
    if (!fw_icm_in_use(fw, node, FW_NODE_CLASS)) return HCA_DAMAGED;
  }
  const int status = fw_write(fw, node + first * 8ULL, &fw->node[0][first], (last - first + 1) * 8);
  if (status != HCA_OK) return status;
  *leaf = fw_icm_page_of(fw, node);
  *fw_icm_live(fw, node) += last - first + 1;
  return HCA_OK;
}

void fw_space_free_table(struct firmware* fw, struct fw_space* s) {
  if (s->root != 0) fw_table_free(fw, s->root, s->levels, fw_space_span(s->levels) / FW_PAGE);
  s->root = 0;
}
