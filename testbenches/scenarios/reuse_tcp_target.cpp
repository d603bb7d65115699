// A target of the TCP embodiment: segments in order, as far as the window goes.
#include "testbenches/scenarios/reuse_ends.h"
#include "testbenches/scenarios/reuse_tcp.h"

namespace hcasim::kit {
namespace {

class tcp_sender final : public target_end {
 public:
  tcp_sender(reuse_state& s, cpu& c, node& n, std::size_t way, std::uint32_t number)
      : target_end(s, c, n, way, number, acknowledgements, sizeof(tcp_segment)),
        share_(s.o, s.stream.size(), number),
        budget_(tcp_segments(s.o)) {
    left_ = share_.bytes;
  }

 private:
  static constexpr std::uint32_t acknowledgements = 512;  // receives posted

  // The next segment ends where its buffer does.
  [[nodiscard]] std::uint64_t next_bytes() const {
    return std::min({s_.o.message, s_.o.buffer - next_ % s_.o.buffer, bytes_ - next_});
  }
  bool send_next() override {
    if (next_ >= bytes_ || unacknowledged_ >= budget_ || next_ + next_bytes() > edge_) return false;
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
    return true;
  }
  void hear(std::uint64_t slot) override {
    const auto a = take_note<tcp_segment>(slot);
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

  tcp_share share_;
  const std::uint32_t budget_;
  std::uint32_t key_ = 0;
  std::uint64_t va_ = 0;     // of the first byte
  std::uint32_t first_ = 0;  // its sequence number
  std::uint64_t bytes_ = 0;  // of this transfer
  std::uint64_t next_ = 0;   // offsets from here on
  std::uint64_t acknowledged_ = 0;
  std::uint64_t edge_ = 0;
  std::uint32_t unacknowledged_ = 0;  // segments
};

}  // namespace

void tcp_target(reuse_state& s, cpu& c, node& n, std::size_t way, std::uint32_t number) {
  tcp_sender(s, c, n, way, number).run();
}

}  // namespace hcasim::kit
