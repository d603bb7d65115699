/* Multicast groups: the QPs with a copy of a group's packets. A group lives among the queue pairs, as SRQs do: it has one of
 * their numbers and one of their contexts. Groups of one hash form a list. */
#include "firmware/control/state.h"

static int read_name(struct firmware* fw, const struct hca_command* c, struct hca_group_name* name) {
  const int status = fw_read_in(fw, c, name, sizeof *name);
  if (status != HCA_OK) return status;
  unsigned any = 0;
  for (unsigned i = 0; i < sizeof name->reserved; i++) any |= name->reserved[i];
  const bool there = name->port == 0 || (name->port == 1 && fw->limits.second_lid != 0);
  return any == 0 && there && hca_gid_is_group(&name->gid) && hca_lid_is_group(name->lid) ? HCA_OK : HCA_BAD_PARAMETER;
}

static int load(struct firmware* fw, uint32_t number, struct hca_group* g) {
  struct hca_qpc q;
  const int status = fw_qpc_load(fw, number, &q);
  memcpy(g, &q, sizeof *g);
  return status == HCA_OK && g->transport != HCA_TRANSPORT_GROUP ? HCA_DAMAGED : status;
}

/* Only the firmware writes the context of a group. */
static int store(struct firmware* fw, uint32_t number, const struct hca_group* g) {
  struct hca_qpc q;
  const int status = fw_qpc_take(fw, number, &q);
  if (status != HCA_OK) return status;
  memcpy(&q, g, sizeof q);
  return fw_qpc_put(fw, number, &q);
}

/* The group of this name, and the one before it in the list; 0 = there is none. */
struct place {
  uint32_t number;
  uint32_t before;
};

static int find(struct firmware* fw, const struct hca_group_name* name, struct place* at, struct hca_group* g) {
  at->before = 0;
  at->number = fw->groups[hca_group_hash(&name->gid)];
  for (uint32_t steps = 0; at->number != 0; steps++) {
    const int status = load(fw, at->number, g);
    if (status != HCA_OK) return status;
    if (steps >= fw->qps.bits) return HCA_DAMAGED; /* a circle */
    if (memcmp(&g->gid, &name->gid, sizeof g->gid) == 0 && g->lid == name->lid && g->port == name->port) return HCA_OK;
    at->before = at->number;
    at->number = g->next;
  }
  return HCA_OK;
}

static uint32_t member(const struct hca_group* g, uint32_t qpn) {
  uint32_t i = 0;
  while (i < g->members && g->qpn[i] != qpn) i++;
  return i;
}

static int make(struct firmware* fw, const struct hca_group_name* name, uint32_t qpn) {
  const unsigned hash = hca_group_hash(&name->gid);
  struct hca_qpc old;
  uint32_t number = 0;
  if (!fw_bitmap_take(fw, &fw->qps, &number)) return HCA_NO_RESOURCES;
  int status = fw_qpc_take(fw, number, &old);
  if (status == HCA_OK) {
    const struct hca_group g = {
        .state = HCA_QP_RTR,
        .transport = HCA_TRANSPORT_GROUP,
        .lid = name->lid,
        .next = fw->groups[hash],
        .members = 1,
        .port = name->port,
        .gid = name->gid,
        .generation = old.generation,
        .qpn = {qpn},
    };
    struct hca_qpc entry;
    memcpy(&entry, &g, sizeof entry);
    status = fw_qpc_put(fw, number, &entry);
  }
  if (status != HCA_OK) {
    fw_bitmap_put(&fw->qps, number);
    return status;
  }
  fw->groups[hash] = number;
  hal_group(fw->hal, hash, number);
  hal_group_lid(fw->hal, name->port, name->lid, true);
  return HCA_OK;
}

/* Ends a group whose last member has gone. Once no lookup finds the entry, its content does not matter. */
static int end(struct firmware* fw, const struct hca_group_name* name, const struct place* at, const struct hca_group* g) {
  const unsigned hash = hca_group_hash(&name->gid);
  if (at->before != 0) {
    struct hca_group before;
    int status = load(fw, at->before, &before);
    before.next = g->next;
    if (status == HCA_OK) status = store(fw, at->before, &before);
    if (status != HCA_OK) return status;
  } else {
    fw->groups[hash] = g->next;
    hal_group(fw->hal, hash, g->next);
  }
  struct hca_qpc q;
  const struct hca_qpc dead = {.state = HCA_QP_RESET, .generation = g->generation};
  if (fw_qpc_take(fw, at->number, &q) == HCA_OK) fw_qpc_put(fw, at->number, &dead);
  fw_bitmap_put(&fw->qps, at->number);
  hal_group_lid(fw->hal, name->port, name->lid, false);
  return HCA_OK;
}

/* Counts a group of the QP, whose context says only whether there are any. */
static int count(struct firmware* fw, uint32_t qpn, bool joins) {
  struct hca_qpc before;
  const int status = fw_qpc_take(fw, qpn, &before);
  if (status != HCA_OK) return status;
  const bool own = before.transport == HCA_TRANSPORT_UD && before.function == fw->function;
  if (!own || (!joins && before.groups == 0)) {
    fw_qpc_give(fw, qpn);
    return own ? HCA_BAD_STATE : HCA_BAD_OBJECT;
  }
  struct hca_qpc now = before;
  now.groups = joins ? before.groups + 1 : before.groups - 1;
  return fw_qpc_change(fw, qpn, &before, &now);
}

int fw_attach(struct firmware* fw, struct hca_command* c) {
  const uint32_t qpn = c->object;
  struct hca_group_name name;
  struct hca_group g;
  struct place at;
  int status = read_name(fw, c, &name);
  if (status == HCA_OK && !fw_qpc_live(fw, qpn)) status = HCA_BAD_OBJECT;
  if (status == HCA_OK) status = find(fw, &name, &at, &g);
  if (status != HCA_OK) return status;
  if (at.number != 0 && member(&g, qpn) < g.members) return HCA_OK;
  if (at.number != 0 && g.members == HCA_GROUP_MEMBERS) return HCA_NO_RESOURCES;
  status = count(fw, qpn, true);
  if (status != HCA_OK) return status;
  if (at.number == 0) {
    status = make(fw, &name, qpn);
  } else {
    g.qpn[g.members++] = qpn;
    status = store(fw, at.number, &g);
  }
  if (status != HCA_OK) count(fw, qpn, false);
  return status;
}

int fw_detach(struct firmware* fw, struct hca_command* c) {
  const uint32_t qpn = c->object;
  struct hca_group_name name;
  struct hca_group g;
  struct place at;
  int status = read_name(fw, c, &name);
  if (status == HCA_OK && !fw_qpc_live(fw, qpn)) status = HCA_BAD_OBJECT;
  if (status == HCA_OK) status = find(fw, &name, &at, &g);
  if (status != HCA_OK) return status;
  const uint32_t i = at.number != 0 ? member(&g, qpn) : 0;
  if (at.number == 0 || i == g.members) return HCA_BAD_PARAMETER;
  status = count(fw, qpn, false);
  if (status != HCA_OK) return status;
  g.qpn[i] = g.qpn[--g.members];
  g.qpn[g.members] = 0;
  status = g.members != 0 ? store(fw, at.number, &g) : end(fw, &name, &at, &g);
  if (status != HCA_OK) count(fw, qpn, true);
  return status;
}
