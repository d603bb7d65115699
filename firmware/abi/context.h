/* Queue pair and completion queue contexts, as they lie in ICM. The adapter caches and writes back whole entries. */
#pragma once

#include "firmware/abi/layout.h"
#include "firmware/abi/route.h"

enum hca_qp_state {
  HCA_QP_RESET = 0,
  HCA_QP_INIT = 1,
  HCA_QP_RTR = 2,
  HCA_QP_RTS = 3,
  HCA_QP_SQD = 4,
  HCA_QP_SQE = 5,
  HCA_QP_ERR = 6,
};
/* A shared receive queue has an entry among the QPs. It uses pd, function, record, uar, rq, rq_ci, in_wqe and srq_limit, and
 * with XRC xrcd and recv_cqn. A multicast group has an entry, too: struct hca_group. The initiator of an XRC connection has no
 * receive side. Its target has no queues: its pd, recv_cqn and srqn come from the SRQ named by the message in progress. */
enum hca_transport {
  HCA_TRANSPORT_RC = 0,
  HCA_TRANSPORT_UC = 1,
  HCA_TRANSPORT_UD = 3,
  HCA_TRANSPORT_SRQ = 4,
  HCA_TRANSPORT_XRC_INI = 5,
  HCA_TRANSPORT_XRC_TGT = 6,
  HCA_TRANSPORT_GROUP = 7,
};

/* Returns whether requests of this transport are answered. */
static inline int hca_transport_reliable(uint8_t transport) {
  return transport == HCA_TRANSPORT_RC || transport == HCA_TRANSPORT_XRC_INI || transport == HCA_TRANSPORT_XRC_TGT;
}

/* A privileged QP may use the reserved L_Key and FAST_REG. */
enum hca_qp_flags { HCA_QP_PRIVILEGED = 1 << 0 };

/* A queue's buffer: 2^log_bytes bytes in pages of 2^page_shift. `pages` is the ICM address of a one-level list of 8-byte
 * page-table entries. With page_shift 0 it is the physical address of a contiguous buffer. */
struct hca_buffer {
  uint64_t pages;
  uint8_t log_bytes;
  uint8_t page_shift;
  uint8_t levels; /* of its page list */
  uint8_t reserved0;
  uint32_t reserved1;
};
HCA_LAYOUT(struct hca_buffer, 16);

struct hca_qpc {
  /* common */
  uint8_t state;     /* enum hca_qp_state */
  uint8_t transport; /* enum hca_transport */
  uint8_t mtu_shift; /* 8..12: 256..4096 B */
  uint8_t access;    /* remote rights of the QP: enum hca_access, bits 1..3 */
  uint32_t pd;
  uint32_t send_cqn;
  uint32_t recv_cqn;
  uint32_t dest_qpn;
  uint16_t dest_lid;
  uint8_t service_level;
  uint8_t retry_count;   /* 0..7 */
  uint8_t rnr_retry;     /* 0..7; 7: for ever */
  uint8_t timeout;       /* 4.096 us * 2^timeout; 0 = no timer */
  uint8_t min_rnr_timer; /* IBA code 0..31 */
  uint8_t max_read_out;  /* READs and atomics outstanding as requester */
  uint8_t max_read_in;   /* responder resources */
  uint8_t signal_all;    /* every send completes with a CQE */
  uint16_t function;
  uint32_t qkey;
  uint32_t srqn;       /* 0 = none */
  uint64_t record;     /* physical address of struct hca_qp_record */
  uint32_t generation; /* counts the QPs that had this number */
  uint32_t flags;      /* enum hca_qp_flags */
  uint32_t uar;        /* page through which its doorbells are rung; those through another page are dropped */
  uint32_t xrcd;       /* domain of an XRC target or of an XRC SRQ; 0 = none */
  /* requester */
  struct hca_buffer sq;   /* in 64 B blocks */
  uint32_t next_psn;      /* of the next new packet */
  uint32_t una_psn;       /* oldest not acknowledged */
  uint16_t sq_ci;         /* next block to fetch */
  uint8_t sq_draining;    /* in SQD: some WQEs begun before are not complete */
  uint8_t port;           /* below HCA_PORTS: its packets leave and arrive there */
  uint32_t bound_windows; /* type 2 windows tied to this QP */
  struct hca_route route; /* beside dest_lid and service_level */
  uint32_t groups;        /* multicast groups with this QP */
  uint32_t reserved2;
  /* responder */
  struct hca_buffer rq; /* in WQEs of 2^rq_stride_shift bytes */
  uint8_t rq_stride_shift;
  uint8_t nak_sent; /* a sequence NAK is out; the rest is dropped silently */
  uint16_t rq_ci;   /* next receive WQE */
  uint32_t expected_psn;
  uint32_t msn;
  uint8_t inbound; /* wire opcode of the message in progress, 0xff: none */
  uint8_t reserved3[3];
  /* inbound message in progress */
  uint64_t in_address; /* next VA */
  uint32_t in_key;
  uint32_t in_remaining;
  uint32_t in_received; /* bytes of a SEND so far */
  uint16_t in_wqe;      /* RQ slot in use; of an SRQ: the next one */
  uint8_t in_wqe_held;
  uint8_t reserved4;
  uint32_t srq_limit; /* of an SRQ: fewer WQEs than this raise HCA_EVENT_SRQ_LIMIT, once; 0 = no event */
  uint32_t reserved5[17];
};
HCA_LAYOUT(struct hca_qpc, 256);

enum { HCA_INBOUND_NONE = 0xff };

enum { HCA_GROUP_MEMBERS = 48, HCA_GROUP_HASHES = 64 };

/* A multicast group of a port: an entry among the QPs. Groups of one hash are in a list, whose first entry's number the
 * adapter keeps. */
struct hca_group {
  uint8_t state;     /* HCA_QP_RTR; otherwise unused */
  uint8_t transport; /* HCA_TRANSPORT_GROUP */
  uint16_t lid;
  uint32_t next;    /* number of the next one of the list; 0 = none */
  uint32_t members; /* the first of qpn */
  uint8_t port;     /* as of a QP */
  uint8_t reserved0[3];
  struct hca_gid gid;
  uint32_t reserved1[4];
  uint32_t generation; /* as of a QP: counts the lives of this number */
  uint32_t reserved2[3];
  uint32_t qpn[48]; /* HCA_GROUP_MEMBERS */
};
HCA_LAYOUT(struct hca_group, 256);

static inline unsigned hca_group_hash(const struct hca_gid* g) {
  unsigned h = 0;
  for (unsigned i = 0; i < HCA_GID_BYTES; i++) h = h * 31 + g->byte[i];
  return (h ^ h >> 8 ^ h >> 16) % HCA_GROUP_HASHES;
}

struct hca_cqc {
  struct hca_buffer buffer; /* in CQEs of 64 B */
  uint64_t record;          /* physical address of struct hca_cq_record */
  uint32_t pi;              /* next CQE, modulo 2^32 */
  uint32_t ci;              /* last consumer index seen */
  uint8_t state;            /* enum hca_cq_state */
  uint8_t arm;              /* enum hca_arm */
  uint8_t eqn;
  uint8_t reserved0;
  uint16_t moderation_count; /* event after this many CQEs; 0 or 1: at once */
  uint16_t moderation_us;    /* or this long after the first; 0 = no timer */
  uint32_t armed_ci;
  uint32_t solicited_pi; /* one past the last CQE that is solicited or in error */
  uint32_t since_arm;    /* CQEs that count towards the event */
  uint32_t reserved1[3];
};
HCA_LAYOUT(struct hca_cqc, 64);

enum hca_cq_state { HCA_CQ_INVALID = 0, HCA_CQ_VALID = 1, HCA_CQ_OVERFLOWN = 2 };

struct hca_eqc {
  struct hca_buffer buffer; /* in EQEs of 32 B; contiguous (page_shift 0) */
  uint32_t vector;          /* MSI-X vector */
  uint32_t reserved[3];
};
HCA_LAYOUT(struct hca_eqc, 32);
