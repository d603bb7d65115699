/* A peer device as software sees it: its memory from offset 0 of its BAR on, its registers behind. */
#pragma once

#include "firmware/abi/layout.h"

#define PEER_BAR_REGISTERS (1ULL << 42) /* offset of the register page */
#define PEER_BAR_BYTES (PEER_BAR_REGISTERS + 4096)

enum peer_register {
  PEER_REG_ID = 0x00,         /* 32 bits, PEER_DEVICE_ID */
  PEER_REG_PAGE_SHIFT = 0x04, /* 32 bits */
  PEER_REG_MEMORY = 0x08,     /* 64 bits: bytes of memory */
  PEER_REG_COPY = 0x40,       /* a struct peer_copy in one write-combined line starts a copy */
};

enum { PEER_DEVICE_ID = 0x50454552 };

enum peer_copy_flags { PEER_COPY_TO_HOST = 1 }; /* otherwise from host memory */

/* A copy between the device's memory and [address, address + bytes) of the PCIe address space. After its last byte has arrived,
 * `fence_value` is written to `fence` (0 = nowhere). Bit 31 is set when a byte of any copy since the fence before could not be
 * moved. */
struct peer_copy {
  uint64_t offset; /* in the device's memory */
  uint64_t address;
  uint64_t bytes;
  uint64_t fence;
  uint32_t fence_value;
  uint32_t flags; /* enum peer_copy_flags */
  uint64_t reserved[3];
};
HCA_LAYOUT(struct peer_copy, 64);

#define PEER_COPY_FAILED 0x80000000U
