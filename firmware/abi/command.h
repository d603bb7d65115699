/* The command queue: entries of 64 B in host memory, mailboxes beside them. Software fills an entry, hands it over (owner =
 * HCA_OWNER_DEVICE), and rings HCA_REG_CMDQ_BELL. The firmware executes entries in order, writes the output mailbox, then the
 * entry back with owner = HCA_OWNER_SOFTWARE. */
#pragma once

#include "firmware/abi/context.h"
#include "firmware/abi/mrc.h"

enum hca_command_code {
  HCA_CMD_QUERY_DEVICE = 0x01, /* out: hca_device_info */
  HCA_CMD_INIT = 0x02,         /* in: hca_init */
  HCA_CMD_CLOSE = 0x03,

  HCA_CMD_CREATE_EQ = 0x10,  /* in: hca_eqc; result0: EQN */
  HCA_CMD_DESTROY_EQ = 0x11, /* object: EQN */
  HCA_CMD_CREATE_CQ = 0x12,  /* in: hca_create_cq + pages; result0: CQN */
  HCA_CMD_DESTROY_CQ = 0x13, /* object: CQN */
  HCA_CMD_MODIFY_CQ = 0x14,  /* object: CQN, modifier: moderation count | moderation us << 16 */
  HCA_CMD_RESIZE_CQ = 0x15,  /* object: CQN, in: hca_resize_cq + pages; result0: index of the first CQE in the new buffer */

  HCA_CMD_CREATE_QP = 0x20,  /* in: hca_create_qp + pages; result0: QPN */
  HCA_CMD_DESTROY_QP = 0x21, /* object: QPN; result0: 1 + the SRQ slot it was using, 0 = none; result1: of which SRQ */
  HCA_CMD_MODIFY_QP = 0x22,  /* object: QPN, modifier: mask (enum hca_qp_attr), in: hca_modify_qp; to RESET: result0 as above */
  HCA_CMD_QUERY_QP = 0x23,   /* object: QPN; out: hca_qpc */
  HCA_CMD_ATTACH = 0x24,     /* object: QPN of UD, in: hca_group_name; once is enough */
  HCA_CMD_DETACH = 0x25,     /* object: QPN, in: hca_group_name */

  HCA_CMD_CREATE_SRQ = 0x28,     /* in: hca_create_srq + pages; result0: SRQN, from the numbers of the QPs */
  HCA_CMD_DESTROY_SRQ = 0x29,    /* object: SRQN */
  HCA_CMD_MODIFY_SRQ = 0x2a,     /* object: SRQN, modifier: limit */
  HCA_CMD_QUERY_SRQ = 0x2b,      /* object: SRQN; out: hca_qpc */
  HCA_CMD_RESIZE_SRQ = 0x2c,     /* object: SRQN, in: hca_resize_srq + pages */
  HCA_CMD_CREATE_XRC_SRQ = 0x2d, /* in: hca_create_xrc_srq + pages; result0: SRQN */

  HCA_CMD_REGISTER = 0x30, /* in: hca_region + chunks, modifier: enum hca_register; result0: key, result1: page shift */
  HCA_CMD_REREGISTER =
      0x31, /* object: key, modifier: enum hca_rereg, in: hca_region (+ chunks); result0: key, result1: page shift */
  HCA_CMD_DEREGISTER = 0x32, /* object: key, of which only the index counts for a fast-register region */
  HCA_CMD_QUERY_MR = 0x33,   /* object: key; out: hca_mrc */
  HCA_CMD_REVOKE = 0x34, /* object: key; no access reaches the region any more, not through windows either: they become unbound.
                          * The  key stays taken until DEREGISTER. Of a revoked region: nothing to do */
  HCA_CMD_RESTORE = 0x35, /* object: key of a revoked region, in: hca_region + chunks; its pages are there again; result1: page
                           * shift. The range must be that of the region; access and pd stay what they were */

  /* One R_Key over a changing set of segments (US 7,290,038). */
  HCA_CMD_X_REGISTER = 0x38,   /* in: hca_region + chunks, modifier: enum hca_x_flags; out: hca_space */
  HCA_CMD_X_REREGISTER = 0x39, /* object: key, as above */
  HCA_CMD_X_DEREGISTER = 0x3a, /* object: key, in: hca_x_remove; out: hca_space */
  HCA_CMD_X_TEARDOWN = 0x3b,   /* object: key */

  HCA_CMD_ALLOC_MW = 0x40,          /* object: PD, modifier: type 1 or 2; result0: key */
  HCA_CMD_FREE_MW = 0x41,           /* object: key, of which only the index counts */
  HCA_CMD_ALLOC_FAST = 0x42,        /* object: PD, modifier: pages it may have, up to HCA_PTE_PER_NODE; result0: key */
  HCA_CMD_ALLOC_PHYSICAL = 0x43,    /* object: PD, modifier: enum hca_access; result0: key */
  HCA_CMD_ALLOC_NULL = 0x44,        /* object: PD, modifier: rights of peers, to read and to write; result0: key */
  HCA_CMD_REGISTER_INDIRECT = 0x45, /* in: hca_region, `chunks` counting the hca_elements that follow; result0: key */
  HCA_CMD_RESERVE_LKEY = 0x46,      /* result0: key */
  HCA_CMD_QUERY_MW = 0x47,          /* object: key, of which only the index counts; out: hca_mrc */

  /* Pages of an on-demand region; object: key. Accesses that wait for a page of the range go on, or fail. */
  HCA_CMD_FILL_PAGES = 0x48,   /* in: hca_pages, then as many page-table entries; one of 0 is left as it is */
  HCA_CMD_ZAP_PAGES = 0x49,    /* in: hca_pages; answered when no access to these pages is in flight */
  HCA_CMD_REFUSE_FAULT = 0x4a, /* in: hca_pages, modifier: 1: only writes cannot be served */
};

enum hca_command_status {
  HCA_OK = 0,
  HCA_BAD_OPCODE = 1,
  HCA_BAD_PARAMETER = 2, /* a field is out of its range */
  HCA_BAD_OBJECT = 3,    /* no such QP, CQ, EQ, key, handle */
  HCA_BAD_STATE = 4,     /* not in this state, transition not allowed */
  HCA_NO_RESOURCES = 5,  /* out of indices or ICM */
  HCA_BUSY = 6,          /* windows are bound, or the object is in use */
  HCA_BAD_LENGTH = 7,    /* a mailbox is too short or too long */
  HCA_MEMORY_FAULT = 8,  /* a mailbox or table could not be reached */
  HCA_UNSUPPORTED = 9,
  HCA_DAMAGED = 10, /* a context or table in ICM is damaged; nothing has been changed */
};

enum { HCA_OWNER_SOFTWARE = 0, HCA_OWNER_DEVICE = 1 };

struct hca_command {
  uint16_t opcode; /* enum hca_command_code */
  uint8_t owner;
  uint8_t status; /* enum hca_command_status */
  uint32_t token; /* returned unchanged */
  uint32_t object;
  uint32_t modifier;
  uint64_t in_address;
  uint32_t in_bytes;
  uint32_t out_bytes;
  uint64_t out_address;
  uint32_t result[2];
  uint32_t event;    /* 1: raise HCA_EVENT_COMMAND when done */
  uint16_t function; /* owner of the command's objects, which no other function can name */
  uint16_t reserved0;
  uint32_t reserved[2];
};
HCA_LAYOUT(struct hca_command, 64);

struct hca_device_info {
  uint32_t log_max_qps;
  uint32_t log_max_cqs;
  uint32_t log_max_mrs;
  uint32_t max_wqe_blocks;
  uint32_t max_inline; /* bytes */
  uint32_t max_sge;
  uint32_t max_read_depth;  /* per QP, as requester and as responder */
  uint32_t page_shifts;     /* bit s: pages of 2^s bytes */
  uint32_t blueflame_bytes; /* largest WQE by BlueFlame; 0 = none */
  uint32_t max_table_levels;
  uint16_t port_lid;
  uint8_t port_mtu_shift; /* 8..12 */
  uint8_t reserved;
  uint32_t firmware_version;
  uint32_t functions;
  uint32_t device_memory; /* bytes */
  uint32_t flags;         /* enum hca_device_flags */
  uint16_t queue_levels;  /* of a queue's page list */
  uint16_t second_lid;    /* of port 1; 0 = the adapter has port 0 alone */
};
HCA_LAYOUT(struct hca_device_info, 64);

static inline unsigned hca_device_ports(const struct hca_device_info* d) {
  return d->second_lid != 0 ? 2 : 1;
}

enum hca_device_flags {
  HCA_DEVICE_ON_DEMAND = 1 << 0,
  HCA_DEVICE_ICM_MAP = 1 << 1, /* INIT gives the map of ICM; otherwise there is none */
};

/* ICM areas, physically contiguous unless there is a map. With a map, addresses of ICM are virtual, and each area begins on an
 * ICM page. The map has an entry for each page of the areas, in the order QPC, CQC, MRC, extents, page tables. */
struct hca_init {
  uint64_t qpc_base;   /* 256 B each */
  uint64_t cqc_base;   /* 64 B each */
  uint64_t mrc_base;   /* 64 B each */
  uint64_t table_base; /* page tables, 64 B aligned */
  uint64_t table_bytes;
  uint64_t extent_base; /* 64 B lines of extents and elements */
  uint32_t extent_lines;
  uint8_t log_qps;
  uint8_t log_cqs;
  uint8_t log_mrs;
  uint8_t reserved0;
  uint64_t map_base; /* 8-byte entries: physical address of the page | HCA_ICM_PRESENT; 0 = no map */
};
HCA_LAYOUT(struct hca_init, 64);

enum { HCA_ICM_PAGE_SHIFT = 12, HCA_ICM_PRESENT = 1 };

struct hca_create_cq { /* followed by the buffer's pages: 8-byte physical addresses */
  uint8_t log_entries;
  uint8_t page_shift;
  uint8_t eqn;
  uint8_t reserved0;
  uint32_t pages;
  uint64_t record;
  uint32_t uar; /* page of its doorbells */
  uint32_t reserved1;
};
HCA_LAYOUT(struct hca_create_cq, 24);

struct hca_resize_cq { /* followed by the new buffer's pages, as above */
  uint8_t log_entries; /* room for all CQEs not yet consumed */
  uint8_t page_shift;
  uint16_t reserved0;
  uint32_t pages;
  uint32_t ci; /* consumer index, modulo 2^32 */
  uint32_t reserved1;
};
HCA_LAYOUT(struct hca_resize_cq, 16);

struct hca_create_qp { /* followed by the pages of SQ then RQ: 8-byte physical addresses */
  uint8_t transport;
  uint8_t log_sq_bytes;
  uint8_t log_rq_bytes;
  uint8_t rq_stride_shift;
  uint8_t page_shift;
  uint8_t signal_all;
  uint16_t flags; /* enum hca_qp_flags */
  uint32_t pd;
  uint32_t send_cqn;
  uint32_t recv_cqn;
  uint32_t srqn;
  uint32_t sq_pages;
  uint32_t rq_pages;
  uint64_t record;
  uint32_t uar;  /* page of its doorbells */
  uint32_t xrcd; /* of an XRC target, which has no queues, CQs and PD */
  uint32_t reserved1[4];
};
HCA_LAYOUT(struct hca_create_qp, 64);

struct hca_create_srq { /* followed by the pages: 8-byte physical addresses. Its list of free WQEs begins at slot 0. */
  uint8_t log_bytes;
  uint8_t stride_shift; /* a WQE: hca_wqe_next and data segments */
  uint8_t page_shift;
  uint8_t reserved0;
  uint32_t pd;
  uint32_t pages;
  uint32_t uar; /* page of its doorbells */
  uint64_t record;
};
HCA_LAYOUT(struct hca_create_srq, 24);

struct hca_create_xrc_srq { /* followed by the pages, as above */
  struct hca_create_srq srq;
  uint32_t xrcd; /* not 0 */
  uint32_t cqn;  /* of its completions */
};
HCA_LAYOUT(struct hca_create_xrc_srq, 32);

struct hca_group_name {
  struct hca_gid gid; /* of a group */
  uint16_t lid;       /* of multicast */
  uint8_t port;       /* by which its packets arrive */
  uint8_t reserved[5];
};
HCA_LAYOUT(struct hca_group_name, 24);

/* Followed by the new buffer's pages, as above. A WQE keeps its slot: until the command is answered, software writes each to
 * both buffers. */
struct hca_resize_srq {
  uint8_t log_bytes; /* no less than it has */
  uint8_t page_shift;
  uint16_t reserved0;
  uint32_t pages;
};
HCA_LAYOUT(struct hca_resize_srq, 8);

enum hca_qp_attr {
  HCA_QP_STATE = 1 << 0,
  HCA_QP_SQD_NOTIFY = 1 << 2, /* to SQD */
  HCA_QP_ACCESS = 1 << 3,
  HCA_QP_PORT = 1 << 5, /* to INIT; without it port 0 */
  HCA_QP_QKEY = 1 << 6,
  HCA_QP_AV = 1 << 7,
  HCA_QP_PATH_MTU = 1 << 8,
  HCA_QP_TIMEOUT = 1 << 9,
  HCA_QP_RETRY_COUNT = 1 << 10,
  HCA_QP_RNR_RETRY = 1 << 11,
  HCA_QP_RQ_PSN = 1 << 12,
  HCA_QP_MAX_READ_OUT = 1 << 13,
  HCA_QP_MIN_RNR_TIMER = 1 << 15,
  HCA_QP_SQ_PSN = 1 << 16,
  HCA_QP_MAX_READ_IN = 1 << 17,
  HCA_QP_DEST_QPN = 1 << 20,
  HCA_QP_ROUTE = 1 << 21, /* with AV: packets carry a GRH, for which a struct hca_route follows */
};

struct hca_modify_qp {
  uint8_t state;
  uint8_t mtu_shift;
  uint8_t access;
  uint8_t service_level;
  uint8_t retry_count;
  uint8_t rnr_retry;
  uint8_t timeout;
  uint8_t min_rnr_timer;
  uint8_t max_read_out;
  uint8_t max_read_in;
  uint16_t dest_lid;
  uint32_t dest_qpn;
  uint32_t sq_psn;
  uint32_t rq_psn;
  uint32_t qkey;
  uint8_t sqd_notify; /* 1: HCA_EVENT_SQ_DRAINED when the send queue is */
  uint8_t port;
  uint8_t reserved[2];
};
HCA_LAYOUT(struct hca_modify_qp, 32);

/* Device memory: the chunks lie in the memory of the adapter (HCA_DM_BASE); the region is zero-based. */
enum hca_register { HCA_REGISTER_HOST = 0, HCA_REGISTER_DEVICE_MEMORY = 1 };

/* RENEW: the region gets another index and key, the old key dies [B.5]; with any of the others. */
enum hca_rereg { HCA_REREG_TRANSLATION = 1, HCA_REREG_PD = 2, HCA_REREG_ACCESS = 4, HCA_REREG_RENEW = 8 };

/* A region: its VA range and where its bytes are. The chunks list DMA ranges in VA order; the first byte of the region lies
 * first_offset bytes into the first chunk. */
struct hca_region {
  uint64_t va; /* iova of the first byte; x-verbs: HCA_VA_ANY lets the adapter choose */
  uint64_t length;
  uint32_t access; /* enum hca_access */
  uint32_t pd;
  uint32_t qpn; /* x-verbs: the only QP that may use the key, or HCA_QPN_ANY */
  uint32_t chunks;
  uint64_t first_offset;
  uint32_t leaving; /* X_REREGISTER: handle of the segment that leaves in the same step, or 0 */
  uint32_t reserved;
};
HCA_LAYOUT(struct hca_region, 48);

/* Pages of 4 KiB of an on-demand region. */
struct hca_pages {
  uint64_t va; /* of the first one */
  uint64_t count;
};
HCA_LAYOUT(struct hca_pages, 16);

enum { HCA_FILL_PAGES = 512 }; /* entries of one FILL_PAGES */

#define HCA_VA_ANY 0xffffffffffffffffULL

struct hca_chunk {
  uint64_t address; /* DMA address, 4 KiB aligned */
  uint64_t length;  /* multiple of 4 KiB */
};
HCA_LAYOUT(struct hca_chunk, 16);

enum hca_x_flags {
  HCA_X_REMAP = 1 << 0,        /* move the whole space to new VAs at every change; the old VAs die */
  HCA_X_PAGE_ALIGNED = 1 << 1, /* refuse segments that do not begin and end on a 4 KiB boundary */
  HCA_X_NO_SPLIT = 1 << 2,     /* x_deregister by range only removes whole segments */
};

struct hca_x_remove {
  uint32_t handle; /* 0 = by range */
  uint32_t reserved;
  uint64_t va;
  uint64_t length;
};
HCA_LAYOUT(struct hca_x_remove, 24);

struct hca_space {
  uint32_t key;
  uint32_t handle; /* of the segment just added; 0 after a removal */
  uint64_t start;  /* first VA of the space */
  uint64_t length; /* bytes mapped: the sum over the segments; 0 = retired */
  uint64_t end;    /* one past the last mapped VA */
  uint32_t segments;
  uint32_t reserved;
  uint64_t added; /* VA of the segment just added */
};
HCA_LAYOUT(struct hca_space, 48);
