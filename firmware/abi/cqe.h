/* Completion and event queue elements. */
#pragma once

#include "firmware/abi/layout.h"

enum { HCA_CQE_BYTES = 64, HCA_EQE_BYTES = 32 };

/* Work completion status; the values are those of libibverbs (IBV_WC_*). */
enum hca_wc_status {
  HCA_WC_SUCCESS = 0,
  HCA_WC_LOC_LEN_ERR = 1,
  HCA_WC_LOC_QP_OP_ERR = 2,
  HCA_WC_LOC_EEC_OP_ERR = 3,
  HCA_WC_LOC_PROT_ERR = 4,
  HCA_WC_WR_FLUSH_ERR = 5,
  HCA_WC_MW_BIND_ERR = 6,
  HCA_WC_BAD_RESP_ERR = 7,
  HCA_WC_LOC_ACCESS_ERR = 8,
  HCA_WC_REM_INV_REQ_ERR = 9,
  HCA_WC_REM_ACCESS_ERR = 10,
  HCA_WC_REM_OP_ERR = 11,
  HCA_WC_RETRY_EXC_ERR = 12,
  HCA_WC_RNR_RETRY_EXC_ERR = 13,
};

enum hca_cqe_flags {
  HCA_CQE_RECEIVE = 1 << 0, /* a receive; index counts RQ WQEs. Otherwise a send; index counts SQ blocks */
  HCA_CQE_WITH_IMM = 1 << 1,
  HCA_CQE_WITH_INV = 1 << 2,
  HCA_CQE_SOLICITED = 1 << 3,
  HCA_CQE_GRH = 1 << 4, /* UD: the receive begins with it */
};

struct hca_cqe {
  uint32_t qpn;
  uint32_t byte_count;
  uint32_t immediate; /* immediate data (big-endian) or invalidated key */
  uint16_t index;     /* the WQE: its first SQ block, or its RQ or SRQ slot */
  uint8_t opcode;     /* sends: enum hca_wqe_opcode; receives: HCA_WQE_SEND or HCA_WQE_WRITE_IMM */
  uint8_t status;     /* enum hca_wc_status */
  uint8_t flags;      /* enum hca_cqe_flags */
  uint8_t vendor_error;
  uint16_t source_lid; /* UD */
  uint32_t source_qpn;
  uint8_t service_level; /* UD */
  uint8_t reserved1[3];
  uint32_t srqn;      /* XRC: a receive of this SRQ; otherwise 0 */
  uint64_t timestamp; /* time of the CQE by the adapter's clock (HCA_REG_CLOCK) */
  uint8_t reserved2[23];
  uint8_t owner; /* bit 0: toggles each time the ring wraps; 1 in the first pass */
};
HCA_LAYOUT(struct hca_cqe, 64);

enum hca_event {
  HCA_EVENT_COMPLETION = 1,   /* number: CQN */
  HCA_EVENT_COMMAND = 2,      /* number: command queue slot */
  HCA_EVENT_CQ_OVERFLOW = 3,  /* number: CQN */
  HCA_EVENT_QP_FATAL = 4,     /* number: QPN; its context or a queue is unreadable or damaged */
  HCA_EVENT_QP_REQUEST = 5,   /* number: QPN; the peer sent an invalid request */
  HCA_EVENT_QP_ACCESS = 6,    /* number: QPN; the peer used a bad key */
  HCA_EVENT_CATASTROPHIC = 7, /* ICM could not be written half-way through a change: no command works any more */
  HCA_EVENT_QP_LAST_WQE = 8,  /* number: QPN; in error, and takes no more from its SRQ */
  HCA_EVENT_SRQ_LIMIT = 9,    /* number: SRQN */
  HCA_EVENT_PAGE_FAULT = 10,  /* number: index of the key of an on-demand region; details below */
  HCA_EVENT_SQ_DRAINED = 11,  /* number: QPN; in SQD, and all begun sends are complete */
  HCA_EVENT_CQ_ERROR = 12,    /* number: CQN; its context or page list is unreadable or damaged */
  HCA_EVENT_SRQ_ERROR = 13,   /* number: SRQN; its context or page list is unreadable or damaged */
  HCA_EVENT_PORT = 14,        /* number: bit 0 set: the link of port (number >> 1) is up again; clear: down */
};

enum hca_fault_flags {
  HCA_FAULT_WRITE = 1 << 0,
  HCA_FAULT_REMOTE = 1 << 1, /* found by the responder; otherwise the QP's own access */
};

struct hca_eqe {
  uint32_t type; /* enum hca_event */
  uint32_t number;
  uint64_t va;     /* page fault: the byte that has no page */
  uint32_t length; /* page fault: bytes that the access still wants from va on */
  uint32_t flags;  /* page fault: enum hca_fault_flags */
  uint32_t qpn;    /* page fault */
  uint8_t reserved[3];
  uint8_t owner; /* bit 0, as in a CQE */
};
HCA_LAYOUT(struct hca_eqe, 32);
