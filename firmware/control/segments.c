/* The segments of an address space: a list sorted by VA, from one pool. Pieces of a split segment keep its handle. */
#include "firmware/control/state.h"

static struct fw_segment* at(const struct firmware* fw, uint32_t n) {
  return &fw->segments[n];
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

static void link_sorted(struct firmware* fw, struct fw_space* s, uint32_t n) {
  uint32_t* link = &s->first;
  uint32_t looked_at = 1;
  for (; *link != FW_NO_LINK && at(fw, *link)->va < at(fw, n)->va; looked_at++) link = &at(fw, *link)->next;
  at(fw, n)->next = *link;
  *link = n;
  s->segments++;
  hal_work(fw->hal, HAL_WORK_CHUNK, looked_at);
}

bool fw_segment_insert(struct firmware* fw, struct fw_space* s, uint64_t va, uint64_t length, uint32_t handle) {
  const uint32_t n = take(fw);
  if (n == FW_NO_LINK) return false;
  at(fw, n)->va = va;
  at(fw, n)->length = length;
  at(fw, n)->handle = handle;
  link_sorted(fw, s, n);
  return true;
}

bool fw_segments_overlap(struct firmware* fw, const struct fw_space* s, uint64_t va, uint64_t length) {
  uint32_t looked_at = 0;
  bool found = false;
  for (uint32_t n = s->first; n != FW_NO_LINK && !found && at(fw, n)->va < va + length; n = at(fw, n)->next) {
    found = va < at(fw, n)->va + at(fw, n)->length;
    looked_at++;
  }
  hal_work(fw->hal, HAL_WORK_CHUNK, looked_at);
  return found;
}

bool fw_segments_cover(struct firmware* fw, const struct fw_space* s, uint64_t va, uint64_t length) {
  const uint64_t end = va + length;
  uint32_t looked_at = 0;
  for (uint32_t n = s->first; n != FW_NO_LINK && at(fw, n)->va <= va && va < end; n = at(fw, n)->next) {
    if (va < at(fw, n)->va + at(fw, n)->length) va = at(fw, n)->va + at(fw, n)->length;
    looked_at++;
  }
  hal_work(fw->hal, HAL_WORK_CHUNK, looked_at);
  return va >= end;
}

/* Whether a segment begins at `va`, or ends there. */
bool fw_segments_begin_at(struct firmware* fw, const struct fw_space* s, uint64_t va) {
  uint32_t n = s->first;
  while (n != FW_NO_LINK && at(fw, n)->va != va) n = at(fw, n)->next;
  hal_work(fw->hal, HAL_WORK_CHUNK, s->segments);
  return n != FW_NO_LINK;
}

bool fw_segments_end_at(struct firmware* fw, const struct fw_space* s, uint64_t va) {
  uint32_t n = s->first;
  while (n != FW_NO_LINK && at(fw, n)->va + at(fw, n)->length != va) n = at(fw, n)->next;
  hal_work(fw->hal, HAL_WORK_CHUNK, s->segments);
  return n != FW_NO_LINK;
}

/* Splits the segment that has `va` inside it. */
static void split(struct firmware* fw, struct fw_space* s, uint64_t va) {
  for (uint32_t n = s->first; n != FW_NO_LINK && at(fw, n)->va < va; n = at(fw, n)->next) {
    const uint64_t head = va - at(fw, n)->va;
    if (head >= at(fw, n)->length) continue;
    const uint32_t tail = take(fw);
    at(fw, tail)->va = va;
    at(fw, tail)->length = at(fw, n)->length - head;
    at(fw, tail)->handle = at(fw, n)->handle;
    at(fw, tail)->next = at(fw, n)->next;
    at(fw, n)->length = head;
    at(fw, n)->next = tail;
    s->segments++;
  }
}

static bool inside(const struct fw_segment* g, uint64_t va, uint64_t length, uint32_t handle) {
  if (handle != 0) return g->handle == handle;
  return g->va >= va && g->va - va < length;
}

static uint32_t cut(struct firmware* fw, struct fw_space* s, uint64_t va, uint64_t length, uint32_t handle) {
  uint32_t list = FW_NO_LINK;
  uint32_t* tail = &list;
  hal_work(fw->hal, HAL_WORK_CHUNK, s->segments);
  for (uint32_t* link = &s->first; *link != FW_NO_LINK;) {
    const uint32_t n = *link;
    if (!inside(at(fw, n), va, length, handle)) {
      link = &at(fw, n)->next;
      continue;
    }
    *link = at(fw, n)->next;
    at(fw, n)->next = FW_NO_LINK;
    *tail = n;
    tail = &at(fw, n)->next;
    s->segments--;
  }
  return list;
}

/* Takes the range out, as a list of its own. Two segments of the pool must be free. */
uint32_t fw_segments_cut(struct firmware* fw, struct fw_space* s, uint64_t va, uint64_t length) {
  split(fw, s, va);
  split(fw, s, va + length);
  return cut(fw, s, va, length, 0);
}

uint32_t fw_segments_cut_handle(struct firmware* fw, struct fw_space* s, uint32_t handle) {
  return cut(fw, s, 0, 0, handle);
}

/* Undoes a cut: touching pieces of one handle can only have come from it. */
void fw_segments_restore(struct firmware* fw, struct fw_space* s, uint32_t list) {
  while (list != FW_NO_LINK) {
    const uint32_t next = at(fw, list)->next;
    link_sorted(fw, s, list);
    list = next;
  }
  for (uint32_t n = s->first; n != FW_NO_LINK;) {
    const uint32_t next = at(fw, n)->next;
    if (next == FW_NO_LINK || at(fw, next)->handle != at(fw, n)->handle ||
        at(fw, n)->va + at(fw, n)->length != at(fw, next)->va) {
      n = next;
      continue;
    }
    at(fw, n)->length += at(fw, next)->length;
    at(fw, n)->next = at(fw, next)->next;
    put(fw, next);
    s->segments--;
  }
}

void fw_segments_drop(struct firmware* fw, uint32_t list) {
  while (list != FW_NO_LINK) {
    const uint32_t next = at(fw, list)->next;
    put(fw, list);
    list = next;
  }
}

uint64_t fw_segments_bytes(const struct firmware* fw, const struct fw_space* s) {
  uint64_t bytes = 0;
  for (uint32_t n = s->first; n != FW_NO_LINK; n = at(fw, n)->next) bytes += at(fw, n)->length;
  return bytes;
}

uint64_t fw_segments_start(const struct firmware* fw, const struct fw_space* s) {
  return s->first == FW_NO_LINK ? 0 : at(fw, s->first)->va;
}

uint64_t fw_segments_end(const struct firmware* fw, const struct fw_space* s) {
  uint64_t end = 0;
  for (uint32_t n = s->first; n != FW_NO_LINK; n = at(fw, n)->next) end = at(fw, n)->va + at(fw, n)->length;
  return end;
}
