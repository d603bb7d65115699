/* The adapter's control firmware: executes the commands of firmware/abi/command.h. Freestanding C11 over hal.h: no heap, no
 * operating system. Its whole state is `struct firmware` and an arena, both from the caller.
 *
 * Contract: fw_reset first. Then fw_execute for one command after the other, never two at once, and fw_tidy after each answer,
 * for the work that no command waits for. The caller fetches the entry from the command queue and writes it back; `owner`,
 * `token` and `event` are the caller's. The firmware never reads `event`: the caller knows the slot, and raises
 * HCA_EVENT_COMMAND. Mailboxes are read and written here, by DMA. */
#pragma once

#include "firmware/abi/command.h"
#include "firmware/control/hal.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { FW_VERSION = 0x00010000 };

/* The adapter's capabilities, and the room for the firmware's records of them. */
struct fw_limits {
  uint8_t log_qps;         /* 1..24 */
  uint8_t log_cqs;         /* 1..24 */
  uint8_t log_mrs;         /* 1..24 */
  uint8_t max_levels;      /* of a page table, 1..4 */
  uint8_t queue_levels;    /* of a queue's page list, 1..4 */
  uint32_t page_shifts;    /* bit s: pages of 2^s bytes; of 12, 16, 21, 30, and 12 always */
  uint32_t max_read_depth; /* per QP and direction, up to 255 */
  uint32_t max_inline;     /* bytes */
  uint32_t max_sge;
  uint32_t blueflame_bytes; /* 0 = none */
  uint16_t lid;
  uint16_t second_lid; /* of port 1; 0 = there is port 0 alone */
  uint8_t mtu_shift;   /* of the ports: 8..12 */
  uint16_t function;   /* number of the first function, written into contexts */
  uint32_t max_eqs;
  uint32_t max_spaces;       /* address-space objects */
  uint32_t max_segments;     /* of all address spaces together */
  uint32_t max_extent_lines; /* of the extent area */
  uint64_t max_table_bytes;  /* of the page-table area */
  uint32_t flags;            /* enum fw_flags */
  uint32_t functions;        /* how many there are */
  uint32_t device_memory;    /* bytes on the adapter */
  uint32_t key_seed;
};

enum fw_flags {
  FW_WINDOWS_2A = 1 << 0,       /* a QP with type 2 windows cannot go [C.1]; otherwise 2B */
  FW_ORPHAN_WINDOWS = 1 << 1,   /* a region with windows may go [B4.1] */
  FW_NO_TAG_MEMORY = 1 << 2,    /* a new owner of an index begins with key byte 0 [A10] */
  FW_ON_DEMAND = 1 << 3,        /* regions without pages [E9] */
  FW_RANDOM_KEY_BYTES = 1 << 4, /* the next owner's key byte is drawn, from key_seed; otherwise one more than the last [A5] */
  FW_ICM_MAP = 1 << 5,          /* addresses of ICM are virtual (hca_init) */
};

struct firmware;

size_t fw_size(void);                                    /* of struct firmware, whose layout callers need not know */
size_t fw_memory_needed(const struct fw_limits* limits); /* bytes of the arena, 8-byte aligned */
void fw_reset(struct firmware* fw, struct hal* hal, const struct fw_limits* limits, void* arena);
void fw_execute(struct firmware* fw, struct hca_command* command);
void fw_tidy(struct firmware* fw);
/* Returns when no unit does anything any more, before a reset of a running adapter. Memory is not needed. */
void fw_quiesce(struct firmware* fw);

/* The resources in use, for checks and statistics. */
struct fw_usage {
  uint32_t qps;
  uint32_t cqs;
  uint32_t eqs;
  uint32_t mrs; /* keys: regions, windows and address spaces */
  uint32_t spaces;
  uint32_t segments;
  uint32_t extent_lines;
  uint32_t reserved;
  uint64_t table_bytes; /* of the page-table area */
};
void fw_query_usage(const struct firmware* fw, struct fw_usage* usage);

#ifdef __cplusplus
}
#endif
