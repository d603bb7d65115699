// Requests about queue pairs and shared receive queues.
#include <algorithm>

#include "models/driver/objects/queue_limits.h"
#include "testbenches/verbs_programs/channel/qp_attributes.h"
#include "testbenches/verbs_programs/simulator/handler.h"

namespace hcasim::applications {
namespace {

using namespace verbs;

bool is_connected(ibv_qp_state s) {
  return s != IBV_QPS_RESET && s != IBV_QPS_INIT;
}

// Tells whether a QP counts as connected. An XRC target never counts: several processes may have one, each with its own state.
bool counts(const ibv_qp& qp) {
  return qp.qp_type != IBV_QPT_XRC_RECV;
}

// Returns the common context of the objects that a QP is made with; nullptr = there is no object, or the contexts differ.
template <class... Object>
ibv_context* common(const Object*... objects) {
  ibv_context* context = nullptr;
  bool same = true;
  const auto look = [&](ibv_context* of) {
    if (!context) context = of;
    same &= context == of;
  };
  ((objects ? look(objects->context) : void()), ...);
  return same ? context : nullptr;
}

// The driver rounds queues up, beyond the device's limit.
ibv_qp_cap shown(ibv_qp_cap cap) {
  cap.max_send_wr = std::min(cap.max_send_wr, driver::max_queue_requests);
  cap.max_recv_wr = std::min(cap.max_recv_wr, driver::max_queue_requests);
  return cap;
}

// Tells whether a queue that the QP has is longer than the device allows.
bool too_long(const ibv_qp_init_attr_ex& init) {
  const bool sends = init.qp_type != IBV_QPT_XRC_RECV;
  const bool receives = sends && init.qp_type != IBV_QPT_XRC_SEND && !init.srq;
  return (sends && init.cap.max_send_wr > driver::max_queue_requests) ||
         (receives && init.cap.max_recv_wr > driver::max_queue_requests);
}

int create_qp(caller& k, const channel::create_qp& in, channel::create_qp::answer& out) {
  client& p = k.who;
  ibv_pd* pd = p.pds.find(in.pd);
  ibv_cq* send = p.cqs.find(in.send_cq);
  ibv_cq* receive = p.cqs.find(in.recv_cq);
  ibv_srq* srq = p.srqs.find(in.srq);
  ibv_xrcd* xrcd = p.xrcds.find(in.xrcd);
  if ((in.pd && !pd) || (in.send_cq && !send) || (in.recv_cq && !receive) || (in.srq && !srq) || (in.xrcd && !xrcd))
    return EINVAL;
  ibv_context* const context = common(pd, send, receive, srq, xrcd);
  if (!context) return EINVAL;
  ibv_qp_init_attr_ex init{};
  init.pd = pd;
  init.xrcd = xrcd;
  init.qp_context = as_context(in.user);
  init.send_cq = send;
  init.recv_cq = receive;
  init.srq = srq;
  init.cap = channel::unpacked_cap<ibv_qp_cap>(in.cap);
  // Adapters round short queues up, and programs rely on the extra entries. A program may arm its CQ before polling, and get an
  // event for a completion that the poll takes. The program then finds no completion at this event, and posts all the same.
  constexpr std::uint32_t shortest = 4;
  init.cap.max_send_wr = std::max(init.cap.max_send_wr, shortest);
  init.qp_type = static_cast<ibv_qp_type>(in.type);
  init.sq_sig_all = in.signal_all != 0;
  if (too_long(init)) return EINVAL;
  ibv_qp* qp = ibv_create_qp_ex(k.c, context, &init);
  if (!qp) return errno;
  if (!counts(*qp)) ++p.connected;
  out = {p.qps.add(qp), qp->qp_num, channel::packed_cap(shown(init.cap))};
  return 0;
}

void note_state(caller& k, const ibv_qp& qp, bool before) {
  if (!counts(qp)) return;
  const bool after = is_connected(qp.state);
  if (after && !before) ++k.who.connected;
  if (before && !after) --k.who.connected;
}

int modify_qp(caller& k, const channel::modify_qp& in, channel::nothing&) {
  ibv_qp* qp = k.who.qps.find(in.qp);
  if (!qp) return EINVAL;
  auto attr = channel::unpacked<ibv_qp_attr>(in.attributes);
  if (in.mask & IBV_QP_AV) {
    if (const int error = k.who.route(attr.ah_attr)) return error;
  }
  const bool before = is_connected(qp->state);
  const int error = ibv_modify_qp(k.c, qp, &attr, static_cast<int>(in.mask));
  note_state(k, *qp, before);
  return error;
}

int query_qp(caller& k, const channel::query_qp& in, channel::query_qp::answer& out) {
  ibv_qp* qp = k.who.qps.find(in.qp);
  if (!qp) return EINVAL;
  ibv_qp_attr a{};
  ibv_qp_init_attr init{};
  const bool before = is_connected(qp->state);
  const int error = ibv_query_qp(k.c, qp, &a, 0, &init);
  note_state(k, *qp, before);
  if (error) return error;
  a.cap = shown(a.cap);
  out.attributes = channel::packed(a);
  out.signal_all = init.sq_sig_all != 0;
  return 0;
}

int destroy_qp(caller& k, const channel::destroy_qp& in, channel::events_answer& out) {
  ibv_qp* qp = k.who.qps.find(in.qp);
  if (!qp) return ENOENT;
  const bool connected = !counts(*qp) || is_connected(qp->state);
  const std::uint32_t events = static_cast<driver::queue_pair*>(qp)->events;
  if (const int error = ibv_destroy_qp(k.c, qp)) return error;
  if (connected) --k.who.connected;
  k.who.qps.remove(in.qp);
  out.async = events;
  return 0;
}

// Appends the segments of one request in `data` to the list. The requests point into the list once all segments are there.
bool take_segments(caller& k, std::size_t& at, std::uint32_t n) {
  for (std::uint32_t i = 0; i < n; ++i) {
    channel::segment s;
    if (!take_from(k.data, at, s)) return false;
    k.segments.push_back({s.address, s.length, s.lkey});
  }
  return true;
}

void take_bound(caller& k, ibv_send_wr& wr, std::size_t& next) {
  if (wr.opcode != IBV_WR_BIND_MW) return;
  caller::bound& b = k.binds[next++];
  wr.bind_mw.mw = &b.window;
  if (wr.bind_mw.bind_info.mr) wr.bind_mw.bind_info.mr = &b.region;
}
void take_bound(caller&, ibv_recv_wr&, std::size_t&) {}

void take_addresses(caller& k) {
  if (k.addresses.empty()) return;
  for (std::size_t i = 0; i < k.sends.size(); ++i) k.sends[i].wr.ud.ah = &k.addresses[i];
}

template <class Request>
void link(caller& k, std::vector<Request>& requests) {
  std::size_t next = 0;
  std::size_t next_bind = 0;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    requests[i].sg_list = k.segments.data() + next;
    requests[i].next = i + 1 < requests.size() ? &requests[i + 1] : nullptr;
    next += static_cast<std::size_t>(requests[i].num_sge);
    take_bound(k, requests[i], next_bind);
  }
}

// Reads one send request. Returns 0; EINVAL = no verb has such a request.
int read_send(caller& k, const ibv_qp& qp, std::size_t& at) {
  client& p = k.who;
  channel::send_request r;
  if (!take_from(k.data, at, r) || !take_segments(k, at, r.segments)) return EINVAL;
  // Flags of other kinds of QPs are ignored; a datagram's checksum is not computed.
  constexpr std::uint32_t known_flags = IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED | IBV_SEND_INLINE;
  constexpr std::uint32_t ip_checksum = 1 << 4;
  if (r.opcode > IBV_WR_SEND_WITH_INV || (qp.qp_type == IBV_QPT_UD && (r.flags & ip_checksum))) return EINVAL;
  ibv_send_wr wr{};
  wr.wr_id = r.wr_id;
  wr.num_sge = static_cast<int>(r.segments);
  wr.opcode = static_cast<ibv_wr_opcode>(r.opcode);
  wr.send_flags = r.flags & known_flags;
  wr.imm_data = r.immediate;
  if (qp.qp_type == IBV_QPT_UD) {
    const ibv_ah* ah = p.ahs.find(r.ah);
    if (!ah || !together(*ah, qp)) return EINVAL;
    k.addresses.push_back(static_cast<const driver::address_handle&>(*ah));
    wr.wr.ud.remote_qpn = r.remote_qpn;
    wr.wr.ud.remote_qkey = r.remote_qkey;
  } else if (wr.opcode == IBV_WR_ATOMIC_CMP_AND_SWP || wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
    wr.wr.atomic.remote_addr = r.remote_address;
    wr.wr.atomic.compare_add = r.compare_add;
    wr.wr.atomic.swap = r.swap;
    wr.wr.atomic.rkey = r.rkey;
  } else {
    wr.wr.rdma.remote_addr = r.remote_address;
    wr.wr.rdma.rkey = r.rkey;
  }
  if (qp.qp_type == IBV_QPT_XRC_SEND) wr.qp_type.xrc.remote_srqn = r.remote_srqn;
  if (wr.opcode == IBV_WR_BIND_MW) {
    ibv_mw* mw = p.mws.find(r.mw);
    ibv_mr* mr = p.mrs.find(r.bind.mr);
    if (!mw || !together(*mw, qp) || (r.bind.mr && !mr) || (mr && !together(*mr, qp))) return EINVAL;
    k.binds.push_back({*mw, mr ? *mr : ibv_mr{}});
    k.binds.back().window.rkey = r.bind.window_rkey;
    k.binds.back().region.lkey = r.bind.lkey;
    wr.bind_mw = {mw, r.bind_rkey, {mr, r.bind.address, r.bind.length, r.bind.access}};
  }
  k.sends.push_back(wr);
  return 0;
}

// Posts all requests before a malformed one, as a list is posted up to its first bad request.
int post_send(caller& k, const channel::post_send& in, channel::posted& out) {
  ibv_qp* qp = k.who.qps.find(in.qp);
  if (!qp) return EINVAL;
  k.sends.clear();
  k.segments.clear();
  k.binds.clear();
  k.addresses.clear();
  std::size_t at = 0;
  int error = 0;
  for (std::uint32_t i = 0; i < in.count && !error; ++i) error = read_send(k, *qp, at);
  if (k.sends.empty()) return error;
  link(k, k.sends);
  take_addresses(k);
  ibv_send_wr* bad = nullptr;
  const int refused = ibv_post_send(k.c, qp, k.sends.data(), &bad);
  out.requests = static_cast<std::uint32_t>(refused ? bad - k.sends.data() : k.sends.end() - k.sends.begin());
  if (out.requests > 0) k.who.active.posted(k.c.time());
  return refused ? refused : error;
}

int read_receives(caller& k, std::uint32_t count) {
  k.receives.clear();
  k.segments.clear();
  std::size_t at = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    channel::receive_request r;
    if (!take_from(k.data, at, r) || !take_segments(k, at, r.segments)) return EINVAL;
    k.receives.push_back({r.wr_id, nullptr, nullptr, static_cast<int>(r.segments)});
  }
  link(k, k.receives);
  return 0;
}

template <class Queue, class Post>
int post_receives(caller& k, Queue* queue, std::uint32_t count, channel::posted& out, Post post) {
  if (!queue) return EINVAL;
  const int error = read_receives(k, count);
  if (error || k.receives.empty()) return error;
  ibv_recv_wr* bad = nullptr;
  const int refused = post(k.c, queue, k.receives.data(), &bad);
  out.requests = static_cast<std::uint32_t>(refused ? bad - k.receives.data() : k.receives.end() - k.receives.begin());
  return refused;
}

int post_recv(caller& k, const channel::post_recv& in, channel::posted& out) {
  return post_receives(k, k.who.qps.find(in.qp), in.count, out, ibv_post_recv);
}

int post_srq_recv(caller& k, const channel::post_srq_recv& in, channel::posted& out) {
  return post_receives(k, k.who.srqs.find(in.srq), in.count, out, ibv_post_srq_recv);
}

int create_srq(caller& k, const channel::create_srq& in, channel::create_srq::answer& out) {
  ibv_pd* pd = k.who.pds.find(in.pd);
  if (!pd) return EINVAL;
  ibv_xrcd* xrcd = k.who.xrcds.find(in.xrcd);
  ibv_cq* cq = k.who.cqs.find(in.cq);
  if ((in.xrcd && !xrcd) || (in.cq && !cq) || (xrcd && !together(*pd, *xrcd)) || (cq && !together(*pd, *cq))) return EINVAL;
  ibv_srq_init_attr_ex init{};
  init.srq_context = as_context(in.user);
  init.attr = {in.max_wr, in.max_sge, 0};
  init.srq_type = in.xrcd ? IBV_SRQT_XRC : IBV_SRQT_BASIC;
  init.pd = pd;
  init.xrcd = xrcd;
  init.cq = cq;
  ibv_srq* srq = ibv_create_srq_ex(k.c, pd->context, &init);
  if (!srq) return errno;
  out = {k.who.srqs.add(srq), init.attr.max_wr, init.attr.max_sge, 0};
  if (xrcd) ibv_get_srq_num(srq, &out.srq_num);
  return 0;
}

int modify_srq(caller& k, const channel::modify_srq& in, channel::nothing&) {
  ibv_srq* srq = k.who.srqs.find(in.srq);
  if (!srq) return EINVAL;
  ibv_srq_attr attr{in.max_wr, 0, in.limit};
  return ibv_modify_srq(k.c, srq, &attr, static_cast<int>(in.mask));
}

int query_srq(caller& k, const channel::query_srq& in, channel::query_srq::answer& out) {
  ibv_srq* srq = k.who.srqs.find(in.srq);
  if (!srq) return EINVAL;
  ibv_srq_attr attr{};
  const int error = ibv_query_srq(k.c, srq, &attr);
  out = {attr.max_wr, attr.max_sge, attr.srq_limit};
  return error;
}

int destroy_srq(caller& k, const channel::destroy_srq& in, channel::events_answer& out) {
  ibv_srq* srq = k.who.srqs.find(in.srq);
  if (!srq) return ENOENT;
  const std::uint32_t events = static_cast<driver::shared_queue*>(srq)->events;
  if (const int error = ibv_destroy_srq(k.c, srq)) return error;
  k.who.srqs.remove(in.srq);
  out.async = events;
  return 0;
}

}  // namespace

void add_queue_requests(handler_table& t) {
  add<channel::create_qp, create_qp>(t);
  add<channel::modify_qp, modify_qp>(t);
  add<channel::query_qp, query_qp>(t);
  add<channel::destroy_qp, destroy_qp>(t);
  add<channel::post_send, post_send>(t);
  add<channel::post_recv, post_recv>(t);
  add<channel::create_srq, create_srq>(t);
  add<channel::modify_srq, modify_srq>(t);
  add<channel::query_srq, query_srq>(t);
  add<channel::destroy_srq, destroy_srq>(t);
  add<channel::post_srq_recv, post_srq_recv>(t);
}

}  // namespace hcasim::applications
