// Connecting two QPs without a connection manager: each side hands the other its `endpoint`, by any means.
#pragma once

#include "models/driver/verbs/verbs.h"

namespace hcasim::verbs {

struct endpoint {
  std::uint16_t lid = 0;
  std::uint32_t qpn = 0;
  std::uint32_t psn = 0;
};

struct connection_options {
  ibv_mtu mtu = IBV_MTU_4096;
  unsigned access = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
  std::uint8_t timeout = 14;
  std::uint8_t retry_count = 7;
  std::uint8_t rnr_retry = 7;
  std::uint8_t min_rnr_timer = 1;
  std::uint8_t max_rd_atomic = 16;       // as requester
  std::uint8_t max_dest_rd_atomic = 16;  // as responder
  std::uint8_t service_level = 0;
  std::uint8_t port = 1;
};

// Returns the address of this QP, at a port, for the peer; it will start sending with `psn`.
endpoint local_endpoint(const ibv_qp* qp, std::uint32_t psn = 0, std::uint8_t port = 1);

// Takes a QP from RESET (or ERR, by way of RESET) over INIT and RTR to RTS. Returns 0 or the errno value of the failed step.
// The depths are cut to the device's limits.
int connect(cpu& c, ibv_qp* qp, const endpoint& local, const endpoint& remote, const connection_options& options = {});
int to_init(cpu& c, ibv_qp* qp, const connection_options& options = {});
int to_rtr(cpu& c, ibv_qp* qp, const endpoint& remote, const connection_options& options = {});
int to_rts(cpu& c, ibv_qp* qp, const endpoint& local, const connection_options& options = {});
int to_state(cpu& c, ibv_qp* qp, ibv_qp_state state);  // RESET, ERR, SQD

}  // namespace hcasim::verbs
