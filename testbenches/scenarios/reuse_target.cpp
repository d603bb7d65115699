// A target of rkey_reuse: writes its part of the stream wherever the grants lead, and says with the last write of a buffer that
// it is full.
#include <deque>
#include <map>

#include "firmware/abi/keys.h"
#include "testbenches/scenarios/reuse_ends.h"

namespace hcasim::kit {
namespace {

class target_program final : public target_end {
 public:
  target_program(reuse_state& s, cpu& c, node& n, std::size_t way, std::uint32_t number)
      : target_end(s, c, n, way, number, s.qp().receive_depth, sizeof(grant)), number_(number) {
    for (std::uint64_t b = 0; b < s.total(); ++b) left_ += s.owner_of(b) == number ? 1 : 0;
  }

 private:
  void hear(std::uint64_t slot) override {
    const auto g = take_note<grant>(slot);
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

  // Sends the next WRITE of the grants.
  bool send_next() override {
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

  std::uint32_t number_;
  std::map<std::uint32_t, std::uint32_t> keys_;  // by index: what it can address at the host
  std::deque<grant> grants_;
  std::uint64_t position_ = 0;  // in the grant at the front
};

}  // namespace

void reuse_target(reuse_state& s, cpu& c, node& n, std::size_t way, std::uint32_t number) {
  target_program(s, c, n, way, number).run();
}

}  // namespace hcasim::kit
