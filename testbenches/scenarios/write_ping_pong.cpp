#include "testbenches/scenarios/write_ping_pong.h"

#include <algorithm>
#include <bit>

#include "testbenches/kit/endpoint.h"
#include "testbenches/kit/world.h"

namespace hcasim::kit {
namespace {

struct ping_pong_offer {
  address qp;
  std::uint64_t addr = 0;
  std::uint32_t rkey = 0;
};

struct ping_pong_state {
  ping_pong_state(const ping_pong_options& options, ping_pong_outcome& out) : o(options), outcome(out) {}
  ping_pong_options o;
  ping_pong_outcome& outcome;
  out_of_band<ping_pong_offer> to[2];
  out_of_band<int> ended[2];
};

// One side, with its QP, a buffer for the other side's WRITEs, and a source of its own WRITEs.
class ping_pong_side {
 public:
  ping_pong_side(ping_pong_state& s, std::size_t side, cpu& c, node& n) : s_(s), side_(side), p_(c, n) {
    q_.mtu = static_cast<ibv_mtu>(std::countr_zero(s.o.mtu) - 7);
    inline_ = s.o.size <= s.o.inline_most;
    q_.inline_bytes = inline_ ? static_cast<std::uint32_t>(s.o.size) : 0;
    qp_ = p_.create_qp(q_);
    here_ = p_.allocate(std::max<std::uint64_t>(s.o.size, 64));
    from_ = p_.allocate(std::max<std::uint64_t>(s.o.size, 64));
    s.to[1 - side].send(c, {p_.address_of(qp_, q_), here_.addr, here_.mr->rkey});
    there_ = s.to[side].receive(c);
    p_.must_connect(qp_, there_.qp, q_);
    watch_ = c.watch(p_.memory.translate(here_.addr + s.o.size - 1), 1);
  }
  ~ping_pong_side() { p_.c.unwatch(watch_); }
  ping_pong_side(const ping_pong_side&) = delete;
  ping_pong_side& operator=(const ping_pong_side&) = delete;

  // Waits until both sides are connected.
  void meet() {
    s_.ended[1 - side_].send(p_.c, 0);
    s_.ended[side_].receive(p_.c);
  }
  bool write() {
    request r{
        .opcode = IBV_WR_RDMA_WRITE, .id = 1, .sges = {{from_.addr, static_cast<std::uint32_t>(s_.o.size), from_.mr->lkey}}};
    r.remote = there_.addr;
    r.rkey = there_.rkey;
    r.flags = inline_ ? IBV_SEND_SIGNALED | IBV_SEND_INLINE : IBV_SEND_SIGNALED;
    return post(p_.c, qp_, r) == 0;
  }
  // Waits for the other side's WRITE.
  bool written() { return p_.c.wait_write(watch_, 1000_ms); }
  bool completed() {
    const auto wc = next_completion(p_.c, p_.cq);
    return wc && wc->status == IBV_WC_SUCCESS;
  }
  cpu& c() { return p_.c; }

 private:
  ping_pong_state& s_;
  std::size_t side_;
  process_context p_;
  qp_options q_;
  ibv_qp* qp_ = nullptr;
  region here_;
  region from_;
  ping_pong_offer there_;
  std::uint64_t watch_ = 0;
  bool inline_ = false;
};

void play(ping_pong_state& s, std::size_t side, cpu& c, node& n) {
  ping_pong_side p(s, side, c, n);
  p.meet();
  bool ok = true;
  ps begin{0};
  const bool first = side == 0;
  for (std::uint32_t i = 0; ok && i < s.o.warm_up + s.o.iterations; ++i) {
    if (first && i == s.o.warm_up) {
      s.o.parts.begin(c);
      begin = c.time();
    }
    if (first) ok = p.write() && p.completed() && p.written();
    if (!first) ok = p.written() && p.write() && p.completed();
  }
  if (first) {
    s.outcome.half_ns = to_ns(c.time() - begin) / 2 / s.o.iterations;
    if (begin != 0_ps) s.o.parts.end(c);
    s.outcome.ok = ok;
  }
  p.meet();
}

}  // namespace

void start_ping_pong(hcasim::system& s, const ping_pong_options& o, ping_pong_outcome& outcome) {
  auto state = std::make_shared<ping_pong_state>(o, outcome);
  for (std::size_t i = 0; i < 2; ++i) start_program(s, i, "ping_pong", [state, i](cpu& c, node& n) { play(*state, i, c, n); });
}

}  // namespace hcasim::kit
