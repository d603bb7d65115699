/* Copies the nodes above some pages of an address space's table for another root. Accesses still walking the old root find the
 * old nodes unchanged. */
#include "firmware/control/state.h"

/* The children of a node on the way to entries first..last: `count` of them, from slot `from` on. */
struct span {
  unsigned shift;
  uint64_t number; /* of the first child, over its level */
  uint32_t from;
  uint32_t count;
};

static struct span span_of(uint32_t height, uint64_t first, uint64_t last) {
  const unsigned shift = HCA_PTE_BITS * (height - 1);
  const uint64_t number = first >> shift;
  const struct span s = {shift, number, (uint32_t)(number % HCA_PTE_PER_NODE), (uint32_t)((last >> shift) - number) + 1};
  return s;
}

/* The part of first..last below child `i`. */
static uint64_t first_below(const struct span* s, uint32_t i, uint64_t first) {
  const uint64_t begin = (s->number + i) << s->shift;
  return begin > first ? begin : first;
}

static uint64_t last_below(const struct span* s, uint32_t i, uint64_t last) {
  return fw_min64(((s->number + i + 1) << s->shift) - 1, last);
}

/* Gives back the node, and the nodes below it on the way to the entries. */
void fw_space_free_path(struct firmware* fw, uint64_t node, uint32_t height, uint64_t first, uint64_t last) {
  const struct span s = span_of(height, first, last);
  hca_pte* const children = fw->node[height - 1];
  if (height > 1 && fw_read_sure(fw, node + s.from * 8ULL, children, s.count * 8) == HCA_OK) {
    for (uint32_t i = 0; i < s.count; i++) {
      const uint64_t child = hca_pte_address(children[i]);
      if (!fw_icm_in_use(fw, child, FW_NODE_CLASS)) continue; /* damaged */
      fw_space_free_path(fw, child, height - 1, first_below(&s, i, first), last_below(&s, i, last));
    }
  }
  fw_icm_put(fw, node, FW_NODE_CLASS);
}

/* Copies the path. The entries themselves are not counted in the copies: others take their places. */
int fw_space_copy_path(struct firmware* fw, uint64_t node, uint32_t height, uint64_t first, uint64_t last, uint64_t* made) {
  const struct span s = span_of(height, first, last);
  hca_pte* const entries = fw->node[height - 1];
  uint32_t done = 0;
  int status = fw_read(fw, node, entries, sizeof fw->node[0]);
  if (status != HCA_OK) return status;
  if (!fw_icm_take(fw, FW_NODE_CLASS, made)) return HCA_NO_RESOURCES;
  *fw_icm_live(fw, *made) = *fw_icm_live(fw, node) - (height == 1 ? s.count : 0);
  for (; height > 1 && done < s.count; done++) {
    const uint64_t child = hca_pte_address(entries[s.from + done]);
    uint64_t copied = 0;
    status = fw_icm_in_use(fw, child, FW_NODE_CLASS)
                 ? fw_space_copy_path(fw, child, height - 1, first_below(&s, done, first), last_below(&s, done, last), &copied)
                 : HCA_DAMAGED;
    if (status != HCA_OK) break;
    entries[s.from + done] = copied | HCA_PTE_PRESENT;
  }
  if (status == HCA_OK) status = fw_write(fw, *made, entries, sizeof fw->node[0]);
  hal_work(fw->hal, HAL_WORK_ENTRY, HCA_PTE_PER_NODE);
  if (status == HCA_OK) return HCA_OK;
  for (uint32_t i = 0; i < done; i++) {
    fw_space_free_path(fw, hca_pte_address(entries[s.from + i]), height - 1, first_below(&s, i, first),
                       last_below(&s, i, last));
  }
  fw_icm_put(fw, *made, FW_NODE_CLASS);
  return status;
}
