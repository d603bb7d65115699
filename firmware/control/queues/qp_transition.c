/* State machine of a queue pair: the allowed changes, and the attributes that each needs or takes. */
#include "firmware/control/state.h"

enum { RC = 0, UC = 1, UD = 2, XI = 3, XT = 4, KINDS = 5, STATES = HCA_QP_ERR + 1 };

struct rule {
  bool valid;
  uint32_t required[KINDS]; /* by transport; XRC: initiator, target */
  uint32_t optional[KINDS];
};

enum {
  RTR_RC = HCA_QP_AV | HCA_QP_PATH_MTU | HCA_QP_DEST_QPN | HCA_QP_RQ_PSN | HCA_QP_MAX_READ_IN | HCA_QP_MIN_RNR_TIMER,
  RTR_UC = HCA_QP_AV | HCA_QP_PATH_MTU | HCA_QP_DEST_QPN | HCA_QP_RQ_PSN,
  RTS_RC = HCA_QP_TIMEOUT | HCA_QP_RETRY_COUNT | HCA_QP_RNR_RETRY | HCA_QP_SQ_PSN | HCA_QP_MAX_READ_OUT,
  LIVE_RC = HCA_QP_ACCESS | HCA_QP_MIN_RNR_TIMER,
  SQD_RC = HCA_QP_AV | HCA_QP_TIMEOUT | HCA_QP_RETRY_COUNT | HCA_QP_RNR_RETRY | HCA_QP_MAX_READ_OUT | HCA_QP_MAX_READ_IN |
           HCA_QP_ACCESS | HCA_QP_MIN_RNR_TIMER,
  SQD_UC = HCA_QP_AV | HCA_QP_ACCESS,
  RTS_XT = HCA_QP_TIMEOUT | HCA_QP_SQ_PSN,
  SQD_XI = HCA_QP_AV | HCA_QP_TIMEOUT | HCA_QP_RETRY_COUNT | HCA_QP_RNR_RETRY | HCA_QP_MAX_READ_OUT | HCA_QP_ACCESS,
  SQD_XT = HCA_QP_AV | HCA_QP_TIMEOUT | HCA_QP_MAX_READ_IN | HCA_QP_ACCESS | HCA_QP_MIN_RNR_TIMER,
  ACCESS = HCA_QP_ACCESS,
  PORT = HCA_QP_PORT,
  NOTIFY = HCA_QP_SQD_NOTIFY,
};

static const struct rule rules[STATES][STATES] =
    {
        [HCA_QP_RESET] =
            {
                [HCA_QP_INIT] = {true, {ACCESS, ACCESS, HCA_QP_QKEY, ACCESS, ACCESS}, {PORT, PORT, PORT, PORT, PORT}},
            },
        [HCA_QP_INIT] =
            {
                [HCA_QP_INIT] = {true,
                                 {0, 0, 0, 0, 0},
                                 {ACCESS | PORT, ACCESS | PORT, HCA_QP_QKEY | PORT, ACCESS | PORT, ACCESS | PORT}},
                [HCA_QP_RTR] = {true, {RTR_RC, RTR_UC, 0, RTR_UC, RTR_RC}, {ACCESS, ACCESS, HCA_QP_QKEY, ACCESS, ACCESS}},
            },
        [HCA_QP_RTR] =
            {
                [HCA_QP_RTS] = {true,
                                {RTS_RC, HCA_QP_SQ_PSN, HCA_QP_SQ_PSN, RTS_RC, RTS_XT},
                                {LIVE_RC, ACCESS, HCA_QP_QKEY, ACCESS, LIVE_RC}},
            },
        [HCA_QP_RTS] =
            {
                [HCA_QP_RTS] = {true, {0, 0, 0, 0, 0}, {LIVE_RC, ACCESS, HCA_QP_QKEY, ACCESS, LIVE_RC}},
                [HCA_QP_SQD] = {true, {0, 0, 0, 0, 0}, {NOTIFY, NOTIFY, NOTIFY, NOTIFY, NOTIFY}},
            },
        [HCA_QP_SQD] =
            {
                [HCA_QP_RTS] = {true, {0, 0, 0, 0, 0}, {LIVE_RC, ACCESS, HCA_QP_QKEY, ACCESS, LIVE_RC}},
                [HCA_QP_SQD] = {true, {0, 0, 0, 0, 0}, {SQD_RC, SQD_UC, HCA_QP_QKEY, SQD_XI, SQD_XT}},
            },
        [HCA_QP_SQE] =
            {
                [HCA_QP_RTS] = {true, {0, 0, 0, 0, 0}, {0, ACCESS, HCA_QP_QKEY, 0, 0}},
            },
};

static unsigned kind_of(uint8_t transport) {
  switch (transport) {
    case HCA_TRANSPORT_RC:
      return RC;
    case HCA_TRANSPORT_UC:
      return UC;
    case HCA_TRANSPORT_XRC_INI:
      return XI;
    case HCA_TRANSPORT_XRC_TGT:
      return XT;
    default:
      return UD;
  }
}

int fw_qp_transition(uint8_t transport, uint8_t from, uint8_t to, uint32_t mask) {
  const unsigned kind = kind_of(transport);
  const uint32_t attributes = mask & ~(uint32_t)(HCA_QP_STATE | HCA_QP_ROUTE); /* of AV a part */
  if ((mask & HCA_QP_ROUTE) != 0 && (mask & HCA_QP_AV) == 0) return HCA_BAD_PARAMETER;
  if (from >= STATES || to >= STATES) return HCA_BAD_PARAMETER;
  if (from == HCA_QP_RESET && to == HCA_QP_ERR) return HCA_BAD_STATE; /* there is nothing to flush */
  if (to == HCA_QP_RESET || to == HCA_QP_ERR) return attributes == 0 ? HCA_OK : HCA_BAD_PARAMETER;
  const struct rule* r = &rules[from][to];
  if (!r->valid) return HCA_BAD_STATE;
  if ((r->required[kind] & ~attributes) != 0) return HCA_BAD_PARAMETER;
  return (attributes & ~(r->required[kind] | r->optional[kind])) == 0 ? HCA_OK : HCA_BAD_PARAMETER;
}

int fw_qp_values(const struct fw_limits* l, uint32_t mask, const struct hca_modify_qp* a) {
  if ((a->reserved[0] | a->reserved[1]) != 0) return HCA_BAD_PARAMETER;
  /* LOCAL_WRITE is customary here and means nothing */
  const unsigned rights = HCA_ACCESS_REMOTE_WRITE | HCA_ACCESS_REMOTE_READ | HCA_ACCESS_REMOTE_ATOMIC | HCA_ACCESS_LOCAL_WRITE;
  const struct {
    uint32_t attribute, value, least, most;
  } ranges[] = {
      {HCA_QP_STATE, a->state, 0, STATES - 1},
      {HCA_QP_SQD_NOTIFY, a->sqd_notify, 0, 1},
      {HCA_QP_ACCESS, a->access & ~rights, 0, 0},
      {HCA_QP_PORT, a->port, 0, l->second_lid != 0 ? 1 : 0},
      {HCA_QP_AV, a->service_level, 0, 15},
      {HCA_QP_PATH_MTU, a->mtu_shift, 8, l->mtu_shift},
      {HCA_QP_TIMEOUT, a->timeout, 0, 31},
      {HCA_QP_RETRY_COUNT, a->retry_count, 0, 7},
      {HCA_QP_RNR_RETRY, a->rnr_retry, 0, 7},
      {HCA_QP_MIN_RNR_TIMER, a->min_rnr_timer, 0, 31},
      {HCA_QP_RQ_PSN, a->rq_psn, 0, FW_NUMBER_MASK},
      {HCA_QP_SQ_PSN, a->sq_psn, 0, FW_NUMBER_MASK},
      {HCA_QP_MAX_READ_OUT, a->max_read_out, 0, l->max_read_depth},
      {HCA_QP_MAX_READ_IN, a->max_read_in, 0, l->max_read_depth},
      {HCA_QP_DEST_QPN, a->dest_qpn, 0, FW_NUMBER_MASK},
  };
  for (unsigned i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
    const bool given = (mask & ranges[i].attribute) != 0;
    if (given && (ranges[i].value < ranges[i].least || ranges[i].value > ranges[i].most)) return HCA_BAD_PARAMETER;
  }
  return HCA_OK;
}

void fw_qp_apply(struct hca_qpc* q, uint32_t mask, const struct hca_modify_qp* a, const struct hca_route* route) {
  if ((mask & HCA_QP_STATE) != 0) q->state = a->state;
  if ((mask & HCA_QP_ACCESS) != 0) q->access = HCA_U8(a->access & ~(unsigned)HCA_ACCESS_LOCAL_WRITE);
  if ((mask & HCA_QP_PORT) != 0) q->port = a->port;
  if ((mask & HCA_QP_QKEY) != 0) q->qkey = a->qkey;
  if ((mask & HCA_QP_AV) != 0) {
    q->dest_lid = a->dest_lid;
    q->service_level = a->service_level;
    q->route = *route;
  }
  if ((mask & HCA_QP_PATH_MTU) != 0) q->mtu_shift = a->mtu_shift;
  if ((mask & HCA_QP_TIMEOUT) != 0) q->timeout = a->timeout;
  if ((mask & HCA_QP_RETRY_COUNT) != 0) q->retry_count = a->retry_count;
  if ((mask & HCA_QP_RNR_RETRY) != 0) q->rnr_retry = a->rnr_retry;
  if ((mask & HCA_QP_RQ_PSN) != 0) q->expected_psn = a->rq_psn;
  if ((mask & HCA_QP_MAX_READ_OUT) != 0) q->max_read_out = a->max_read_out;
  if ((mask & HCA_QP_MIN_RNR_TIMER) != 0) q->min_rnr_timer = a->min_rnr_timer;
  if ((mask & HCA_QP_SQ_PSN) != 0) {
    q->next_psn = a->sq_psn;
    q->una_psn = a->sq_psn;
  }
  if ((mask & HCA_QP_MAX_READ_IN) != 0) q->max_read_in = a->max_read_in;
  if ((mask & HCA_QP_DEST_QPN) != 0) q->dest_qpn = a->dest_qpn;
}

/* Clears a QP as after creation or RESET; its creation's values and the windows tied to it stay [C.8]. */
void fw_qp_clear(const struct fw_limits* l, struct hca_qpc* q) {
  const struct hca_qpc old = *q;
  memset(q, 0, sizeof *q);
  q->state = HCA_QP_RESET;
  q->transport = old.transport;
  q->mtu_shift = old.transport == HCA_TRANSPORT_UD ? l->mtu_shift : 0;
  q->send_cqn = old.send_cqn;
  q->signal_all = old.signal_all;
  q->function = old.function;
  q->record = old.record;
  q->generation = old.generation;
  q->flags = old.flags;
  q->uar = old.uar;
  q->xrcd = old.xrcd;
  q->groups = old.groups;
  q->bound_windows = old.bound_windows;
  q->sq = old.sq;
  q->rq = old.rq;
  q->rq_stride_shift = old.rq_stride_shift;
  q->inbound = HCA_INBOUND_NONE;
  if (old.transport == HCA_TRANSPORT_XRC_TGT) return; /* these are messages' */
  q->pd = old.pd;
  q->recv_cqn = old.recv_cqn;
  q->srqn = old.srqn;
}
