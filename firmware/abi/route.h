/* Names of ports, and routes beyond the subnet: the fields of a packet's global route header (GRH). */
#pragma once

#include "firmware/abi/layout.h"

#define HCA_GID_PREFIX 0xfe80000000000000ULL /* link-local: the prefix of ports without another from a subnet manager */

enum {
  HCA_PORTS = 2, /* of an adapter at most; contexts number them from 0, verbs from 1 */
  HCA_GID_BYTES = 16,
  HCA_MULTICAST_LID = 0xc000, /* the first one */
  HCA_PERMISSIVE_LID = 0xffff,
};

struct hca_gid {
  uint8_t byte[16]; /* as on the wire */
};
HCA_LAYOUT(struct hca_gid, 16);

/* The route of a QP that sends with a GRH; all zeros = without. */
struct hca_route {
  struct hca_gid dgid;
  uint32_t flow; /* flow label; traffic class in bits 27..20 */
  uint8_t hop_limit;
  uint8_t global; /* 1: every packet carries a GRH */
  uint8_t reserved[2];
};
HCA_LAYOUT(struct hca_route, 24);

/* Returns a locally administered GUID, made the port's own by its LID. */
static inline uint64_t hca_port_guid(uint16_t lid) {
  return 0x0268636100000000ULL | lid;
}

static inline struct hca_gid hca_port_gid(uint16_t lid) {
  struct hca_gid g;
  for (unsigned i = 0; i < 8; i++) {
    g.byte[i] = HCA_U8(HCA_GID_PREFIX >> (56 - 8 * i));
    g.byte[8 + i] = HCA_U8(hca_port_guid(lid) >> (56 - 8 * i));
  }
  return g;
}

static inline int hca_gid_is_group(const struct hca_gid* g) {
  return g->byte[0] == 0xff;
}

static inline int hca_lid_is_group(uint16_t lid) {
  return lid >= HCA_MULTICAST_LID && lid != HCA_PERMISSIVE_LID;
}

static inline int hca_route_sound(const struct hca_route* r) {
  unsigned any = r->flow | r->hop_limit;
  for (unsigned i = 0; i < HCA_GID_BYTES; i++) any |= r->dgid.byte[i];
  return (r->reserved[0] | r->reserved[1]) == 0 && r->global <= 1 && r->flow >> 28 == 0 && (r->global == 1 || any == 0);
}
