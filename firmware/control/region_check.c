/* The rules that a region's description must satisfy [B3.1, B3.2, B3.3, B3.6]. */
#include "firmware/control/state.h"

int fw_access_check(uint32_t access, uint32_t* effective) {
  const uint32_t unsupported = HCA_ACCESS_ON_DEMAND | HCA_ACCESS_FLUSH_GLOBAL | HCA_ACCESS_FLUSH_PERSISTENT;
  const uint32_t known = HCA_ACCESS_LOCAL_WRITE | HCA_ACCESS_REMOTE_WRITE | HCA_ACCESS_REMOTE_READ | HCA_ACCESS_REMOTE_ATOMIC |
                         HCA_ACCESS_MW_BIND | HCA_ACCESS_ZERO_BASED | HCA_ACCESS_HUGETLB;
  if ((access & ~(known | unsupported | HCA_ACCESS_OPTIONAL)) != 0) return HCA_BAD_PARAMETER;
  if ((access & unsupported) != 0) return HCA_UNSUPPORTED;
  if ((access & (HCA_ACCESS_REMOTE_WRITE | HCA_ACCESS_REMOTE_ATOMIC)) != 0 && (access & HCA_ACCESS_LOCAL_WRITE) == 0) {
    return HCA_BAD_PARAMETER;
  }
  *effective = access & (known | HCA_ACCESS_RELAXED_ORDERING);
  return HCA_OK;
}

/* Reads the head of the mailbox and the beginning of its chunk list. */
int fw_region_fetch(struct firmware* fw, const struct hca_command* c, struct hca_region* r) {
  if (c->in_bytes < sizeof *r) return HCA_BAD_LENGTH;
  const uint32_t chunks = (uint32_t)((c->in_bytes - sizeof *r) / sizeof(struct hca_chunk));
  const int status = fw_chunks_open(fw, c->in_address, chunks);
  if (status != HCA_OK) return status;
  *r = fw->chunks.mailbox.head;
  if (c->in_bytes != sizeof *r + (uint64_t)r->chunks * sizeof(struct hca_chunk)) return HCA_BAD_LENGTH;
  if (r->reserved != 0 || (r->leaving != 0 && c->opcode != HCA_CMD_X_REREGISTER)) return HCA_BAD_PARAMETER;
  return HCA_OK;
}

int fw_range_check(const struct hca_region* r, uint32_t access) {
  const bool zero_based = (access & HCA_ACCESS_ZERO_BASED) != 0;
  if (r->length > 1ULL << 62) return HCA_BAD_PARAMETER;
  if (r->va + r->length < r->va || fw_align_up(r->va + r->length, FW_PAGE) < r->va) return HCA_BAD_PARAMETER;
  if (zero_based ? r->va != 0 : (r->va ^ r->first_offset) % FW_PAGE != 0) return HCA_BAD_PARAMETER;
  if (r->length == 0) return r->chunks <= 1 ? HCA_OK : HCA_BAD_PARAMETER;
  return r->chunks != 0 ? HCA_OK : HCA_BAD_PARAMETER;
}
