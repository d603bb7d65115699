/* The extents of an address space: its segments, merged where they touch, in a tree of lines (firmware/abi/mrc.h). All lines
 * but the root are at least half full. A changed line is made anew, together with the lines above it up to the root. So an
 * access to the old tree finds all of it [S11]. */
#include "firmware/control/state.h"

enum { ROOM = HCA_EXTENT_CHILDREN + 2 };

/* One line of a tree: extents or, above them, children. A child is an extent's place with its line instead of the length. */
struct row {
  uint32_t count;
  struct hca_extent at[ROOM];
};

/* An extent that comes or goes. Going with `length` 0 = all of the extent; its length is then filled in. */
struct edit {
  uint64_t start;
  uint64_t length;
  uint64_t behind; /* where the line begins that follows */
  bool goes;
  bool touches_behind; /* nothing was done: the extent to merge with stands in the line behind */
};

static uint32_t room(uint32_t height) {
  return height == 0 ? HCA_EXTENTS_PER_LINE : HCA_EXTENT_CHILDREN;
}

static void insert(struct row* r, uint32_t i, uint64_t start, uint64_t length) {
  for (uint32_t n = r->count++; n > i; n--) r->at[n] = r->at[n - 1];
  r->at[i].start = start;
  r->at[i].length = length;
}

static void take_out(struct row* r, uint32_t i) {
  r->count--;
  for (uint32_t n = i; n < r->count; n++) r->at[n] = r->at[n + 1];
}

/* `start`: the begin of the line, known by the line above. */
static void open_line(struct firmware* fw, uint32_t line, uint32_t height, uint64_t start, struct row* r) {
  const union fw_line* const l = &fw->line[line];
  hal_work(fw->hal, HAL_WORK_CHUNK, 1);
  r->count = 0;
  if (height == 0) {
    while (r->count < HCA_EXTENTS_PER_LINE && l->extent[r->count].length != 0) {
      r->at[r->count] = l->extent[r->count];
      r->count++;
    }
    return;
  }
  insert(r, 0, start, l->node.child[0]);
  while (r->count < HCA_EXTENT_CHILDREN && l->node.start[r->count - 1] != HCA_EXTENT_NONE) {
    insert(r, r->count, l->node.start[r->count - 1], l->node.child[r->count]);
  }
}

static void fill_line(union fw_line* l, uint32_t height, const struct hca_extent* from, uint32_t count) {
  memset(l, 0, sizeof *l);
  if (height == 0) {
    memcpy(l->extent, from, count * sizeof *from);
    return;
  }
  for (uint32_t i = 0; i < HCA_EXTENT_CHILDREN; i++) {
    if (i < count) l->node.child[i] = (uint32_t)from[i].length;
    if (i > 0) l->node.start[i - 1] = i < count ? from[i].start : HCA_EXTENT_NONE;
  }
}

/* Puts the row into one line or two; the row then holds their entries for the line above. */
static int close_row(struct firmware* fw, uint32_t height, struct row* r) {
  const uint32_t first = r->count > room(height) ? (r->count + 1) / 2 : r->count;
  struct row above = {.count = 0};
  for (uint32_t from = 0; from < r->count; from += first) {
    uint32_t line = 0;
    if (!fw_line_make(fw, &line)) return HCA_NO_RESOURCES;
    fill_line(&fw->line[line], height, &r->at[from], fw_min32(first, r->count - from));
    insert(&above, above.count, r->at[from].start, line);
  }
  *r = above;
  return HCA_OK;
}

/* Takes e out of the extent `i`, which holds all of it. */
static void cut_extent(struct row* r, uint32_t i, struct edit* e) {
  struct hca_extent* const x = &r->at[i];
  const uint64_t x_end = x->start + x->length;
  if (e->length == 0) e->length = x->length;
  x->length = e->start - x->start;
  if (e->start + e->length < x_end) insert(r, i + 1, e->start + e->length, x_end - e->start - e->length);
  if (x->length == 0) take_out(r, i);
}

/* Takes extents from e->start on out of their line, or puts one in; a new one merges with the extents it touches. */
static void edit_extents(struct row* r, struct edit* e) {
  const uint64_t end = e->start + e->length;
  uint32_t i = r->count;
  while (i > 0 && r->at[i - 1].start > e->start) i--;
  if (e->goes) {
    if (i > 0) cut_extent(r, i - 1, e);
    return;
  }
  e->touches_behind = i == r->count && e->behind == end;
  if (e->touches_behind) return;
  uint64_t length = e->length;
  if (i < r->count && r->at[i].start == end) {
    length += r->at[i].length;
    take_out(r, i);
  }
  if (i > 0 && r->at[i - 1].start + r->at[i - 1].length == e->start) {
    r->at[i - 1].length += length;
  } else {
    insert(r, i, e->start, length);
  }
}

/* The child `i` of a row has become `child`. One that is less than half full is put together with a neighbour. */
static int put_back(struct firmware* fw, struct row* r, uint32_t i, uint32_t height, struct row* child) {
  if (child->count < room(height) / 2 && r->count > 1) {
    const uint32_t other = i > 0 ? i - 1 : 1;
    const uint32_t line = (uint32_t)r->at[other].length;
    struct row neighbour;
    open_line(fw, line, height, r->at[other].start, &neighbour);
    fw_line_leave(fw, line);
    const bool before = other < i;
    for (uint32_t n = 0; n < neighbour.count; n++) {
      insert(child, before ? n : child->count, neighbour.at[n].start, neighbour.at[n].length);
    }
    take_out(r, other);
    if (before) i = other;
  }
  const int status = close_row(fw, height, child);
  if (status != HCA_OK) return status;
  take_out(r, i);
  for (uint32_t n = 0; n < child->count; n++) insert(r, i + n, child->at[n].start, child->at[n].length);
  return HCA_OK;
}

/* `r` becomes the changed line, not yet in a line of the area. */
static int edit_line(struct firmware* fw, uint32_t line, uint32_t height, uint64_t start, struct edit* e, struct row* r) {
  int status = HCA_OK;
  open_line(fw, line, height, start, r);
  if (height == 0) {
    edit_extents(r, e);
    if (!e->touches_behind) fw_line_leave(fw, line);
    return HCA_OK;
  }
  uint32_t i = r->count - 1;
  while (i > 0 && r->at[i].start > e->start) i--;
  if (i + 1 < r->count) e->behind = r->at[i + 1].start;
  struct row child;
  status = edit_line(fw, (uint32_t)r->at[i].length, height - 1, r->at[i].start, e, &child);
  if (status != HCA_OK || e->touches_behind) return status;
  fw_line_leave(fw, line);
  return put_back(fw, r, i, height - 1, &child);
}

/* Makes the row the root; a root of one child is not needed. */
static int plant(struct firmware* fw, struct fw_tree* t, struct row* r) {
  if (r->count == 0 || (r->count == 1 && t->levels > 1)) {
    t->levels--;
  } else {
    int status = close_row(fw, t->levels - 1, r);
    if (status == HCA_OK && r->count == 2) status = close_row(fw, t->levels++, r);
    if (status != HCA_OK) return status;
  }
  t->root = r->count != 0 ? (uint32_t)r->at[0].length : 0;
  return HCA_OK;
}

static int edit(struct firmware* fw, struct fw_tree* t, struct edit* e) {
  struct row r = {.count = 0};
  e->behind = HCA_EXTENT_NONE;
  e->touches_behind = false;
  if (t->levels == 0) {
    edit_extents(&r, e);
    t->levels = 1;
  } else {
    const int status = edit_line(fw, t->root, t->levels - 1, 0, e, &r);
    if (status != HCA_OK || e->touches_behind) return status;
  }
  return plant(fw, t, &r);
}

static int remove_extent(struct firmware* fw, struct fw_tree* t, uint64_t start, uint64_t length) {
  struct edit e = {.start = start, .length = length, .goes = true};
  return edit(fw, t, &e);
}

static int add_extent(struct firmware* fw, struct fw_tree* t, uint64_t start, uint64_t length) {
  struct edit e = {.start = start, .length = length};
  int status = edit(fw, t, &e);
  if (status != HCA_OK || !e.touches_behind) return status;
  struct edit behind = {.start = start + length, .goes = true};
  status = edit(fw, t, &behind);
  e.length += behind.length;
  return status == HCA_OK ? edit(fw, t, &e) : status;
}

/* Makes the whole tree anew, with every start `by` further on. */
static int move_line(struct firmware* fw, uint32_t* line, uint32_t height, uint64_t by) {
  struct row r;
  open_line(fw, *line, height, 0, &r);
  fw_line_leave(fw, *line);
  for (uint32_t i = 0; i < r.count; i++) {
    r.at[i].start += by;
    if (height == 0) continue;
    uint32_t child = (uint32_t)r.at[i].length;
    const int status = move_line(fw, &child, height - 1, by);
    if (status != HCA_OK) return status;
    r.at[i].length = child;
  }
  const int status = close_row(fw, height, &r);
  *line = (uint32_t)r.at[0].length;
  return status;
}

static void leave_lines(struct firmware* fw, uint32_t line, uint32_t height) {
  struct row r;
  open_line(fw, line, height, 0, &r);
  fw_line_leave(fw, line);
  for (uint32_t i = 0; height > 0 && i < r.count; i++) leave_lines(fw, (uint32_t)r.at[i].length, height - 1);
}

static int change(struct firmware* fw, const struct fw_space* s, const struct fw_change* c, struct fw_tree* t) {
  const uint64_t first = s->table_va - s->moved; /* zero of the starts, in VAs before any move */
  int status = HCA_OK;
  if (t->levels == 0) {
    status = add_extent(fw, t, s->seen_home - first, s->seen_length);
  } else if (t->first != first) {
    status = move_line(fw, &t->root, t->levels - 1, t->first - first);
  }
  t->first = first;
  for (uint32_t n = c->removed; n != FW_NO_LINK && status == HCA_OK; n = fw->segments[n].next) {
    status = remove_extent(fw, t, fw->segments[n].home - first, fw->segments[n].length);
  }
  if (status == HCA_OK && c->length != 0) status = add_extent(fw, t, c->added - s->table_va, c->length);
  return status == HCA_OK ? fw_lines_write(fw) : status;
}

int fw_extents_change(struct firmware* fw, const struct fw_space* s, const struct fw_change* c, struct fw_tree* now) {
  *now = s->tree;
  if (s->extents > 1) {
    const int status = change(fw, s, c, now);
    if (status != HCA_OK) fw_lines_undo(fw);
    return status;
  }
  if (now->levels != 0) leave_lines(fw, now->root, now->levels - 1);
  now->levels = 0;
  now->root = 0;
  return HCA_OK;
}

void fw_extents_free(struct firmware* fw, struct fw_space* s) {
  if (s->tree.levels == 0) return;
  leave_lines(fw, s->tree.root, s->tree.levels - 1);
  fw_lines_change_over(fw);
  s->tree.levels = 0;
}
