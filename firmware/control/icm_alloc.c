/* The page-table area. A 64-bit word marks the free 64 B units of a 4 KiB page, so a buddy merges by setting bits. Pages are in
 * lists by the size of their largest free block. A page has no record before its first use: a reset of a large area costs no
 * more than one of a small area. */
#include "firmware/control/state.h"

/* The units at which a free, aligned block of 2^order units starts. */
static uint64_t block_starts(uint64_t free, unsigned order) {
  static const uint64_t aligned[FW_ICM_CLASSES] = {0xffffffffffffffffULL, 0x5555555555555555ULL, 0x1111111111111111ULL,
                                                   0x0101010101010101ULL, 0x0001000100010001ULL, 0x0000000100000001ULL,
                                                   0x0000000000000001ULL};
  for (unsigned i = 0; i < order; i++) free &= free >> (1U << i) & aligned[i + 1];
  return free;
}

static uint32_t list_of(uint64_t free) {
  uint32_t list = FW_ICM_CLASSES;
  for (unsigned order = 0; order < FW_ICM_CLASSES && block_starts(free, order) != 0; order++) list = order;
  return list;
}

static uint64_t unit_mask(unsigned order) {
  return order == FW_NODE_CLASS ? ~0ULL : (1ULL << (1U << order)) - 1;
}

static void unlink_page(struct fw_icm* m, uint32_t n) {
  struct fw_icm_page* p = &m->page[n];
  if (p->list == FW_ICM_CLASSES) return;
  if (p->previous != FW_NO_LINK) {
    m->page[p->previous].next = p->next;
  } else {
    m->head[p->list] = p->next;
  }
  if (p->next != FW_NO_LINK) m->page[p->next].previous = p->previous;
}

static void relink_page(struct fw_icm* m, uint32_t n, uint32_t list) {
  struct fw_icm_page* p = &m->page[n];
  p->list = list;
  if (list == FW_ICM_CLASSES) return;
  p->previous = FW_NO_LINK;
  p->next = m->head[list];
  if (p->next != FW_NO_LINK) m->page[p->next].previous = n;
  m->head[list] = n;
}

static void set_free(struct fw_icm* m, uint32_t n, uint64_t free) {
  const uint32_t list = list_of(free);
  m->page[n].free = free;
  if (list == m->page[n].list) return;
  unlink_page(m, n);
  relink_page(m, n, list);
}

static void first_use(struct fw_icm* m, uint32_t n, uint64_t free) {
  m->page[n].list = FW_ICM_CLASSES;
  m->page[n].free = 0;
  set_free(m, n, free);
}

void fw_icm_init(struct firmware* fw, uint64_t base, uint64_t bytes) {
  struct fw_icm* m = &fw->icm;
  m->base = base;
  m->used = 0;
  m->pages = (uint32_t)((bytes + FW_PAGE - 1) / FW_PAGE);
  m->whole = (uint32_t)(bytes / FW_PAGE);
  m->fresh = 0;
  for (unsigned i = 0; i < FW_ICM_CLASSES; i++) m->head[i] = FW_NO_LINK;
  if (m->whole < m->pages) first_use(m, m->whole, (1ULL << bytes / 64 % 64) - 1);
  hal_work(fw->hal, HAL_WORK_BITMAP, 1);
}

bool fw_icm_take(struct firmware* fw, unsigned order, uint64_t* address) {
  struct fw_icm* m = &fw->icm;
  unsigned list = order;
  while (list < FW_ICM_CLASSES && m->head[list] == FW_NO_LINK) list++;
  if (list == FW_ICM_CLASSES) {
    if (m->fresh == m->whole) return false;
    first_use(m, m->fresh++, ~0ULL);
    list = FW_NODE_CLASS;
  }
  const uint32_t n = m->head[list];
  const unsigned unit = (unsigned)__builtin_ctzll(block_starts(m->page[n].free, order));
  set_free(m, n, m->page[n].free & ~(unit_mask(order) << unit));
  m->used += 1ULL << order;
  *address = m->base + n * FW_PAGE + unit * 64ULL;
  hal_work(fw->hal, HAL_WORK_BITMAP, 1);
  return true;
}

bool fw_icm_in_use(const struct firmware* fw, uint64_t address, unsigned order) {
  const struct fw_icm* m = &fw->icm;
  const uint64_t unit = (address - m->base) / 64;
  if ((address - m->base) % (64ULL << order) != 0 || unit / 64 >= m->pages) return false;
  if (unit / 64 >= m->fresh && unit / 64 < m->whole) return false;
  return (m->page[unit / 64].free & unit_mask(order) << unit % 64) == 0;
}

/* A damaged table may name a block that is not in use; the block is left alone. */
void fw_icm_put(struct firmware* fw, uint64_t address, unsigned order) {
  struct fw_icm* m = &fw->icm;
  if (!fw_icm_in_use(fw, address, order)) {
    fw_fatal(fw);
    return;
  }
  const uint64_t unit = (address - m->base) / 64;
  const uint32_t n = (uint32_t)(unit / 64);
  set_free(m, n, m->page[n].free | unit_mask(order) << unit % 64);
  m->used -= 1ULL << order;
  hal_work(fw->hal, HAL_WORK_BITMAP, 1);
}

unsigned fw_icm_order(uint32_t entries) {
  unsigned order = 0;
  while ((8U << order) < entries) order++;
  return order;
}

uint32_t fw_icm_page_of(const struct firmware* fw, uint64_t address) {
  return (uint32_t)((address - fw->icm.base) / FW_PAGE);
}

uint64_t fw_icm_page_address(const struct firmware* fw, uint32_t page) {
  return fw->icm.base + page * FW_PAGE;
}

uint32_t* fw_icm_live(struct firmware* fw, uint64_t address) {
  return &fw->icm.page[fw_icm_page_of(fw, address)].live;
}
