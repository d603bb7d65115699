/* The firmware on a bare RV64 core: proof that the firmware links with the compiler's own runtime alone. The HAL is a block of
 * memory-mapped registers. Arguments are written, and a write of the command register starts the call; the register reads 0
 * when done. */
#include "firmware/abi/context.h"
#include "firmware/control/firmware.h"

struct hal {
  volatile uint64_t argument[5];
  volatile uint64_t command; /* write: starts the call */
  volatile uint64_t busy;
  volatile uint64_t result;
};

enum {
  CALL_READ = 1,
  CALL_WRITE,
  CALL_FENCE,
  CALL_DROP,
  CALL_TRANSLATION,
  CALL_DRAIN,
  CALL_LOCK,
  CALL_UNLOCK,
  CALL_WINDOW_CLOSE,
  CALL_WINDOW_UNBIND,
  CALL_AREA,
  CALL_QP,
  CALL_EQ,
  CALL_EVENT,
  CALL_PAGES,
  CALL_TAKE,
  CALL_GIVE,
  CALL_TABLES,
  CALL_TAKE_CQ,
  CALL_GIVE_CQ,
  CALL_CQ_PAGE,
  CALL_QP_START,
  CALL_GROUP,
  CALL_GROUP_LID,
  CALL_MAP
};

static uint64_t call(struct hal* h, uint64_t command) {
  h->command = command;
  while (h->busy != 0) {
  }
  return h->result;
}

int hal_dma_read(struct hal* h, uint64_t address, void* to, uint32_t bytes) {
  h->argument[0] = address;
  h->argument[1] = (uintptr_t)to;
  h->argument[2] = bytes;
  return (int)call(h, CALL_READ);
}

int hal_dma_write(struct hal* h, uint64_t address, const void* from, uint32_t bytes) {
  h->argument[0] = address;
  h->argument[1] = (uintptr_t)from;
  h->argument[2] = bytes;
  return call(h, CALL_WRITE) == 0 ? 0 : -1;
}

void hal_dma_fence(struct hal* h) {
  call(h, CALL_FENCE);
}

void hal_cache_drop(struct hal* h, enum hal_cache cache, uint32_t index) {
  h->argument[0] = cache;
  h->argument[1] = index;
  call(h, CALL_DROP);
}

void hal_qpc_take(struct hal* h, uint32_t qpn) {
  h->argument[0] = qpn;
  call(h, CALL_TAKE);
}

void hal_qpc_give(struct hal* h, uint32_t qpn) {
  h->argument[0] = qpn;
  call(h, CALL_GIVE);
}

void hal_cqc_take(struct hal* h, uint32_t cqn) {
  h->argument[0] = cqn;
  call(h, CALL_TAKE_CQ);
}

void hal_cqc_give(struct hal* h, uint32_t cqn) {
  h->argument[0] = cqn;
  call(h, CALL_GIVE_CQ);
}

void hal_translation_drop(struct hal* h, uint32_t tag, uint64_t first, uint64_t last) {
  h->argument[0] = tag;
  h->argument[1] = first;
  h->argument[2] = last;
  call(h, CALL_TRANSLATION);
}

void hal_key_drain(struct hal* h, uint32_t index) {
  h->argument[0] = index;
  call(h, CALL_DRAIN);
}

void hal_key_lock(struct hal* h, uint32_t index) {
  h->argument[0] = index;
  call(h, CALL_LOCK);
}

void hal_key_unlock(struct hal* h, uint32_t index) {
  h->argument[0] = index;
  call(h, CALL_UNLOCK);
}

void hal_window_close(struct hal* h, uint32_t index) {
  h->argument[0] = index;
  call(h, CALL_WINDOW_CLOSE);
}

void hal_window_unbind(struct hal* h, uint32_t index, uint32_t region) {
  h->argument[0] = index;
  h->argument[1] = region;
  call(h, CALL_WINDOW_UNBIND);
}

void hal_set_area(struct hal* h, enum hal_cache cache, uint64_t base, uint64_t entries) {
  h->argument[0] = cache;
  h->argument[1] = base;
  h->argument[2] = entries;
  call(h, CALL_AREA);
}

void hal_set_map(struct hal* h, uint64_t base) {
  h->argument[0] = base;
  call(h, CALL_MAP);
}

void hal_set_tables(struct hal* h, uint64_t base, uint64_t bytes) {
  h->argument[0] = base;
  h->argument[1] = bytes;
  call(h, CALL_TABLES);
}

void hal_qp_control(struct hal* h, uint32_t qpn, enum hal_qp_op op) {
  h->argument[0] = qpn;
  h->argument[1] = op;
  call(h, CALL_QP);
}

void hal_qp_start(struct hal* h, uint32_t qpn, uint32_t uar, bool shared) {
  h->argument[0] = qpn;
  h->argument[1] = uar;
  h->argument[2] = shared;
  call(h, CALL_QP_START);
}

void hal_cq_page(struct hal* h, uint32_t cqn, uint32_t uar) {
  h->argument[0] = cqn;
  h->argument[1] = uar;
  call(h, CALL_CQ_PAGE);
}

void hal_group(struct hal* h, uint32_t hash, uint32_t first) {
  h->argument[0] = hash;
  h->argument[1] = first;
  call(h, CALL_GROUP);
}

void hal_group_lid(struct hal* h, uint32_t port, uint32_t lid, bool joins) {
  h->argument[0] = lid;
  h->argument[1] = joins;
  h->argument[2] = port;
  call(h, CALL_GROUP_LID);
}

void hal_set_eq(struct hal* h, uint32_t eqn, const struct hca_eqc* eqc) {
  h->argument[0] = eqn;
  h->argument[1] = (uintptr_t)eqc;
  call(h, CALL_EQ);
}

void hal_event(struct hal* h, uint32_t type, uint32_t number) {
  h->argument[0] = type;
  h->argument[1] = number;
  call(h, CALL_EVENT);
}

void hal_pages(struct hal* h, uint32_t index, uint64_t first, uint64_t last, enum hal_pages outcome) {
  h->argument[0] = index;
  h->argument[1] = first;
  h->argument[2] = last;
  h->argument[3] = outcome;
  call(h, CALL_PAGES);
}

/* A real core does its work by itself. */
void hal_work(struct hal* h, enum hal_work kind, uint32_t items) {
  (void)h;
  (void)kind;
  (void)items;
}

/* The functions that a freestanding compiler may call. The attribute keeps them from being turned into calls of themselves. */
__attribute__((optimize("no-tree-loop-distribute-patterns"))) void* memcpy(void* to, const void* from, size_t bytes) {
  for (size_t i = 0; i < bytes; i++) ((unsigned char*)to)[i] = ((const unsigned char*)from)[i];
  return to;
}

__attribute__((optimize("no-tree-loop-distribute-patterns"))) void* memset(void* to, int value, size_t bytes) {
  for (size_t i = 0; i < bytes; i++) ((unsigned char*)to)[i] = (unsigned char)value;
  return to;
}

int memcmp(const void* a, const void* b, size_t bytes) {
  const unsigned char* x = a;
  const unsigned char* y = b;
  for (size_t i = 0; i < bytes; i++) {
    if (x[i] != y[i]) return x[i] < y[i] ? -1 : 1;
  }
  return 0;
}

static _Alignas(8) unsigned char arena[1 << 20];
static _Alignas(64) unsigned char room[64 * 1024];

struct command_source {
  volatile uint64_t ready;
  volatile uint64_t done;
  struct hca_command command;
};

static const struct fw_limits limits = {
    .log_qps = 12,
    .log_cqs = 12,
    .log_mrs = 16,
    .max_levels = 4,
    .mtu_shift = 12,
    .queue_levels = 2,
    .page_shifts = 1U << 12 | 1U << 16 | 1U << 21 | 1U << 30,
    .max_read_depth = 16,
    .max_inline = 512,
    .max_sge = 16,
    .blueflame_bytes = 512,
    .max_eqs = 16,
    .max_spaces = 64,
    .max_segments = 1024,
    .max_extent_lines = 1024,
    .max_table_bytes = 16 << 20,
};

_Noreturn void _start(void);
_Noreturn void _start(void) {
  struct hal* const hal = (struct hal*)(uintptr_t)0x10000000;
  struct command_source* const source = (struct command_source*)(uintptr_t)0x10001000;
  struct firmware* const fw = (struct firmware*)(void*)room;
  for (;;) {
    if (fw_size() > sizeof room || fw_memory_needed(&limits) > sizeof arena) continue;
    fw_reset(fw, hal, &limits, arena);
    for (;;) {
      while (source->ready == 0) {
      }
      fw_execute(fw, &source->command);
      source->done = 1;
      fw_tidy(fw);
    }
  }
}
