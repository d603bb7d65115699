/* Page size of a region [E2, E3, E4]. */
#include "firmware/control/state.h"

int fw_survey_chunks(struct firmware* fw, const struct hca_region* r, struct fw_survey* s) {
  const uint64_t offset = r->first_offset % FW_PAGE;
  const bool zero_based = (r->access & HCA_ACCESS_ZERO_BASED) != 0;
  uint64_t va = 0;
  struct hca_chunk run;
  bool end = false;
  fw_runs_begin(fw, r);
  s->mask = 0;
  for (bool first = true;; first = false) {
    const int status = fw_runs_next(fw, &run, &end);
    if (status != HCA_OK || end) return status;
    if (first) {
      s->first = run.address + offset;
      va = zero_based ? run.address : r->va - offset;
      s->mask |= va ^ run.address;
    } else {
      s->mask |= va | run.address;
    }
    va += run.length;
    s->last_page = fw_align_down(run.address + run.length - 1, FW_PAGE);
  }
}

uint64_t fw_entries(uint64_t first, uint64_t length, unsigned shift) {
  if (length == 0) return 0;
  return (((first & ((1ULL << shift) - 1)) + length - 1) >> shift) + 1;
}

/* The largest page that fits gives the fewest entries. Among pages with as few entries the smallest is taken. 0 = none fits. */
unsigned fw_choose_page_shift(uint32_t page_shifts, uint64_t mask, uint64_t first, uint64_t length) {
  unsigned best = 0;
  uint64_t fewest = 0;
  for (unsigned shift = 31; shift >= 12; shift--) {
    if ((page_shifts >> shift & 1) == 0 || (mask & ((1ULL << shift) - 1)) != 0) continue;
    const uint64_t entries = fw_entries(first, length, shift);
    if (best != 0 && entries > fewest) break;
    best = shift;
    fewest = entries;
  }
  return best;
}
