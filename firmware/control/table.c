/* Page tables of regions and page lists of queues, built bottom-up: a node is filled in memory and written at once. Inner nodes
 * are full; the last node of a level is as large as its entries need. */
#include "firmware/control/state.h"

unsigned fw_levels(uint64_t entries) {
  unsigned levels = 1;
  for (uint64_t covered = HCA_PTE_PER_NODE; covered < entries && levels <= FW_MAX_LEVELS; covered *= HCA_PTE_PER_NODE) levels++;
  return levels;
}

static uint64_t span(unsigned levels) {
  return 1ULL << (HCA_PTE_BITS * levels);
}

void fw_table_free(struct firmware* fw, uint64_t root, unsigned levels, uint64_t entries) {
  const uint64_t child_span = span(levels - 1);
  const uint32_t children = (uint32_t)fw_min64((entries + child_span - 1) / child_span, HCA_PTE_PER_NODE);
  const unsigned order = fw_icm_order(children);
  if (!fw_icm_in_use(fw, root, order)) return; /* a damaged table or context names it */
  for (uint32_t at = 0; levels > 1 && at < children;) {
    hca_pte piece[64];
    const uint32_t n = fw_min32(children - at, 64);
    if (fw_read_sure(fw, root + at * 8ULL, piece, n * 8) != HCA_OK) break;
    for (uint32_t i = 0; i < n; i++) {
      const uint64_t child = hca_pte_address(piece[i]);
      const uint64_t covered = fw_min64(child_span, entries - (at + i) * child_span);
      if ((piece[i] & HCA_PTE_PRESENT) != 0) fw_table_free(fw, child, levels - 1, covered);
    }
    at += n;
  }
  if (fw_icm_in_use(fw, root, order)) fw_icm_put(fw, root, order); /* not below itself, in a damaged table */
}

static int flush(struct firmware* fw, struct fw_table* t, unsigned level) {
  const uint32_t n = fw->filled[level];
  uint64_t node = 0;
  if (!fw_icm_take(fw, fw_icm_order(n), &node)) return HCA_NO_RESOURCES;
  /* The rest of the block may hold an older table. */
  const uint32_t bytes = 64U << fw_icm_order(n);
  memset(&fw->node[level][n], 0, bytes - n * 8);
  const int status = fw_write(fw, node, fw->node[level], bytes);
  if (status != HCA_OK) {
    fw_icm_put(fw, node, fw_icm_order(n));
    return status;
  }
  hal_work(fw->hal, HAL_WORK_ENTRY, n);
  fw->filled[level] = 0;
  fw->first_entry[level] += span(level + 1);
  if (level + 1 == t->levels) {
    t->root = node;
    return HCA_OK;
  }
  fw->node[level + 1][fw->filled[level + 1]++] = node | HCA_PTE_PRESENT;
  return fw->filled[level + 1] == HCA_PTE_PER_NODE ? flush(fw, t, level + 1) : HCA_OK;
}

static int flush_rest(struct firmware* fw, struct fw_table* t) {
  for (unsigned level = 0; level < t->levels; level++) {
    const int status = fw->filled[level] != 0 ? flush(fw, t, level) : HCA_OK;
    if (status != HCA_OK) return status;
  }
  return HCA_OK;
}

static int add_pages(struct firmware* fw, struct fw_table* t, const struct hca_chunk* run, uint64_t* added) {
  const uint64_t page = 1ULL << t->shift;
  const uint64_t first = fw_align_down(run->address, page);
  const uint64_t pages = ((run->address + run->length - 1 - first) >> t->shift) + 1;
  if (pages > t->entries - *added) return HCA_BAD_PARAMETER;
  for (uint64_t i = 0; i < pages; i++) {
    fw->node[0][fw->filled[0]++] = (first + (i << t->shift)) | HCA_PTE_PRESENT;
    if (fw->filled[0] == HCA_PTE_PER_NODE) {
      const int status = flush(fw, t, 0);
      if (status != HCA_OK) return status;
    }
  }
  *added += pages;
  return HCA_OK;
}

static int fill(struct firmware* fw, const struct hca_region* r, struct fw_table* t) {
  uint64_t added = 0;
  fw_runs_begin(fw, r);
  for (;;) {
    struct hca_chunk run;
    bool end = false;
    int status = fw_runs_next(fw, &run, &end);
    if (status == HCA_OK && end) break;
    if (status == HCA_OK) status = add_pages(fw, t, &run, &added);
    if (status != HCA_OK) return status;
  }
  return added == t->entries ? flush_rest(fw, t) : HCA_BAD_PARAMETER;
}

/* Frees the blocks of a failed build: the subtrees below the unfinished nodes. */
static void abandon(struct firmware* fw, const struct fw_table* t) {
  for (unsigned level = 1; level < t->levels; level++) {
    for (uint32_t i = 0; i < fw->filled[level]; i++) {
      const uint64_t first = fw->first_entry[level] + i * span(level);
      fw_table_free(fw, hca_pte_address(fw->node[level][i]), level, fw_min64(span(level), t->entries - first));
    }
  }
}

static void begin(struct firmware* fw, struct fw_table* t) {
  for (unsigned level = 0; level < FW_MAX_LEVELS; level++) {
    fw->filled[level] = 0;
    fw->first_entry[level] = 0;
  }
  t->root = 0;
}

/* `t` comes with entries, levels and shift. The chunks are those of the last fw_chunks_open. */
int fw_table_build(struct firmware* fw, const struct hca_region* r, struct fw_table* t) {
  begin(fw, t);
  if (t->entries == 0) return HCA_OK;
  const int status = fill(fw, r, t);
  if (status != HCA_OK) abandon(fw, t);
  return status;
}

/* The pages of a queue's list, taken from a mailbox a node at a time. */
static int fill_list(struct firmware* fw, uint64_t mailbox, struct fw_table* t) {
  const uint64_t low_bits = (1ULL << t->shift) - 1;
  for (uint64_t added = 0; added < t->entries;) {
    const uint32_t n = (uint32_t)fw_min64(t->entries - added, HCA_PTE_PER_NODE);
    int status = fw_read(fw, mailbox + added * 8, fw->node[0], n * 8);
    if (status != HCA_OK) return status;
    for (uint32_t i = 0; i < n; i++) {
      if ((fw->node[0][i] & low_bits) != 0) return HCA_BAD_PARAMETER;
      fw->node[0][i] |= HCA_PTE_PRESENT;
    }
    fw->filled[0] = n;
    added += n;
    status = flush(fw, t, 0);
    if (status != HCA_OK) return status;
  }
  return flush_rest(fw, t);
}

static int contiguous(struct firmware* fw, uint64_t mailbox, struct hca_buffer* b) {
  const int status = fw_read(fw, mailbox, &b->pages, sizeof b->pages);
  if (status != HCA_OK) return status;
  return (b->pages & 63) == 0 ? HCA_OK : HCA_BAD_PARAMETER;
}

/* Builds the page list of a queue's buffer, from `pages` addresses in a mailbox. */
int fw_list_build(struct firmware* fw, uint64_t mailbox, uint32_t pages, unsigned shift, unsigned log_bytes,
                  struct hca_buffer* b) {
  memset(b, 0, sizeof *b);
  if (pages == 0) return log_bytes == 0 ? HCA_OK : HCA_BAD_PARAMETER;
  const uint64_t wanted = shift == 0 || shift >= log_bytes ? 1 : 1ULL << (log_bytes - shift);
  if (pages != wanted) return HCA_BAD_PARAMETER;
  b->log_bytes = (uint8_t)log_bytes;
  if (shift == 0) return contiguous(fw, mailbox, b);
  if (shift > 31 || (fw->limits.page_shifts >> shift & 1) == 0) return HCA_BAD_PARAMETER;
  struct fw_table t = {0, pages, fw_levels(pages), shift};
  if (t.levels > fw->limits.queue_levels) return HCA_BAD_PARAMETER;
  begin(fw, &t);
  const int status = fill_list(fw, mailbox, &t);
  if (status != HCA_OK) abandon(fw, &t);
  b->page_shift = (uint8_t)shift;
  b->levels = (uint8_t)t.levels;
  b->pages = t.root;
  return status;
}

void fw_list_free(struct firmware* fw, const struct hca_buffer* b) {
  if (b->page_shift == 0) return;
  const unsigned log_pages = b->log_bytes > b->page_shift ? (unsigned)(b->log_bytes - b->page_shift) : 0;
  if (log_pages < 32 && b->levels - 1U < FW_MAX_LEVELS) fw_table_free(fw, b->pages, b->levels, 1ULL << log_pages);
}
