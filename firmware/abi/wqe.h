/* Work queue elements. A send WQE is 1 to HCA_WQE_MAX_BLOCKS blocks of 64 B. It has a control segment, the opcode's own segment
 * (remote, atomic), then data segments or inline data. A receive WQE is a power-of-two number of data segments. */
#pragma once

#include "firmware/abi/layout.h"
#include "firmware/abi/route.h"

enum {
  HCA_WQE_BLOCK = 64,
  HCA_WQE_MAX_BLOCKS = 16,
  HCA_INLINE_HEADER = 4,
};

enum hca_wqe_opcode {
  HCA_WQE_NOP = 0,
  HCA_WQE_SEND = 1,
  HCA_WQE_SEND_IMM = 2,
  HCA_WQE_SEND_INV = 3,
  HCA_WQE_WRITE = 4,
  HCA_WQE_WRITE_IMM = 5,
  HCA_WQE_READ = 6,
  HCA_WQE_COMPARE_SWAP = 7,
  HCA_WQE_FETCH_ADD = 8,
  HCA_WQE_BIND = 9,
  HCA_WQE_LOCAL_INV = 10,
  HCA_WQE_FAST_REG = 11,
};

enum hca_wqe_flags {
  HCA_WQE_SIGNALED = 1 << 0,
  HCA_WQE_FENCE = 1 << 1,
  HCA_WQE_SOLICITED = 1 << 2,
  HCA_WQE_INLINE = 1 << 3,
  HCA_WQE_DATAGRAM = 1 << 4, /* a struct hca_wqe_datagram follows the control segment; on UD always, elsewhere never */
  HCA_WQE_GLOBAL = 1 << 5,   /* with a GRH: its destination, a struct hca_gid, follows the datagram segment */
  HCA_WQE_XRC = 1 << 6,      /* a struct hca_wqe_xrc follows the control segment; on XRC always, elsewhere never */
  HCA_WQE_WIDE = 1 << 7,     /* with DATAGRAM: zeros fill the first block behind the address, and inline data is one chunk */
};

struct hca_wqe_control {
  uint8_t opcode;   /* enum hca_wqe_opcode */
  uint8_t flags;    /* enum hca_wqe_flags */
  uint8_t blocks;   /* size in 64 B blocks */
  uint8_t segments; /* data segments that follow; 0 with inline data */
  uint16_t index;   /* of the first block in the SQ, modulo 2^16 */
  uint16_t reserved;
  uint32_t qpn;
  uint32_t immediate; /* immediate data (big-endian as on the wire) or key to invalidate */
};
HCA_LAYOUT(struct hca_wqe_control, 16);

struct hca_wqe_datagram { /* SEND, SEND_IMM of UD */
  uint32_t qpn;
  uint32_t qkey; /* bit 31: the QP's own instead */
  uint16_t lid;
  uint8_t service_level;
  uint8_t hop_limit; /* of the GRH, as the next */
  uint32_t flow;     /* flow label; traffic class in bits 27..20 */
};
HCA_LAYOUT(struct hca_wqe_datagram, 16);

struct hca_wqe_xrc { /* all that is sent */
  uint32_t srqn;     /* of the peer */
  uint32_t reserved[3];
};
HCA_LAYOUT(struct hca_wqe_xrc, 16);

struct hca_wqe_remote { /* WRITE, WRITE_IMM, READ, COMPARE_SWAP, FETCH_ADD */
  uint64_t address;
  uint32_t key;
  uint32_t reserved;
};
HCA_LAYOUT(struct hca_wqe_remote, 16);

struct hca_wqe_atomic { /* COMPARE_SWAP, FETCH_ADD */
  uint64_t swap_add;
  uint64_t compare;
};
HCA_LAYOUT(struct hca_wqe_atomic, 16);

/* BIND: the window `window_key` names gets the key byte of `new_key` and opens [va, va + length) of the region. Length 0
 * unbinds a type 1 window. */
struct hca_wqe_bind {
  uint64_t va;
  uint64_t length;
  uint32_t window_key; /* the window's key as it is now */
  uint32_t new_key;    /* only bits 7..0 are used */
  uint32_t region_key; /* L_Key */
  uint32_t access;     /* enum hca_access: rights of the window, ZERO_BASED */
  uint8_t type;        /* 1 or 2; must be the window's */
  uint8_t reserved[15];
};
HCA_LAYOUT(struct hca_wqe_bind, 48);

/* FAST_REG: the fast-register region of `key` becomes valid with this key byte, over a list of page-table entries. The list
 * stays in host memory for as long as the region is valid. Needs a privileged QP. */
struct hca_wqe_fast_reg {
  uint64_t va;
  uint64_t length;
  uint64_t list; /* DMA address of up to HCA_PTE_PER_NODE entries, 64 B aligned */
  uint32_t key;
  uint32_t access;    /* enum hca_access */
  uint8_t page_shift; /* entry 0 maps va rounded down to a page */
  uint8_t reserved[15];
};
HCA_LAYOUT(struct hca_wqe_fast_reg, 48);

struct hca_wqe_data {
  uint64_t address;
  uint32_t length; /* up to 2^31; 0 = key and address are ignored */
  uint32_t key;
};
HCA_LAYOUT(struct hca_wqe_data, 16);

/* Inline data: chunks of {uint32_t length; bytes}, none crossing a 64 B block. A chunk header starts each block with inline
 * bytes. A header of 0 ends the list before the WQE does. With HCA_WQE_WIDE one chunk crosses blocks. */

/* The first bytes of a UD receive: the GRH of the packet. Messages without one leave them as they are. */
enum { HCA_GRH_BYTES = 40 };

/* In front of the data segments of a WQE of a shared receive queue, which are consumed along this list. */
struct hca_wqe_next {
  uint16_t slot; /* of the next WQE */
  uint8_t reserved[14];
};
HCA_LAYOUT(struct hca_wqe_next, 16);

/* A receive WQE ends early at the first segment with key HCA_RECV_END and length 0. */
enum { HCA_RECV_END = 0x100 };
