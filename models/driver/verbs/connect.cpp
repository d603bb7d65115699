#include "models/driver/verbs/connect.h"

#include <algorithm>

#include "models/driver/device/device.h"

namespace hcasim::verbs {

namespace {

std::uint8_t depth(const ibv_qp* qp, std::uint8_t wanted) {
  return static_cast<std::uint8_t>(std::min<std::uint32_t>(wanted, qp->context->device->info().max_read_depth));
}

}  // namespace

endpoint local_endpoint(const ibv_qp* qp, std::uint32_t psn, std::uint8_t port) {
  return {qp->context->device->lid_of(port), qp->qp_num, psn};
}

int to_state(cpu& c, ibv_qp* qp, ibv_qp_state state) {
  ibv_qp_attr a{};
  a.qp_state = state;
  return ibv_modify_qp(c, qp, &a, IBV_QP_STATE);
}

int to_init(cpu& c, ibv_qp* qp, const connection_options& options) {
  ibv_qp_attr a{};
  a.qp_state = IBV_QPS_INIT;
  a.port_num = options.port;
  a.qp_access_flags = options.access;
  return ibv_modify_qp(c, qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

int to_rtr(cpu& c, ibv_qp* qp, const endpoint& remote, const connection_options& options) {
  ibv_qp_attr a{};
  a.qp_state = IBV_QPS_RTR;
  a.path_mtu = options.mtu;
  a.dest_qp_num = remote.qpn;
  a.rq_psn = remote.psn;
  a.ah_attr = {remote.lid, options.service_level, options.port};
  a.max_dest_rd_atomic = depth(qp, options.max_dest_rd_atomic);
  a.min_rnr_timer = options.min_rnr_timer;
  int mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
  if (qp->qp_type == IBV_QPT_RC) mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
  return ibv_modify_qp(c, qp, &a, mask);
}

int to_rts(cpu& c, ibv_qp* qp, const endpoint& local, const connection_options& options) {
  ibv_qp_attr a{};
  a.qp_state = IBV_QPS_RTS;
  a.sq_psn = local.psn;
  a.timeout = options.timeout;
  a.retry_cnt = options.retry_count;
  a.rnr_retry = options.rnr_retry;
  a.max_rd_atomic = depth(qp, options.max_rd_atomic);
  int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
  if (qp->qp_type == IBV_QPT_RC) mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
  return ibv_modify_qp(c, qp, &a, mask);
}

int connect(cpu& c, ibv_qp* qp, const endpoint& local, const endpoint& remote, const connection_options& options) {
  int error = qp->state == IBV_QPS_RESET ? 0 : to_state(c, qp, IBV_QPS_RESET);
  if (!error) error = to_init(c, qp, options);
  if (!error) error = to_rtr(c, qp, remote, options);
  if (!error) error = to_rts(c, qp, local, options);
  return error;
}

}  // namespace hcasim::verbs
