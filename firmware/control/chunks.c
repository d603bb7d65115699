/* The chunk list of a mailbox [E5]. Software may change the list during the reading, so every pass checks it anew. */
#include "firmware/control/state.h"

int fw_chunks_open(struct firmware* fw, uint64_t address, uint32_t count) {
  struct fw_chunks* c = &fw->chunks;
  c->address = address + sizeof c->mailbox.head;
  c->count = count;
  c->window_first = 0;
  c->window_count = fw_min32(count, FW_CHUNK_WINDOW);
  return fw_read(fw, address, &c->mailbox, (uint32_t)(sizeof c->mailbox.head + c->window_count * sizeof(struct hca_chunk)));
}

static int next_chunk(struct firmware* fw, struct hca_chunk* chunk) {
  struct fw_chunks* c = &fw->chunks;
  const uint32_t at = c->next;
  if (at - c->window_first >= c->window_count) {
    const uint32_t n = fw_min32(c->count - at, FW_CHUNK_WINDOW);
    c->window_count = 0;
    const int status =
        fw_read(fw, c->address + at * sizeof(struct hca_chunk), c->mailbox.window, n * (uint32_t)sizeof(struct hca_chunk));
    if (status != HCA_OK) return status;
    c->window_first = at;
    c->window_count = n;
  }
  *chunk = c->mailbox.window[at - c->window_first];
  c->next++;
  hal_work(fw->hal, HAL_WORK_CHUNK, 1);
  if (chunk->length == 0 || (chunk->address | chunk->length) % FW_PAGE != 0) return HCA_BAD_PARAMETER;
  if (chunk->address + chunk->length < chunk->address) return HCA_BAD_PARAMETER;
  if (at == 0) {
    if (c->skip >= chunk->length) return HCA_BAD_PARAMETER;
    chunk->address += c->skip;
    chunk->length -= c->skip;
  }
  return HCA_OK;
}

void fw_runs_begin(struct firmware* fw, const struct hca_region* r) {
  struct fw_chunks* c = &fw->chunks;
  c->next = 0;
  c->run.length = 0;
  c->skip = fw_align_down(r->first_offset, FW_PAGE);
  c->left = r->first_offset % FW_PAGE + r->length;
}

/* Takes the next merged run; the last one ends with the region's last byte. HCA_BAD_PARAMETER: too few chunks, or too many. */
int fw_runs_next(struct firmware* fw, struct hca_chunk* run, bool* end) {
  struct fw_chunks* c = &fw->chunks;
  *end = c->left == 0;
  if (*end) return c->next == c->count ? HCA_OK : HCA_BAD_PARAMETER;
  while (c->next < c->count && c->run.length < c->left) {
    struct hca_chunk chunk;
    const int status = next_chunk(fw, &chunk);
    if (status != HCA_OK) return status;
    if (c->run.length != 0 && c->run.address + c->run.length != chunk.address) {
      *run = c->run;
      c->run = chunk;
      c->left -= run->length;
      return HCA_OK;
    }
    if (c->run.length == 0) c->run.address = chunk.address;
    c->run.length += chunk.length;
  }
  if (c->run.length < c->left) return HCA_BAD_PARAMETER;
  run->address = c->run.address;
  run->length = c->left;
  c->left = 0;
  return HCA_OK;
}
