/* Registered memory: register, de-register, query, revoke, restore [B.3, B.4]. */
#include "firmware/control/state.h"

int fw_register(struct firmware* fw, struct hca_command* c) {
  struct hca_region r;
  struct hca_mrc m;
  uint32_t access = 0;
  uint32_t key = 0;
  memset(&m, 0, sizeof m);
  int status = fw_region_fetch(fw, c, &r);
  if (status != HCA_OK) return status;
  if ((r.access & HCA_ACCESS_ON_DEMAND) != 0) return fw_register_on_demand(fw, c, &r);
  status = fw_access_check(r.access, &access);
  if (status != HCA_OK) return status;
  if (r.pd > FW_NUMBER_MASK) return HCA_BAD_PARAMETER;
  status = fw_region_translate(fw, &r, access, &m);
  if (status != HCA_OK) return status;
  status = fw_key_take(fw, &key);
  if (status != HCA_OK) return status;

  m.kind = HCA_MRC_REGION;
  m.state = HCA_MRC_VALID;
  m.key_byte = hca_key_byte(key);
  m.function = fw->function;
  m.access = access;
  m.pd = r.pd;
  m.qpn = HCA_QPN_ANY;
  status = fw_region_build(fw, &r, &m);
  if (status == HCA_OK) {
    status = fw_mrc_store(fw, key, &m);
    if (status != HCA_OK) fw_region_release(fw, &m);
  }
  if (status != HCA_OK) {
    fw_key_put(fw, key);
    return status;
  }
  c->result[0] = key;
  c->result[1] = m.page_shift;
  return HCA_OK;
}

/* Loads the entry that DEREGISTER takes. The key byte of a fast-register region is its user's. */
static int load_any(struct firmware* fw, uint32_t key, struct hca_mrc* m) {
  const int status = fw_mrc_load_index(fw, key, m);
  if (status != HCA_OK) return status;
  if (m->kind == HCA_MRC_FAST) return HCA_OK;
  const bool region = m->kind == HCA_MRC_REGION || m->kind == HCA_MRC_PHYSICAL || m->kind == HCA_MRC_NULL ||
                      m->kind == HCA_MRC_INDIRECT || m->kind == HCA_MRC_DEVICE_MEMORY;
  return region && m->key_byte == hca_key_byte(key) ? HCA_OK : HCA_BAD_OBJECT;
}

int fw_deregister(struct firmware* fw, struct hca_command* c) {
  struct hca_mrc m;
  int status = load_any(fw, c->object, &m);
  if (status != HCA_OK) return status;
  if (m.parent != 0 && (fw->limits.flags & FW_ORPHAN_WINDOWS) == 0) return HCA_BUSY;
  status = fw_key_kill(fw, c->object, m.key_byte);
  if (status != HCA_OK) return status;
  if ((m.flags & HCA_MRC_ON_DEMAND) != 0) {
    fw_on_demand_wake(fw, c->object);
    fw_on_demand_free(fw, &m);
  } else if (m.kind == HCA_MRC_REGION || m.kind == HCA_MRC_DEVICE_MEMORY) {
    fw_region_release(fw, &m);
  }
  if (m.kind == HCA_MRC_INDIRECT) fw_indirect_free(fw, &m);
  fw_key_put(fw, c->object);
  return HCA_OK;
}

int fw_query_mr(struct firmware* fw, struct hca_command* c) {
  struct hca_mrc m;
  const int status = fw_mrc_load(fw, c->object, &m);
  if (status != HCA_OK) return status;
  return fw_write_out(fw, c, &m, sizeof m);
}

/* The region stays and its key stays taken, but no access reaches its memory: FREE, without a table [G2, G3]. Windows go first,
 * because they translate through the table; binds under way end before the state changes. */
int fw_revoke(struct firmware* fw, struct hca_command* c) {
  struct hca_mrc m;
  hal_key_lock(fw->hal, hca_key_index(c->object));
  int status = fw_region_load(fw, c->object, &m);
  if (status == HCA_OK && (m.flags & HCA_MRC_ON_DEMAND) != 0) status = HCA_BAD_OBJECT; /* its pages are zapped */
  const bool valid = status == HCA_OK && m.state == HCA_MRC_VALID;
  const bool unfinished = status == HCA_OK && m.state == HCA_MRC_FREE && m.table != 0;
  if (valid) {
    m.state = HCA_MRC_FREE;
    status = fw_mrc_store(fw, c->object, &m);
  }
  hal_key_unlock(fw->hal, hca_key_index(c->object));
  if ((!valid && !unfinished) || status != HCA_OK) return status;
  status = fw_windows_unbind(fw, c->object);
  if (status != HCA_OK) return status;
  fw_key_quiesce(fw, c->object);
  hal_key_lock(fw->hal, hca_key_index(c->object));
  const struct hca_mrc old = m;
  m.parent = 0;
  m.table = 0;
  status = fw_mrc_store(fw, c->object, &m);
  hal_key_unlock(fw->hal, hca_key_index(c->object));
  if (status == HCA_OK) fw_region_release(fw, &old);
  return status;
}

int fw_restore(struct firmware* fw, struct hca_command* c) {
  struct hca_region r;
  struct hca_mrc old;
  int status = fw_region_fetch(fw, c, &r);
  if (status != HCA_OK) return status;
  status = fw_region_load(fw, c->object, &old);
  if (status != HCA_OK) return status;
  if (old.state != HCA_MRC_FREE) return HCA_BAD_STATE;
  if (r.va != old.start || r.length != old.length || r.length == 0) return HCA_BAD_PARAMETER;
  struct hca_mrc m = old;
  status = fw_region_translate(fw, &r, m.access, &m);
  if (status != HCA_OK) return status;
  status = fw_region_build(fw, &r, &m);
  if (status != HCA_OK) return status;
  m.state = HCA_MRC_VALID;
  status = fw_mrc_store(fw, c->object, &m);
  if (status != HCA_OK) {
    fw_region_release(fw, &m);
    return status;
  }
  c->result[0] = c->object;
  c->result[1] = m.page_shift;
  return HCA_OK;
}
