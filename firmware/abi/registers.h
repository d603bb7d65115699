/* BAR 0: control registers, the MSI-X table, and the UAR pages through which software rings doorbells. */
#pragma once

#include "firmware/abi/layout.h"

enum {
  HCA_BAR_CONTROL = 0x00000000, /* 4 KiB of control registers */
  HCA_BAR_MSIX = 0x00010000,    /* 16 B per vector: struct hca_msix_entry */
  HCA_BAR_DM = 0x00400000,      /* window on the memory of the adapter */
  HCA_BAR_UAR = 0x00800000,     /* one 4 KiB page per UAR */
  HCA_BAR_SIZE = 0x01000000,
  HCA_UAR_PAGE = 4096,
  HCA_UAR_COUNT = 2048,
  HCA_MSIX_VECTORS = 64,
  HCA_DM_WINDOW = 0x00400000, /* largest memory of the adapter */
};

/* DMA addresses from here on are the adapter's own memory. */
#define HCA_DM_BASE 0x4000000000000000ULL

/* Control registers (offsets in HCA_BAR_CONTROL). */
enum {
  HCA_REG_ID = 0x000,        /* ro 4 B: HCA_DEVICE_ID */
  HCA_REG_STATUS = 0x004,    /* ro 4 B: enum hca_status */
  HCA_REG_CMDQ_BASE = 0x010, /* rw 8 B: physical address of the command queue, 64 B aligned */
  HCA_REG_CMDQ_SIZE = 0x018, /* rw 4 B: log2 of its entries; writing it enables the queue */
  HCA_REG_CMDQ_BELL = 0x020, /* wo 4 B: producer index, counts up modulo 2^32 */
  HCA_REG_CLOCK = 0x028,     /* ro 8 B: ticks of HCA_CLOCK_KHZ since power-on */
};

enum { HCA_CLOCK_KHZ = 1000000 };

enum {
  HCA_DEVICE_ID = 0x48434153,
  HCA_REQUESTER = 1, /* the adapter's ID on PCIe */
};
enum hca_status { HCA_STATUS_RESET = 0, HCA_STATUS_READY = 1, HCA_STATUS_FATAL = 2 };

/* Inside a UAR page. A doorbell, one 8-byte write through the queue's own page - of EQs page 0 -: number in bits 31..0, value
 * in bits 63..32. */
enum {
  HCA_UAR_SQ = 0x000, /* number: QPN, value: SQ producer index in 64 B blocks (modulo 2^16) */
  HCA_UAR_RQ = 0x008, /* number: QPN or SRQN, value: RQ producer index in WQEs (modulo 2^16) */
  HCA_UAR_CQ = 0x010, /* number: CQN | arm << 24 (enum hca_arm), value: consumer index (modulo 2^32) */
  HCA_UAR_EQ = 0x018, /* number: EQN | arm << 24, value: consumer index (modulo 2^32) */
  HCA_UAR_BF = 0x800, /* BlueFlame: HCA_BF_BUFFERS buffers of HCA_BF_BYTES, written in turn with a whole WQE */
  HCA_BF_BUFFERS = 2,
  HCA_BF_BYTES = 1024,
};
enum hca_arm { HCA_ARM_NONE = 0, HCA_ARM_NEXT = 1, HCA_ARM_SOLICITED = 2 };

struct hca_doorbell {
  uint32_t number;
  uint32_t value;
};
HCA_LAYOUT(struct hca_doorbell, 8);

struct hca_msix_entry {
  uint64_t address;
  uint32_t data;
  uint32_t masked; /* bit 0 */
};
HCA_LAYOUT(struct hca_msix_entry, 16);

/* Doorbell record of a QP or SRQ, in host memory: the producer indices, written by the driver before it rings. The adapter
 * reads them back when its doorbell FIFO has overflowed. */
struct hca_qp_record {
  uint32_t sq_pi; /* 64 B blocks, modulo 2^16 */
  uint32_t rq_pi; /* WQEs, modulo 2^16 */
};
HCA_LAYOUT(struct hca_qp_record, 8);

/* Doorbell record of a CQ: the consumer index, read by the adapter to find out whether the CQ is full. */
struct hca_cq_record {
  uint32_t ci; /* modulo 2^32 */
  uint32_t reserved;
};
HCA_LAYOUT(struct hca_cq_record, 8);
