/* The tree of an address space's segments, ordered by VA: a heap by numbers that look random (a treap). Paths are as long as
 * the logarithm of the count; entering a segment and taking one out turn two nodes, on average. */
#include "firmware/control/state.h"

static struct fw_segment* at(const struct firmware* fw, uint32_t n) {
  return &fw->segments[n];
}

static uint32_t rank(uint32_t n) {
  n = (n ^ n >> 16) * 0x7feb352dU;
  n = (n ^ n >> 15) * 0x846ca68bU;
  return n ^ n >> 16;
}

static uint32_t* link_to(struct firmware* fw, struct fw_space* s, uint32_t n) {
  const uint32_t parent = at(fw, n)->parent;
  if (parent == FW_NO_LINK) return &s->top;
  return &at(fw, parent)->child[at(fw, parent)->child[1] == n];
}

/* `n` and its parent change places. */
static void turn_up(struct firmware* fw, struct fw_space* s, uint32_t n) {
  const uint32_t parent = at(fw, n)->parent;
  const bool high = at(fw, parent)->child[1] == n;
  const uint32_t between = at(fw, n)->child[!high];
  *link_to(fw, s, parent) = n;
  at(fw, n)->parent = at(fw, parent)->parent;
  at(fw, n)->child[!high] = parent;
  at(fw, parent)->parent = n;
  at(fw, parent)->child[high] = between;
  if (between != FW_NO_LINK) at(fw, between)->parent = parent;
}

uint32_t fw_segment_tree_link(struct firmware* fw, struct fw_space* s, uint32_t previous, uint32_t n) {
  uint32_t turns = 0;
  const bool behind = previous != FW_NO_LINK && at(fw, previous)->child[1] == FW_NO_LINK;
  const uint32_t next = previous != FW_NO_LINK ? at(fw, previous)->next : s->first;
  const uint32_t parent = behind ? previous : next;
  at(fw, n)->child[0] = FW_NO_LINK;
  at(fw, n)->child[1] = FW_NO_LINK;
  at(fw, n)->parent = parent;
  if (parent == FW_NO_LINK) {
    s->top = n;
  } else {
    at(fw, parent)->child[behind] = n;
  }
  for (; at(fw, n)->parent != FW_NO_LINK && rank(at(fw, n)->parent) < rank(n); turns++) turn_up(fw, s, n);
  return turns + 1;
}

uint32_t fw_segment_tree_unlink(struct firmware* fw, struct fw_space* s, uint32_t n) {
  uint32_t turns = 0;
  for (;; turns++) {
    const uint32_t low = at(fw, n)->child[0];
    const uint32_t high = at(fw, n)->child[1];
    if (low == FW_NO_LINK || high == FW_NO_LINK) {
      const uint32_t only = low != FW_NO_LINK ? low : high;
      *link_to(fw, s, n) = only;
      if (only != FW_NO_LINK) at(fw, only)->parent = at(fw, n)->parent;
      return turns + 1;
    }
    turn_up(fw, s, rank(low) > rank(high) ? low : high);
  }
}
