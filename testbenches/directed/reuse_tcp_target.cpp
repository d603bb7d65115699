// A target of the TCP embodiment: segments in order, as far as the window goes.
#include "testbenches/directed/reuse_tcp.h"

namespace hcasim::kit {
namespace {

class tcp_sender {
 public:
  tcp_sender(reuse_state& s, cpu& c, node& n, std::size_t way, std::uint32_t number)
      : s_(s),
        c_(c),
        p_(c, n),
        out_((*s.outcomes)[way]),
        link_(s.links[number]),
        share_(s.o, s.stream.size(), number),
        budget_(tcp_segments(s.o)) {
    qp_options q = s.qp();
    q.receive_depth = acknowledgements;
    cq_ = ibv_create_cq(c, p_.context, static_cast<int>(2 * (q.send_depth + acknowledgements)), nullptr, nullptr, 0);
    qp_ = p_.create_qp(q, nullptr, cq_);
    link_.to_host.send(c, p_.address_of(qp_, q));
    ok_ = p_.connect(qp_, link_.to_target.receive(c), q) == 0;
    source_ = p_.allocate(std::max<std::uint64_t>(s.stream.size(), s.o.message), IBV_ACCESS_LOCAL_WRITE);
    p_.memory.write(source_.addr, std::as_bytes(std::span(s.stream)));
    notes_ = p_.allocate(acknowledgements * sizeof(tcp_segment), IBV_ACCESS_LOCAL_WRITE);
    for (std::uint64_t i = 0; i < acknowledgements; ++i) ok_ = ok_ && post_note(i);
    left_ = share_.bytes;
  }

  void run() {
    link_.ready.send(c_, c_.time());
    bool streaming = true;
    while (ok_ && !done_) {
      while (ok_ && may_send()) send();
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

 private:
  static constexpr std::uint32_t acknowledgements = 512;  // receives posted

  bool post_note(std::uint64_t slot) {
    return post_receive(c_, qp_, slot, {{notes_.addr + slot * sizeof(tcp_segment), sizeof(tcp_segment), notes_.mr->lkey}}) == 0;
  }
  // The next segment ends where its buffer does.
  [[nodiscard]] std::uint64_t next_bytes() const {
    return std::min({s_.o.message, s_.o.buffer - next_ % s_.o.buffer, bytes_ - next_});
  }
  [[nodiscard]] bool may_send() const {
    return next_ < bytes_ && outstanding_ < s_.o.outstanding && unacknowledged_ < budget_ && next_ + next_bytes() <= edge_;
  }
  void send() {
    const std::uint64_t bytes = next_bytes();
    const std::uint64_t from = share_.place(next_) + bytes <= s_.stream.size() ? share_.place(next_) : 0;
    ok_ = post(c_, qp_,
               {.opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
                .id = next_,
                .sges = {{source_.addr + from, static_cast<std::uint32_t>(bytes), source_.mr->lkey}},
                .remote = va_ + next_,
                .rkey = key_,
                .immediate = first_ + static_cast<std::uint32_t>(next_)}) == 0;
    next_ += bytes;
    if (left_ != 0) left_ -= bytes;
    ++outstanding_;
    ++unacknowledged_;
  }
  void hear(std::uint64_t slot) {
    tcp_segment a;
    p_.memory.read(notes_.addr + slot * sizeof(tcp_segment), std::as_writable_bytes(std::span(&a, 1)));
    ok_ = post_note(slot);
    done_ = a.kind == tcp_kind::done;
    if (done_) return;
    if (a.kind == tcp_kind::syn) {
      key_ = a.key;
      va_ = a.va;
      first_ = a.ack;
      bytes_ = a.bytes;
      next_ = acknowledged_ = 0;
      unacknowledged_ = 0;
      ++out_.key_updates;
      c_.spend(s_.o.target_key_cost);
    }
    const std::uint32_t newly = a.ack - first_ - static_cast<std::uint32_t>(acknowledged_);  // modulo 2^32
    const std::uint64_t before = segments_to(acknowledged_);
    acknowledged_ += newly;
    unacknowledged_ -= static_cast<std::uint32_t>(segments_to(acknowledged_) - before);
    edge_ = acknowledged_ + a.window;
  }
  [[nodiscard]] std::uint64_t segments_to(std::uint64_t offset) const {
    return offset / s_.o.buffer * ceil_div(s_.o.buffer, s_.o.message) + ceil_div(offset % s_.o.buffer, s_.o.message);
  }

  reuse_state& s_;
  cpu& c_;
  process_context p_;
  reuse_outcome& out_;
  reuse_state::link& link_;
  tcp_share share_;
  const std::uint32_t budget_;
  ibv_cq* cq_ = nullptr;
  ibv_qp* qp_ = nullptr;
  region source_;
  region notes_;
  std::uint32_t key_ = 0;
  std::uint64_t va_ = 0;     // of the first byte
  std::uint32_t first_ = 0;  // its sequence number
  std::uint64_t bytes_ = 0;  // of this transfer
  std::uint64_t left_ = 0;   // of the stream
  std::uint64_t next_ = 0;   // offsets from here on
  std::uint64_t acknowledged_ = 0;
  std::uint64_t edge_ = 0;
  std::uint32_t outstanding_ = 0;
  std::uint32_t unacknowledged_ = 0;  // segments
  bool done_ = false;
  bool ok_ = false;
};

}  // namespace

void tcp_target(reuse_state& s, cpu& c, node& n, std::size_t way, std::uint32_t number) {
  tcp_sender(s, c, n, way, number).run();
}

}  // namespace hcasim::kit
