/* X_REGISTER, X_REREGISTER, X_DEREGISTER, X_TEARDOWN: one R_Key over a changing set of segments [B.6, S1..S13]. */
#include "firmware/control/state.h"

/* VAs chosen by the adapter begin above the range of a host's software. */
static const uint64_t own_range = 1ULL << 48;

/* The answer comes before any change for accesses: if it cannot be written, nothing has changed. */
static int answer(struct firmware* fw, const struct hca_command* c, const struct fw_space* s, uint32_t handle, uint64_t added,
                  uint64_t shift) {
  const struct hca_space out = {.key = s->key,
                                .handle = handle,
                                .start = fw_segments_start(fw, s) + shift,
                                .length = s->bytes,
                                .end = fw_segments_end(fw, s) + shift,
                                .added = handle != 0 ? added + shift : 0,
                                .segments = s->segments};
  return fw_write_out(fw, c, &out, sizeof out);
}

static int check_flags(uint32_t flags) {
  return (flags & ~(uint32_t)(HCA_X_REMAP | HCA_X_PAGE_ALIGNED | HCA_X_NO_SPLIT)) == 0 ? HCA_OK : HCA_BAD_PARAMETER;
}

static uint64_t segment_end(const struct hca_region* r) {
  return r->va + r->length;
}

/* A page that the new segment shares with another must be the same page. */
static int check_same(struct firmware* fw, const struct fw_space* s, uint64_t page_va, uint64_t physical) {
  hca_pte entry = 0;
  const int status = fw_space_entry(fw, s, page_va, &entry);
  if (status != HCA_OK) return status;
  return hca_pte_address(entry) == physical ? HCA_OK : HCA_BAD_PARAMETER;
}

static int check_shared(struct firmware* fw, const struct fw_space* s, uint64_t page_va, uint64_t physical) {
  if (s->root == 0 || !fw_segments_overlap(fw, s, page_va, FW_PAGE)) return HCA_OK;
  return check_same(fw, s, page_va, physical);
}

/* Whether the new segment takes exactly the VAs of the one that leaves. */
static bool in_place(struct firmware* fw, const struct fw_space* s, const struct hca_region* r, uint32_t n) {
  if (n == FW_NO_LINK || r->leaving == 0 || fw->segments[n].handle != r->leaving) return false;
  return fw_segment_va(fw, s, n) == r->va && fw->segments[n].length == r->length && fw_segment_alone(fw, s, n);
}

/* The replaced segment does not count as a neighbour of the new one. */
static int check_neighbours(struct firmware* fw, const struct fw_space* s, const struct hca_region* r,
                            const struct fw_survey* survey, uint32_t n) {
  const struct fw_segment* g = &fw->segments[n];
  const uint64_t first = fw_align_down(r->va, FW_PAGE);
  const uint64_t last = fw_align_down(segment_end(r) - 1, FW_PAGE);
  int status = HCA_OK;
  if (fw_segment_in(fw, s, g->previous, first, FW_PAGE)) {
    status = check_same(fw, s, first, fw_align_down(survey->first, FW_PAGE));
  }
  if (status == HCA_OK && fw_segment_in(fw, s, g->next, last, FW_PAGE)) status = check_same(fw, s, last, survey->last_page);
  return status;
}

static int check_segment(struct firmware* fw, const struct fw_space* s, struct hca_region* r, const struct fw_survey* survey,
                         uint32_t* previous) {
  int status = fw_range_check(r, 0);
  if (status != HCA_OK) return status;
  *previous = fw_segments_find(fw, s, r->va + r->length - 1);
  if (in_place(fw, s, r, *previous)) return check_neighbours(fw, s, r, survey, *previous);
  if (fw_segment_in(fw, s, *previous, r->va, r->length)) return HCA_BAD_PARAMETER;
  if (r->va % FW_PAGE != 0) {
    status = check_shared(fw, s, fw_align_down(r->va, FW_PAGE), fw_align_down(survey->first, FW_PAGE));
    if (status != HCA_OK) return status;
  }
  return segment_end(r) % FW_PAGE != 0 ? check_shared(fw, s, fw_align_down(segment_end(r), FW_PAGE), survey->last_page)
                                       : HCA_OK;
}

/* Right behind the last segment, if its page can be shared; otherwise on the next page. */
static int choose_va(struct firmware* fw, const struct fw_space* s, struct hca_region* r, const struct fw_survey* survey,
                     uint32_t* previous) {
  const uint64_t offset = r->first_offset % FW_PAGE;
  const uint64_t end = fw_segments_end(fw, s);
  r->va = s->segments == 0 ? own_range + offset : end;
  if (r->va % FW_PAGE == offset) {
    const int status = check_segment(fw, s, r, survey, previous);
    if (status != HCA_BAD_PARAMETER) return status;
  }
  r->va = fw_align_up(end, FW_PAGE) + offset;
  return check_segment(fw, s, r, survey, previous);
}

/* Checks the new segment against the space, settles its VA and finds the segment before it. */
static int place(struct firmware* fw, const struct fw_space* s, uint32_t flags, struct hca_region* r, uint32_t* previous) {
  struct fw_survey survey;
  const bool any = r->va == HCA_VA_ANY;
  if (r->length == 0 || r->length > 1ULL << 62) return HCA_BAD_PARAMETER;
  if (any) r->va = r->first_offset % FW_PAGE;
  if ((r->va ^ r->first_offset) % FW_PAGE != 0) return HCA_BAD_PARAMETER;
  if ((flags & HCA_X_PAGE_ALIGNED) != 0 && (r->va | r->length) % FW_PAGE != 0) return HCA_BAD_PARAMETER;
  const int status = fw_survey_chunks(fw, r, &survey);
  if (status != HCA_OK) return status;
  return any ? choose_va(fw, s, r, &survey, previous) : check_segment(fw, s, r, &survey, previous);
}

/* The new segment between its neighbours. A leaf shared with a neighbour is the leaf at the neighbour's end. */
struct place {
  struct fw_pages pages;
  uint32_t previous;
  bool line_shared; /* walks for a neighbour's pages also read entries of the new pages */
};

static bool same(uint64_t va, uint64_t other, uint64_t span) {
  return fw_align_down(va, span) == fw_align_down(other, span);
}

static void look_around(struct firmware* fw, const struct fw_space* s, struct place* at) {
  const uint64_t leaf = fw_space_span(1);
  const uint64_t line = FW_LINE_ENTRIES * FW_PAGE;
  struct fw_pages* const p = &at->pages;
  const uint64_t last = p->va + p->length - 1;
  const uint32_t next = at->previous != FW_NO_LINK ? fw->segments[at->previous].next : s->first;
  p->first_leaf = FW_NO_LINK;
  p->last_leaf = FW_NO_LINK;
  at->line_shared = false;
  if (at->previous != FW_NO_LINK) {
    const struct fw_segment* g = &fw->segments[at->previous];
    const uint64_t end = fw_segment_va(fw, s, at->previous) + g->length;
    if (same(end - 1, p->va, leaf)) p->first_leaf = g->last_leaf;
    at->line_shared = same(end - 1, p->va, line);
  }
  if (next != FW_NO_LINK) {
    const uint64_t start = fw_segment_va(fw, s, next);
    if (same(start, last, leaf)) p->last_leaf = fw->segments[next].first_leaf;
    at->line_shared = at->line_shared || same(start, last, line);
    hal_work(fw->hal, HAL_WORK_CHUNK, 1);
  }
  if (!same(p->va, last, leaf)) return;
  if (p->last_leaf == FW_NO_LINK) p->last_leaf = p->first_leaf;
  p->first_leaf = p->last_leaf;
}

/* Takes the pages out of the table; pages needed by a remaining segment stay. */
static bool unmap(struct firmware* fw, const struct fw_space* s, struct fw_pages* p) {
  uint64_t first = fw_align_down(p->va, FW_PAGE);
  uint64_t end = fw_align_up(p->va + p->length, FW_PAGE);
  if (first != p->va && fw_segments_overlap(fw, s, first, FW_PAGE)) first += FW_PAGE;
  if (end > first && end != p->va + p->length && fw_segments_overlap(fw, s, end - FW_PAGE, FW_PAGE)) end -= FW_PAGE;
  p->clear_va = first;
  p->clear_length = end > first ? end - first : 0;
  return fw_space_unmap(fw, s, p);
}

static void drop_translations(struct firmware* fw, const struct fw_space* s, uint64_t va, uint64_t length) {
  const uint64_t last = fw_align_down(va + length - 1, FW_PAGE) + (FW_PAGE - 1);
  hal_translation_drop(fw->hal, HCA_TAG_REGION | hca_key_index(s->key), fw_align_down(va, FW_PAGE), last);
}

static void drop_all_translations(struct firmware* fw, const struct fw_space* s) {
  hal_translation_drop(fw->hal, HCA_TAG_REGION | hca_key_index(s->key), 0, FW_ALL);
}

/* Returns the move of the remap policy: to the next multiple of the space's span above all VAs it ever had [S5]. */
static int remap_shift(const struct fw_space* s, uint32_t flags, uint64_t* shift) {
  const uint64_t span = fw_space_span(s->levels);
  *shift = 0;
  if ((flags & HCA_X_REMAP) == 0) return HCA_OK;
  const uint64_t base = fw_align_up(s->high, span);
  if (base < s->high || base + span < base) return HCA_NO_RESOURCES;
  *shift = base - s->table_va;
  return HCA_OK;
}

static void note_high(const struct firmware* fw, struct fw_space* s) {
  const uint64_t end = fw_align_up(fw_segments_end(fw, s), FW_PAGE);
  if (end > s->high) s->high = end;
}

/* Makes the table cover the new segment. If its table_va moves, accesses change over to the larger table first, still with the
 * old segments. Translations cached under old entry numbers are gone before the numbers are in use again. */
static int cover(struct firmware* fw, struct fw_space* s, const struct hca_region* r, uint32_t windows) {
  const struct fw_space before = *s;
  int status = fw_space_grow(fw, s, r->va, r->length);
  if (status != HCA_OK || before.root == 0 || before.table_va == s->table_va) return status;
  const struct fw_change none = {.removed = FW_NO_LINK};
  status = fw_space_switch(fw, s, &none, windows, true);
  if (status == HCA_OK) {
    drop_all_translations(fw, s);
    fw_lines_give_back(fw);
  } else {
    fw_space_shrink(fw, s, &before);
  }
  return status;
}

/* Clears the entries of the removed list, which no access can reach now. Cached pages outside the key's extents are harmless,
 * but cached nodes must not outlive the node. */
static void clear(struct firmware* fw, struct fw_space* s, uint32_t removed, uint64_t shift) {
  for (uint32_t n = removed; n != FW_NO_LINK; n = fw->segments[n].next) {
    const struct fw_segment* g = &fw->segments[n];
    struct fw_pages p = {.va = fw_segment_va(fw, s, n),
                         .length = g->length,
                         .entered = fw_space_pages(fw_segment_va(fw, s, n), g->length),
                         .first_leaf = g->first_leaf,
                         .last_leaf = g->last_leaf};
    if (unmap(fw, s, &p)) hal_dma_fence(fw->hal);
    if (shift == 0) drop_translations(fw, s, p.va, p.length);
  }
  if (shift != 0) drop_all_translations(fw, s);
  fw_segments_drop(fw, removed);
}

/* A window blocks the removal of the segments it lies in, and of the last ones [S13]. A `leaving` window blocks nothing, but
 * accesses through it may still lie there [S11]. */
static int check_windows(struct firmware* fw, const struct fw_space* s, uint32_t removed, uint32_t windows, bool* leaving) {
  if (windows == 0) return HCA_OK;
  if (s->segments == 0) return HCA_BUSY;
  for (uint32_t n = removed; n != FW_NO_LINK; n = fw->segments[n].next) {
    bool within = false;
    const int status =
        fw_windows_within(fw, s->key, windows, fw_segment_va(fw, s, n), fw->segments[n].length, &within, leaving);
    if (status != HCA_OK) return status;
    if (within) return HCA_BUSY;
  }
  return HCA_OK;
}

/* Takes the segments of a handle out of the list, unless windows hold them [S6, S13]. */
static int leave(struct firmware* fw, struct fw_space* s, uint32_t handle, uint32_t windows, uint32_t* removed, bool* leaving) {
  *removed = fw_segments_cut_handle(fw, s, handle);
  if (*removed == FW_NO_LINK) return HCA_BAD_OBJECT;
  return check_windows(fw, s, *removed, windows, leaving);
}

/* Maps the new segment, then switches from the set with the leaving segment to the set with the new one. An access sees both
 * changes or none [S11]. On failure the space is as before. */
static int add(struct firmware* fw, struct hca_command* c, struct fw_space* s, uint32_t flags, const struct hca_region* r,
               uint32_t previous, uint32_t windows) {
  const uint32_t handle = s->next_handle;
  uint64_t shift = 0;
  uint32_t removed = FW_NO_LINK;
  const bool first = s->segments == 0;
  bool leaving = false;
  if (fw->free_segment_count == 0) return HCA_NO_RESOURCES;
  int status = cover(fw, s, r, windows);
  if (status != HCA_OK) return status;
  struct place at = {.pages = {.va = r->va, .length = r->length}, .previous = previous};
  look_around(fw, s, &at);
  status = fw_space_map(fw, s, r, &at.pages);
  if (status == HCA_OK && !first) status = remap_shift(s, flags, &shift);
  if (status == HCA_OK && r->leaving != 0) status = leave(fw, s, r->leaving, windows, &removed, &leaving);
  if (status == HCA_OK) {
    s->next_handle = handle + 1 != 0 ? handle + 1 : 1;
    const bool gone = previous != FW_NO_LINK && fw->segments[previous].handle == r->leaving;
    if (gone) at.previous = fw_segments_find(fw, s, r->va);
    fw_segment_insert(fw, s, at.previous, &at.pages, handle);
    status = answer(fw, c, s, handle, r->va, shift);
    if (status == HCA_OK && at.line_shared) {
      hal_dma_fence(fw->hal);
      drop_translations(fw, s, r->va, r->length);
    }
    const struct fw_change now = {.added = r->va, .length = r->length, .shift = shift, .removed = removed};
    if (status == HCA_OK) status = fw_space_switch(fw, s, &now, windows, shift != 0 || removed != FW_NO_LINK);
    if (status != HCA_OK) fw_segments_drop(fw, fw_segments_cut_handle(fw, s, handle));
  }
  if (status != HCA_OK) {
    fw_segments_restore(fw, s, removed);
    unmap(fw, s, &at.pages);
    return status;
  }
  if (leaving) fw_windows_drain(fw);
  if (removed != FW_NO_LINK) {
    clear(fw, s, removed, shift);
  } else if (shift != 0) {
    drop_all_translations(fw, s);
  }
  note_high(fw, s);
  c->result[0] = s->key;
  c->result[1] = handle;
  return fw->fatal ? HCA_MEMORY_FAULT : HCA_OK;
}

/* Gives the VAs of segment `n` other pages: the nodes above them are copied, and one switch to the new root shows the new
 * pages. An access walks the old root or the new one; cached entries are known by their root [S11]. No window may be bound,
 * since a window keeps its root. */
static int exchange_in_place(struct firmware* fw, struct hca_command* c, struct fw_space* s, uint32_t flags,
                             const struct hca_region* r, uint32_t n, uint32_t windows) {
  const uint64_t first = (r->va - s->table_va) / FW_PAGE;
  const uint64_t last = (r->va + r->length - 1 - s->table_va) / FW_PAGE;
  const uint64_t old_root = s->root;
  const uint32_t handle = s->next_handle;
  struct fw_pages pages = {.va = r->va, .length = r->length, .first_leaf = FW_NO_LINK, .last_leaf = FW_NO_LINK};
  uint64_t root = 0;
  uint64_t shift = 0;
  if (windows != 0) return HCA_BUSY;
  int status = remap_shift(s, flags, &shift);
  if (status == HCA_OK) status = fw_space_copy_path(fw, s->root, s->levels, first, last, &root);
  if (status != HCA_OK) return status;
  s->root = root;
  status = fw_space_map(fw, s, r, &pages);
  if (status == HCA_OK) status = answer(fw, c, s, handle, r->va, shift);
  const struct fw_change none = {.removed = FW_NO_LINK, .shift = shift};
  if (status == HCA_OK) status = fw_space_switch(fw, s, &none, windows, true);
  if (status != HCA_OK) {
    s->root = old_root;
    fw_space_free_path(fw, root, s->levels, first, last);
    return status;
  }
  pages.va += shift;
  drop_all_translations(fw, s);
  fw_space_free_path(fw, old_root, s->levels, first, last);
  s->next_handle = handle + 1 != 0 ? handle + 1 : 1;
  fw_segment_replace(fw, s, n, &pages, handle);
  note_high(fw, s);
  c->result[0] = s->key;
  c->result[1] = handle;
  return fw->fatal ? HCA_MEMORY_FAULT : HCA_OK;
}

int fw_x_register(struct firmware* fw, struct hca_command* c) {
  struct hca_region r;
  uint32_t previous = FW_NO_LINK;
  int status = fw_region_fetch(fw, c, &r);
  if (status != HCA_OK) return status;
  struct fw_space fresh;
  memset(&fresh, 0, sizeof fresh);
  fresh.flags = c->modifier;
  fresh.pd = r.pd;
  fresh.qpn = r.qpn;
  fresh.function = fw->function;
  fresh.next_handle = 1;
  fresh.first = FW_NO_LINK;
  fresh.last = FW_NO_LINK;
  fresh.top = FW_NO_LINK;
  status = check_flags(c->modifier);
  if (status == HCA_OK) status = fw_access_check(r.access, &fresh.access);
  if (status != HCA_OK) return status;
  if ((r.access & HCA_ACCESS_ZERO_BASED) != 0 || r.pd > FW_NUMBER_MASK || r.qpn > FW_NUMBER_MASK) return HCA_BAD_PARAMETER;
  if (r.qpn != HCA_QPN_ANY && (r.qpn < 2 || !fw_bitmap_has(&fw->qps, r.qpn))) return HCA_BAD_OBJECT;
  status = place(fw, &fresh, fresh.flags, &r, &previous);
  if (status != HCA_OK) return status;
  status = fw_key_take(fw, &fresh.key);
  if (status != HCA_OK) return status;

  struct fw_space* const s = fw_space_take(fw, &fresh);
  status = s != NULL ? add(fw, c, s, s->flags, &r, previous, 0) : HCA_NO_RESOURCES;
  if (status == HCA_OK) return HCA_OK;
  fw_key_put(fw, fresh.key);
  if (s != NULL) {
    fw_space_free_table(fw, s);
    fw_space_put(fw, s);
  }
  return status;
}

/* Finds the object of the command, and counts its bound windows. */
static int open_space(struct firmware* fw, const struct hca_command* c, struct fw_space** s, uint32_t* windows) {
  *s = c->object != 0 ? fw_space_of(fw, c->object) : NULL;
  return *s != NULL ? fw_space_windows(fw, *s, windows) : HCA_BAD_OBJECT;
}

/* The region's access, pd and qpn are the object's and are ignored here [S10]. */
int fw_x_reregister(struct firmware* fw, struct hca_command* c) {
  struct hca_region r;
  struct fw_space* s = NULL;
  uint32_t windows = 0;
  uint32_t previous = FW_NO_LINK;
  int status = fw_region_fetch(fw, c, &r);
  if (status == HCA_OK) status = check_flags(c->modifier);
  if (status == HCA_OK) status = open_space(fw, c, &s, &windows);
  if (status != HCA_OK) return status;
  const uint32_t flags = s->flags | c->modifier;
  if ((flags & HCA_X_REMAP) != 0 && windows != 0) return HCA_BUSY;
  r.access = 0;
  status = place(fw, s, flags, &r, &previous);
  if (status != HCA_OK) return status;
  if (in_place(fw, s, &r, previous)) return exchange_in_place(fw, c, s, flags, &r, previous, windows);
  return add(fw, c, s, flags, &r, previous, windows);
}

/* Takes the segments out of the list, if the range or handle of the command exists [S6, S12]. */
static int cut(struct firmware* fw, struct fw_space* s, uint32_t flags, const struct hca_x_remove* x, uint32_t* removed) {
  if (x->handle != 0) {
    *removed = fw_segments_cut_handle(fw, s, x->handle);
    return *removed != FW_NO_LINK ? HCA_OK : HCA_BAD_OBJECT;
  }
  if (x->length == 0 || x->va + x->length < x->va) return HCA_BAD_PARAMETER;
  if (!fw_segments_cover(fw, s, x->va, x->length)) return HCA_BAD_PARAMETER;
  const bool begins = fw_segments_begin_at(fw, s, x->va);
  const bool ends = fw_segments_end_at(fw, s, x->va + x->length);
  if ((flags & HCA_X_NO_SPLIT) != 0 && !(begins && ends)) return HCA_BAD_PARAMETER;
  if ((!begins && x->va % FW_PAGE != 0) || (!ends && (x->va + x->length) % FW_PAGE != 0)) return HCA_BAD_PARAMETER;
  if (fw->free_segment_count < 2) return HCA_NO_RESOURCES;
  *removed = fw_segments_cut(fw, s, x->va, x->length);
  return HCA_OK;
}

int fw_x_deregister(struct firmware* fw, struct hca_command* c) {
  struct hca_x_remove x;
  struct fw_space* s = NULL;
  uint32_t windows = 0;
  uint32_t removed = FW_NO_LINK;
  uint64_t shift = 0;
  int status = fw_read_in(fw, c, &x, sizeof x);
  if (status != HCA_OK) return status;
  if (x.reserved != 0 || check_flags(c->modifier) != HCA_OK) return HCA_BAD_PARAMETER;
  status = open_space(fw, c, &s, &windows);
  if (status != HCA_OK) return status;
  if (windows != 0 && ((s->flags | c->modifier) & HCA_X_REMAP) != 0) return HCA_BUSY;
  status = cut(fw, s, s->flags | c->modifier, &x, &removed);
  if (status != HCA_OK) return status;
  const bool last = s->segments == 0;
  bool leaving = false;
  status = check_windows(fw, s, removed, windows, &leaving);
  if (status == HCA_OK && !last) status = remap_shift(s, s->flags | c->modifier, &shift);
  if (status == HCA_OK) status = answer(fw, c, s, 0, 0, shift);
  const struct fw_change now = {.shift = shift, .removed = removed};
  if (status == HCA_OK && !last) status = fw_space_switch(fw, s, &now, windows, true);
  if (status != HCA_OK || last) fw_segments_restore(fw, s, removed);
  if (status == HCA_OK && last) status = fw_space_retire(fw, s);
  if (status != HCA_OK) return status;
  if (leaving) fw_windows_drain(fw);
  if (!last) {
    clear(fw, s, removed, shift);
    note_high(fw, s);
  }
  return fw->fatal ? HCA_MEMORY_FAULT : HCA_OK;
}

int fw_x_teardown(struct firmware* fw, struct hca_command* c) {
  struct fw_space* s = NULL;
  uint32_t windows = 0;
  const int status = open_space(fw, c, &s, &windows);
  if (status != HCA_OK) return status;
  return windows != 0 ? HCA_BUSY : fw_space_retire(fw, s);
}
