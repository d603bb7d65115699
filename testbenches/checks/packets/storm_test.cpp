// Packets for QPs that are being made, changed and destroyed: whatever their source, the firmware's contexts are what it wrote.
#include <gtest/gtest.h>

#include "testbenches/kit/counters.h"
#include "testbenches/kit/endpoint.h"
#include "testbenches/kit/forger.h"
#include "testbenches/kit/world.h"
#include "tlm/base/random.h"

namespace hcasim::kit {
namespace {

constexpr std::uint32_t log_qps = 4;
constexpr std::uint16_t stranger = 2;

system_config few_qps() {
  system_config c = world::two_nodes();
  for (node_config& n : c.nodes) n.driver.log_qps = n.hca.command_unit.log_qps = log_qps;
  return c;
}

packet_header anything(const forger& f, random_stream& random) {
  static constexpr std::uint8_t opcodes[] = {
      wire::send_only,  wire::send_first,           wire::send_middle,           wire::write_only,          wire::write_first,
      wire::write_last, wire::read_request,         wire::compare_swap,          wire::fetch_add,           wire::acknowledge,
      wire::read_only,  wire::uc | wire::send_only, wire::uc | wire::write_only, wire::ud | wire::send_only};
  const auto qpn = static_cast<std::uint32_t>(random.below(1U << log_qps));
  // Far from every expected PSN: what is judged as the next packet of a connection is that connection's.
  const auto psn = static_cast<std::uint32_t>(0x100000 + random.below(0x100000));
  packet_header h = f.header(opcodes[random.below(std::size(opcodes))], qpn, psn, stranger);
  h.va = random.below(1 << 20);
  h.rkey = static_cast<std::uint32_t>(random.below(1 << 16));
  h.dma_length = static_cast<std::uint32_t>(random.below(4096));
  h.qkey = 1;
  return h;
}

// Expects the context that software gave to the adapter.
void expect_context(process_context& p, ibv_qp* qp, ibv_qp_state state, const qp_options& o) {
  ibv_qp_attr a{};
  ibv_qp_init_attr init{};
  ASSERT_EQ(ibv_query_qp(p.c, qp, &a, ~0, &init), 0);
  EXPECT_EQ(a.qp_state, state);
  if (state == IBV_QPS_RESET) return;
  EXPECT_EQ(a.qp_access_flags, o.access);
  if (state == IBV_QPS_INIT) return;
  EXPECT_EQ(a.path_mtu, o.mtu);
  EXPECT_EQ(a.dest_qp_num, 0x777U);
  EXPECT_EQ(a.rq_psn, 0x10U);
}

void lives_in_a_storm(std::uint64_t seed, ps apart) {
  EXPECT_EQ(run_forged(few_qps(),
                       [&](cpu& c, node& n, forger& f) {
                         random_stream random(seed, "storm");
                         process_context p(c, n);
                         const struct calm {  // however it ends
                           forger& raging;
                           ~calm() { raging.stop(); }
                         } after{f};
                         for (int life = 0; life < 12 && !::testing::Test::HasFailure(); ++life) {
                           qp_options o;
                           o.read_depth = 4;
                           c.sync();
                           f.storm(apart, [&] { return &f.make(anything(f, random)); });
                           ibv_qp* qp = p.create_qp(o);
                           expect_context(p, qp, IBV_QPS_RESET, o);
                           ASSERT_EQ(p.connect(qp, {stranger, 0x777, 0x10}, o), 0) << "seed " << seed << ", life " << life;
                           expect_context(p, qp, IBV_QPS_RTS, o);
                           ibv_qp_attr a{};
                           for (int i = 0; i < 6; ++i) {
                             a.qp_access_flags = o.access = random.below(2) != 0 ? qp_rights : unsigned{IBV_ACCESS_REMOTE_READ};
                             ASSERT_EQ(ibv_modify_qp(c, qp, &a, IBV_QP_ACCESS_FLAGS), 0);
                             expect_context(p, qp, IBV_QPS_RTS, o);
                           }
                           if (random.below(2) != 0) {
                             ASSERT_EQ(p.reset(qp), 0);
                             ASSERT_EQ(p.connect(qp, {stranger, 0x777, 0x10}, o), 0);
                             expect_context(p, qp, IBV_QPS_RTS, o);
                           }
                           ASSERT_EQ(ibv_destroy_qp(c, qp), 0);
                           f.stop();
                           c.spend(50_us);
                           c.sync();
                         }
                       }),
            "");
}

class storm : public ::testing::TestWithParam<unsigned> {};

TEST_P(storm, of_packets_for_qps_that_come_and_go) {
  lives_in_a_storm(GetParam(), ps(5'000 + 45'000 / 24 * GetParam()));
}

// From 5 to 50 ns apart.
INSTANTIATE_TEST_SUITE_P(seeds, storm, ::testing::Range(0U, 25U));

// A command wants the context of a QP whose WQEs fill the cache of them. The holder of the context waits for WQEs to complete,
// and for that the requester wants it too.
TEST(commands, a_full_wqe_cache_does_not_keep_a_context_for_ever) {
  system_config config = world::one_node();
  config.nodes[0].hca.send_queue.wqe_cache = 64;
  config.nodes[0].hca.send_queue.max_outstanding = 4096;
  world w(config);
  std::size_t complete = 0;
  EXPECT_TRUE(w.run({[&](cpu& c, node& n) {
    process_context p(c, n);
    const qp_options o{.send_depth = 256};
    ibv_qp* const a = p.create_qp(o);
    ibv_qp* const b = p.create_qp(o);
    ASSERT_EQ(p.connect(a, p.address_of(b, o), o), 0);
    ASSERT_EQ(p.connect(b, p.address_of(a, o), o), 0);
    const region here = p.allocate(1 << 20);
    for (std::uint64_t i = 0; i < 200; ++i) {
      ASSERT_EQ(
          post(c, a, {.id = i, .sges = {{here.addr, 1 << 16, here.mr->lkey}}, .remote = here.addr, .rkey = here.mr->rkey}), 0);
    }
    for (int i = 0; i < 40; ++i) EXPECT_EQ(p.state(a), IBV_QPS_RTS);
    while (complete < 200 && next_completion(c, p.cq)) ++complete;
  }}));
  EXPECT_EQ(complete, 200U);
}

}  // namespace
}  // namespace hcasim::kit
