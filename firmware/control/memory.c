/* DMA helpers. */
#include "firmware/control/state.h"

int fw_read(struct firmware* fw, uint64_t address, void* to, uint32_t bytes) {
  const int outcome = hal_dma_read(fw->hal, address, to, bytes);
  return outcome == 0 ? HCA_OK : outcome == HAL_DAMAGED ? HCA_DAMAGED : HCA_MEMORY_FAULT;
}

int fw_write(struct firmware* fw, uint64_t address, const void* from, uint32_t bytes) {
  return hal_dma_write(fw->hal, address, from, bytes) == 0 ? HCA_OK : HCA_MEMORY_FAULT;
}

void fw_fatal(struct firmware* fw) {
  if (!fw->fatal) hal_event(fw->hal, HCA_EVENT_CATASTROPHIC, 0);
  fw->fatal = true;
}

int fw_read_sure(struct firmware* fw, uint64_t address, void* to, uint32_t bytes) {
  for (int i = 0; i < FW_TRIES; i++) {
    const int status = fw_read(fw, address, to, bytes);
    if (status == HCA_OK || status == HCA_DAMAGED) return status;
  }
  fw_fatal(fw);
  return HCA_MEMORY_FAULT;
}

int fw_write_sure(struct firmware* fw, uint64_t address, const void* from, uint32_t bytes) {
  for (int i = 0; i < FW_TRIES; i++) {
    if (fw_write(fw, address, from, bytes) == HCA_OK) return HCA_OK;
  }
  fw_fatal(fw);
  return HCA_MEMORY_FAULT;
}

static bool words_differ(const unsigned char* a, const unsigned char* b) {
  uint32_t x;
  uint32_t y;
  memcpy(&x, a, 4);
  memcpy(&y, b, 4);
  return x != y;
}

int fw_write_changes(struct firmware* fw, uint64_t address, const void* old, const void* now, uint32_t bytes) {
  const unsigned char* a = old;
  const unsigned char* b = now;
  uint32_t at = 0;
  while (at < bytes) {
    uint32_t end = at;
    while (end < bytes && words_differ(a + end, b + end)) end += 4;
    if (end > at) {
      const int status = fw_write(fw, address + at, b + at, end - at);
      if (status != HCA_OK) return status;
    }
    at = end + 4;
  }
  return HCA_OK;
}

int fw_read_in(struct firmware* fw, const struct hca_command* c, void* to, uint32_t bytes) {
  if (c->in_bytes != bytes) return HCA_BAD_LENGTH;
  return fw_read(fw, c->in_address, to, bytes);
}

int fw_write_out(struct firmware* fw, const struct hca_command* c, const void* from, uint32_t bytes) {
  if (c->out_bytes != bytes) return HCA_BAD_LENGTH;
  for (int i = 0; i < FW_TRIES; i++) {
    if (fw_write(fw, c->out_address, from, bytes) == HCA_OK) return HCA_OK;
  }
  return HCA_MEMORY_FAULT;
}
