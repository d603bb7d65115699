/* Memory region context (MRC), its extents, and page-table entries, as they lie in ICM. */
#pragma once

#include "firmware/abi/access.h"
#include "firmware/abi/keys.h"

enum hca_mrc_kind {
  HCA_MRC_NONE = 0,
  HCA_MRC_REGION = 1,   /* registered user memory */
  HCA_MRC_PHYSICAL = 2, /* no translation: DMA address = VA */
  HCA_MRC_FAST = 3,     /* fast-register region */
  HCA_MRC_NULL = 4,     /* reads give 0, writes are discarded */
  HCA_MRC_DEVICE_MEMORY = 5,
  HCA_MRC_DMABUF = 6,
  HCA_MRC_ADDRESS_SPACE = 7, /* one R_Key over a changing set of segments */
  HCA_MRC_WINDOW_1 = 8,
  HCA_MRC_WINDOW_2 = 9,
  HCA_MRC_INDIRECT = 10, /* a list of pieces of other regions */
  HCA_MRC_KINDS = 11,
};

enum hca_mrc_state { HCA_MRC_INVALID = 0, HCA_MRC_FREE = 1, HCA_MRC_VALID = 2 };

enum hca_mrc_flags {
  HCA_MRC_REMOTE_INVALIDATE = 1 << 0,
  HCA_MRC_PRIVILEGED = 1 << 1, /* the reserved L_Key: privileged QPs of any PD, never remote */
  HCA_MRC_ON_DEMAND = 1 << 2,  /* entries come and go: an access that finds none raises HCA_EVENT_PAGE_FAULT and is repeated */
};

enum { HCA_QPN_ANY = 0x00ffffff };

/* The table covers VAs from table_va on: entry number = (va - table_va) >> page_shift, in nodes of 512 entries, `levels`
 * of them above the page. All sums are modulo 2^64. */
struct hca_mrc {
  uint8_t kind;  /* enum hca_mrc_kind */
  uint8_t state; /* enum hca_mrc_state */
  uint8_t key_byte;
  uint8_t page_shift; /* 12, 16, 21 or 30 */
  uint8_t levels;     /* 1..4; 0 = no translation */
  uint8_t flags;      /* enum hca_mrc_flags */
  uint16_t function;  /* owner */
  uint32_t access;    /* enum hca_access */
  uint32_t pd;
  uint32_t qpn;    /* 24 bits; HCA_QPN_ANY: any QP of the PD */
  uint32_t parent; /* windows: key of the region; regions: number of bound windows */
  uint64_t start;  /* first VA */
  uint64_t length; /* bytes from start to the end of the last extent */
  uint64_t table;  /* ICM address of the root node */
  uint64_t table_va;
  uint32_t extent;       /* address space with a tree of extents: 4 times its root, a line of the extent area; indirect:
                          * first element (index into the extent area); type 2 window: generation of the QP */
  uint32_t extent_count; /* address space: lines from the root of its tree to an extent; 0 = there is no tree, the whole of
                          * [start, start + length) is mapped; indirect: elements */
};
HCA_LAYOUT(struct hca_mrc, 64);

/* A mapped stretch of an address space; disjoint, never adjacent. Extents stand in the lowest lines of a tree, in order, four
 * to a 64 B line; places behind the last one are 0. */
struct hca_extent {
  uint64_t start;  /* counted from the table_va of the MRC */
  uint64_t length; /* not 0 */
};
HCA_LAYOUT(struct hca_extent, 16);

/* A line of the tree above the extents. Extents that begin before start[0] stand below child[0], from start[i] on below child[i
 * + 1]. */
struct hca_extent_node {
  uint64_t start[5]; /* of the first extent below child[i + 1]; HCA_EXTENT_NONE: the child before was the last one */
  uint32_t child[6]; /* lines of the extent area */
};
HCA_LAYOUT(struct hca_extent_node, 64);
#define HCA_EXTENT_NONE 0xffffffffffffffffULL

/* An element of an indirect region: the next `length` bytes lie at `va` of the region `key`. Four to a 64 B line of the extent
 * area. */
struct hca_element {
  uint64_t va;
  uint32_t key;
  uint32_t length; /* up to 2^31 */
};
HCA_LAYOUT(struct hca_element, 16);

/* Translations are cached under a tag: kind and number of the table's owner. */
enum hca_table_tag {
  HCA_TAG_REGION = 0,
  HCA_TAG_SQ = 1 << 24,
  HCA_TAG_RQ = 2 << 24,
  HCA_TAG_CQ = 3 << 24,
};

enum {
  HCA_EXTENTS_PER_LINE = 4,
  HCA_EXTENT_CHILDREN = 6,
  HCA_EXTENT_LEVELS = 16, /* of a tree, at most */
  HCA_PTE_PER_NODE = 512,
  HCA_PTE_BITS = 9,
};

/* Page-table entry: address bits 63..12, bit 0 present, bit 1 read-only. In an upper node the address is that of the next node
 * (64 B aligned, so bits 63..6 are used there). */
typedef uint64_t hca_pte;

enum {
  HCA_PTE_PRESENT = 1,
  HCA_PTE_READ_ONLY = 2, /* of an on-demand region: for a write the page is not present */
};
#define HCA_PTE_ADDRESS 0xffffffffffffffc0ULL

static inline uint64_t hca_pte_address(hca_pte entry) {
  return entry & HCA_PTE_ADDRESS;
}
