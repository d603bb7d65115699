// Posting: lists of requests go to the simulator in pieces that fit into the page.
#include <algorithm>
#include <utility>

#include "testbenches/verbs_programs/preload/objects.h"

namespace hcasim::preload {
namespace {

channel::segment segment_of(const ibv_sge& s) {
  return {s.addr, s.length, s.lkey};
}
channel::segment segment_of(const channel::segment& s) {
  return s;
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
  if (type == IBV_QPT_XRC_SEND) r.remote_srqn = wr.qp_type.xrc.remote_srqn;
  if (wr.opcode == IBV_WR_BIND_MW) {
    r.mw = wr.bind_mw.mw ? of<mw_object>(wr.bind_mw.mw)->name : 0;
    r.bind_rkey = wr.bind_mw.rkey;
    r.bind = bind_of(wr.bind_mw.bind_info, wr.bind_mw.mw);
  }
  return r;
}

// Turns the send requests of a list into those of the channel.
struct sends_of_list {
  ibv_qp_type type;
  posted_binds binds{};

  channel::send_request operator()(const ibv_send_wr& wr) const { return request_of(wr, type); }
  // Notes that the request goes to the simulator.
  void taken(const ibv_send_wr& wr) {
    if (wr.opcode == IBV_WR_BIND_MW) show_key(binds, wr.bind_mw.mw, wr.bind_mw.rkey, &wr);
  }
  // Takes back what was noted of `first` and the requests behind it.
  void refused(const ibv_send_wr* first) {
    for (; first; first = first->next) {
      const auto at = std::find_if(binds.begin(), binds.end(), [first](const posted_bind& b) { return b.request == first; });
      if (at != binds.end()) return give_back(binds, static_cast<std::size_t>(at - binds.begin()));
    }
  }
};

struct receives_of_list {
  channel::receive_request operator()(const ibv_recv_wr& wr) const { return {wr.wr_id, 0}; }
  static void taken(const ibv_recv_wr&) {}
  static void refused(const ibv_recv_wr*) {}
};

// Writes requests, each with its segments behind it, into the list area until one does not fit.
class list_writer {
 public:
  template <class Request, class Segment>
  bool put(Request r, const Segment* list, std::size_t n) {
    if (room_.size() - at_ < sizeof r + n * sizeof(channel::segment)) return false;
    r.segments = static_cast<std::uint32_t>(n);
    append(r);
    for (std::size_t i = 0; i < n; ++i) append(segment_of(list[i]));
    return true;
  }

 private:
  template <class T>
  void append(const T& v) {
    std::memcpy(room_.data() + at_, &v, sizeof v);
    at_ += sizeof v;
  }

  std::span<std::byte> room_ = data();
  std::size_t at_ = 0;
};

// A program's list.
template <class Wr, class Convert>
class chain {
 public:
  chain(Wr* first, Convert convert) : first_(first), at_(first), convert_(std::move(convert)) {}

  [[nodiscard]] bool done() const { return !first_; }
  // Writes the next request. False = there is none, there is no room, or its number of segments is negative.
  bool put(list_writer& out) {
    if (!at_ || at_->num_sge < 0) return false;
    if (!out.put(convert_(*at_), at_->sg_list, static_cast<std::size_t>(at_->num_sge))) return false;
    convert_.taken(*at_);
    at_ = at_->next;
    return true;
  }
  // Removes the first n requests, which were taken.
  void skip(std::size_t n) {
    for (; n > 0 && first_; --n) first_ = first_->next;
    at_ = first_;
  }
  // Returns the first request that was not taken.
  Wr* refused() {
    convert_.refused(first_);
    return first_;
  }

 private:
  Wr* first_;
  Wr* at_;
  Convert convert_;
};

// The requests that the extended calls have gathered.
class gathered {
 public:
  explicit gathered(const pending_sends& p) : p_(p) {}

  [[nodiscard]] bool done() const { return first_ >= p_.requests.size(); }
  bool put(list_writer& out) {
    if (at_ >= p_.requests.size() || !out.put(p_.requests[at_], p_.segments[at_].data(), p_.segments[at_].size())) return false;
    ++at_;
    return true;
  }
  void skip(std::size_t n) { at_ = first_ += n; }

 private:
  const pending_sends& p_;
  std::size_t first_ = 0;
  std::size_t at_ = 0;
};

// Posts all requests of `from`. Returns 0 or an errno value; `from` then begins with the first request that was not taken.
template <class Request, class Source>
int post_all(handle queue, Source& from) {
  while (!from.done()) {
    list_writer out;
    std::uint32_t n = 0;
    while (from.put(out)) ++n;
    if (n == 0) return EINVAL;
    channel::posted done{};
    const int error = call(Request{queue, n}, done);
    from.skip(done.requests);
    if (error) return error;
  }
  return 0;
}

template <class Request, class Wr, class Convert>
int post_list(handle queue, Wr* wr, Wr** bad, Convert convert) {
  chain from(wr, std::move(convert));
  const int error = post_all<Request>(queue, from);
  if (!error) return 0;
  Wr* const refused = from.refused();
  if (bad) *bad = refused;
  return error;
}

int post_send(ibv_qp* qp, ibv_send_wr* wr, ibv_send_wr** bad) {
  return post_list<channel::post_send>(of<qp_object>(qp)->name, wr, bad, sends_of_list{qp->qp_type});
}

int post_recv(ibv_qp* qp, ibv_recv_wr* wr, ibv_recv_wr** bad) {
  return post_list<channel::post_recv>(of<qp_object>(qp)->name, wr, bad, receives_of_list{});
}

int post_srq_recv(ibv_srq* srq, ibv_recv_wr* wr, ibv_recv_wr** bad) {
  return post_list<channel::post_srq_recv>(of<srq_object>(srq)->name, wr, bad, receives_of_list{});
}

}  // namespace

void add_posting_operations(context_object& c) {
  c.verbs.context.ops.post_send = post_send;
  c.verbs.context.ops.post_recv = post_recv;
  c.verbs.context.ops.post_srq_recv = post_srq_recv;
}

int post(qp_object& q, const pending_sends& sends) {
  gathered from(sends);
  return post_all<channel::post_send>(q.name, from);
}

}  // namespace hcasim::preload
