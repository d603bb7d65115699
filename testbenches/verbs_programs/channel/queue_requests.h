// Queue pairs, shared receive queues, address handles, and what is posted to them.
#pragma once

#include <cstdint>

#include "testbenches/verbs_programs/channel/memory_requests.h"

namespace hcasim::channel {

struct capacities {
  std::uint32_t send_wr, recv_wr, send_sge, recv_sge, inline_data;
};
struct create_qp {
  static constexpr request_id number = request_id::create_qp;
  struct answer {
    handle object;
    std::uint32_t qp_num;
    capacities cap;
  };
  handle pd, send_cq, recv_cq, srq, xrcd;
  std::uint64_t user;
  capacities cap;
  std::uint32_t type, signal_all;
};
// The target of packets, and the content of the GRH if there is one.
struct route {
  std::uint8_t gid[16];
  std::uint32_t flow_label;
  std::uint16_t dlid;
  std::uint8_t sl, port, is_global, sgid_index, hop_limit, traffic_class;
};
struct qp_attributes {
  std::uint32_t state, current_state, path_mtu, qkey, rq_psn, sq_psn, dest_qp_num, access;
  capacities cap;
  std::uint16_t pkey_index;
  std::uint8_t port, sqd_notify, sq_draining, max_rd_atomic, max_dest_rd_atomic, min_rnr_timer, timeout, retry_cnt, rnr_retry;
  route to;
};
struct modify_qp {
  static constexpr request_id number = request_id::modify_qp;
  using answer = nothing;
  handle qp;
  std::uint32_t mask;
  qp_attributes attributes;
};
struct query_qp {
  static constexpr request_id number = request_id::query_qp;
  struct answer {
    qp_attributes attributes;
    std::uint32_t signal_all;
  };
  handle qp;
};
struct destroy_qp {
  static constexpr request_id number = request_id::destroy_qp;
  using answer = events_answer;
  handle qp;
};
// In `data`: each request, its segments behind it.
struct send_request {
  std::uint64_t wr_id;
  std::uint32_t opcode, flags, immediate, segments;
  std::uint64_t remote_address, compare_add, swap;
  std::uint32_t rkey, remote_qpn, remote_qkey, bind_rkey, remote_srqn;
  handle ah, mw;
  bind_info bind;
};
struct receive_request {
  std::uint64_t wr_id;
  std::uint32_t segments;
};
struct posted {
  std::uint32_t requests;  // number of requests taken, from the first on
};
struct post_send {
  static constexpr request_id number = request_id::post_send;
  using answer = posted;
  handle qp;
  std::uint32_t count;
};
struct post_recv {
  static constexpr request_id number = request_id::post_recv;
  using answer = posted;
  handle qp;
  std::uint32_t count;
};
struct create_srq {
  static constexpr request_id number = request_id::create_srq;
  struct answer {
    handle object;
    std::uint32_t max_wr, max_sge, srq_num;
  };
  handle pd;
  std::uint64_t user;
  std::uint32_t max_wr, max_sge;
  handle xrcd, cq;  // XRC
};
struct modify_srq {
  static constexpr request_id number = request_id::modify_srq;
  using answer = nothing;
  handle srq;
  std::uint32_t mask, max_wr, limit;
};
struct query_srq {
  static constexpr request_id number = request_id::query_srq;
  struct answer {
    std::uint32_t max_wr, max_sge, limit;
  };
  handle srq;
};
struct destroy_srq {
  static constexpr request_id number = request_id::destroy_srq;
  using answer = events_answer;
  handle srq;
};
struct post_srq_recv {
  static constexpr request_id number = request_id::post_srq_recv;
  using answer = posted;
  handle srq;
  std::uint32_t count;
};
struct create_ah {
  static constexpr request_id number = request_id::create_ah;
  using answer = made;
  handle pd;
  route to;
};
struct destroy_ah {
  static constexpr request_id number = request_id::destroy_ah;
  using answer = nothing;
  handle ah;
};

struct join_group {
  static constexpr request_id number = request_id::join_group;
  using answer = nothing;
  handle qp;
  std::uint8_t gid[16];
  std::uint16_t lid;
};
struct leave_group {
  static constexpr request_id number = request_id::leave_group;
  using answer = nothing;
  handle qp;
  std::uint8_t gid[16];
  std::uint16_t lid;
};
struct open_xrcd {
  static constexpr request_id number = request_id::open_xrcd;
  using answer = made;
  handle context;
  std::uint64_t file;  // the same for the same file; 0 = none
  std::uint8_t create, exclusive;
};
struct close_xrcd {
  static constexpr request_id number = request_id::close_xrcd;
  using answer = nothing;
  handle xrcd;
};
struct open_qp {
  static constexpr request_id number = request_id::open_qp;
  using answer = made;
  handle xrcd;
  std::uint64_t user;
  std::uint32_t qp_num;
};

}  // namespace hcasim::channel
