/* Registered memory: register, re-register, de-register, query [B.3, B.4, B.5]. */
#include "firmware/control/state.h"

/* Page size, geometry and the table itself; fills the translation part of `m`. */
static int translate(struct firmware* fw, struct hca_region* r, uint32_t access, struct hca_mrc* m) {
  struct fw_survey s = {r->va, 0, 0};
  struct fw_table t = {0, 0, 1, 12};
  int status = fw_range_check(r, access);
  if (status != HCA_OK) return status;
  r->access = access;
  if (r->length != 0) {
    status = fw_survey_chunks(fw, r, &s);
    if (status != HCA_OK) return status;
    t.shift = fw_choose_page_shift(fw->limits.page_shifts, s.mask, s.first, r->length);
    if (t.shift == 0) return HCA_UNSUPPORTED;
    t.entries = fw_entries(s.first, r->length, t.shift);
    t.levels = fw_levels(t.entries);
    if (t.levels > fw->limits.max_levels) return HCA_NO_RESOURCES;
  }
  m->page_shift = (uint8_t)t.shift;
  m->levels = (uint8_t)t.levels;
  m->start = r->va;
  m->length = r->length;
  m->table_va = r->va - (s.first & ((1ULL << t.shift) - 1));
  return HCA_OK;
}

static struct fw_table geometry(const struct hca_mrc* m) {
  struct fw_table t = {m->table, 0, m->levels, m->page_shift};
  if (m->length != 0) t.entries = ((m->start + m->length - 1 - m->table_va) >> (m->page_shift & 63)) + 1;
  return t;
}

static int build(struct firmware* fw, const struct hca_region* r, struct hca_mrc* m) {
  struct fw_table t = geometry(m);
  const int status = fw_table_build(fw, r, &t);
  m->table = t.root;
  return status;
}

static void release(struct firmware* fw, const struct hca_mrc* m) {
  const struct fw_table t = geometry(m);
  if (t.root != 0 && t.entries != 0 && t.levels - 1 < FW_MAX_LEVELS) fw_table_free(fw, t.root, t.levels, t.entries);
}

/* No access admitted by the entry's older contents is under way any more, and no translation of it is cached. */
static void quiesce(struct firmware* fw, uint32_t key) {
  hal_key_drain(fw->hal, hca_key_index(key));
  hal_translation_drop(fw->hal, HCA_TAG_REGION | hca_key_index(key), 0, FW_ALL);
}

static int load(struct firmware* fw, uint32_t key, struct hca_mrc* m) {
  const int status = fw_mrc_load(fw, key, m);
  if (status != HCA_OK) return status;
  return m->kind == HCA_MRC_REGION ? HCA_OK : HCA_BAD_OBJECT;
}

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
  status = translate(fw, &r, access, &m);
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
  status = build(fw, &r, &m);
  if (status == HCA_OK) {
    status = fw_mrc_store(fw, key, &m);
    if (status != HCA_OK) release(fw, &m);
  }
  if (status != HCA_OK) {
    fw_key_put(fw, key);
    return status;
  }
  c->result[0] = key;
  c->result[1] = m.page_shift;
  return HCA_OK;
}

/* The old entry is revoked first, so an access sees the old region, an invalid key, or the new region [B.5]. What fails before
 * that leaves the region as it was; what fails afterwards leaves it invalid, to be de-registered. */
int fw_reregister(struct firmware* fw, struct hca_command* c) {
  struct hca_region r;
  struct hca_mrc old;
  const uint32_t flags = c->modifier;
  int status = fw_region_fetch(fw, c, &r);
  if (status != HCA_OK) return status;
  if (flags == 0) return HCA_BAD_PARAMETER;
  if ((flags & ~(uint32_t)(HCA_REREG_TRANSLATION | HCA_REREG_PD | HCA_REREG_ACCESS)) != 0) return HCA_UNSUPPORTED;
  status = load(fw, c->object, &old);
  if (status != HCA_OK) return status;
  if ((old.flags & HCA_MRC_ON_DEMAND) != 0) return HCA_UNSUPPORTED;
  if (old.state != HCA_MRC_VALID) return HCA_BAD_STATE;
  if (old.parent != 0) return HCA_BUSY;

  struct hca_mrc m = old;
  if ((flags & HCA_REREG_PD) != 0) {
    if (r.pd > FW_NUMBER_MASK) return HCA_BAD_PARAMETER;
    m.pd = r.pd;
  }
  if ((flags & HCA_REREG_ACCESS) != 0) {
    status = fw_access_check(r.access, &m.access);
    if (status != HCA_OK) return status;
  }
  if ((flags & HCA_REREG_TRANSLATION) != 0) {
    if (r.length == 0) return HCA_BAD_PARAMETER;
    status = translate(fw, &r, m.access, &m);
    if (status != HCA_OK) return status;
  } else if (r.chunks != 0 || ((m.access ^ old.access) & HCA_ACCESS_ZERO_BASED) != 0) {
    return HCA_BAD_PARAMETER;
  }

  struct hca_mrc revoked = old;
  revoked.state = HCA_MRC_INVALID;
  status = fw_mrc_store(fw, c->object, &revoked);
  if (status != HCA_OK) return status;
  quiesce(fw, c->object);
  if ((flags & HCA_REREG_TRANSLATION) != 0) {
    status = build(fw, &r, &m);
    if (status != HCA_OK) return status;
  }
  status = fw_mrc_store(fw, c->object, &m);
  if ((flags & HCA_REREG_TRANSLATION) != 0) release(fw, status == HCA_OK ? &old : &m);
  if (status != HCA_OK) return status;
  c->result[0] = c->object;
  c->result[1] = m.page_shift;
  return HCA_OK;
}

/* What DEREGISTER takes. The key byte of a fast-register region is its user's. */
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
  struct hca_mrc dead;
  int status = load_any(fw, c->object, &m);
  if (status != HCA_OK) return status;
  if (m.parent != 0 && (fw->limits.flags & FW_ORPHAN_WINDOWS) == 0) return HCA_BUSY;
  fw_mrc_dead(c->object, &dead);
  dead.key_byte = m.key_byte;
  status = fw_mrc_store(fw, c->object, &dead);
  if (status != HCA_OK) return status;
  quiesce(fw, c->object);
  if ((m.flags & HCA_MRC_ON_DEMAND) != 0) {
    fw_on_demand_wake(fw, c->object);
    fw_on_demand_free(fw, &m);
  } else if (m.kind == HCA_MRC_REGION || m.kind == HCA_MRC_DEVICE_MEMORY) {
    release(fw, &m);
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

/* The region stays, its key stays taken, but nobody reaches its memory: FREE, without a table [G2, G3]. Windows go first,
 * because they translate through that table; binds that are under way end before the state changes. */
int fw_revoke(struct firmware* fw, struct hca_command* c) {
  struct hca_mrc m;
  hal_key_lock(fw->hal, hca_key_index(c->object));
  int status = load(fw, c->object, &m);
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
  quiesce(fw, c->object);
  hal_key_lock(fw->hal, hca_key_index(c->object));
  const struct hca_mrc old = m;
  m.parent = 0;
  m.table = 0;
  status = fw_mrc_store(fw, c->object, &m);
  hal_key_unlock(fw->hal, hca_key_index(c->object));
  if (status == HCA_OK) release(fw, &old);
  return status;
}

int fw_restore(struct firmware* fw, struct hca_command* c) {
  struct hca_region r;
  struct hca_mrc old;
  int status = fw_region_fetch(fw, c, &r);
  if (status != HCA_OK) return status;
  status = load(fw, c->object, &old);
  if (status != HCA_OK) return status;
  if (old.state != HCA_MRC_FREE) return HCA_BAD_STATE;
  if (r.va != old.start || r.length != old.length || r.length == 0) return HCA_BAD_PARAMETER;
  struct hca_mrc m = old;
  status = translate(fw, &r, m.access, &m);
  if (status != HCA_OK) return status;
  status = build(fw, &r, &m);
  if (status != HCA_OK) return status;
  m.state = HCA_MRC_VALID;
  status = fw_mrc_store(fw, c->object, &m);
  if (status != HCA_OK) {
    release(fw, &m);
    return status;
  }
  c->result[0] = c->object;
  c->result[1] = m.page_shift;
  return HCA_OK;
}
