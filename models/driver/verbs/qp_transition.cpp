#include "models/driver/verbs/qp_transition.h"

namespace hcasim::driver {

using namespace verbs;

namespace {

struct rule {
  ibv_qp_state from;
  ibv_qp_state to;
  int required[5];  // RC, UC, UD, XRC: sending, receiving
  int optional[5];
};

constexpr int rtr_rc =
    IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
constexpr int rtr_uc = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
constexpr int rts_rc = IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC;
constexpr int init_connected = IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
constexpr int init_ud = IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY;
constexpr int live_rc = IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER | IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE;
constexpr int live_uc = IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS | IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE;
constexpr int live_ud = IBV_QP_CUR_STATE | IBV_QP_QKEY;
constexpr int drained_rc = IBV_QP_PORT | IBV_QP_AV | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                           IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS |
                           IBV_QP_PKEY_INDEX | IBV_QP_MIN_RNR_TIMER | IBV_QP_PATH_MIG_STATE;
constexpr int rts_xt = IBV_QP_TIMEOUT | IBV_QP_SQ_PSN;
constexpr int drained_xi = IBV_QP_PORT | IBV_QP_AV | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                           IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX |
                           IBV_QP_PATH_MIG_STATE;
constexpr int drained_xt = IBV_QP_PORT | IBV_QP_AV | IBV_QP_TIMEOUT | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_ALT_PATH |
                           IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX | IBV_QP_MIN_RNR_TIMER | IBV_QP_PATH_MIG_STATE;
constexpr int begun = IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX;
constexpr int notify = IBV_QP_EN_SQD_ASYNC_NOTIFY;
constexpr int drained_uc = IBV_QP_AV | IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX | IBV_QP_PATH_MIG_STATE;

constexpr rule rules[] = {
    {IBV_QPS_RESET, IBV_QPS_INIT, {init_connected, init_connected, init_ud, init_connected, init_connected}, {0, 0, 0, 0, 0}},
    {IBV_QPS_INIT, IBV_QPS_INIT, {0, 0, 0, 0, 0}, {init_connected, init_connected, init_ud, init_connected, init_connected}},
    {IBV_QPS_INIT,
     IBV_QPS_RTR,
     {rtr_rc, rtr_uc, 0, rtr_uc, rtr_rc},
     {begun, begun, IBV_QP_PKEY_INDEX | IBV_QP_QKEY, begun, begun}},
    {IBV_QPS_RTR,
     IBV_QPS_RTS,
     {rts_rc, IBV_QP_SQ_PSN, IBV_QP_SQ_PSN, rts_rc, rts_xt},
     {live_rc, live_uc, live_ud, live_uc, live_rc}},
    {IBV_QPS_RTS, IBV_QPS_RTS, {0, 0, 0, 0, 0}, {live_rc, live_uc, live_ud, live_uc, live_rc}},
    {IBV_QPS_RTS, IBV_QPS_SQD, {0, 0, 0, 0, 0}, {notify, notify, notify, notify, notify}},
    {IBV_QPS_SQD, IBV_QPS_RTS, {0, 0, 0, 0, 0}, {live_rc, live_uc, live_ud, live_uc, live_rc}},
    {IBV_QPS_SQD,
     IBV_QPS_SQD,
     {0, 0, 0, 0, 0},
     {drained_rc, drained_uc, IBV_QP_PKEY_INDEX | IBV_QP_QKEY, drained_xi, drained_xt}},
    {IBV_QPS_SQE, IBV_QPS_RTS, {0, 0, 0, 0, 0}, {0, IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS, live_ud, 0, 0}},
};

int column(ibv_qp_type type) {
  switch (type) {
    case IBV_QPT_RC:
      return 0;
    case IBV_QPT_UC:
      return 1;
    case IBV_QPT_UD:
      return 2;
    case IBV_QPT_XRC_SEND:
      return 3;
    case IBV_QPT_XRC_RECV:
      return 4;
  }
  return 0;
}

}  // namespace

int applicable_attributes(ibv_qp_type type, int mask) {
  switch (type) {
    case IBV_QPT_XRC_SEND:
      return mask & ~(IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
    case IBV_QPT_XRC_RECV:
      return mask & ~(IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY);
    default:
      return mask;
  }
}

bool transition_ok(ibv_qp_type type, ibv_qp_state from, ibv_qp_state to, int mask) {
  if ((mask & IBV_QP_CUR_STATE) && from != IBV_QPS_RTR && from != IBV_QPS_RTS && from != IBV_QPS_SQD && from != IBV_QPS_SQE) {
    return false;
  }
  if (from == IBV_QPS_RESET && to == IBV_QPS_ERR) return false;
  if (to == IBV_QPS_RESET || to == IBV_QPS_ERR) return (mask & ~IBV_QP_STATE) == 0;
  const int i = column(type);
  for (const rule& r : rules) {
    if (r.from != from || r.to != to) continue;
    return (mask & r.required[i]) == r.required[i] && !(mask & ~(r.required[i] | r.optional[i] | IBV_QP_STATE));
  }
  return false;
}

}  // namespace hcasim::driver
