// A QP's attributes in the channel and in ibv_qp_attr. The program has libibverbs' ibv_qp_attr, the simulator the driver
// model's, and both have members of the same names. Each attribute stands here once, for both directions.
#pragma once

#include <type_traits>

#include "testbenches/verbs_programs/channel/queue_requests.h"

namespace hcasim::channel {

template <class Verbs, class Wire, class Each>
void each_capacity(Verbs& v, Wire& w, Each each) {
  each(v.max_send_wr, w.send_wr);
  each(v.max_recv_wr, w.recv_wr);
  each(v.max_send_sge, w.send_sge);
  each(v.max_recv_sge, w.recv_sge);
  each(v.max_inline_data, w.inline_data);
}

template <class Address, class Wire, class Each>
void each_route(Address& v, Wire& w, Each each) {
  each(v.dlid, w.dlid);
  each(v.sl, w.sl);
  each(v.port_num, w.port);
  for (unsigned i = 0; i < sizeof w.gid; ++i) each(v.grh.dgid.raw[i], w.gid[i]);
  each(v.grh.flow_label, w.flow_label);
  each(v.is_global, w.is_global);
  each(v.grh.sgid_index, w.sgid_index);
  each(v.grh.hop_limit, w.hop_limit);
  each(v.grh.traffic_class, w.traffic_class);
}
template <class Verbs, class Wire, class Each>
void each_attribute(Verbs& v, Wire& w, Each each) {
  each(v.qp_state, w.state);
  each(v.cur_qp_state, w.current_state);
  each(v.path_mtu, w.path_mtu);
  each(v.qkey, w.qkey);
  each(v.rq_psn, w.rq_psn);
  each(v.sq_psn, w.sq_psn);
  each(v.dest_qp_num, w.dest_qp_num);
  each(v.qp_access_flags, w.access);
  each_capacity(v.cap, w.cap, each);
  each_route(v.ah_attr, w.to, each);
  each(v.pkey_index, w.pkey_index);
  each(v.port_num, w.port);
  each(v.en_sqd_async_notify, w.sqd_notify);
  each(v.sq_draining, w.sq_draining);
  each(v.max_rd_atomic, w.max_rd_atomic);
  each(v.max_dest_rd_atomic, w.max_dest_rd_atomic);
  each(v.min_rnr_timer, w.min_rnr_timer);
  each(v.timeout, w.timeout);
  each(v.retry_cnt, w.retry_cnt);
  each(v.rnr_retry, w.rnr_retry);
}

constexpr auto to_wire = [](const auto& verbs, auto& wire) {
  wire = static_cast<std::remove_reference_t<decltype(wire)>>(verbs);
};
constexpr auto to_verbs = [](auto& verbs, const auto& wire) {
  verbs = static_cast<std::remove_reference_t<decltype(verbs)>>(wire);
};

template <class Cap>
capacities packed_cap(const Cap& c) {
  capacities o{};
  each_capacity(c, o, to_wire);
  return o;
}
template <class Cap>
Cap unpacked_cap(const capacities& c) {
  Cap o{};
  each_capacity(o, c, to_verbs);
  return o;
}

template <class Address>
route packed_route(const Address& a) {
  route o{};
  each_route(a, o, to_wire);
  return o;
}

template <class Attributes>
qp_attributes packed(const Attributes& a) {
  qp_attributes o{};
  each_attribute(a, o, to_wire);
  return o;
}
template <class Attributes>
Attributes unpacked(const qp_attributes& a) {
  Attributes o{};
  each_attribute(o, a, to_verbs);
  return o;
}

}  // namespace hcasim::channel
