#include "testbenches/scenarios/ping.h"

#include <memory>

#include "testbenches/kit/endpoint.h"
#include "testbenches/kit/world.h"

namespace hcasim::kit {
namespace {

struct target_offer {
  address qp;
  std::uint64_t addr;
  std::uint32_t rkey;
};

struct ping_state {
  ping_state(const ping_options& options, timeline& time, std::vector<ping_outcome>& out)
      : o(options), t(time), outcomes(out) {}
  ping_options o;
  timeline& t;
  std::vector<ping_outcome>& outcomes;
  out_of_band<address> to_target;
  out_of_band<target_offer> to_pinger;
  out_of_band<int> done;
};

void pinger(ping_state& s, cpu& c, node& n) {
  process_context p(c, n);
  ibv_qp* qp = p.create_qp();
  s.to_target.send(c, p.address_of(qp));
  const target_offer to = s.to_pinger.receive(c);
  p.must_connect(qp, to.qp);
  const region here = p.allocate(std::max<std::uint64_t>(s.o.size, 64));
  p.fill(here.addr, here.length, 5);
  const ibv_sge sge{here.addr, static_cast<std::uint32_t>(s.o.size), here.mr->lkey};
  struct kind {
    const char* name;
    ibv_wr_opcode opcode;
  };
  for (const kind k : {kind{"WRITE", IBV_WR_RDMA_WRITE}, kind{"READ", IBV_WR_RDMA_READ}, kind{"SEND", IBV_WR_SEND}}) {
    const request r{.opcode = k.opcode, .id = 1, .sges = {sge}, .remote = to.addr, .rkey = to.rkey};
    bool ok = true;
    for (std::uint32_t i = 0; i < s.o.warm_up; ++i) ok = ok && complete(c, qp, r).status == IBV_WC_SUCCESS;
    c.spend(20_us);  // work left over by earlier operations ends
    c.sync();
    s.o.parts.begin(c, k.name);
    s.t.begin(c.time(), "node0 host software");
    ok = ok && post(c, qp, r) == 0;
    s.t.mark(c.time(), "node0 PCIe, doorbell", "doorbell written");
    const auto wc = next_completion(c, p.cq);
    s.t.end(c.time());
    s.o.parts.end(c);
    ok = ok && wc && wc->status == IBV_WC_SUCCESS;
    constexpr std::size_t lines = 100'000;  // more than a person reads
    s.outcomes.push_back({k.name, ok, s.t.total(), s.t.shares(), s.t.text(lines)});
  }
  s.done.send(c, 1);
}

void target(ping_state& s, cpu& c, node& n) {
  process_context p(c, n);
  ibv_qp* qp = p.create_qp();
  const region there = p.allocate(std::max<std::uint64_t>(s.o.size, 64));
  p.must_connect(qp, s.to_target.receive(c));
  for (std::uint32_t i = 0; i <= s.o.warm_up; ++i) {
    if (post_receive(c, qp, i, {{there.addr, static_cast<std::uint32_t>(there.length), there.mr->lkey}}) != 0) return;
  }
  s.to_pinger.send(c, {p.address_of(qp), there.addr, there.mr->rkey});
  s.done.receive(c);
}

}  // namespace

void start_ping(hcasim::system& s, const ping_options& o, timeline& t, std::vector<ping_outcome>& outcomes) {
  auto state = std::make_shared<ping_state>(o, t, outcomes);
  start_program(s, 0, "pinger", [state](cpu& c, node& n) { pinger(*state, c, n); });
  start_program(s, 1, "target", [state](cpu& c, node& n) { target(*state, c, n); });
}

}  // namespace hcasim::kit
