// Completion channels and queues, queue pairs, shared receive queues.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "testbenches/applications/preload/blocking.h"
#include "testbenches/applications/preload/objects.h"
#include "testbenches/applications/preload/real.h"

// NOLINTBEGIN(performance-no-int-to-ptr): pointers cross the channel as numbers

namespace hcasim::preload {

void wait_for_events(const std::uint32_t& acknowledged, std::uint32_t given) {
  for (std::uint32_t again = 0; *static_cast<const volatile std::uint32_t*>(&acknowledged) < given; again = 1) {
    call(channel::wait_others{channel::forever, again});
  }
}

static_assert(sizeof(ibv_wc) == sizeof(channel::completion));
static_assert(offsetof(ibv_wc, imm_data) == offsetof(channel::completion, immediate));
static_assert(offsetof(ibv_wc, sl) == offsetof(channel::completion, sl));

int poll(cq_object& q, int entries, ibv_wc* wc) {
  const int most = std::min(entries, static_cast<int>(channel::data_bytes / sizeof(ibv_wc)));
  if (most < 0) return -1;
  channel::poll_cq::answer out{};
  if (const int error = call(channel::poll_cq{q.name, static_cast<std::uint32_t>(most)}, out)) {
    errno = error;
    return -1;
  }
  std::memcpy(static_cast<void*>(wc), data().data(), out.found * sizeof(ibv_wc));
  return static_cast<int>(out.found);
}

namespace {

int poll_cq(ibv_cq* cq, int entries, ibv_wc* wc) {
  return poll(*of<cq_object>(cq), entries, wc);
}

int req_notify_cq(ibv_cq* cq, int solicited) {
  return call(channel::notify_cq{name_of(cq), solicited != 0});
}

int modify_cq(ibv_cq* cq, ibv_modify_cq_attr* attr) {
  if (attr->attr_mask != IBV_CQ_ATTR_MODERATE) return EINVAL;
  return call(channel::modify_cq{name_of(cq), attr->moderate.cq_count, attr->moderate.cq_period});
}

ibv_cq_ex* make_cq(ibv_context* context, std::uint32_t cqe, void* user, ibv_comp_channel* with, std::uint32_t vector) {
  auto* q = made<cq_object>();
  channel::create_cq::answer out{};
  const handle of_channel = with ? of<channel_object>(with)->name : 0;
  const int error = call(channel::create_cq{name_of(context), of_channel, reinterpret_cast<std::uint64_t>(q),
                                            static_cast<int>(cqe), static_cast<int>(vector)},
                         out);
  if (error) {
    std::free(q);
    return refused<ibv_cq_ex>(error);
  }
  q->name = out.object;
  q->cq.context = context;
  q->cq.channel = with;
  q->cq.cq_context = user;
  q->cq.handle = static_cast<std::uint32_t>(out.object);
  q->cq.cqe = out.cqe;
  ::pthread_mutex_init(&q->cq.mutex, nullptr);
  ::pthread_cond_init(&q->cq.cond, nullptr);
  if (with) ++with->refcnt;
  return &q->cq;
}

ibv_cq_ex* create_cq_ex(ibv_context* context, ibv_cq_init_attr_ex* attr) {
  constexpr std::uint64_t known_reads = IBV_WC_STANDARD_FLAGS;
  constexpr std::uint32_t known_flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED | IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN;
  constexpr std::uint32_t known_masks = IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD;
  if (attr->comp_mask & ~known_masks) return refused<ibv_cq_ex>(EINVAL);
  const std::uint32_t flags = (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) ? attr->flags : 0;
  if ((attr->wc_flags & ~known_reads) || (flags & ~known_flags)) return refused<ibv_cq_ex>(EOPNOTSUPP);
  ibv_cq_ex* cq = make_cq(context, attr->cqe, attr->cq_context, attr->channel, attr->comp_vector);
  if (cq) open_extended(*of<cq_object>(cq));
  return cq;
}

channel::segment segment_of(const ibv_sge& s) {
  return {s.addr, s.length, s.lkey};
}

channel::send_request request_of(const ibv_send_wr& wr, ibv_qp_type type) {
  channel::send_request r{};
  r.wr_id = wr.wr_id;
  r.opcode = wr.opcode;
  r.flags = wr.send_flags;
  r.immediate = wr.imm_data;
  if (type == IBV_QPT_UD) {
    r.ah = wr.wr.ud.ah ? of<ah_object>(wr.wr.ud.ah)->name : 0;
    r.remote_qpn = wr.wr.ud.remote_qpn;
    r.remote_qkey = wr.wr.ud.remote_qkey;
  } else if (wr.opcode == IBV_WR_ATOMIC_CMP_AND_SWP || wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
    r.remote_address = wr.wr.atomic.remote_addr;
    r.compare_add = wr.wr.atomic.compare_add;
    r.swap = wr.wr.atomic.swap;
    r.rkey = wr.wr.atomic.rkey;
  } else {
    r.remote_address = wr.wr.rdma.remote_addr;
    r.rkey = wr.wr.rdma.rkey;
  }
  if (wr.opcode == IBV_WR_BIND_MW) {
    const ibv_mw_bind_info& b = wr.bind_mw.bind_info;
    r.mw = wr.bind_mw.mw ? of<mw_object>(wr.bind_mw.mw)->name : 0;
    r.bind_rkey = wr.bind_mw.rkey;
    r.bind = {b.mr ? of<mr_object>(b.mr)->name : 0, b.addr, b.length, b.mw_access_flags};
  }
  return r;
}

// Writes requests into the list area until one does not fit.
class list_writer {
 public:
  template <class T>
  bool put(const T& v) {
    if (room_.size() - at_ < sizeof v) return false;
    std::memcpy(room_.data() + at_, &v, sizeof v);
    at_ += sizeof v;
    return true;
  }
  template <class Request>
  bool put(Request r, const ibv_sge* list, int n) {
    if (n < 0) n = 0;
    r.segments = static_cast<std::uint32_t>(n);
    if (room_.size() - at_ < sizeof r + static_cast<std::size_t>(n) * sizeof(channel::segment)) return false;
    put(r);
    for (int i = 0; i < n; ++i) put(segment_of(list[i]));
    return true;
  }
  void restart() { at_ = 0; }

 private:
  std::span<std::byte> room_ = data();
  std::size_t at_ = 0;
};

// A list of requests, in pieces that fit. 0 or an errno value, with the first that was not taken.
template <class Request, class Wr, class Convert>
int post_list(handle queue, Wr* wr, Wr** bad, Convert convert) {
  while (wr) {
    list_writer out;
    std::uint32_t n = 0;
    Wr* end = wr;
    for (; end && out.put(convert(*end), end->sg_list, end->num_sge); end = end->next) ++n;
    if (n == 0) {
      if (bad) *bad = wr;
      return EINVAL;
    }
    channel::posted done{};
    const int error = call(Request{queue, n}, done);
    for (std::uint32_t i = 0; i < done.requests && wr; ++i) wr = wr->next;
    if (error) {
      if (bad) *bad = wr;
      return error;
    }
  }
  return 0;
}

channel::receive_request receive_of(const ibv_recv_wr& wr) {
  return {wr.wr_id, 0};
}

int post_send(ibv_qp* qp, ibv_send_wr* wr, ibv_send_wr** bad) {
  const ibv_qp_type type = qp->qp_type;
  return post_list<channel::post_send>(of<qp_object>(qp)->name, wr, bad,
                                       [type](const ibv_send_wr& w) { return request_of(w, type); });
}

int post_recv(ibv_qp* qp, ibv_recv_wr* wr, ibv_recv_wr** bad) {
  return post_list<channel::post_recv>(of<qp_object>(qp)->name, wr, bad, receive_of);
}

int post_srq_recv(ibv_srq* srq, ibv_recv_wr* wr, ibv_recv_wr** bad) {
  return post_list<channel::post_srq_recv>(of<srq_object>(srq)->name, wr, bad, receive_of);
}

channel::capacities shown(const ibv_qp_cap& c) {
  return {c.max_send_wr, c.max_recv_wr, c.max_send_sge, c.max_recv_sge, c.max_inline_data};
}
ibv_qp_cap shown(const channel::capacities& c) {
  return {c.send_wr, c.recv_wr, c.send_sge, c.recv_sge, c.inline_data};
}

ibv_qp* make_qp(ibv_pd* pd, ibv_qp_init_attr_ex& attr, ibv_qp_cap& cap) {
  auto* q = made<qp_object>();
  channel::create_qp::answer out{};
  const int error = call(channel::create_qp{name_of(pd), name_of(attr.send_cq), name_of(attr.recv_cq),
                                            attr.srq ? of<srq_object>(attr.srq)->name : 0, reinterpret_cast<std::uint64_t>(q),
                                            shown(attr.cap), static_cast<std::uint32_t>(attr.qp_type), attr.sq_sig_all != 0},
                         out);
  if (error) {
    std::free(q);
    return refused<ibv_qp>(error);
  }
  q->name = out.object;
  ibv_qp& base = q->qp.qp_base;
  base.context = pd->context;
  base.qp_context = attr.qp_context;
  base.pd = pd;
  base.send_cq = attr.send_cq;
  base.recv_cq = attr.recv_cq;
  base.srq = attr.srq;
  base.handle = static_cast<std::uint32_t>(out.object);
  base.qp_num = out.qp_num;
  base.state = IBV_QPS_RESET;
  base.qp_type = attr.qp_type;
  ::pthread_mutex_init(&base.mutex, nullptr);
  ::pthread_cond_init(&base.cond, nullptr);
  cap = shown(out.cap);
  return &base;
}

ibv_qp* create_qp_ex(ibv_context*, ibv_qp_init_attr_ex* attr) {
  constexpr std::uint32_t known = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS | IBV_QP_INIT_ATTR_CREATE_FLAGS;
  constexpr std::uint64_t operations = (IBV_QP_EX_WITH_SEND_WITH_INV << 1) - 1;
  if ((attr->comp_mask & ~known) || !(attr->comp_mask & IBV_QP_INIT_ATTR_PD)) return refused<ibv_qp>(EOPNOTSUPP);
  const bool extended = attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
  if ((attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) && attr->create_flags) return refused<ibv_qp>(EOPNOTSUPP);
  if (extended && (attr->send_ops_flags & ~operations)) return refused<ibv_qp>(EOPNOTSUPP);
  ibv_qp* qp = make_qp(attr->pd, *attr, attr->cap);
  if (qp && extended) open_extended(*of<qp_object>(qp), attr->send_ops_flags);
  return qp;
}

channel::qp_attributes shown(const ibv_qp_attr& a) {
  channel::qp_attributes o{};
  o.state = a.qp_state;
  o.current_state = a.cur_qp_state;
  o.path_mtu = a.path_mtu;
  o.qkey = a.qkey;
  o.rq_psn = a.rq_psn;
  o.sq_psn = a.sq_psn;
  o.dest_qp_num = a.dest_qp_num;
  o.access = a.qp_access_flags;
  o.cap = shown(a.cap);
  o.dlid = a.ah_attr.dlid;
  o.sl = a.ah_attr.sl;
  o.ah_port = a.ah_attr.port_num;
  o.pkey_index = a.pkey_index;
  o.port = a.port_num;
  o.sqd_notify = a.en_sqd_async_notify;
  o.max_rd_atomic = a.max_rd_atomic;
  o.max_dest_rd_atomic = a.max_dest_rd_atomic;
  o.min_rnr_timer = a.min_rnr_timer;
  o.timeout = a.timeout;
  o.retry_cnt = a.retry_cnt;
  o.rnr_retry = a.rnr_retry;
  return o;
}

}  // namespace

void add_device_operations(context_object& c);
void add_memory_operations(context_object& c);

void fill_operations(context_object& c) {
  ibv_context_ops& o = c.verbs.context.ops;
  o.poll_cq = poll_cq;
  o.req_notify_cq = req_notify_cq;
  o.post_send = post_send;
  o.post_recv = post_recv;
  o.post_srq_recv = post_srq_recv;
  c.verbs.create_cq_ex = create_cq_ex;
  c.verbs.modify_cq = modify_cq;
  c.verbs.create_qp_ex = create_qp_ex;
  add_device_operations(c);
  add_memory_operations(c);
}

int post(qp_object& q, const std::vector<channel::send_request>& requests,
         const std::vector<std::vector<channel::segment>>& segments, std::size_t& posted) {
  posted = 0;
  while (posted < requests.size()) {
    list_writer out;
    std::uint32_t n = 0;
    std::size_t left = channel::data_bytes;
    for (std::size_t i = posted; i < requests.size(); ++i, ++n) {
      const std::size_t bytes = sizeof requests[i] + segments[i].size() * sizeof(channel::segment);
      if (bytes > left) break;
      left -= bytes;
      channel::send_request r = requests[i];
      r.segments = static_cast<std::uint32_t>(segments[i].size());
      out.put(r);
      for (const channel::segment& s : segments[i]) out.put(s);
    }
    if (n == 0) return EINVAL;
    channel::posted done{};
    const int error = call(channel::post_send{q.name, n}, done);
    posted += done.requests;
    if (error) return error;
  }
  return 0;
}

}  // namespace hcasim::preload

using namespace hcasim;
using namespace hcasim::preload;

HCASIM_PUBLIC ibv_comp_channel* ibv_create_comp_channel(ibv_context* context) {
  if (!mine()) return HCASIM_REAL(ibv_create_comp_channel)(context);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return nullptr;
  ::fcntl(ends[1], F_SETFL, O_NONBLOCK);
  channel::made out{};
  const int error = call(channel::create_channel{name_of(context)}, out, std::span(&ends[1], 1));
  ::close(ends[1]);
  if (error) {
    ::close(ends[0]);
    return refused<ibv_comp_channel>(error);
  }
  auto* c = made<channel_object>();
  c->name = out.object;
  c->channel = {context, ends[0], 0};
  return &c->channel;
}

HCASIM_PUBLIC int ibv_destroy_comp_channel(ibv_comp_channel* channel) {
  if (!mine()) return HCASIM_REAL(ibv_destroy_comp_channel)(channel);
  const int error = call(hcasim::channel::destroy_channel{of<channel_object>(channel)->name});
  if (error) return error;
  ::close(channel->fd);
  std::free(of<channel_object>(channel));
  return 0;
}

HCASIM_PUBLIC ibv_cq* ibv_create_cq(ibv_context* context, int cqe, void* user, ibv_comp_channel* with, int vector) {
  if (!mine()) return HCASIM_REAL(ibv_create_cq)(context, cqe, user, with, vector);
  return reinterpret_cast<ibv_cq*>(
      make_cq(context, static_cast<std::uint32_t>(cqe), user, with, static_cast<std::uint32_t>(vector)));
}

HCASIM_PUBLIC int ibv_destroy_cq(ibv_cq* cq) {
  if (!mine()) return HCASIM_REAL(ibv_destroy_cq)(cq);
  channel::events_answer out{};
  if (const int error = call(channel::destroy_cq{name_of(cq)}, out)) return error;
  wait_for_events(cq->comp_events_completed, out.completion);
  if (cq->channel) --cq->channel->refcnt;
  std::free(of<cq_object>(cq));
  return 0;
}

HCASIM_PUBLIC int ibv_resize_cq(ibv_cq* cq, int cqe) {
  if (!mine()) return HCASIM_REAL(ibv_resize_cq)(cq, cqe);
  return EOPNOTSUPP;
}

HCASIM_PUBLIC int ibv_get_cq_event(ibv_comp_channel* channel, ibv_cq** cq, void** user) {
  if (!mine()) return HCASIM_REAL(ibv_get_cq_event)(channel, cq, user);
  for (;;) {
    if (!take_token(channel->fd)) return -1;
    hcasim::channel::take_cq_event::answer out{};
    const int error = call(hcasim::channel::take_cq_event{of<channel_object>(channel)->name}, out);
    if (error) {
      errno = error;
      return -1;
    }
    if (!out.user) continue;  // the queue was destroyed meanwhile
    auto* q = reinterpret_cast<cq_object*>(out.user);
    *cq = reinterpret_cast<ibv_cq*>(&q->cq);
    *user = q->cq.cq_context;
    return 0;
  }
}

HCASIM_PUBLIC void ibv_ack_cq_events(ibv_cq* cq, unsigned n) {
  if (!mine()) return HCASIM_REAL(ibv_ack_cq_events)(cq, n);
  cq->comp_events_completed += n;
}

HCASIM_PUBLIC int ibv_get_async_event(ibv_context* context, ibv_async_event* event) {
  if (!mine()) return HCASIM_REAL(ibv_get_async_event)(context, event);
  for (;;) {
    if (!take_token(context->async_fd)) return -1;
    channel::take_async_event::answer out{};
    const int error = call(channel::take_async_event{name_of(context)}, out);
    if (error) {
      errno = error;
      return -1;
    }
    if (!out.found) continue;
    event->event_type = static_cast<ibv_event_type>(out.type);
    event->element.qp = reinterpret_cast<ibv_qp*>(out.user);
    return 0;
  }
}

HCASIM_PUBLIC void ibv_ack_async_event(ibv_async_event* event) {
  if (!mine()) return HCASIM_REAL(ibv_ack_async_event)(event);
  switch (event->event_type) {
    case IBV_EVENT_CQ_ERR:
      ++event->element.cq->async_events_completed;
      return;
    case IBV_EVENT_SRQ_ERR:
    case IBV_EVENT_SRQ_LIMIT_REACHED:
      ++event->element.srq->events_completed;
      return;
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
    case IBV_EVENT_SQ_DRAINED:
    case IBV_EVENT_QP_LAST_WQE_REACHED:
      ++event->element.qp->events_completed;
      return;
    default:
      return;
  }
}

HCASIM_PUBLIC ibv_qp* ibv_create_qp(ibv_pd* pd, ibv_qp_init_attr* attr) {
  if (!mine()) return HCASIM_REAL(ibv_create_qp)(pd, attr);
  ibv_qp_init_attr_ex all{};
  std::memcpy(static_cast<void*>(&all), attr, sizeof *attr);
  return make_qp(pd, all, attr->cap);
}

HCASIM_PUBLIC ibv_qp_ex* ibv_qp_to_qp_ex(ibv_qp* qp) {
  if (!mine()) return HCASIM_REAL(ibv_qp_to_qp_ex)(qp);
  return of<qp_object>(qp)->extended ? &of<qp_object>(qp)->qp : nullptr;
}

HCASIM_PUBLIC int ibv_modify_qp(ibv_qp* qp, ibv_qp_attr* attr, int mask) {
  if (!mine()) return HCASIM_REAL(ibv_modify_qp)(qp, attr, mask);
  const int error = call(channel::modify_qp{of<qp_object>(qp)->name, static_cast<std::uint32_t>(mask), shown(*attr)});
  if (!error && (mask & IBV_QP_STATE)) qp->state = attr->qp_state;
  return error;
}

HCASIM_PUBLIC int ibv_query_qp(ibv_qp* qp, ibv_qp_attr* attr, int mask, ibv_qp_init_attr* init) {
  if (!mine()) return HCASIM_REAL(ibv_query_qp)(qp, attr, mask, init);
  channel::query_qp::answer out{};
  if (const int error = call(channel::query_qp{of<qp_object>(qp)->name}, out)) return error;
  const channel::qp_attributes& a = out.attributes;
  *attr = {};
  attr->qp_state = static_cast<ibv_qp_state>(a.state);
  attr->cur_qp_state = static_cast<ibv_qp_state>(a.current_state);
  attr->path_mtu = static_cast<ibv_mtu>(a.path_mtu);
  attr->qkey = a.qkey;
  attr->rq_psn = a.rq_psn;
  attr->sq_psn = a.sq_psn;
  attr->dest_qp_num = a.dest_qp_num;
  attr->qp_access_flags = a.access;
  attr->cap = shown(a.cap);
  attr->ah_attr.dlid = a.dlid;
  attr->ah_attr.sl = a.sl;
  attr->ah_attr.port_num = a.ah_port;
  attr->pkey_index = a.pkey_index;
  attr->sq_draining = a.sq_draining;
  attr->max_rd_atomic = a.max_rd_atomic;
  attr->max_dest_rd_atomic = a.max_dest_rd_atomic;
  attr->min_rnr_timer = a.min_rnr_timer;
  attr->port_num = a.port;
  attr->timeout = a.timeout;
  attr->retry_cnt = a.retry_cnt;
  attr->rnr_retry = a.rnr_retry;
  qp->state = attr->qp_state;
  if (init)
    *init = {qp->qp_context, qp->send_cq, qp->recv_cq, qp->srq, attr->cap, qp->qp_type, static_cast<int>(out.signal_all)};
  return 0;
}

HCASIM_PUBLIC int ibv_destroy_qp(ibv_qp* qp) {
  if (!mine()) return HCASIM_REAL(ibv_destroy_qp)(qp);
  channel::events_answer out{};
  auto* q = of<qp_object>(qp);
  if (const int error = call(channel::destroy_qp{q->name}, out)) return error;
  wait_for_events(qp->events_completed, out.async);
  delete q->pending;
  std::free(q);
  return 0;
}

HCASIM_PUBLIC ibv_srq* ibv_create_srq(ibv_pd* pd, ibv_srq_init_attr* init) {
  if (!mine()) return HCASIM_REAL(ibv_create_srq)(pd, init);
  auto* s = made<srq_object>();
  channel::create_srq::answer out{};
  const int error =
      call(channel::create_srq{name_of(pd), reinterpret_cast<std::uint64_t>(s), init->attr.max_wr, init->attr.max_sge}, out);
  if (error) {
    std::free(s);
    return refused<ibv_srq>(error);
  }
  s->name = out.object;
  s->srq.context = pd->context;
  s->srq.srq_context = init->srq_context;
  s->srq.pd = pd;
  s->srq.handle = static_cast<std::uint32_t>(out.object);
  ::pthread_mutex_init(&s->srq.mutex, nullptr);
  ::pthread_cond_init(&s->srq.cond, nullptr);
  init->attr.max_wr = out.max_wr;
  init->attr.max_sge = out.max_sge;
  return &s->srq;
}

HCASIM_PUBLIC int ibv_modify_srq(ibv_srq* srq, ibv_srq_attr* attr, int mask) {
  if (!mine()) return HCASIM_REAL(ibv_modify_srq)(srq, attr, mask);
  return call(channel::modify_srq{of<srq_object>(srq)->name, static_cast<std::uint32_t>(mask), attr->max_wr, attr->srq_limit});
}

HCASIM_PUBLIC int ibv_query_srq(ibv_srq* srq, ibv_srq_attr* attr) {
  if (!mine()) return HCASIM_REAL(ibv_query_srq)(srq, attr);
  channel::query_srq::answer out{};
  const int error = call(channel::query_srq{of<srq_object>(srq)->name}, out);
  if (!error) *attr = {out.max_wr, out.max_sge, out.limit};
  return error;
}

HCASIM_PUBLIC int ibv_destroy_srq(ibv_srq* srq) {
  if (!mine()) return HCASIM_REAL(ibv_destroy_srq)(srq);
  channel::events_answer out{};
  if (const int error = call(channel::destroy_srq{of<srq_object>(srq)->name}, out)) return error;
  wait_for_events(srq->events_completed, out.async);
  std::free(of<srq_object>(srq));
  return 0;
}
// NOLINTEND(performance-no-int-to-ptr)
