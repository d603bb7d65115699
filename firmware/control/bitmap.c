/* Numbers: QPs, CQs, EQs, keys, extent lines. */
#include "firmware/control/state.h"

static uint32_t word_count(const struct fw_bitmap* b) {
  return (b->bits + 63) / 64;
}

void fw_bitmap_init(struct fw_bitmap* b, uint32_t bits, uint32_t reserved) {
  b->bits = bits;
  b->used = 0;
  b->cursor = reserved;
  for (uint32_t i = 0; i < word_count(b); i++) {
    if (b->words[i] != 0) b->words[i] = 0; /* as fw_clear */
  }
  if (bits % 64 != 0) b->words[bits / 64] = ~0ULL << (bits % 64);
  for (uint32_t i = 0; i < reserved && i < bits; i++) b->words[i / 64] |= 1ULL << (i % 64);
}

/* First clear bit at or after `from`, without wrapping; `bits` if there is none. */
static uint32_t find(struct firmware* fw, const struct fw_bitmap* b, uint32_t from) {
  const uint32_t words = word_count(b);
  uint32_t scanned = 0;
  uint32_t found = b->bits;
  for (uint32_t w = from / 64; w < words; w++) {
    uint64_t taken = b->words[w];
    if (w == from / 64) taken |= (1ULL << (from % 64)) - 1;
    scanned++;
    if (taken != ~0ULL) {
      found = w * 64 + (uint32_t)__builtin_ctzll(~taken);
      break;
    }
  }
  hal_work(fw->hal, HAL_WORK_BITMAP, scanned);
  return found;
}

static bool take_from(struct firmware* fw, struct fw_bitmap* b, uint32_t from, uint32_t* number) {
  uint32_t n = from < b->bits ? find(fw, b, from) : b->bits;
  if (n >= b->bits && from != 0) n = find(fw, b, 0);
  if (n >= b->bits) return false;
  b->words[n / 64] |= 1ULL << (n % 64);
  b->used++;
  b->cursor = n + 1;
  *number = n;
  return true;
}

bool fw_bitmap_take(struct firmware* fw, struct fw_bitmap* b, uint32_t* number) {
  return take_from(fw, b, b->cursor, number);
}

bool fw_bitmap_take_lowest(struct firmware* fw, struct fw_bitmap* b, uint32_t* number) {
  return take_from(fw, b, 0, number);
}

static bool find_run(struct firmware* fw, const struct fw_bitmap* b, uint32_t from, uint32_t count, uint32_t* first) {
  uint32_t start = from;
  while (start < b->bits) {
    start = find(fw, b, start);
    if (start >= b->bits || b->bits - start < count) return false;
    uint32_t length = 1;
    while (length < count && !fw_bitmap_has(b, start + length)) length++;
    hal_work(fw->hal, HAL_WORK_BITMAP, length / 64 + 1);
    if (length == count) {
      *first = start;
      return true;
    }
    start += length + 1;
  }
  return false;
}

bool fw_bitmap_take_run(struct firmware* fw, struct fw_bitmap* b, uint32_t count, uint32_t* first) {
  if (count == 0 || count > b->bits - b->used) return false;
  if (!find_run(fw, b, b->cursor, count, first) && !find_run(fw, b, 0, count, first)) return false;
  for (uint32_t i = *first; i < *first + count; i++) b->words[i / 64] |= 1ULL << (i % 64);
  b->used += count;
  b->cursor = *first + count;
  return true;
}

void fw_bitmap_put(struct fw_bitmap* b, uint32_t number) {
  b->words[number / 64] &= ~(1ULL << (number % 64));
  b->used--;
}

bool fw_bitmap_has(const struct fw_bitmap* b, uint32_t number) {
  return number < b->bits && (b->words[number / 64] >> (number % 64) & 1) != 0;
}
