/* The firmware's memory. Contexts and tables live in ICM; here are the records of free room, the order of segments, and a copy
 * of the trees of extents. */
#pragma once

#include <stdbool.h>
#include <string.h>

#include "firmware/abi/cqe.h"
#include "firmware/abi/registers.h"
#include "firmware/abi/sound.h"
#include "firmware/abi/wqe.h"
#include "firmware/control/commands.h"
#include "firmware/control/firmware.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
  FW_MAX_LEVELS = 4,
  FW_CHUNK_WINDOW = 256,       /* chunks of a mailbox held at once */
  FW_ICM_CLASSES = 7,          /* 64 B .. 4 KiB */
  FW_NODE_CLASS = 6,           /* a full node of 512 entries */
  FW_LINE_ENTRIES = 8,         /* table entries that the page walker reads and caches together, at most */
  FW_TRIES = 3,                /* for DMA that must not fail half-way */
  FW_PATIENCE = 4096,          /* looks at a region that waits for its windows to go */
  FW_NUMBER_MASK = 0x00ffffff, /* QPN, PD, PSN: 24 bits */
  FW_NONE = -1,
};
#define FW_NO_LINK 0xffffffffU
#define FW_PAGE 4096ULL
#define FW_ALL 0xffffffffffffffffULL

struct fw_bitmap {
  uint64_t* words;
  uint32_t bits;
  uint32_t used;
  uint32_t cursor; /* next fit: a freed number is not handed out again at once */
};

/* One 4 KiB page of the page-table area, with its free 64 B units. */
struct fw_icm_page {
  uint64_t free;
  uint32_t next;
  uint32_t previous;
  uint32_t list; /* class of the largest free aligned block, FW_ICM_CLASSES: none */
  uint32_t live; /* of a node of an address space: pages of segments, or nodes, below it */
};

struct fw_icm {
  uint64_t base;
  uint64_t used; /* 64 B units */
  uint32_t pages;
  uint32_t fresh; /* pages from here on were never taken from: all free, without a record */
  uint32_t whole; /* pages that have 64 units: all but perhaps the last one, which has its record from the beginning */
  uint32_t head[FW_ICM_CLASSES];
  struct fw_icm_page* page;
};

/* Reads the chunk list of a mailbox a window at a time, the first window together with the head of the mailbox. */
struct fw_chunks {
  uint64_t address;
  uint32_t count;
  uint32_t next;
  uint32_t window_first;
  uint32_t window_count;
  struct {
    struct hca_region head;
    struct hca_chunk window[FW_CHUNK_WINDOW];
  } mailbox;
  /* merged runs */
  struct hca_chunk run;
  uint64_t skip; /* whole pages before the first byte */
  uint64_t left; /* bytes of the region not yet seen, from the start of its first page */
};

/* A segment is in three orders at once: a list and a tree by VA, and a chain of its handle's hash. Its VA is stored as before
 * any move of the space. */
struct fw_segment {
  uint64_t home;
  uint64_t length;
  uint32_t handle;
  uint32_t space; /* slot */
  uint32_t next;
  uint32_t previous;
  uint32_t child[2]; /* tree: with lower VAs, with higher ones */
  uint32_t parent;
  uint32_t chain_next;
  uint32_t chain_previous;
  uint32_t first_leaf; /* table node of its first page and of its last one, FW_NO_LINK: to be looked up */
  uint32_t last_leaf;
  uint32_t reserved;
};

/* A line of the extent area that stands in a tree. */
union fw_line {
  struct hca_extent extent[HCA_EXTENTS_PER_LINE];
  struct hca_extent_node node;
};

enum fw_line_state {
  FW_LINE_IN_USE, /* an access may read it */
  FW_LINE_MADE,   /* by the change under way */
  FW_LINE_SPARE,  /* made, and not needed after all; its first child is the next of them */
};

struct fw_line_record {
  uint32_t next;  /* made by the change under way, or left by it */
  uint32_t state; /* enum fw_line_state */
};

/* The extents of an address space. */
struct fw_tree {
  uint64_t first; /* zero of the starts, in VAs before any move */
  uint32_t root;
  uint32_t levels; /* lines from the root to an extent; 0 = there is none, the space is in one piece */
};

/* The segments as an access will see them: the old ones with `shift`, plus one at `added`, less the list `removed`. */
struct fw_change {
  uint64_t added;
  uint64_t length; /* 0 = none is added */
  uint64_t shift;
  uint32_t removed;
};

/* An address-space object. */
struct fw_space {
  uint32_t key; /* 0 = slot is free */
  uint32_t flags;
  uint32_t access;
  uint32_t pd;
  uint32_t qpn;
  uint32_t function;
  uint32_t next; /* of its key's hash, or free slots */
  uint32_t qp_next;
  uint32_t next_handle;
  uint32_t segments; /* count */
  uint32_t extents;  /* stretches of segments that touch */
  uint32_t first;
  uint32_t last;
  uint32_t top; /* of the tree */
  uint32_t levels;
  uint32_t reserved;
  struct fw_tree tree; /* as accesses see it */
  uint64_t seen_home;  /* and the range, in VAs before any move */
  uint64_t seen_length;
  uint64_t bytes;
  uint64_t moved;    /* by remapping, since the beginning */
  uint64_t root;     /* 0 = no table yet */
  uint64_t table_va; /* a multiple of the table's span */
  uint64_t high;     /* VAs below were used by this object, rounded up to a page */
};

struct firmware {
  struct hal* hal;
  struct fw_limits limits;
  bool ready; /* INIT was executed */
  bool fatal; /* ICM could not be reached half-way through a change: nothing works until reset [E11] */
  struct hca_init area;
  uint16_t function; /* of the command under way */

  struct fw_bitmap qps;
  struct fw_bitmap cqs;
  struct fw_bitmap eqs;
  struct fw_bitmap mrs;
  uint32_t drawn;         /* of the key bytes' random numbers, the last */
  struct fw_bitmap lines; /* of the extent area */
  union fw_line* line;
  struct fw_line_record* line_record;
  uint32_t first_made; /* lists of lines, of the change under way */
  uint32_t last_made;
  uint32_t spare_line;
  uint32_t left_lines;
  uint32_t unread_lines; /* list of left lines, to be given back */
  struct fw_icm icm;
  uint32_t* cq_users;
  uint32_t* srq_users; /* by number, as the QPs */
  uint32_t* eq_users;
  uint32_t* qp_spaces;               /* by number: 1 + the QP's first address space, 0 = it has none */
  uint32_t groups[HCA_GROUP_HASHES]; /* by hash: the number of the first multicast group */
  struct fw_space* spaces;
  uint32_t* space_chains; /* by hash of the key */
  uint32_t space_slots;   /* that were ever used */
  uint32_t free_spaces;   /* list of used ones */
  uint32_t live_spaces;
  struct fw_segment* segments;
  uint32_t* handle_chains;     /* by hash of the space and its handle: 1 + the first segment, 0 = none */
  uint32_t fresh_segments;     /* the first one that was never used */
  uint32_t free_segments;      /* list of used ones */
  uint32_t free_segment_count; /* of both kinds */

  struct fw_chunks chunks;
  hca_pte node[FW_MAX_LEVELS][HCA_PTE_PER_NODE];
  uint32_t filled[FW_MAX_LEVELS];
  uint64_t first_entry[FW_MAX_LEVELS];
};

static inline uint64_t fw_align_down(uint64_t v, uint64_t a) {
  return v & ~(a - 1);
}
static inline uint64_t fw_align_up(uint64_t v, uint64_t a) {
  return (v + a - 1) & ~(a - 1);
}
/* Sets a table to 0, and leaves alone the pages of memory that hold nothing yet. */
static inline void fw_clear(uint32_t* table, size_t entries) {
  for (size_t i = 0; i < entries; i++) {
    if (table[i] != 0) table[i] = 0;
  }
}
static inline uint32_t fw_min32(uint32_t a, uint32_t b) {
  return a < b ? a : b;
}
static inline uint64_t fw_min64(uint64_t a, uint64_t b) {
  return a < b ? a : b;
}

/* memory.c: DMA with a command status. `sure` tries again, and gives the adapter up (fw_fatal) when that does not help. */
void fw_fatal(struct firmware* fw);
int fw_read(struct firmware* fw, uint64_t address, void* to, uint32_t bytes);
int fw_write(struct firmware* fw, uint64_t address, const void* from, uint32_t bytes);
int fw_read_sure(struct firmware* fw, uint64_t address, void* to, uint32_t bytes);
int fw_write_sure(struct firmware* fw, uint64_t address, const void* from, uint32_t bytes);
/* Writes the words in which `now` differs from `old`: words of the data path stay unchanged. */
int fw_write_changes(struct firmware* fw, uint64_t address, const void* old, const void* now, uint32_t bytes);
int fw_read_in(struct firmware* fw, const struct hca_command* c, void* to, uint32_t bytes);
int fw_write_out(struct firmware* fw, const struct hca_command* c, const void* from, uint32_t bytes);

/* bitmap.c */
void fw_bitmap_init(struct fw_bitmap* b, uint32_t bits, uint32_t reserved);
bool fw_bitmap_take(struct firmware* fw, struct fw_bitmap* b, uint32_t* number);
bool fw_bitmap_take_lowest(struct firmware* fw, struct fw_bitmap* b, uint32_t* number);
bool fw_bitmap_take_run(struct firmware* fw, struct fw_bitmap* b, uint32_t count, uint32_t* first);
void fw_bitmap_put(struct fw_bitmap* b, uint32_t number);
bool fw_bitmap_has(const struct fw_bitmap* b, uint32_t number);

/* icm_alloc.c: blocks of 64 B << order in the page-table area. */
void fw_icm_init(struct firmware* fw, uint64_t base, uint64_t bytes);
bool fw_icm_take(struct firmware* fw, unsigned order, uint64_t* address);
bool fw_icm_in_use(const struct firmware* fw, uint64_t address, unsigned order);
void fw_icm_put(struct firmware* fw, uint64_t address, unsigned order);
unsigned fw_icm_order(uint32_t entries); /* of a node with that many entries */
uint32_t fw_icm_page_of(const struct firmware* fw, uint64_t address);
uint64_t fw_icm_page_address(const struct firmware* fw, uint32_t page);
uint32_t* fw_icm_live(struct firmware* fw, uint64_t address); /* the count of a full node */

/* chunks.c: the DMA ranges of a region, adjacent ones merged, clipped to its bytes. */
int fw_chunks_open(struct firmware* fw, uint64_t address, uint32_t count); /* a region's head and its list */
void fw_runs_begin(struct firmware* fw, const struct hca_region* r);
int fw_runs_next(struct firmware* fw, struct hca_chunk* run, bool* end);

/* page_size.c */
struct fw_survey {
  uint64_t first;     /* DMA address of the first byte */
  uint64_t last_page; /* DMA address of the 4 KiB page of the last byte */
  uint64_t mask;      /* a page of 2^s bytes fits when the low s bits are 0 */
};
int fw_survey_chunks(struct firmware* fw, const struct hca_region* r, struct fw_survey* s);
unsigned fw_choose_page_shift(uint32_t page_shifts, uint64_t mask, uint64_t first, uint64_t length);
uint64_t fw_entries(uint64_t first, uint64_t length, unsigned shift);

/* table.c */
struct fw_table {
  uint64_t root;
  uint64_t entries;
  unsigned levels;
  unsigned shift;
};
unsigned fw_levels(uint64_t entries);
int fw_table_build(struct firmware* fw, const struct hca_region* r, struct fw_table* t);
void fw_table_free(struct firmware* fw, uint64_t root, unsigned levels, uint64_t entries);
int fw_list_build(struct firmware* fw, uint64_t mailbox, uint32_t pages, unsigned shift, unsigned log_bytes,
                  struct hca_buffer* b);
void fw_list_free(struct firmware* fw, const struct hca_buffer* b);

/* keys.c */
uint64_t fw_mrc_address(const struct firmware* fw, uint32_t index);
int fw_key_take(struct firmware* fw, uint32_t* key);
/* Returns the key byte that follows `last` on an index, always another one. */
uint8_t fw_key_byte_after(struct firmware* fw, uint8_t last);
void fw_key_put(struct firmware* fw, uint32_t key);
bool fw_key_live(const struct firmware* fw, uint32_t key);
int fw_mrc_load(struct firmware* fw, uint32_t key, struct hca_mrc* m);        /* with the changes of the caches */
int fw_mrc_load_index(struct firmware* fw, uint32_t key, struct hca_mrc* m);  /* whatever its key byte is */
int fw_mrc_store(struct firmware* fw, uint32_t key, const struct hca_mrc* m); /* and drops the cached copy */
int fw_key_kill(struct firmware* fw, uint32_t key, uint8_t key_byte);

/* region_check.c */
int fw_access_check(uint32_t access, uint32_t* effective);
int fw_region_fetch(struct firmware* fw, const struct hca_command* c, struct hca_region* r);
int fw_range_check(const struct hca_region* r, uint32_t access);

/* region_table.c */
int fw_region_load(struct firmware* fw, uint32_t key, struct hca_mrc* m); /* a region of its own pages, or BAD_OBJECT */
int fw_region_translate(struct firmware* fw, struct hca_region* r, uint32_t access, struct hca_mrc* m); /* all but the table */
int fw_region_build(struct firmware* fw, const struct hca_region* r, struct hca_mrc* m);
void fw_region_release(struct firmware* fw, const struct hca_mrc* m);
void fw_key_quiesce(struct firmware* fw, uint32_t key);

/* space_table.c */
uint64_t fw_space_span(uint32_t levels);
int fw_space_new_node(struct firmware* fw, uint32_t at, hca_pte entry, uint64_t* node);
int fw_space_write_leaf(struct firmware* fw, const struct fw_space* s, uint64_t number, uint32_t first, uint32_t last,
                        uint32_t* leaf);
int fw_space_grow(struct firmware* fw, struct fw_space* s, uint64_t va, uint64_t length);
void fw_space_shrink(struct firmware* fw, struct fw_space* s, const struct fw_space* before);
int fw_space_entry(struct firmware* fw, const struct fw_space* s, uint64_t va, hca_pte* entry);
void fw_space_free_table(struct firmware* fw, struct fw_space* s);

/* space_pages.c: the pages of a segment, entered into the table and taken out of it. */
struct fw_pages {
  uint64_t va;
  uint64_t length;
  uint64_t entered;      /* pages, from the first one on */
  uint64_t clear_va;     /* of them, pages of no other segment */
  uint64_t clear_length; /* a multiple of a page */
  uint32_t first_leaf;   /* as of a segment */
  uint32_t last_leaf;
};
uint64_t fw_space_pages(uint64_t va, uint64_t length);
int fw_space_map(struct firmware* fw, const struct fw_space* s, const struct hca_region* r, struct fw_pages* p);
bool fw_space_unmap(struct firmware* fw, const struct fw_space* s, const struct fw_pages* p); /* whether a node was freed */

/* space_copy.c: `node` is of `height`, and the entries first..last have nodes below it. */
int fw_space_copy_path(struct firmware* fw, uint64_t node, uint32_t height, uint64_t first, uint64_t last, uint64_t* made);
void fw_space_free_path(struct firmware* fw, uint64_t node, uint32_t height, uint64_t first, uint64_t last);

/* segments.c */
void fw_segments_forget(struct firmware* fw);
void fw_segment_insert(struct firmware* fw, struct fw_space* s, uint32_t previous, const struct fw_pages* p, uint32_t handle);
bool fw_segment_in(const struct firmware* fw, const struct fw_space* s, uint32_t n, uint64_t va, uint64_t length);
uint64_t fw_segment_va(const struct firmware* fw, const struct fw_space* s, uint32_t n);
uint32_t fw_segments_find(struct firmware* fw, const struct fw_space* s, uint64_t va); /* the last one at or before it */
bool fw_segments_overlap(struct firmware* fw, const struct fw_space* s, uint64_t va, uint64_t length);
bool fw_segments_cover(struct firmware* fw, const struct fw_space* s, uint64_t va, uint64_t length);
bool fw_segments_begin_at(struct firmware* fw, const struct fw_space* s, uint64_t va);
bool fw_segments_end_at(struct firmware* fw, const struct fw_space* s, uint64_t va);
uint32_t fw_segments_cut(struct firmware* fw, struct fw_space* s, uint64_t va, uint64_t length);
uint32_t fw_segments_cut_handle(struct firmware* fw, struct fw_space* s, uint32_t handle);
void fw_segment_replace(struct firmware* fw, struct fw_space* s, uint32_t n, const struct fw_pages* p, uint32_t handle);
bool fw_segment_alone(struct firmware* fw, const struct fw_space* s, uint32_t n); /* no other segment has its handle */
void fw_segments_restore(struct firmware* fw, struct fw_space* s, uint32_t list);
void fw_segments_drop(struct firmware* fw, uint32_t list);
void fw_segments_drop_all(struct firmware* fw, struct fw_space* s);
uint64_t fw_segments_start(const struct firmware* fw, const struct fw_space* s);
uint64_t fw_segments_end(const struct firmware* fw, const struct fw_space* s);

/* segment_tree.c: `n` comes right behind `previous`, which may be FW_NO_LINK. Both return the number of nodes looked at. */
uint32_t fw_segment_tree_link(struct firmware* fw, struct fw_space* s, uint32_t previous, uint32_t n);
uint32_t fw_segment_tree_unlink(struct firmware* fw, struct fw_space* s, uint32_t n);

/* space.c */
void fw_spaces_forget(struct firmware* fw);
uint32_t fw_space_chains(uint32_t items); /* how many for so many items, a power of two */
struct fw_space* fw_space_of(struct firmware* fw, uint32_t key);
struct fw_space* fw_space_take(struct firmware* fw, const struct fw_space* fresh); /* NULL: none is free */
void fw_space_put(struct firmware* fw, struct fw_space* s);
int fw_space_windows(struct firmware* fw, const struct fw_space* s, uint32_t* windows);
int fw_space_switch(struct firmware* fw, struct fw_space* s, const struct fw_change* c, uint32_t windows, bool drain);
int fw_space_retire(struct firmware* fw, struct fw_space* s);
int fw_space_retire_qp(struct firmware* fw, uint32_t qpn);

/* extents.c: a change makes the lines of the new tree, or none, and leaves the old tree's. */
int fw_extents_change(struct firmware* fw, const struct fw_space* s, const struct fw_change* c, struct fw_tree* now);
void fw_extents_free(struct firmware* fw, struct fw_space* s);

/* extent_lines.c */
bool fw_line_make(struct firmware* fw, uint32_t* line);
void fw_line_leave(struct firmware* fw, uint32_t line);
int fw_lines_write(struct firmware* fw); /* the lines made */
void fw_lines_forget(struct firmware* fw);
void fw_lines_undo(struct firmware* fw);
void fw_lines_change_over(struct firmware* fw); /* no access reads the lines that left the tree */
void fw_lines_give_back(struct firmware* fw);
void fw_lines_free(struct firmware* fw, uint32_t line, uint32_t lines, bool published);

/* windows.c, indirect.c */
int fw_windows_within(struct firmware* fw, uint32_t region, uint32_t count, uint64_t va, uint64_t length, bool* within,
                      bool* leaving);
void fw_windows_drain(struct firmware* fw);
int fw_windows_unbind(struct firmware* fw, uint32_t region);
void fw_indirect_free(struct firmware* fw, const struct hca_mrc* m);

/* on_demand.c */
int fw_register_on_demand(struct firmware* fw, struct hca_command* c, const struct hca_region* r);
void fw_on_demand_free(struct firmware* fw, const struct hca_mrc* m);
void fw_on_demand_wake(struct firmware* fw, uint32_t key);

/* queue_pair.c: contexts of queue pairs, and of SRQs and multicast groups among them. Load: a copy, which the data path may
 * have changed already. Take: no unit has the context until it is given. fw_qpc_change and fw_qpc_put give it back, failed or
 * not. */
uint64_t fw_qpc_address(const struct firmware* fw, uint32_t qpn);
bool fw_qpc_live(const struct firmware* fw, uint32_t qpn);
int fw_qpc_load(struct firmware* fw, uint32_t qpn, struct hca_qpc* q);
int fw_qpc_take(struct firmware* fw, uint32_t qpn, struct hca_qpc* q);
void fw_qpc_give(struct firmware* fw, uint32_t qpn);
int fw_qpc_change(struct firmware* fw, uint32_t qpn, const struct hca_qpc* before, const struct hca_qpc* now);
int fw_qpc_put(struct firmware* fw, uint32_t qpn, const struct hca_qpc* q);
bool fw_is_qp(const struct hca_qpc* q); /* and not another entry among the QPs */

/* shared_queue.c: whether the SRQ exists, belongs to the function of the command, and is no XRC SRQ. */
int fw_srq_own(struct firmware* fw, uint32_t srqn);

/* qp_transition.c: IBA QP states. HCA_OK, HCA_BAD_STATE (no such transition) or HCA_BAD_PARAMETER (attributes). */
int fw_qp_transition(uint8_t transport, uint8_t from, uint8_t to, uint32_t mask);
int fw_qp_values(const struct fw_limits* l, uint32_t mask, const struct hca_modify_qp* a);
void fw_qp_apply(struct hca_qpc* q, uint32_t mask, const struct hca_modify_qp* a, const struct hca_route* route);
void fw_qp_clear(const struct fw_limits* l, struct hca_qpc* q);

/* Command handlers: return the status. */
#define FW_HANDLER(name, handler, needs_init, in, out, locks) int fw_##handler(struct firmware* fw, struct hca_command* c);
FW_COMMANDS(FW_HANDLER)
#undef FW_HANDLER

#ifdef __cplusplus
}
#endif
