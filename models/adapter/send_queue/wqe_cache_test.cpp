// Early WQEs, and eviction of outstanding WQEs.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <deque>

#include "models/adapter/send_queue/send_queue.h"
#include "tlm/testing/simulate.h"
#include "tlm/testing/statistic_of.h"

namespace hcasim {
namespace {

constexpr std::uint32_t qpn = 5;

hca_wqe_control wqe(std::uint8_t opcode, std::uint16_t index) {
  hca_wqe_control c{};
  c.opcode = opcode;
  c.blocks = 1;
  c.index = index;
  c.qpn = qpn;
  return c;
}

// A contiguous SQ of 128 blocks; 1 GHz; DMA takes 500 ns. The requester answers no WQE by itself.
struct wqe_bench {
  clock_domain clock{frequency{1e9}};
  send_queue queue;
  testing::fake_initiator<doorbell_ring> bells{"bells"};
  testing::fake_initiator<send_queue_control> control{"control"}, peer{"peer"};
  testing::fake_initiator<wqe_refetch> again{"again"};
  testing::fake_target<context_request> qpc{"qpc"};
  testing::fake_target<translate_request> walker{"walker"};
  testing::fake_target<dma_request> dma{"dma"};
  testing::fake_target<work_request> work{"work"};
  testing::fake_target<window_request> windows{"windows"};
  testing::fake_target<report> reports{"reports"};
  hca_qpc context{};
  std::array<std::byte, HCA_WQE_BLOCK * 128> ring{};
  std::deque<doorbell_ring> rung;
  send_queue_control start;

  explicit wqe_bench(const send_queue_config& c, std::uint8_t log_bytes = 13) : queue("queue", c, clock) {
    bells.out.bind(queue.bells);
    control.out.bind(queue.control);
    peer.out.bind(queue.peer);
    again.out.bind(queue.again);
    queue.qpc.bind(qpc.in);
    queue.walker.bind(walker.in);
    queue.dma.bind(dma.in);
    queue.work.bind(work.in);
    queue.windows.bind(windows.in);
    queue.reports.bind(reports.in);
    context.state = HCA_QP_RTS;
    context.max_read_out = 200;
    context.sq.log_bytes = log_bytes;
    qpc.serve = [this](context_request& r, tlm::tlm_phase, ps) { r.entry = reinterpret_cast<std::byte*>(&context); };
    walker.serve = [](translate_request& r, tlm::tlm_phase, ps) {
      r.physical = r.va;
      r.bytes = r.length;
    };
    dma.inline_answers = false;
    dma.latency = 500_ns;
    dma.serve = [this](dma_request& d, tlm::tlm_phase, ps) { std::memcpy(d.data, ring.data() + d.address, d.bytes); };
    work.inline_answers = false;
    work.latency = 1000_ms;
    start.op = send_queue_op::start;
    start.qpn = qpn;
    control.send(start, 0_ns);
  }
  // Writes the WQE into the ring, and rings for all up to it: with its bytes if `blueflame`.
  void post(std::uint8_t opcode, std::uint16_t index, bool blueflame, ps at) {
    const hca_wqe_control c = wqe(opcode, index);
    std::memcpy(ring.data() + std::size_t{index} * HCA_WQE_BLOCK, &c, sizeof c);
    doorbell_ring& b = rung.emplace_back();
    b.number = qpn;
    b.value = index + 1U;
    b.blueflame_bytes = blueflame ? HCA_WQE_BLOCK : 0;
    b.blueflame.fill({});
    std::memcpy(b.blueflame.data(), &c, sizeof c);
    bells.send(b, at);
  }
  [[nodiscard]] std::vector<std::uint16_t> begun() const {
    std::vector<std::uint16_t> out;
    for (const auto& [w, at] : work.requests) out.push_back(w->index);
    return out;
  }
  [[nodiscard]] std::uint64_t count(std::string_view name) const { return testing::count_of(queue, name); }
};

send_queue_config early() {
  send_queue_config c;
  c.early_blueflame = true;
  return c;
}

// The first turn reads the context and fetches block 0. Blocks 1 and 2 come meanwhile, and no DMA is for them.
TEST(wqe_cache, blueflame_behind_a_fetch_needs_none) {
  wqe_bench b(early());
  b.post(HCA_WQE_WRITE, 0, false, 10_ns);
  testing::run_for(2_us);
  b.post(HCA_WQE_WRITE, 1, false, 2_us);
  b.post(HCA_WQE_WRITE, 2, true, 2_us + 100_ns);
  b.post(HCA_WQE_WRITE, 3, true, 2_us + 200_ns);
  testing::run_for(5_us);
  EXPECT_EQ(b.begun(), (std::vector<std::uint16_t>{0, 1, 2, 3}));
  EXPECT_EQ(b.dma.requests.size(), 2U);
  EXPECT_EQ(b.count("early"), 2U);
}

// The first turn of a QP reads its context. No WQE that has come by BlueFlame meanwhile is fetched.
TEST(wqe_cache, blueflame_waits_for_the_first_context) {
  wqe_bench b(early());
  b.qpc.inline_answers = false;
  b.qpc.latency = 300_ns;
  for (std::uint16_t i = 0; i < 5; ++i) b.post(HCA_WQE_WRITE, i, true, 10_ns + ps(20'000 * i));
  testing::run_for(5_us);
  EXPECT_EQ(b.begun(), (std::vector<std::uint16_t>{0, 1, 2, 3, 4}));
  EXPECT_TRUE(b.dma.requests.empty());
  EXPECT_EQ(b.count("early"), 5U);
}

// A READ is judged when its QP's context is there.
TEST(wqe_cache, an_early_read_is_judged_by_the_context) {
  wqe_bench b(early());
  b.qpc.inline_answers = false;
  b.qpc.latency = 300_ns;
  b.post(HCA_WQE_READ, 0, true, 10_ns);
  testing::run_for(5_us);
  ASSERT_EQ(b.work.requests.size(), 1U);
  EXPECT_EQ(b.work.requests[0].first->status, HCA_WC_SUCCESS);
  EXPECT_EQ(b.count("bad_wqes"), 0U);
}

// A plain doorbell between two of BlueFlame: its WQE is fetched between them.
TEST(wqe_cache, early_wqes_keep_their_places) {
  wqe_bench b(early());
  b.post(HCA_WQE_WRITE, 0, false, 10_ns);
  testing::run_for(2_us);
  b.post(HCA_WQE_WRITE, 1, false, 2_us);
  b.post(HCA_WQE_WRITE, 2, true, 2_us + 100_ns);
  b.post(HCA_WQE_WRITE, 3, false, 2_us + 200_ns);
  b.post(HCA_WQE_WRITE, 4, true, 2_us + 300_ns);
  testing::run_for(9_us);
  EXPECT_EQ(b.begun(), (std::vector<std::uint16_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(b.dma.requests.size(), 3U);
}

// Doorbells of a QP without a send queue leave nothing behind, and end.
TEST(wqe_cache, without_a_ring_nothing_is_kept) {
  wqe_bench b(early(), 0);
  b.post(HCA_WQE_WRITE, 0, false, 10_ns);
  b.qpc.inline_answers = false;
  b.qpc.latency = 300_ns;
  b.post(HCA_WQE_WRITE, 1, false, 1_us);
  b.post(HCA_WQE_WRITE, 2, true, 1_us + 50_ns);
  b.post(HCA_WQE_WRITE, 3, true, 1_us + 100_ns);
  testing::run_for(5_us);
  EXPECT_TRUE(b.begun().empty());
  EXPECT_TRUE(b.dma.requests.empty());
  EXPECT_LT(b.qpc.requests.size(), 10U) << "turns end";
}

send_queue_config evicting() {
  send_queue_config c;
  c.evict_outstanding = true;
  c.wqe_cache = 64;
  c.max_outstanding = 4096;
  return c;
}

// 80 READs do not fit into 64 blocks: the oldest ones make room, and come back unless their bytes have changed.
TEST(wqe_cache, outstanding_wqes_make_room_and_come_back) {
  wqe_bench b(evicting());
  for (std::uint16_t i = 0; i < 60; ++i) b.post(HCA_WQE_READ, i, false, 10_ns);
  testing::run_for(20_us);
  ASSERT_EQ(b.begun().size(), 60U);
  for (std::uint16_t i = 60; i < 80; ++i) b.post(HCA_WQE_READ, i, false, 20_us);
  testing::run_for(20_us);
  ASSERT_EQ(b.begun().size(), 80U);
  EXPECT_GT(b.count("evicted"), 0U);
  work_request& oldest = *b.work.requests[0].first;
  work_request& second = *b.work.requests[1].first;
  EXPECT_FALSE(oldest.on_chip);
  wqe_refetch same;
  same.work = &oldest;
  b.again.send(same, 41_us);
  testing::run_for(5_us);
  ASSERT_EQ(b.again.answers.size(), 1U);
  EXPECT_FALSE(same.failed);
  EXPECT_TRUE(oldest.on_chip);
  b.ring[HCA_WQE_BLOCK + sizeof(hca_wqe_control)] ^= std::byte{1};
  wqe_refetch changed;
  changed.work = &second;
  b.again.send(changed, 47_us);
  testing::run_for(5_us);
  ASSERT_EQ(b.again.answers.size(), 2U);
  EXPECT_TRUE(changed.failed);
}

}  // namespace
}  // namespace hcasim
