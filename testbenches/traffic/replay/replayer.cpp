#include "testbenches/traffic/replay/replayer.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>

#include <fmt/format.h>

#include "testbenches/kit/world.h"

namespace hcasim::replay {
namespace {

using namespace kit;  // NOLINT(google-build-using-namespace): verbs

constexpr std::size_t poll_size = 16;
constexpr ps turn = 20_us;        // of a thread that shares a CQ with others
constexpr ps patience = 1000_ms;  // likewise, in all

std::size_t leading_receives(const trace_thread& t) {
  const auto other =
      std::find_if(t.steps.begin(), t.steps.end(), [](const trace_step& s) { return s.kind != step_kind::receive; });
  return static_cast<std::size_t>(other - t.steps.begin());
}

}  // namespace

void gate::arrive(cpu& c) {
  c.sync();
  if (++here_ == expected_) {
    open_.notify(sc_core::SC_ZERO_TIME);
    return;
  }
  while (here_ < expected_) sc_core::wait(open_);
}

replayer::replayer(hcasim::system& s, trace t, replay_options o, std::vector<std::optional<std::size_t>> gpus,
                   measured_parts parts)
    : system_(s),
      trace_(std::move(t)),
      o_(o),
      gpus_(std::move(gpus)),
      parts_(std::move(parts)),
      regions_(trace_.regions.size()),
      keys_(trace_.keys.size()),
      queues_(trace_.queues.size()),
      shared_(trace_.shared.size()),
      domains_(trace_.nodes),
      qps_(trace_.qps.size()),
      plays_(trace_.threads.size()),
      inline_data_(trace_.nodes),
      by_qpn_(trace_.nodes),
      running_(trace_.nodes),
      payload_(trace_.nodes),
      posts_(trace_.nodes),
      waited_(trace_.nodes) {
  for (gate* g : {&all_made_, &all_connected_, &all_ready_, &all_ended_}) g->expect(trace_.nodes);
  add_threads();
  if (recorded_first_post_ == never) recorded_first_post_ = 0_ps;
}

void replayer::add_threads() {
  for (std::size_t i = 0; i < trace_.threads.size(); ++i) {
    const trace_thread& t = trace_.threads[i];
    if (t.steps.empty()) continue;
    ++running_[t.node];
    all_ready_.expect(1);
    std::vector<std::uint32_t> polled;
    for (const trace_step& s : t.steps) {
      if (s.kind == step_kind::done) polled.push_back(s.object);
      if (s.kind == step_kind::post) recorded_first_post_ = std::min(recorded_first_post_, s.at);
    }
    std::sort(polled.begin(), polled.end());
    polled.erase(std::unique(polled.begin(), polled.end()), polled.end());
    for (const std::uint32_t q : polled) ++queues_[q].users;
    begin_order_.push_back(i);
    if (const std::size_t first = leading_receives(t); first < t.steps.size()) origin_ = std::min(origin_, t.steps[first].at);
  }
  const auto first_line = [this](std::size_t i) {
    const std::vector<trace_step>& steps = trace_.threads[i].steps;
    return steps[std::min(leading_receives(trace_.threads[i]), steps.size() - 1)].line;
  };
  std::sort(begin_order_.begin(), begin_order_.end(),
            [&](std::size_t a, std::size_t b) { return first_line(a) < first_line(b); });
}

void replayer::start() {
  for (std::uint32_t i = 0; i < trace_.nodes; ++i)
    start_program(system_, i, "replay", [this, i](cpu& c, node& n) { run_node(i, c, n); });
}

void replayer::run_node(std::uint32_t number, cpu& c, node& n) {
  traffic::flow_memory memory(n, gpus_[number]);
  process_context p(c, n);
  make_objects(number, p, memory);
  all_made_.arrive(c);
  connect(number, p);
  all_connected_.arrive(c);
  for (std::size_t i = 0; i < trace_.threads.size(); ++i) {
    if (trace_.threads[i].node != number || trace_.threads[i].steps.empty()) continue;
    n.host.run(fmt::format("thread{}", i), [this, i](cpu& own) { run_thread(i, own); });
  }
  all_ready_.arrive(c);
  if (number == 0) parts_.begin(c);
  while (running_[number] != 0) sc_core::wait(thread_ended_);
  all_ended_.arrive(c);
  if (number == 0) parts_.end(c);
  p.close();
  memory.leave(c);
  ++finished_;
}

// Lets threads of one begin run in the record's order: their requests then meet at each arbiter as in the record.
void replayer::await_turn(std::size_t number) {
  while (begin_order_[begun_] != number) sc_core::wait(thread_begun_);
  ++begun_;
  thread_begun_.notify(sc_core::SC_ZERO_TIME);
}

void replayer::run_thread(std::size_t number, cpu& c) {
  const trace_thread& t = trace_.threads[number];
  play& p = plays_[number];
  bool ok = true;
  for (const std::size_t first = leading_receives(t); ok && p.next < first; ++p.next) ok = receive(number, c);
  map_regions(number, c);
  all_ready_.arrive(c);
  await_turn(number);
  begin_ = std::min(begin_, c.time());
  if (ok) play_steps(number, c);
  p.ended = p.next == t.steps.size();
  c.sync();
  last_ = std::max(last_, c.time());
  --running_[t.node];
  thread_ended_.notify(sc_core::SC_ZERO_TIME);
}

// Spends the thread's own time before a step, or waits for the step's time.
void replayer::spend_own_time(const trace_step& s, bool first, cpu& c) const {
  if (o_.times == replay_times::original) {
    const ps due = begin_ + (s.at - origin_);
    if ((first || s.kind != step_kind::done) && due > c.time()) c.spend(due - c.time());
  } else if (o_.own == own_time::kept) {
    c.spend(first ? s.at - origin_ : s.gap);
  }
}

void replayer::play_steps(std::size_t number, cpu& c) {
  const trace_thread& t = trace_.threads[number];
  play& p = plays_[number];
  const bool shares = std::any_of(t.steps.begin(), t.steps.end(), [this](const trace_step& s) {
    return s.kind == step_kind::done && queues_[s.object].users > 1;
  });
  bool first = true;
  while (p.next < t.steps.size()) {
    const trace_step& s = t.steps[p.next];
    if (!first) map_regions(number, c);
    spend_own_time(s, std::exchange(first, false), c);
    if (shares) c.catch_up();  // the queue's other threads come before
    bool ok = true;
    switch (s.kind) {
      case step_kind::post:
        ok = is_type1_bind(s) ? bind_type1(s, c) : post(number, c);
        break;
      case step_kind::receive:
        ok = receive(number, c);
        break;
      case step_kind::done:
        ok = done(number, s, c);
        break;
    }
    if (!ok) return;
    ++p.next;
  }
}

std::pair<std::uint64_t, std::uint32_t> replayer::remote_place(const trace_place& p) const {
  if (p.keyed) return {keys_[p.of].address + p.offset, keys_[p.of].key};
  return {regions_[p.of].address + p.offset, regions_[p.of].mr->rkey};
}

void replayer::add_places(const trace_step& s, std::uint32_t node, std::vector<ibv_sge>& places) const {
  for (std::uint32_t i = s.first; i < s.first + s.count; ++i) {
    const trace_piece& piece = trace_.pieces[i];
    const trace_place& at = piece.at;
    if (at.of == nothing) {
      places.push_back({inline_data_[node], piece.length, 0});
    } else if (at.keyed) {
      places.push_back({keys_[at.of].address + at.offset, piece.length, keys_[at.of].key});
    } else {
      places.push_back({regions_[at.of].address + at.offset, piece.length, regions_[at.of].mr->lkey});
    }
  }
}

// Maps memory for the fast registrations of the thread's next post, which is before the post's time in the record, too.
void replayer::map_regions(std::size_t number, cpu& c) {
  const std::vector<trace_step>& steps = trace_.threads[number].steps;
  bool more = true;
  for (std::size_t i = plays_[number].next; more && i < steps.size() && steps[i].kind == step_kind::post; ++i) {
    more = steps[i].more;
    if (steps[i].opcode != IBV_WR_REG_MR) continue;
    const trace_piece& piece = trace_.pieces[steps[i].first];
    // Refused, if at all, with the post.
    (void)hcax_map_mr(c, keys_[steps[i].remote.of].fast, remote_place(piece.at).first, piece.length);
  }
}

// Makes the next key of a window or a fast registration, for the piece that the request names.
void replayer::make_key(const trace_step& s, ibv_send_wr& wr) {
  key_state& k = keys_[s.remote.of];
  const bool covers = s.count != 0;
  const trace_piece piece = covers ? trace_.pieces[s.first] : trace_piece{};
  k.address = covers ? remote_place(piece.at).first : 0;
  if (k.fast) {
    k.key = ibv_inc_rkey(k.fast->rkey);
    wr.reg_mr = {k.fast, k.key, s.access};
    return;
  }
  ibv_mr* const of = !covers ? nullptr : piece.at.keyed ? keys_[piece.at.of].fast : regions_[piece.at.of].mr;
  k.key = ibv_inc_rkey(k.window->rkey);
  wr.bind_mw = {k.window, k.key, {of, k.address, piece.length, s.access}};
}

bool replayer::is_type1_bind(const trace_step& s) const {
  return s.opcode == IBV_WR_BIND_MW && trace_.keys[s.remote.of].kind == key_kind::window1;
}

// A request is built from the key before: the object learns its new one after the post.
void replayer::keep_key(const trace_step& s) {
  const key_state* const k = s.remote.keyed && s.remote.of < keys_.size() ? &keys_[s.remote.of] : nullptr;
  if (s.opcode == IBV_WR_BIND_MW) k->window->rkey = k->key;
  if (s.opcode == IBV_WR_REG_MR) k->fast->rkey = k->fast->lkey = k->key;
}

bool replayer::bind_type1(const trace_step& s, cpu& c) {
  ibv_send_wr wr{};
  make_key(s, wr);
  first_post_ = std::min(first_post_, c.time());
  ibv_mw_bind bind{s.line, s.flags, wr.bind_mw.bind_info};
  const int error = ibv_bind_mw(c, qps_[s.object].qp, keys_[s.remote.of].window, &bind);
  return error == 0 || fail(s, fmt::format("the bind is refused: {}", std::strerror(error)));
}

void replayer::request(const trace_step& s, ibv_send_wr& wr, std::vector<ibv_sge>& places, std::uint32_t node) {
  const trace_qp& q = trace_.qps[s.object];
  wr = {};
  wr.wr_id = s.line;
  wr.opcode = s.opcode;
  wr.send_flags = s.flags;
  ++posts_[node];
  if (s.opcode == IBV_WR_BIND_MW || s.opcode == IBV_WR_REG_MR) return make_key(s, wr);
  add_places(s, node, places);
  for (const ibv_sge& place : places) payload_[node] += place.length;
  if (s.shared != nothing) wr.qp_type.xrc.remote_srqn = shared_[s.shared].number;
  if (q.type == IBV_QPT_UD) {
    const trace_place& to = s.remote;
    wr.wr.ud = {ways_.at(way_of(s)), to.group ? std::uint32_t{HCA_QPN_ANY} : qps_[to.of].at.qpn, qp_options{}.qkey};
  } else if (s.opcode == IBV_WR_LOCAL_INV || s.opcode == IBV_WR_SEND_WITH_INV) {
    wr.invalidate_rkey = keys_[s.remote.of].key;
  } else if (s.remote.of != nothing) {
    const auto [address, key] = remote_place(s.remote);
    const bool atomic = s.opcode == IBV_WR_ATOMIC_CMP_AND_SWP || s.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
    if (atomic) wr.wr.atomic = {address, 1, 2, key};
    if (!atomic) wr.wr.rdma = {address, key};
  }
}

// Returns how many requests the thread's next post has, and goes on to the last of them.
std::size_t replayer::steps_of_post(std::size_t number) {
  const trace_thread& t = trace_.threads[number];
  std::size_t& next = plays_[number].next;
  const std::size_t begin = next;
  while (t.steps[next].more && next + 1 < t.steps.size()) ++next;
  return next - begin + 1;
}

// Posts the next request, and all others of the same post.
bool replayer::post(std::size_t number, cpu& c) {
  const trace_thread& t = trace_.threads[number];
  const std::size_t begin = plays_[number].next;
  const std::size_t count = steps_of_post(number);
  std::vector<ibv_send_wr> requests(count);
  std::vector<std::vector<ibv_sge>> places(count);
  for (std::size_t i = 0; i < count; ++i) {
    request(t.steps[begin + i], requests[i], places[i], t.node);
    requests[i].sg_list = places[i].data();
    requests[i].num_sge = static_cast<int>(places[i].size());
    if (i != 0) requests[i - 1].next = &requests[i];
  }
  const trace_step& first = t.steps[begin];
  first_post_ = std::min(first_post_, c.time());
  ibv_send_wr* bad = nullptr;
  const int error = ibv_post_send(c, qps_[first.object].qp, requests.data(), &bad);
  if (error != 0) return fail(first, fmt::format("the post is refused: {}", std::strerror(error)));
  for (std::size_t i = 0; i < count; ++i) keep_key(t.steps[begin + i]);
  return true;
}

// Posts the next receive, and all others of the same post.
bool replayer::receive(std::size_t number, cpu& c) {
  const trace_thread& t = trace_.threads[number];
  const std::size_t begin = plays_[number].next;
  const std::size_t count = steps_of_post(number);
  std::vector<ibv_recv_wr> receives(count);
  std::vector<std::vector<ibv_sge>> places(count);
  for (std::size_t i = 0; i < count; ++i) {
    add_places(t.steps[begin + i], t.node, places[i]);
    receives[i] = {t.steps[begin + i].line, nullptr, places[i].data(), static_cast<int>(places[i].size())};
    if (i != 0) receives[i - 1].next = &receives[i];
  }
  const trace_step& first = t.steps[begin];
  ibv_recv_wr* bad = nullptr;
  const int error = first.to_shared ? ibv_post_srq_recv(c, shared_[first.object].srq, receives.data(), &bad)
                                    : ibv_post_recv(c, qps_[first.object].qp, receives.data(), &bad);
  return error == 0 || fail(first, fmt::format("the receive is refused: {}", std::strerror(error)));
}

// Returns whether the completions of a step have come. Threads with one QP count in the record's order, so completions polled
// by another thread before do not count for this one.
bool replayer::has_come(const trace_step& s) const {
  const auto begin = trace_.completions.begin() + s.first;
  return std::all_of(begin, begin + s.count, [this](const trace_completions& k) {
    return (k.receives ? qps_[k.qp].receives_done : qps_[k.qp].sends_done) >= k.so_far;
  });
}

int replayer::poll(const trace_step& s, std::uint32_t queue, cpu& c) {
  const std::uint32_t node = trace_.queues[queue].node;
  std::array<ibv_wc, poll_size> completions{};
  const int got = ibv_poll_cq(c, queues_[queue].cq, static_cast<int>(completions.size()), completions.data());
  for (int i = 0; i < got; ++i) {
    const ibv_wc& wc = completions[static_cast<std::size_t>(i)];
    if (wc.status != IBV_WC_SUCCESS) {
      (void)fail(s, fmt::format("the request of line {} fails: {}", wc.wr_id, ibv_wc_status_str(wc.status)));
      return -1;
    }
    qp_state& q = qps_[by_qpn_[node].at(wc.qp_num)];
    ++(wc.opcode & IBV_WC_RECV ? q.receives_done : q.sends_done);
  }
  return got;
}

bool replayer::wait(const trace_step& s, cpu& c) {
  queue_state& q = queues_[s.object];
  // An event of an earlier step may still be due: the record says `events` of the step that armed the queue.
  const bool by_event = s.events || q.armed;
  if (!by_event || q.users > 1) return wait_cq(c, q.cq, q.users > 1 ? turn : never) || q.users > 1;
  if (!std::exchange(q.armed, true)) return ibv_req_notify_cq(c, q.cq, 0) == 0;
  ibv_cq* from = nullptr;
  void* context = nullptr;
  if (ibv_get_cq_event(c, q.channel, &from, &context) != 0) return false;
  ibv_ack_cq_events(from, 1);
  q.armed = false;
  return true;
}

bool replayer::done(std::size_t number, const trace_step& s, cpu& c) {
  const std::uint32_t node = trace_.threads[number].node;
  const ps begin = c.time();
  while (!has_come(s)) {
    const int got = poll(s, s.object, c);
    if (got < 0) return fail(s, "the queue cannot be polled");
    if (got != 0 || has_come(s)) {
      if (got == 0) break;
      continue;
    }
    if (!wait(s, c)) return fail(s, "the queue cannot be waited for");
    if (queues_[s.object].users > 1 && c.time() - begin > patience)
      return !finds_failure(s, node, c) && fail(s, fmt::format("the completions did not come within {} ms", patience / 1_ms));
  }
  waited_[node] += c.time() - begin;
  return true;
}

// Looks for a failed request in all queues of the node, polled by a thread or not.
bool replayer::finds_failure(const trace_step& s, std::uint32_t node, cpu& c) {
  for (std::uint32_t i = 0; i < queues_.size(); ++i) {
    while (queues_[i].cq && trace_.queues[i].node == node) {
      const int got = poll(s, i, c);
      if (got < 0) return true;
      if (got == 0) break;
    }
  }
  return false;
}

bool replayer::fail(const trace_step& s, const std::string& why) {
  if (failure_.empty()) failure_ = fmt::format("{}:{}: {}", trace_.name, s.line, why);
  return false;
}

std::vector<std::uint32_t> replayer::waiting_lines() const {
  std::vector<std::uint32_t> lines;
  for (std::size_t i = 0; i < plays_.size(); ++i) {
    const auto& steps = trace_.threads[i].steps;
    if (!plays_[i].ended && plays_[i].next < steps.size()) lines.push_back(begin_ == never ? 0 : steps[plays_[i].next].line);
  }
  return lines;
}

}  // namespace hcasim::replay
