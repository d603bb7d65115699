#include "testbenches/traffic/issuer.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include <fmt/format.h>

namespace hcasim::traffic {
namespace {

using namespace kit;  // NOLINT(google-build-using-namespace): verbs

constexpr ps patience = 1000_ms;  // for a completion
constexpr std::size_t poll_size = 16;
constexpr unsigned lane_shift = 32;  // in a request's number

constexpr std::array<ibv_wr_opcode, operations> opcodes{
    IBV_WR_RDMA_WRITE,           IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_RDMA_READ,  IBV_WR_SEND,
    IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_ATOMIC_CMP_AND_SWP,  IBV_WR_BIND_MW,    IBV_WR_RDMA_WRITE,
    IBV_WR_RDMA_WRITE,           IBV_WR_RDMA_WRITE,          IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE};

}  // namespace

issuer::issuer(cpu& c, issuer_settings s, std::vector<lane> lanes)
    : c_(c),
      s_(std::move(s)),
      o_(s_.flow->options),
      choice_(s_.seed, s_.name + ".choice"),
      keyed_(needs_key(s_.flow->keyed())),
      requests_(s_.flow->requests()),
      places_(s_.flow->requests()),
      completions_(std::max<std::size_t>(s_.flow->depth(), poll_size)),
      left_(s_.messages) {
  for (lane& l : lanes) {
    lane_state& added = lanes_.emplace_back();
    static_cast<lane&>(added) = std::move(l);
    added.flights.resize(s_.flow->depth());
    weights_ += added.weight;
    added.more = added.source->next(added.next);
  }
}

// Near the end every message asks for a completion, so that none is left unanswered.
bool issuer::asks_completion(const lane_state& l) const {
  return (l.posted + 1) % o_.signal_every == 0 || left_ <= lanes_.size() * o_.signal_every;
}

std::uint64_t issuer::name_of(const lane_state& l) const {
  return static_cast<std::uint64_t>(&l - lanes_.data()) << lane_shift | (l.posted & UINT32_MAX);
}

// Counts the QP's next message as posted, and has its producer say the one after it.
void issuer::count_next(lane_state& l, bool signalled) {
  const message& m = l.next;
  l.at(l.posted) = {0_ps, due(l), m.size, pulls(m.operation), signalled};
  if (s_.flow->open()) s_.record->offered(due(l), m.size);
  unanswered_ += signalled ? 1 : 0;
  ++l.posted;
  --left_;
  l.more = l.source->next(l.next);
}

std::size_t issuer::add_requests(lane_state& l, std::size_t at) {
  const message& m = l.next;
  const bool signalled = asks_completion(l);
  ibv_send_wr& wr = requests_[at];
  wr = {};
  wr.wr_id = name_of(l);
  places_[at] = {s_.buffer.addr, m.size, s_.buffer.mr->lkey};
  wr.sg_list = &places_[at];
  wr.num_sge = 1;
  wr.opcode = opcodes[static_cast<std::size_t>(m.operation)];
  wr.send_flags = o_.send_inline ? unsigned{IBV_SEND_INLINE} : 0;
  if (l.srqs) wr.qp_type.xrc.remote_srqn = (*l.srqs)[(l.index + l.posted) % l.srqs->size()];
  const remote_region& r = (*l.target)[m.region];
  std::size_t made = 1;
  if (needs_key(m.operation)) {
    made = add_keyed(l, at, signalled ? unsigned{IBV_SEND_SIGNALED} : 0);
  } else if (signalled) {
    wr.send_flags |= IBV_SEND_SIGNALED;
  }
  if (is_atomic(m.operation)) {
    wr.wr.atomic = {r.address + m.offset, 1, 2, r.rkey};
  } else if (l.datagrams) {
    wr.wr.ud = {l.datagrams, l.peer, qp_options{}.qkey};
  } else if (goes_to_region(m.operation)) {
    wr.wr.rdma = {r.address + m.offset, r.rkey};
  }
  count_next(l, signalled);
  return made;
}

// Posts the bind that is the QP's next message; 0 or errno.
int issuer::bind(lane_state& l) {
  const bool signalled = asks_completion(l);
  ibv_mw_bind b{.wr_id = name_of(l),
                .send_flags = signalled ? unsigned{IBV_SEND_SIGNALED} : 0,
                .bind_info = {s_.buffer.mr, s_.buffer.addr, s_.buffer.length, IBV_ACCESS_REMOTE_READ}};
  count_next(l, signalled);
  return ibv_bind_mw(c_, l.qp, l.window, &b);
}

// Completes the WRITE of a message with a key of its own, and adds the SEND behind it, which gives the key back.
std::size_t issuer::add_keyed(lane_state& l, std::size_t at, unsigned flags) {
  const std::uint32_t key = l.keys.front();
  l.keys.pop_front();
  ibv_send_wr& write = requests_[at];
  write.wr.rdma = {l.keyed.address + l.keys_used++ % l.keyed.slots * l.keyed.stride, key};
  ibv_send_wr& send = requests_[at + 1];
  send = {};
  send.wr_id = write.wr_id;
  send.send_flags = flags;
  const bool invalidates = ends_by_invalidation(l.next.operation);
  send.opcode = invalidates ? IBV_WR_SEND_WITH_INV : IBV_WR_SEND;
  if (invalidates) send.invalidate_rkey = key;
  return 2;
}

bool issuer::post_key_receives(std::size_t i, std::uint32_t count) {
  std::vector<ibv_sge> room{{s_.buffer.addr, static_cast<std::uint32_t>(s_.buffer.length), s_.buffer.mr->lkey}};
  for (std::uint32_t k = 0; k < count; ++k) {
    if (post_receive(c_, lanes_[i].qp, i << lane_shift, room) != 0) {
      fail(lanes_[i], "a receive for a key was refused");
      return false;
    }
  }
  return true;
}

bool issuer::take_key(const ibv_wc& wc) {
  const std::size_t i = wc.wr_id >> lane_shift;
  lanes_[i].keys.push_back(wc.imm_data);
  return post_key_receives(i, 1);
}

bool issuer::post(lane_state& l, std::uint32_t most) {
  const ps now = c_.time();
  const std::uint64_t first = l.posted;
  std::size_t made = 0;
  int error = 0;
  while (error == 0 && l.posted - first < most && left_ != 0 && l.more && l.room() != 0 && !l.lacks_key() &&
         (!s_.flow->open() || due(l) <= now)) {
    if (l.next.operation != operation::bind) {
      made += add_requests(l, made);
      continue;
    }
    error = hand_over(l, std::exchange(made, 0));
    if (error == 0) error = bind(l);
  }
  if (l.posted == first) return true;
  for (std::uint64_t i = first; i < l.posted; ++i) l.at(i).posted = now;
  s_.record->posted(now);
  if (error == 0) error = hand_over(l, made);
  if (error != 0) fail(l, fmt::format("a post was refused: {}", std::strerror(error)));
  return error == 0;
}

int issuer::hand_over(lane_state& l, std::size_t requests) {
  if (requests == 0) return 0;
  ibv_send_wr* bad = nullptr;
  if (!o_.one_by_one) {
    for (std::size_t i = 0; i + 1 < requests; ++i) requests_[i].next = &requests_[i + 1];
    return ibv_post_send(c_, l.qp, requests_.data(), &bad);
  }
  int error = 0;
  for (std::size_t i = 0; error == 0 && i < requests; ++i) error = ibv_post_send(c_, l.qp, &requests_[i], &bad);
  return error;
}

// Posts into the room of a QP: all at once, or in batches of one size until the end is near.
bool issuer::post_freed(lane_state& l) {
  if (o_.batch == 0) return !may_post() || post(l, o_.window);
  bool ok = true;
  while (ok && may_post() && l.more && !l.lacks_key() && l.room() >= std::min<std::uint64_t>(o_.batch, left_))
    ok = post(l, o_.batch);
  return ok;
}

// Returns the QP of the next message: the one that the pattern's weights choose, or the next in turn.
issuer::lane_state& issuer::choose() {
  if (!s_.flow->per_message) return lanes_[turn_++ % lanes_.size()];
  double at = choice_.unit() * weights_;
  for (lane_state& l : lanes_) {
    if (at < l.weight) return l;
    at -= l.weight;
  }
  return lanes_.back();
}

// Posts so many messages, each on a QP of its own choice.
bool issuer::post_chosen(std::size_t count) {
  bool ok = true;
  for (; ok && count != 0 && may_post(); --count) ok = post(choose(), 1);
  return ok;
}

void issuer::await_arrival(std::size_t i) {
  lane_state& l = lanes_[i];
  if (l.queued || !l.more || l.room() == 0 || l.lacks_key()) return;
  l.queued = true;
  due_.push({due(l), i});
}

// Posts messages that have arrived and find room, the earliest first.
bool issuer::post_arrived() {
  bool ok = true;
  while (ok && !due_.empty() && due_.top().at <= c_.time() && may_post()) {
    const std::size_t i = due_.top().lane;
    due_.pop();
    lanes_[i].queued = false;
    ok = post(lanes_[i], o_.batch == 0 ? o_.window : o_.batch);
    await_arrival(i);
  }
  return ok;
}

bool issuer::post_first() {
  if (s_.flow->open()) {
    for (std::size_t i = 0; i < lanes_.size(); ++i) await_arrival(i);
    return true;
  }
  if (o_.outstanding != 0) return post_chosen(o_.outstanding);
  return std::all_of(lanes_.begin(), lanes_.end(), [&](lane_state& l) { return post_freed(l); });
}

void issuer::fail(const lane_state& l, const std::string& why) {
  const host_pair& pair = s_.flow->pairs[l.pair];
  s_.record->fail(
      fmt::format("{}; from node{} to node{}, QP {}, at {:.3f} us", why, pair.from, pair.to, l.qp->qp_num, to_us(c_.time())));
}

void issuer::fail(const std::string& why) {
  s_.record->fail(fmt::format("{}; on node{} at {:.3f} us", why, s_.host, to_us(c_.time())));
}

// A completion answers its message and the ones of its QP before it.
bool issuer::take(const ibv_wc& wc) {
  lane_state& l = lanes_[wc.wr_id >> lane_shift];
  if (wc.status != IBV_WC_SUCCESS) {
    fail(l, fmt::format("a message failed: {}", ibv_wc_status_str(wc.status)));
    return false;
  }
  if (wc.opcode & IBV_WC_RECV) return take_key(wc);
  const std::uint64_t last = l.completed + static_cast<std::uint32_t>(wc.wr_id - l.completed);
  for (; l.completed <= last; ++l.completed) {
    const flight& f = l.at(l.completed);
    unanswered_ -= f.signalled ? 1 : 0;
    s_.record->completed({l.pair, f.bytes, f.pulls, f.posted, f.due}, c_.time());
    if (s_.with) s_.with->completed(c_, s_.flow_number, l.index, l.completed);
  }
  return true;
}

bool issuer::post_after(std::span<const ibv_wc> news) {
  if (o_.outstanding != 0) return post_chosen(news.size());
  return std::all_of(news.begin(), news.end(), [&](const ibv_wc& wc) {
    const std::size_t i = wc.wr_id >> lane_shift;
    if (!s_.flow->open()) return post_freed(lanes_[i]);
    await_arrival(i);
    return true;
  });
}

bool issuer::collect(int& got) {
  got = s_.queues->poll(c_, completions_);
  if (got < 0) fail("a completion queue cannot be polled");
  if (got <= 0) return got == 0;
  const std::span<const ibv_wc> news(completions_.data(), static_cast<std::size_t>(got));
  return std::all_of(news.begin(), news.end(), [&](const ibv_wc& wc) { return take(wc); }) && post_after(news);
}

bool issuer::idle() const {
  const bool awaits_arrival = !due_.empty() && may_post();
  const bool awaits_key = keyed_ && may_post();
  return unanswered_ == 0 && !awaits_arrival && !awaits_key;
}

// Sleeps until a completion is there, or the next message arrives.
bool issuer::wait() {
  const ps asleep = c_.time();
  bool ok = true;
  const ps first = due_.empty() || !may_post() ? never : due_.top().at;
  const ps next = first != never || (keyed_ && may_post()) ? std::min(first, t_.end()) : never;
  if (next == never) {
    ok = s_.queues->wait(c_, o_.wait == waiting::events ? never : patience);
    if (!ok) fail(fmt::format("no completion came within {} ms", patience / 1_ms));
  } else if (next > asleep) {
    (void)s_.queues->wait(c_, next - asleep);
  }
  waited_ += c_.time() - asleep;
  return ok;
}

// Counts arrivals of the measured time that found no room until the end.
void issuer::count_late_arrivals() {
  if (!s_.flow->open() || t_.end() == never) return;
  for (lane_state& l : lanes_) {
    for (; left_ != 0 && l.more && due(l) < t_.end(); --left_) {
      s_.record->offered(due(l), l.next.size);
      l.more = l.source->next(l.next);
    }
  }
}

bool issuer::prepare() {
  bool ok = true;
  for (std::size_t i = 0; keyed_ && ok && i < lanes_.size(); ++i) ok = post_key_receives(i, 2 * o_.window);
  return ok;
}

bool issuer::run(const issuer_times& t) {
  t_ = t;
  if (t_.begin > c_.time()) c_.spend(t_.begin - c_.time());
  c_.sync();
  bool ok = post_first();
  while (ok) {
    ok = post_arrived();
    if (!ok || idle()) break;
    int got = 0;
    ok = collect(got);
    if (ok && got == 0) ok = idle() || wait();
  }
  count_late_arrivals();
  return ok;
}

}  // namespace hcasim::traffic
