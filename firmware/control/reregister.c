/* Re-register: the region gets other pages, another PD, other rights, and keeps its key or gets a new one [B.5]. */
#include "firmware/control/state.h"

/* Makes the new entry in `m`; nothing has changed yet. */
static int wanted(struct firmware* fw, uint32_t flags, struct hca_region* r, const struct hca_mrc* old, struct hca_mrc* m) {
  int status = HCA_OK;
  *m = *old;
  if ((flags & HCA_REREG_PD) != 0) {
    if (r->pd > FW_NUMBER_MASK) return HCA_BAD_PARAMETER;
    m->pd = r->pd;
  }
  if ((flags & HCA_REREG_ACCESS) != 0) {
    status = fw_access_check(r->access, &m->access);
    if (status != HCA_OK) return status;
  }
  if ((flags & HCA_REREG_TRANSLATION) != 0)
    return r->length == 0 ? HCA_BAD_PARAMETER : fw_region_translate(fw, r, m->access, m);
  const bool rebased = ((m->access ^ old->access) & HCA_ACCESS_ZERO_BASED) != 0;
  return r->chunks != 0 || rebased ? HCA_BAD_PARAMETER : HCA_OK;
}

/* The old entry is revoked first, so an access sees the old region, an invalid key, or the new region. A failure to revoke
 * leaves the region unchanged; a later failure leaves it invalid, to be de-registered. */
static int in_place(struct firmware* fw, uint32_t key, const struct hca_region* table, const struct hca_mrc* old,
                    struct hca_mrc* m) {
  struct hca_mrc revoked = *old;
  revoked.state = HCA_MRC_INVALID;
  int status = fw_mrc_store(fw, key, &revoked);
  if (status != HCA_OK) return status;
  fw_key_quiesce(fw, key);
  if (table != NULL) {
    status = fw_region_build(fw, table, m);
    if (status != HCA_OK) return status;
  }
  status = fw_mrc_store(fw, key, m);
  if (table != NULL) fw_region_release(fw, status == HCA_OK ? old : m);
  return status;
}

static int retire(struct firmware* fw, uint32_t key) {
  const int status = fw_key_kill(fw, key, hca_key_byte(key));
  if (status == HCA_OK) fw_key_put(fw, key);
  return status;
}

/* The new entry is complete, under a key unknown to peers, before the old one dies. On failure the region is unchanged. An
 * entry that cannot be written any more keeps its index for good. */
static int under_a_new_key(struct firmware* fw, uint32_t* key, const struct hca_region* table, const struct hca_mrc* old,
                           struct hca_mrc* m) {
  const uint32_t retired = *key;
  uint32_t fresh = 0;
  int status = fw_key_take(fw, &fresh);
  if (status != HCA_OK) return status;
  m->key_byte = hca_key_byte(fresh);
  if (table != NULL) status = fw_region_build(fw, table, m);
  if (status != HCA_OK) {
    fw_key_put(fw, fresh);
    return status;
  }
  status = fw_mrc_store(fw, fresh, m);
  if (status == HCA_OK) status = retire(fw, retired);
  if (status != HCA_OK) {
    if (retire(fw, fresh) == HCA_OK && table != NULL) fw_region_release(fw, m);
    return status;
  }
  if (table != NULL) fw_region_release(fw, old);
  *key = fresh;
  return HCA_OK;
}

int fw_reregister(struct firmware* fw, struct hca_command* c) {
  const uint32_t changes = HCA_REREG_TRANSLATION | HCA_REREG_PD | HCA_REREG_ACCESS;
  const uint32_t flags = c->modifier;
  uint32_t key = c->object;
  struct hca_region r;
  struct hca_mrc old;
  struct hca_mrc m;
  int status = fw_region_fetch(fw, c, &r);
  if (status != HCA_OK) return status;
  if ((flags & ~(changes | HCA_REREG_RENEW)) != 0) return HCA_UNSUPPORTED;
  if ((flags & changes) == 0) return HCA_BAD_PARAMETER;
  status = fw_region_load(fw, key, &old);
  if (status != HCA_OK) return status;
  if ((old.flags & HCA_MRC_ON_DEMAND) != 0) return HCA_UNSUPPORTED;
  if (old.state != HCA_MRC_VALID) return HCA_BAD_STATE;
  if (old.parent != 0) return HCA_BUSY;
  status = wanted(fw, flags, &r, &old, &m);
  if (status != HCA_OK) return status;

  const struct hca_region* const table = (flags & HCA_REREG_TRANSLATION) != 0 ? &r : NULL;
  status = (flags & HCA_REREG_RENEW) != 0 ? under_a_new_key(fw, &key, table, &old, &m) : in_place(fw, key, table, &old, &m);
  if (status != HCA_OK) return status;
  c->result[0] = key;
  c->result[1] = m.page_shift;
  return HCA_OK;
}
