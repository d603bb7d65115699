// A target of rkey_reuse: writes its part of the stream wherever the grants lead, and says with the last write of a buffer that
// it is full.
#include <deque>
#include <map>

#include "firmware/abi/keys.h"
#include "testbenches/directed/reuse_state.h"

namespace hcasim::kit {
namespace {

class target_program {
 public:
  target_program(reuse_state& s, cpu& c, node& n, std::size_t way, std::uint32_t number)
      : s_(s), c_(c), p_(c, n), number_(number), out_((*s.outcomes)[way]), link_(s.links[number]) {
    const qp_options q = s.qp();
    const auto most = static_cast<int>(std::max(1024U, 2 * (q.send_depth + q.receive_depth)));
    cq_ = ibv_create_cq(c, p_.context, most, nullptr, nullptr, 0);
    qp_ = p_.create_qp(q, nullptr, cq_);
    link_.to_host.send(c, p_.address_of(qp_, q));
    ok_ = p_.connect(qp_, link_.to_target.receive(c), q) == 0;
    source_ = p_.allocate(std::max<std::uint64_t>(s.stream.size(), s.o.message), IBV_ACCESS_LOCAL_WRITE);
    p_.memory.write(source_.addr, std::as_bytes(std::span(s.stream)));
    notes_ = p_.allocate(std::uint64_t{q.receive_depth} * sizeof(grant), IBV_ACCESS_LOCAL_WRITE);
    for (std::uint64_t i = 0; i < q.receive_depth; ++i) ok_ = ok_ && post_note(i);
    for (std::uint64_t b = 0; b < s.total(); ++b) left_ += s.owner_of(b) == number ? 1 : 0;
  }

  void run() {
    link_.ready.send(c_, c_.time());
    bool streaming = true;
    while (ok_ && !done_) {
      while (ok_ && outstanding_ < s_.o.outstanding && write_next()) {
      }
      if (streaming && left_ == 0 && outstanding_ == 0) {
        streaming = false;
        s_.target_finished(c_, link_);
      }
      const auto wc = next_completion(c_, cq_);
      ok_ = ok_ && wc && wc->status == IBV_WC_SUCCESS;
      if (!ok_) break;
      if (wc->opcode == IBV_WC_RECV) {
        learn(wc->wr_id);
      } else {
        --outstanding_;
      }
    }
    if (streaming) s_.target_finished(c_, link_);
    link_.finished.send(c_, c_.time());
  }

 private:
  bool post_note(std::uint64_t slot) {
    return post_receive(c_, qp_, slot, {{notes_.addr + slot * sizeof(grant), sizeof(grant), notes_.mr->lkey}}) == 0;
  }

  void learn(std::uint64_t slot) {
    grant g;
    p_.memory.read(notes_.addr + slot * sizeof(grant), std::as_writable_bytes(std::span(&g, 1)));
    ok_ = post_note(slot);
    done_ = g.kind == grant_kind::done;
    if (done_) return;
    std::uint32_t& held = keys_[hca_key_index(g.key)];
    if (held != g.key) {
      held = g.key;
      ++out_.key_updates;
      c_.spend(s_.o.target_key_cost);
    }
    if (g.kind == grant_kind::probe) {
      write(g, g.from, std::min(s_.o.message, s_.o.buffer), true);
    } else if (left_ != 0 && g.from != g.to) {
      grants_.push_back(g);
      if (grants_.size() == 1) position_ = g.from;
    }
  }

  // The next message of the grants; false: none is left to write.
  bool write_next() {
    while (!grants_.empty()) {
      const grant& g = grants_.front();
      const std::uint64_t end = std::min<std::uint64_t>(g.to, s_.stream.size());
      if (position_ >= end) {
        grants_.pop_front();
        if (!grants_.empty()) position_ = grants_.front().from;
        continue;
      }
      const std::uint64_t b = position_ / s_.o.buffer;
      const std::uint64_t buffer_end = std::min<std::uint64_t>((b + 1) * s_.o.buffer, s_.stream.size());
      if (s_.owner_of(b) != number_) {
        position_ = (b + 1) * s_.o.buffer;
        continue;
      }
      const std::uint64_t bytes = std::min(s_.o.message, buffer_end - position_);
      const bool last = position_ + bytes == buffer_end;
      write(g, position_, bytes, last);
      position_ += bytes;
      left_ -= last ? 1 : 0;
      return true;
    }
    return false;
  }

  void write(const grant& g, std::uint64_t at, std::uint64_t bytes, bool last) {
    const std::uint64_t from = std::min(at, s_.stream.size() - std::min<std::uint64_t>(bytes, s_.stream.size()));
    ok_ = ok_ && post(c_, qp_,
                      {.opcode = last ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE,
                       .id = at,
                       .sges = {{source_.addr + from, static_cast<std::uint32_t>(bytes), source_.mr->lkey}},
                       .remote = g.va + (at - g.from),
                       .rkey = g.key,
                       .immediate = static_cast<std::uint32_t>(at / s_.o.buffer)}) == 0;
    ++outstanding_;
  }

  reuse_state& s_;
  cpu& c_;
  process_context p_;
  std::uint32_t number_;
  reuse_outcome& out_;
  reuse_state::link& link_;
  ibv_cq* cq_ = nullptr;
  ibv_qp* qp_ = nullptr;
  region source_;
  region notes_;
  std::map<std::uint32_t, std::uint32_t> keys_;  // by index: what it can address at the host
  std::deque<grant> grants_;
  std::uint64_t position_ = 0;  // in the grant at the front
  std::uint64_t left_ = 0;      // buffers it has still to write
  std::uint32_t outstanding_ = 0;
  bool done_ = false;
  bool ok_ = false;
};

}  // namespace

void reuse_target(reuse_state& s, cpu& c, node& n, std::size_t way, std::uint32_t number) {
  target_program(s, c, n, way, number).run();
}

}  // namespace hcasim::kit
