/* The segments of an address space, from one pool. Pieces of a split segment keep its handle. The cost of changing one segment
 * does not grow with their number. Totals are kept, the ends are at hand, handles are hashed, and a tree finds VAs in the
 * middle. */
#include "firmware/control/state.h"

static struct fw_segment* at(const struct firmware* fw, uint32_t n) {
  return &fw->segments[n];
}

void fw_segments_forget(struct firmware* fw) {
  fw->fresh_segments = 0;
  fw->free_segments = FW_NO_LINK;
  fw->free_segment_count = fw->limits.max_segments;
  fw_clear(fw->handle_chains, fw_space_chains(fw->limits.max_segments));
}

static uint32_t take(struct firmware* fw) {
  if (fw->free_segment_count == 0) return FW_NO_LINK;
  fw->free_segment_count--;
  if (fw->free_segments == FW_NO_LINK) return fw->fresh_segments++;
  const uint32_t n = fw->free_segments;
  fw->free_segments = at(fw, n)->next;
  return n;
}

static void put(struct firmware* fw, uint32_t n) {
  at(fw, n)->next = fw->free_segments;
  fw->free_segments = n;
  fw->free_segment_count++;
}

static uint32_t slot_of(const struct firmware* fw, const struct fw_space* s) {
  return (uint32_t)(s - fw->spaces);
}

static uint32_t* chain_of(const struct firmware* fw, uint32_t space, uint32_t handle) {
  const uint32_t hash = (handle + space * 0x9e3779b1U) * 0x85ebca6bU;
  return &fw->handle_chains[(hash ^ hash >> 16) & (fw_space_chains(fw->limits.max_segments) - 1)];
}

static uint32_t first_in_chain(const struct firmware* fw, uint32_t space, uint32_t handle) {
  const uint32_t head = *chain_of(fw, space, handle);
  return head != 0 ? head - 1 : FW_NO_LINK;
}

static void chain(struct firmware* fw, uint32_t n) {
  const uint32_t first = first_in_chain(fw, at(fw, n)->space, at(fw, n)->handle);
  at(fw, n)->chain_next = first;
  at(fw, n)->chain_previous = FW_NO_LINK;
  if (first != FW_NO_LINK) at(fw, first)->chain_previous = n;
  *chain_of(fw, at(fw, n)->space, at(fw, n)->handle) = 1 + n;
}

static void unchain(struct firmware* fw, uint32_t n) {
  const struct fw_segment* g = at(fw, n);
  if (g->chain_previous != FW_NO_LINK) {
    at(fw, g->chain_previous)->chain_next = g->chain_next;
  } else {
    *chain_of(fw, g->space, g->handle) = g->chain_next != FW_NO_LINK ? 1 + g->chain_next : 0;
  }
  if (g->chain_next != FW_NO_LINK) at(fw, g->chain_next)->chain_previous = g->chain_previous;
}

static uint64_t end_of(const struct firmware* fw, uint32_t n) {
  return at(fw, n)->home + at(fw, n)->length;
}

/* Whether `n` ends where `next` begins; none of them is FW_NO_LINK. */
static bool touch(const struct firmware* fw, uint32_t n, uint32_t next) {
  return n != FW_NO_LINK && next != FW_NO_LINK && end_of(fw, n) == at(fw, next)->home;
}

static void link_behind(struct firmware* fw, struct fw_space* s, uint32_t previous, uint32_t n) {
  struct fw_segment* const g = at(fw, n);
  const uint32_t next = previous != FW_NO_LINK ? at(fw, previous)->next : s->first;
  const uint32_t turned = fw_segment_tree_link(fw, s, previous, n);
  g->previous = previous;
  g->next = next;
  *(previous != FW_NO_LINK ? &at(fw, previous)->next : &s->first) = n;
  *(next != FW_NO_LINK ? &at(fw, next)->previous : &s->last) = n;
  chain(fw, n);
  s->segments++;
  s->bytes += g->length;
  s->extents += 1U - touch(fw, previous, n) - touch(fw, n, next);
  hal_work(fw->hal, HAL_WORK_CHUNK, turned);
}

static void unlink_segment(struct firmware* fw, struct fw_space* s, uint32_t n) {
  const struct fw_segment* g = at(fw, n);
  const uint32_t turned = fw_segment_tree_unlink(fw, s, n);
  s->extents -= 1U - touch(fw, g->previous, n) - touch(fw, n, g->next);
  s->bytes -= g->length;
  s->segments--;
  *(g->previous != FW_NO_LINK ? &at(fw, g->previous)->next : &s->first) = g->next;
  *(g->next != FW_NO_LINK ? &at(fw, g->next)->previous : &s->last) = g->previous;
  unchain(fw, n);
  hal_work(fw->hal, HAL_WORK_CHUNK, turned);
}

static void resize(struct firmware* fw, struct fw_space* s, uint32_t n, uint64_t length) {
  struct fw_segment* const g = at(fw, n);
  s->extents += touch(fw, n, g->next);
  s->bytes += length - g->length;
  g->length = length;
  s->extents -= touch(fw, n, g->next);
}

uint64_t fw_segment_va(const struct firmware* fw, const struct fw_space* s, uint32_t n) {
  return at(fw, n)->home + s->moved;
}

uint32_t fw_segments_find(struct firmware* fw, const struct fw_space* s, uint64_t va) {
  uint32_t found = FW_NO_LINK;
  uint32_t looked_at = 1;
  if (s->last != FW_NO_LINK && fw_segment_va(fw, s, s->last) <= va) {
    found = s->last;
  } else if (s->first != FW_NO_LINK && fw_segment_va(fw, s, s->first) <= va) {
    for (uint32_t n = s->top; n != FW_NO_LINK; looked_at++) {
      const bool high = fw_segment_va(fw, s, n) <= va;
      if (high) found = n;
      n = at(fw, n)->child[high];
    }
  }
  hal_work(fw->hal, HAL_WORK_CHUNK, looked_at);
  return found;
}

/* A segment of the pool must be free. */
void fw_segment_insert(struct firmware* fw, struct fw_space* s, uint32_t previous, const struct fw_pages* p, uint32_t handle) {
  const uint32_t n = take(fw);
  const struct fw_segment fresh = {.home = p->va - s->moved,
                                   .length = p->length,
                                   .handle = handle,
                                   .space = slot_of(fw, s),
                                   .first_leaf = p->first_leaf,
                                   .last_leaf = p->last_leaf};
  *at(fw, n) = fresh;
  link_behind(fw, s, previous, n);
}

bool fw_segment_in(const struct firmware* fw, const struct fw_space* s, uint32_t n, uint64_t va, uint64_t length) {
  if (n == FW_NO_LINK) return false;
  const uint64_t start = fw_segment_va(fw, s, n);
  return start - va < length || va - start < at(fw, n)->length;
}

bool fw_segments_overlap(struct firmware* fw, const struct fw_space* s, uint64_t va, uint64_t length) {
  return fw_segment_in(fw, s, fw_segments_find(fw, s, va + length - 1), va, length);
}

bool fw_segments_cover(struct firmware* fw, const struct fw_space* s, uint64_t va, uint64_t length) {
  uint32_t n = fw_segments_find(fw, s, va);
  uint32_t looked_at = 0;
  for (uint64_t left = length; n != FW_NO_LINK; n = at(fw, n)->next) {
    const uint64_t offset = va - fw_segment_va(fw, s, n);
    looked_at++;
    if (offset >= at(fw, n)->length) break;
    const uint64_t here = at(fw, n)->length - offset;
    if (here >= left) {
      hal_work(fw->hal, HAL_WORK_CHUNK, looked_at);
      return true;
    }
    va += here;
    left -= here;
  }
  hal_work(fw->hal, HAL_WORK_CHUNK, looked_at);
  return false;
}

/* Whether a segment begins at `va`, or ends there. */
bool fw_segments_begin_at(struct firmware* fw, const struct fw_space* s, uint64_t va) {
  const uint32_t n = fw_segments_find(fw, s, va);
  return n != FW_NO_LINK && fw_segment_va(fw, s, n) == va;
}

bool fw_segments_end_at(struct firmware* fw, const struct fw_space* s, uint64_t va) {
  const uint32_t n = fw_segments_find(fw, s, va - 1);
  return n != FW_NO_LINK && fw_segment_va(fw, s, n) + at(fw, n)->length == va;
}

/* Splits the segment with `va` inside. */
static void split(struct firmware* fw, struct fw_space* s, uint64_t va) {
  const uint32_t n = fw_segments_find(fw, s, va);
  if (n == FW_NO_LINK) return;
  const uint64_t head = va - fw_segment_va(fw, s, n);
  if (head == 0 || head >= at(fw, n)->length) return;
  const uint32_t tail = take(fw);
  const bool one_leaf = at(fw, n)->first_leaf == at(fw, n)->last_leaf;
  *at(fw, tail) = *at(fw, n);
  at(fw, tail)->home += head;
  at(fw, tail)->length -= head;
  if (!one_leaf) at(fw, tail)->first_leaf = FW_NO_LINK;
  if (!one_leaf) at(fw, n)->last_leaf = FW_NO_LINK;
  resize(fw, s, n, head);
  link_behind(fw, s, n, tail);
}

/* Takes the range out, as a list of its own. Two segments of the pool must be free. */
uint32_t fw_segments_cut(struct firmware* fw, struct fw_space* s, uint64_t va, uint64_t length) {
  split(fw, s, va);
  split(fw, s, va + length);
  uint32_t list = FW_NO_LINK;
  uint32_t n = fw_segments_find(fw, s, va + length - 1);
  while (n != FW_NO_LINK && fw_segment_va(fw, s, n) - va < length) {
    const uint32_t previous = at(fw, n)->previous;
    unlink_segment(fw, s, n);
    at(fw, n)->next = list;
    list = n;
    n = previous;
  }
  return list;
}

uint32_t fw_segments_cut_handle(struct firmware* fw, struct fw_space* s, uint32_t handle) {
  uint32_t list = FW_NO_LINK;
  uint32_t looked_at = 0;
  for (uint32_t n = first_in_chain(fw, slot_of(fw, s), handle); n != FW_NO_LINK;) {
    const uint32_t next = at(fw, n)->chain_next;
    if (at(fw, n)->handle == handle && at(fw, n)->space == slot_of(fw, s)) {
      unlink_segment(fw, s, n);
      at(fw, n)->next = list;
      list = n;
    } else {
      looked_at++;
    }
    n = next;
  }
  hal_work(fw->hal, HAL_WORK_CHUNK, looked_at);
  return list;
}

/* Touching pieces of one handle can only have come from a cut. */
static void join_next(struct firmware* fw, struct fw_space* s, uint32_t n) {
  const uint32_t next = n != FW_NO_LINK ? at(fw, n)->next : FW_NO_LINK;
  if (!touch(fw, n, next) || at(fw, n)->handle != at(fw, next)->handle) return;
  unlink_segment(fw, s, next);
  at(fw, n)->last_leaf = at(fw, next)->last_leaf;
  resize(fw, s, n, at(fw, n)->length + at(fw, next)->length);
  put(fw, next);
}

bool fw_segment_alone(struct firmware* fw, const struct fw_space* s, uint32_t n) {
  const uint32_t handle = at(fw, n)->handle;
  for (uint32_t k = first_in_chain(fw, slot_of(fw, s), handle); k != FW_NO_LINK; k = at(fw, k)->chain_next) {
    if (k != n && at(fw, k)->handle == handle && at(fw, k)->space == slot_of(fw, s)) return false;
  }
  return true;
}

/* Finds the leaf of a VA among the leaves at the ends of `p`; false = another one. */
static bool end_leaf(const struct fw_pages* p, uint64_t va, uint32_t* leaf) {
  const uint64_t span = fw_space_span(1);
  const bool first = fw_align_down(va, span) == fw_align_down(p->va, span);
  if (!first && fw_align_down(va, span) != fw_align_down(p->va + p->length - 1, span)) return false;
  *leaf = first ? p->first_leaf : p->last_leaf;
  return true;
}

/* Gives a segment other pages, under another handle; its neighbours in the same leaves learn the new leaves. */
void fw_segment_replace(struct firmware* fw, struct fw_space* s, uint32_t n, const struct fw_pages* p, uint32_t handle) {
  uint32_t looked_at = 1;
  unchain(fw, n);
  at(fw, n)->handle = handle;
  chain(fw, n);
  at(fw, n)->first_leaf = p->first_leaf;
  at(fw, n)->last_leaf = p->last_leaf;
  for (uint32_t k = at(fw, n)->previous; k != FW_NO_LINK; k = at(fw, k)->previous, looked_at++) {
    const uint64_t va = fw_segment_va(fw, s, k);
    if (!end_leaf(p, va + at(fw, k)->length - 1, &at(fw, k)->last_leaf)) break;
    if (!end_leaf(p, va, &at(fw, k)->first_leaf)) break;
  }
  for (uint32_t k = at(fw, n)->next; k != FW_NO_LINK; k = at(fw, k)->next, looked_at++) {
    const uint64_t va = fw_segment_va(fw, s, k);
    if (!end_leaf(p, va, &at(fw, k)->first_leaf)) break;
    if (!end_leaf(p, va + at(fw, k)->length - 1, &at(fw, k)->last_leaf)) break;
  }
  hal_work(fw->hal, HAL_WORK_CHUNK, looked_at);
}

/* Undoes a cut. */
void fw_segments_restore(struct firmware* fw, struct fw_space* s, uint32_t list) {
  while (list != FW_NO_LINK) {
    const uint32_t n = list;
    list = at(fw, n)->next;
    link_behind(fw, s, fw_segments_find(fw, s, fw_segment_va(fw, s, n)), n);
    const uint32_t previous = at(fw, n)->previous;
    join_next(fw, s, n);
    join_next(fw, s, previous);
  }
}

void fw_segments_drop(struct firmware* fw, uint32_t list) {
  while (list != FW_NO_LINK) {
    const uint32_t next = at(fw, list)->next;
    put(fw, list);
    list = next;
  }
}

/* Drops all segments of an ended space. */
void fw_segments_drop_all(struct firmware* fw, struct fw_space* s) {
  for (uint32_t n = s->first; n != FW_NO_LINK; n = at(fw, n)->next) unchain(fw, n);
  hal_work(fw->hal, HAL_WORK_CHUNK, s->segments);
  fw_segments_drop(fw, s->first);
}

uint64_t fw_segments_start(const struct firmware* fw, const struct fw_space* s) {
  return s->first == FW_NO_LINK ? 0 : fw_segment_va(fw, s, s->first);
}

uint64_t fw_segments_end(const struct firmware* fw, const struct fw_space* s) {
  return s->last == FW_NO_LINK ? 0 : end_of(fw, s->last) + s->moved;
}
