/* The IOMMU of a root complex: registers, context entries, page tables, command queue. All tables lie in host memory, at
 * physical addresses. */
#pragma once

#include "firmware/abi/layout.h"

/* Registers, 8 bytes each unless it says otherwise. */
enum {
  IOMMU_REG_ID = 0x00,            /* ro 4 B: IOMMU_ID */
  IOMMU_REG_CONTROL = 0x08,       /* rw 4 B: bit 0: translate; otherwise every address of a device is physical */
  IOMMU_REG_CONTEXTS = 0x10,      /* rw: table of struct iommu_context, one for each requester */
  IOMMU_REG_QUEUE = 0x18,         /* rw: command queue, 4 KiB aligned */
  IOMMU_REG_QUEUE_SIZE = 0x20,    /* rw 4 B: log2 of its entries; writing it empties the queue */
  IOMMU_REG_TAIL = 0x28,          /* wo 4 B: producer index, counts up modulo 2^32 */
  IOMMU_REG_FAULTS = 0x30,        /* ro: bursts refused so far */
  IOMMU_REG_FAULT_ADDRESS = 0x38, /* ro: of the last one refused */
  IOMMU_REG_FAULT_INFO = 0x40,    /* ro: its requester, | enum iommu_fault << 16 | write << 31 */
  IOMMU_REG_PAGES = 0x48,         /* rw: queue of page requests, 4 KiB aligned */
  IOMMU_REG_PAGES_SIZE = 0x50,    /* rw 4 B: log2 of its entries, | 1 << 31 to enable it; a write empties the queue */
  IOMMU_REG_PAGES_HEAD = 0x58,    /* rw 4 B: consumer index, counts up modulo 2^32 */
  IOMMU_REG_PAGES_TAIL = 0x60,    /* ro 4 B: producer index */
  IOMMU_REG_PAGES_VECTOR = 0x68,  /* rw 4 B: interrupt that tells of requests in an empty queue */
  IOMMU_REGISTERS = 0x1000,
};

enum { IOMMU_ID = 0x4d4d4f49, IOMMU_CONTEXTS = 256 };

enum iommu_fault {
  IOMMU_FAULT_NONE = 0,
  IOMMU_FAULT_CONTEXT = 1,    /* the requester has no context */
  IOMMU_FAULT_NOT_MAPPED = 2, /* no page at this address, or an address of more than 48 bits */
  IOMMU_FAULT_NOT_WRITABLE = 3,
  IOMMU_FAULT_TABLE = 4,   /* a table could not be read */
  IOMMU_FAULT_CROSSES = 5, /* the burst crosses a 4 KiB boundary */
  IOMMU_FAULT_ATS = 6,     /* a request or message of ATS without permission for its requester */
  IOMMU_FAULT_TIMEOUT = 7, /* a device did not complete an invalidation */
};

struct iommu_context {
  uint64_t root;  /* physical address of the table's root, 4 KiB aligned */
  uint32_t flags; /* enum iommu_context_flags */
  uint32_t reserved;
};
HCA_LAYOUT(struct iommu_context, 16);

enum iommu_context_flags {
  IOMMU_CONTEXT_PRESENT = 1 << 0,
  IOMMU_CONTEXT_PASS = 1 << 1,  /* its addresses are physical */
  IOMMU_CONTEXT_ATS = 1 << 2,   /* it may ask for translations and use them */
  IOMMU_CONTEXT_PAGES = 1 << 3, /* and ask for pages */
};

/* A table has 4 levels of 512 entries and covers 48 bits. An entry: address bits 51..12, and below. */
enum {
  IOMMU_PTE_READ = 1 << 0,
  IOMMU_PTE_WRITE = 1 << 1,
  IOMMU_PTE_LARGE = 1 << 7, /* ends the walk at 1 GiB or 2 MiB */
  IOMMU_LEVELS = 4,
  IOMMU_PTE_BITS = 9,
};
#define IOMMU_PTE_ADDRESS 0x000ffffffffff000ULL

enum iommu_command_code {
  IOMMU_CMD_INVALIDATE = 1,         /* forget translations of [address, address + bytes) of the requester */
  IOMMU_CMD_INVALIDATE_CONTEXT = 2, /* forget the requester's context and all its translations */
  IOMMU_CMD_WAIT = 3,               /* when all before is complete, write `value` (4 B) to `address` */
  IOMMU_CMD_INVALIDATE_DEVICE = 4,  /* have the requester's own cache forget the range of the ATS entry `address` */
  IOMMU_CMD_PAGE_RESPONSE = 5,      /* answer the page requests of group `value` with code `bytes` (enum ats_response) */
};

/* INVALIDATE is complete when no burst translated before is on its way any more, INVALIDATE_DEVICE when the device has
 * answered. A device without an answer within the time limit is counted as done and recorded as a fault. `value` is then
 * written with IOMMU_WAIT_TIMEOUT. */
#define IOMMU_WAIT_TIMEOUT 0x80000000U

struct iommu_command {
  uint32_t code; /* enum iommu_command_code */
  uint32_t requester;
  uint64_t address;
  uint64_t bytes;
  uint32_t value;
  uint32_t reserved;
};
HCA_LAYOUT(struct iommu_command, 32);

/* An entry of the queue of page requests. */
struct iommu_page_request {
  uint32_t requester;
  uint32_t group; /* to be named by the answer */
  uint64_t address;
  uint32_t flags; /* bit 0: to read, 1: to write, 2: last of its group */
  uint32_t reserved[3];
};
HCA_LAYOUT(struct iommu_page_request, 32);
