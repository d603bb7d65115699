#include "testbenches/checks/key_walk/walk_state.h"

namespace hcasim::testing {

// Node 0: does what it is told, one thing at a time on each lane.
void peer_program(walk_state& s, cpu& c, node& n) {
  process_context p(c, n);
  s.peer = &p;
  std::vector<ibv_qp*> qps;
  std::vector<region> memory;
  std::vector<peer_order> under_way(lanes);
  greeting hello;
  for (std::uint32_t i = 0; i < lanes; ++i) {
    qps.push_back(p.create_qp(settings(i)));
    memory.push_back(p.allocate(2 * most_bytes));
    hello.qps.push_back(p.address_of(qps[i], settings(i)));
    hello.scratch.push_back({memory[i].addr + most_bytes, most_bytes, memory[i].mr->rkey});
  }
  s.to_owner.send(c, hello);
  const std::vector<address> owners = s.to_peer.receive(c);
  for (std::uint32_t i = 0; i < lanes; ++i) {
    if (p.connect(qps[i], owners[i], settings(i)) != 0) s.problem("the peer cannot connect");
  }
  std::uint32_t outstanding = 0;
  for (bool stop = false; !stop || outstanding > 0;) {
    while (!s.orders.empty() || (outstanding == 0 && !stop)) {
      const peer_order o = s.orders.receive(c);
      if (o.what == errand::stop) {
        stop = true;
        continue;
      }
      if (o.what == errand::reconnect) {
        const bool ok = p.reset(qps[o.lane]) == 0 && p.connect(qps[o.lane], o.owner, settings(o.lane, o.owner.psn)) == 0;
        s.answers.send(c, {o.lane, ok ? IBV_WC_SUCCESS : IBV_WC_GENERAL_ERR});
        continue;
      }
      under_way[o.lane] = o;
      const region& m = memory[o.lane];
      request r{.id = o.lane, .sges = {{m.addr, o.bytes, m.mr->lkey}}, .remote = o.va, .rkey = o.key};
      if (o.what == errand::send_inv) {
        r = {.opcode = IBV_WR_SEND_WITH_INV, .id = o.lane, .immediate = o.key};
      } else if (o.how == use::read) {
        r.opcode = IBV_WR_RDMA_READ;
      } else if (o.how == use::atomic) {
        r.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
        r.compare_add = o.pattern;
      } else {
        p.fill(m.addr, o.bytes, o.pattern);
      }
      if (post(c, qps[o.lane], r) != 0) s.problem("the peer cannot post");
      ++outstanding;
    }
    ibv_wc wc{};
    while (ibv_poll_cq(c, p.cq, 1, &wc) == 1) {
      const auto lane = static_cast<std::uint32_t>(wc.wr_id);
      const peer_order& o = under_way[lane];
      peer_answer a{lane, wc.status};
      const bool brings = o.what == errand::access && (o.how == use::read || o.how == use::atomic);
      if (brings && wc.status == IBV_WC_SUCCESS) a.data = p.bytes(memory[lane].addr, o.bytes);
      --outstanding;
      s.answers.send(c, std::move(a));
    }
    if (outstanding > 0) (void)wait_cq(c, p.cq, 1_us);
  }
}

}  // namespace hcasim::testing
