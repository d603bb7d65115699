// The host of rkey_reuse: waits for fill notices, takes the bytes, swaps the buffer, tells the targets.
#include <memory>

#include "testbenches/directed/reuse_mapping.h"
#include "testbenches/directed/reuse_state.h"

namespace hcasim::kit {
namespace {

class host_program {
 public:
  host_program(reuse_state& s, cpu& c, node& n, std::size_t way)
      : s_(s),
        c_(c),
        p_(c, n),
        mode_(s.modes[way]),
        out_((*s.outcomes)[way]),
        told_(s.o.targets),
        told_so_far_(s.o.targets),
        received_(s.stream.size()) {
    connect();
  }

  void run() {
    stream();
    if (ok_ && s_.o.quiet_swaps != 0 && mode_ != reuse_mode::fixed) quiet_swaps();
    for (std::uint32_t t = 0; t < s_.o.targets; ++t) tell(t, {.kind = grant_kind::done});
    for (reuse_state::link& l : s_.links) l.finished.receive(c_);
    out_.bytes = s_.stream.size();
    out_.problem = !ok_ ? "a verb or a completion failed" : received_ != s_.stream ? "the bytes differ" : "";
    out_.ok = out_.problem.empty();
  }

 private:
  void connect() {
    qp_options q = s_.qp();
    q.receive_depth = 2 * static_cast<std::uint32_t>(ceil_div(s_.o.buffers, s_.o.targets)) + 2;  // of those granted to one
    const std::uint32_t targets = s_.o.targets;
    // With room to spare: a CQ that is nearly full is asked for its consumer index at each completion.
    const auto most = static_cast<int>(std::max(1024U, 2 * targets * (q.receive_depth + 2)));
    cq_ = ibv_create_cq(c_, p_.context, most, nullptr, nullptr, 0);
    ok_ = cq_ != nullptr;
    for (reuse_state::link& l : s_.links) {
      qps_.push_back(p_.create_qp(q, nullptr, cq_));
      l.to_target.send(c_, p_.address_of(qps_.back(), q));
      ok_ = p_.connect(qps_.back(), l.to_host.receive(c_), q) == 0 && ok_;
      for (std::uint32_t i = 0; i < q.receive_depth; ++i) ok_ = ok_ && post_receive(c_, qps_.back(), i, {}) == 0;
    }
    notes_ = p_.allocate(std::uint64_t{q.send_depth} * targets * sizeof(grant), IBV_ACCESS_LOCAL_WRITE);
    note_slots_ = q.send_depth * targets;
  }

  void stream() {
    const std::uint64_t total = s_.total();
    const auto mapping = reuse_mapping::make(mode_, p_, qps_, s_.o, total);
    std::vector<grant> grants;
    ok_ = ok_ && mapping->open(grants);
    for (reuse_state::link& l : s_.links) l.ready.receive(c_);
    s_.o.parts.begin(c_, std::string(name_of(mode_)));
    const node_counts before(p_.n);
    s_.host = &p_.n;
    out_.begin = c_.time();
    tell_all(*mapping, grants);
    for (std::uint64_t filled = 0; ok_ && filled < total; ++filled) {
      const std::uint64_t b = next_fill();
      if (!ok_) break;
      const ps noticed = c_.time();
      const std::uint64_t at = b * s_.o.buffer;
      const std::uint64_t bytes = std::min<std::uint64_t>(s_.o.buffer, s_.stream.size() - at);
      p_.memory.read(mapping->host_address(b), std::as_writable_bytes(std::span(received_).subspan(at, bytes)));
      ok_ = mapping->swap(b, grants);
      if (!grants.empty()) {
        ++out_.swaps;
        tell_all(*mapping, grants);
        out_.told.add(c_.time() - noticed);
      }
      post_again();
    }
    for (reuse_state::link& l : s_.links) out_.end = std::max(out_.end, l.finished.receive(c_));
    count(out_, before, *s_.after);
    ok_ = ok_ && mapping->close();
  }

  // One swap after the other, nothing else under way: when has the new buffer its first byte? Of a batch, one message stands
  // for all that is filled.
  void quiet_swaps() {
    const std::uint32_t swaps = s_.o.quiet_swaps;
    const auto mapping = reuse_mapping::make(mode_, p_, qps_, s_.o, s_.o.buffers + std::uint64_t{swaps} * s_.o.batch);
    const std::uint32_t step = mapping->at_once();
    const std::uint64_t messages = out_.table_updates;
    const std::uint64_t keys = out_.key_updates;
    std::vector<grant> grants;
    ok_ = mapping->open(grants);
    // Each key of the beginning is entered and used once before anything is measured.
    for (grant& g : grants) g.kind = grant_kind::probe;
    const std::size_t beginnings = grants.size();
    tell_all(*mapping, grants);
    for (std::size_t i = 1; ok_ && i < beginnings; ++i) {
      next_fill();
      post_again();
    }
    ps sum{0};
    for (std::uint32_t i = 0; i < swaps; ++i) {
      next_fill();
      const ps noticed = c_.time();
      for (std::uint32_t k = 0; k < step; ++k) ok_ = ok_ && mapping->swap(std::uint64_t{i} * step + k, grants);
      ok_ = ok_ && !grants.empty();
      if (!ok_) break;
      grants.back().kind = grant_kind::probe;
      const std::uint64_t first = mapping->host_address(grants.back().from / s_.o.buffer);
      const std::uint64_t watch = c_.watch(p_.memory.translate(first), 1);
      tell_all(*mapping, grants);
      ok_ = c_.wait_write(watch, 1000_ms);
      c_.unwatch(watch);
      sum += c_.time() - noticed;
      post_again();
    }
    next_fill();
    out_.first_byte = sum / swaps;
    ok_ = ok_ && mapping->close();
    out_.table_updates = messages;
    out_.key_updates = keys;
  }

  // The buffer that a target says is full. Its receive is posted anew when nothing waits for the host.
  std::uint64_t next_fill() {
    while (ok_) {
      const auto wc = next_completion(c_, cq_);
      ok_ = wc && wc->status == IBV_WC_SUCCESS;
      if (!ok_ || wc->opcode != IBV_WC_RECV_RDMA_WITH_IMM) continue;
      noticed_ = wc->qp_num;
      return wc->imm_data;
    }
    return 0;
  }

  void post_again() {
    for (ibv_qp* qp : qps_) {
      if (qp->qp_num == noticed_) ok_ = ok_ && post_receive(c_, qp, 0, {}) == 0;
    }
  }

  void tell(std::uint32_t target, const grant& g) {
    const std::uint64_t at = notes_.addr + note_++ % note_slots_ * sizeof(grant);
    p_.memory.write(at, std::as_bytes(std::span(&g, 1)));
    request r{.opcode = IBV_WR_SEND, .id = 1000, .sges = {{at, sizeof(grant), notes_.mr->lkey}}};
    // Two of a queue's length say that those before them are done.
    r.flags = ++told_so_far_[target] % (s_.qp().send_depth / 2) == 0 ? unsigned{IBV_SEND_SIGNALED} : 0U;
    ok_ = ok_ && post(c_, qps_[target], r) == 0;
    if (g.kind != grant_kind::done) ++out_.table_updates;
  }

  // Those that are to write are told first; then all others that hold the key and must not use it any more.
  void tell_all(const reuse_mapping& mapping, std::vector<grant>& grants) {
    for (const grant& g : grants) {
      const std::uint64_t first = g.from / s_.o.buffer;
      const std::uint64_t last = ceil_div(g.to, s_.o.buffer);
      const std::uint64_t most = g.kind == grant_kind::probe ? 1 : s_.o.targets;
      const auto writers = static_cast<std::uint32_t>(std::min(last - first, most));
      for (std::uint32_t i = 0; i < writers; ++i) {
        tell(s_.owner_of(first + i), g);
        told_[s_.owner_of(first + i)] = g.key;
      }
      if (!mapping.shares_its_key()) continue;
      for (std::uint32_t t = 0; t < s_.o.targets; ++t) {
        if (std::exchange(told_[t], g.key) != g.key) tell(t, {.key = g.key});
      }
    }
    grants.clear();
  }

  reuse_state& s_;
  cpu& c_;
  process_context p_;
  reuse_mode mode_;
  reuse_outcome& out_;
  std::vector<std::uint32_t> told_;         // the key that each target was told last
  std::vector<std::uint64_t> told_so_far_;  // messages to each target
  std::vector<std::uint8_t> received_;
  ibv_cq* cq_ = nullptr;
  std::vector<ibv_qp*> qps_;
  region notes_;
  std::uint32_t note_slots_ = 0;
  std::uint64_t note_ = 0;
  std::uint32_t noticed_ = 0;  // the QP of the last fill notice
  bool ok_ = false;
};

}  // namespace

void reuse_host(reuse_state& s, cpu& c, node& n, std::size_t way) {
  host_program(s, c, n, way).run();
}

}  // namespace hcasim::kit
