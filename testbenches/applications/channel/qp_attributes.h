// A QP's attributes between the channel and ibv_qp_attr, which is libibverbs' on one side and the driver model's on the other:
// the members have the same names.
#pragma once

#include "testbenches/applications/channel/requests.h"

namespace hcasim::channel {

template <class Cap>
capacities packed_cap(const Cap& c) {
  return {c.max_send_wr, c.max_recv_wr, c.max_send_sge, c.max_recv_sge, c.max_inline_data};
}
template <class Cap>
Cap unpacked_cap(const capacities& c) {
  Cap o{};
  o.max_send_wr = c.send_wr;
  o.max_recv_wr = c.recv_wr;
  o.max_send_sge = c.send_sge;
  o.max_recv_sge = c.recv_sge;
  o.max_inline_data = c.inline_data;
  return o;
}

template <class Attributes>
qp_attributes packed(const Attributes& a) {
  qp_attributes o{};
  o.state = a.qp_state;
  o.current_state = a.cur_qp_state;
  o.path_mtu = a.path_mtu;
  o.qkey = a.qkey;
  o.rq_psn = a.rq_psn;
  o.sq_psn = a.sq_psn;
  o.dest_qp_num = a.dest_qp_num;
  o.access = static_cast<std::uint32_t>(a.qp_access_flags);
  o.cap = packed_cap(a.cap);
  o.dlid = a.ah_attr.dlid;
  o.sl = a.ah_attr.sl;
  o.ah_port = a.ah_attr.port_num;
  o.pkey_index = a.pkey_index;
  o.port = a.port_num;
  o.sqd_notify = a.en_sqd_async_notify;
  o.sq_draining = a.sq_draining;
  o.max_rd_atomic = a.max_rd_atomic;
  o.max_dest_rd_atomic = a.max_dest_rd_atomic;
  o.min_rnr_timer = a.min_rnr_timer;
  o.timeout = a.timeout;
  o.retry_cnt = a.retry_cnt;
  o.rnr_retry = a.rnr_retry;
  return o;
}

template <class Attributes>
Attributes unpacked(const qp_attributes& a) {
  Attributes o{};
  o.qp_state = static_cast<decltype(o.qp_state)>(a.state);
  o.cur_qp_state = static_cast<decltype(o.cur_qp_state)>(a.current_state);
  o.path_mtu = static_cast<decltype(o.path_mtu)>(a.path_mtu);
  o.qkey = a.qkey;
  o.rq_psn = a.rq_psn;
  o.sq_psn = a.sq_psn;
  o.dest_qp_num = a.dest_qp_num;
  o.qp_access_flags = static_cast<decltype(o.qp_access_flags)>(a.access);
  o.cap = unpacked_cap<decltype(o.cap)>(a.cap);
  o.ah_attr.dlid = a.dlid;
  o.ah_attr.sl = a.sl;
  o.ah_attr.port_num = a.ah_port;
  o.pkey_index = a.pkey_index;
  o.port_num = a.port;
  o.en_sqd_async_notify = a.sqd_notify;
  o.sq_draining = a.sq_draining;
  o.max_rd_atomic = a.max_rd_atomic;
  o.max_dest_rd_atomic = a.max_dest_rd_atomic;
  o.min_rnr_timer = a.min_rnr_timer;
  o.timeout = a.timeout;
  o.retry_cnt = a.retry_cnt;
  o.rnr_retry = a.rnr_retry;
  return o;
}

}  // namespace hcasim::channel
