// Every access carries the number of the request that it serves (tlm/operation.h), whatever the way: caches that miss, walks
// that are shared, packets that are lost, doubled and sent again, and a queue whose number lives twice.
#include "testbenches/checks/whole_system/testing/operation_watch.h"
#include "testbenches/kit/windows.h"
#include "testbenches/kit/world.h"

namespace hcasim::kit {
namespace {

constexpr std::size_t pairs = 3;
constexpr std::uint32_t requests = 28;  // of a pair, in one life
constexpr std::uint64_t page_bytes = 4096;
constexpr std::size_t lives = 2;
constexpr std::size_t changes = 2;  // of windows, in one life

struct shared_state {
  out_of_band<std::vector<address>> to_target, to_source;
  out_of_band<region> memory;
  out_of_band<int> done;
  operation_watch* watch = nullptr;
  std::uint64_t completed = 0;
};

struct kind {
  ibv_wr_opcode opcode;
  std::uint32_t bytes;
  unsigned flags = 0;
};
constexpr kind kinds[] = {
    {IBV_WR_RDMA_WRITE, 64, IBV_SEND_INLINE}, {IBV_WR_RDMA_WRITE, 3000}, {IBV_WR_RDMA_READ, 3000},      {IBV_WR_SEND, 2000},
    {IBV_WR_ATOMIC_FETCH_AND_ADD, 8},         {IBV_WR_RDMA_READ, 64},    {IBV_WR_ATOMIC_CMP_AND_SWP, 8}};

qp_options settings() {
  qp_options o;
  o.inline_bytes = 64;
  return o;
}

std::vector<address> begin_life(process_context& p, std::vector<ibv_qp*>& qps) {
  std::vector<address> mine;
  for (std::size_t i = 0; i < pairs; ++i) {
    if (qps.size() <= i) {
      qps.push_back(p.create_qp(settings()));
    } else {
      EXPECT_EQ(p.reset(qps[i]), 0);
    }
    mine.push_back(p.address_of(qps[i], settings()));
  }
  return mine;
}

void target(shared_state& s, cpu& c, node& n) {
  process_context p(c, n);
  const region r = p.allocate(pairs * requests * page_bytes);
  s.memory.send(c, r);
  std::vector<ibv_qp*> qps;
  for (std::size_t life = 0; life < lives; ++life) {
    const std::vector<address> mine = begin_life(p, qps);
    const std::vector<address> peers = s.to_target.receive(c);
    for (std::size_t i = 0; i < pairs; ++i) {
      ASSERT_EQ(p.connect(qps[i], peers[i], settings()), 0);
      for (std::uint32_t k = 0; k < requests; ++k) {
        if (kinds[k % std::size(kinds)].opcode != IBV_WR_SEND) continue;
        const std::uint64_t at = r.addr + (i * requests + k) * page_bytes;
        ASSERT_EQ(post_receive(c, qps[i], k, {{at, page_bytes, r.mr->lkey}}), 0);
      }
    }
    s.to_source.send(c, mine);
    s.done.receive(c);
  }
}

void exchange(shared_state& s, process_context& p, const std::vector<ibv_qp*>& qps, const region& here, const region& there) {
  cpu& c = p.c;
  ibv_mw* const window = ibv_alloc_mw(c, p.pd, IBV_MW_TYPE_2);
  ASSERT_NE(window, nullptr);
  c.sync();
  s.watch->watch(true);
  ASSERT_EQ(post_bind(c, qps[0], window, window->rkey, {here.mr, here.addr, page_bytes, IBV_ACCESS_REMOTE_READ}), 0);
  s.watch->posted(*qps[0], 0, 0);
  ASSERT_EQ(post_local_inv(c, qps[0], window->rkey), 0);
  s.watch->posted(*qps[0], 0, 0);
  for (std::uint32_t k = 0; k < requests; ++k) {
    for (std::size_t i = 0; i < pairs; ++i) {
      const kind& x = kinds[k % std::size(kinds)];
      const std::uint64_t page = (i * requests + k) * page_bytes;
      request r{.opcode = x.opcode, .id = k, .remote = there.addr + page, .rkey = there.mr->rkey};
      r.sges = {{here.addr + page, x.bytes, here.mr->lkey}};
      const bool told = k % 3 == 0 || k + 1 == requests;
      r.flags = x.flags | (told ? unsigned{IBV_SEND_SIGNALED} : 0U);
      ASSERT_EQ(post(c, qps[i], r), 0);
      s.watch->posted(*qps[i], here.addr + page, there.addr + page);
    }
  }
  for (std::size_t last = 0; last < pairs + changes;) {
    const auto wc = next_completion(c, p.cq);
    ASSERT_TRUE(wc.has_value());
    ASSERT_EQ(wc->status, IBV_WC_SUCCESS);
    last += wc->wr_id + 1 == requests || wc->opcode == IBV_WC_BIND_MW || wc->opcode == IBV_WC_LOCAL_INV;
    ++s.completed;
  }
  c.spend(1_ms);  // what is doubled or late has arrived
  c.sync();
  s.watch->watch(false);
}

void source(shared_state& s, cpu& c, node& n) {
  process_context p(c, n);
  const region here = p.allocate(pairs * requests * page_bytes);
  const region there = s.memory.receive(c);
  std::vector<ibv_qp*> qps;
  for (std::size_t life = 0; life < lives; ++life) {
    const std::vector<address> mine = begin_life(p, qps);
    s.watch->begins_anew();
    s.to_target.send(c, mine);
    const std::vector<address> peers = s.to_source.receive(c);
    for (std::size_t i = 0; i < pairs; ++i) {
      ASSERT_EQ(p.connect(qps[i], peers[i], settings()), 0);
      s.watch->connected(mine[i], peers[i]);
    }
    c.sync();
    exchange(s, p, qps, here, there);
    s.done.send(c, 0);
  }
}

void run(const system_config& config) {
  world w(config);
  operation_watch watch;
  shared_state s;
  s.watch = &watch;
  ASSERT_TRUE(w.run({[&](cpu& c, node& n) { source(s, c, n); }, [&](cpu& c, node& n) { target(s, c, n); }}));
  EXPECT_GE(s.completed, lives * pairs * requests / 3);
  for (const std::string& problem : watch.problems()) ADD_FAILURE() << problem;
  for (const char* what : {"doorbell",
                           "work request",
                           "context of send_queue",
                           "context of requester",
                           "context of responder",
                           "context of key_check",
                           "context of completion",
                           "context of window_unit",
                           "change of a window",
                           "drain",
                           "L_Key",
                           "R_Key",
                           "translation",
                           "translation of a queue",
                           "payload",
                           "wqe",
                           "receive_wqe",
                           "context",
                           "table",
                           "completion",
                           "request",
                           "RETH",
                           "repetition",
                           "answer",
                           "response",
                           "acknowledgement",
                           "report",
                           "its CQE"}) {
    EXPECT_GT(watch.seen(what), 0U) << what;
  }
}

TEST(operations, every_access_carries_the_number_of_its_request) {
  run(world::two_nodes());
}

TEST(operations, a_repetition_carries_the_same_number) {
  system_config c = world::two_nodes();
  c.link.loss = c.link.corruption = c.link.duplication = c.link.delay = 0.02;
  run(c);
}

// Misses join others' and stall, and entries come and go.
TEST(operations, caches_of_one_entry) {
  system_config c = world::two_nodes();
  for (node_config& n : c.nodes) {
    n.hca.mrc_cache.sets = n.hca.mrc_cache.ways = 1;
    n.hca.qpc_cache.sets = n.hca.qpc_cache.ways = 1;
    n.hca.page_walker.leaf_sets = n.hca.page_walker.leaf_ways = 1;
    n.hca.page_walker.upper_entries = 1;
    n.hca.page_walker.walkers = 1;
  }
  run(c);
}

// Pins carry no numbers; the shells tell whose their requests are.
TEST(operations, units_as_rtl) {
  system_config c = world::two_nodes();
  for (node_config& n : c.nodes) {
    n.hca.doorbell.implementation = n.hca.key_check.implementation = n.hca.page_walker.implementation = implementation::rtl;
    n.hca.mrc_cache.implementation = n.hca.cqc_cache.implementation = implementation::rtl;
  }
  run(c);
}

}  // namespace
}  // namespace hcasim::kit
