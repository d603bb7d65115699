#include "testbenches/scenarios/reuse_ends.h"

namespace hcasim::kit {

target_end::target_end(reuse_state& s, cpu& c, node& n, std::size_t way, std::uint32_t number, std::uint32_t notes,
                       std::uint64_t note_bytes)
    : s_(s), c_(c), p_(c, n), out_((*s.outcomes)[way]), link_(s.links[number]), note_bytes_(note_bytes) {
  qp_options q = s.qp();
  q.receive_depth = notes;
  const auto most = static_cast<int>(std::max(1024U, 2 * (q.send_depth + q.receive_depth)));
  cq_ = made(ibv_create_cq(c, p_.context, most, nullptr, nullptr, 0));
  qp_ = p_.create_qp(q, nullptr, cq_);
  link_.to_host.send(c, p_.address_of(qp_, q));
  p_.must_connect(qp_, link_.to_target.receive(c), q);
  source_ = p_.allocate(std::max<std::uint64_t>(s.stream.size(), s.o.message), IBV_ACCESS_LOCAL_WRITE);
  p_.memory.write(source_.addr, std::as_bytes(std::span(s.stream)));
  notes_ = p_.allocate(notes * note_bytes, IBV_ACCESS_LOCAL_WRITE);
  for (std::uint64_t i = 0; i < notes; ++i) ok_ = ok_ && post_note(i);
}

void target_end::run() {
  link_.ready.send(c_, c_.time());
  bool streaming = true;
  while (ok_ && !done_) {
    while (ok_ && outstanding_ < s_.o.outstanding && send_next()) {
    }
    if (streaming && left_ == 0 && outstanding_ == 0) {
      streaming = false;
      s_.target_finished(c_, link_);
    }
    const auto wc = next_completion(c_, cq_);
    ok_ = ok_ && wc && wc->status == IBV_WC_SUCCESS;
    if (!ok_) break;
    if (wc->opcode == IBV_WC_RECV) {
      hear(wc->wr_id);
    } else {
      --outstanding_;
    }
  }
  if (streaming) s_.target_finished(c_, link_);
  link_.finished.send(c_, c_.time());
}

bool target_end::post_note(std::uint64_t slot) {
  const auto bytes = static_cast<std::uint32_t>(note_bytes_);
  return post_receive(c_, qp_, slot, {{notes_.addr + slot * note_bytes_, bytes, notes_.mr->lkey}}) == 0;
}

host_end::host_end(reuse_state& s, cpu& c, node& n, std::size_t way, std::uint32_t receives, std::uint64_t note_bytes)
    : s_(s),
      c_(c),
      p_(c, n),
      mode_(s.modes[way]),
      out_((*s.outcomes)[way]),
      received_(s.stream.size()),
      told_so_far_(s.o.targets) {
  qp_options q = s.qp();
  q.receive_depth = receives;
  const std::uint32_t targets = s.o.targets;
  // With room to spare: a CQ that is nearly full is asked for its consumer index at each completion.
  const auto most = static_cast<int>(std::max(1024U, 2 * targets * (q.receive_depth + 2)));
  cq_ = made(ibv_create_cq(c, p_.context, most, nullptr, nullptr, 0));
  for (reuse_state::link& l : s.links) {
    qps_.push_back(p_.create_qp(q, nullptr, cq_));
    l.to_target.send(c, p_.address_of(qps_.back(), q));
    p_.must_connect(qps_.back(), l.to_host.receive(c), q);
    for (std::uint32_t i = 0; i < q.receive_depth; ++i) ok_ = ok_ && post_receive(c, qps_.back(), i, {}) == 0;
  }
  note_slots_ = q.send_depth * targets;
  notes_ = p_.allocate(note_slots_ * note_bytes, IBV_ACCESS_LOCAL_WRITE);
}

void host_end::run() {
  stream();
  if (ok_ && s_.o.quiet_swaps != 0 && mode_ != reuse_mode::fixed) {
    const std::uint64_t messages = out_.table_updates;
    const std::uint64_t keys = out_.key_updates;
    quiet_swaps();
    out_.table_updates = messages;
    out_.key_updates = keys;
  }
  for (std::uint32_t t = 0; t < s_.o.targets; ++t) tell_done(t);
  for (reuse_state::link& l : s_.links) l.finished.receive(c_);
  out_.bytes = s_.stream.size();
  out_.problem = !ok_ ? "a verb, a completion or a message failed" : received_ != s_.stream ? "the bytes differ" : "";
  out_.ok = out_.problem.empty();
}

node_counts host_end::begin_measuring() {
  for (reuse_state::link& l : s_.links) l.ready.receive(c_);
  s_.o.parts.begin(c_, std::string(name_of(mode_)));
  const node_counts before(p_.n);
  s_.host = &p_.n;
  out_.begin = c_.time();
  return before;
}

void host_end::end_measuring(const node_counts& before) {
  for (reuse_state::link& l : s_.links) out_.end = std::max(out_.end, l.finished.receive(c_));
  count(out_, before, *s_.after);
}

std::optional<ibv_wc> host_end::next_write() {
  while (ok_) {
    const auto wc = next_completion(c_, cq_);
    ok_ = wc && wc->status == IBV_WC_SUCCESS;
    if (ok_ && wc->opcode == IBV_WC_RECV_RDMA_WITH_IMM) return wc;
  }
  return {};
}

void host_end::tell_bytes(std::uint32_t target, std::span<const std::byte> note) {
  const std::uint64_t at = notes_.addr + note_++ % note_slots_ * note.size();
  p_.memory.write(at, note);
  request r{.opcode = IBV_WR_SEND, .id = 1000, .sges = {{at, static_cast<std::uint32_t>(note.size()), notes_.mr->lkey}}};
  // Two of a queue's length say that those before them are done.
  r.flags = ++told_so_far_[target] % (s_.qp().send_depth / 2) == 0 ? unsigned{IBV_SEND_SIGNALED} : 0U;
  ok_ = ok_ && post(c_, qps_[target], r) == 0;
}

}  // namespace hcasim::kit
