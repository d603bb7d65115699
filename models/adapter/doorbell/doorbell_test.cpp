// Times and targets of rings, and that nothing is lost.
#include "models/adapter/doorbell/doorbell_bench.h"

namespace hcasim {
namespace {

using bench = testing::doorbell_bench;

TEST(doorbell, an_idle_unit_passes_on_at_once) {
  bench b;
  const std::uint64_t before = event_queue::instance().hand_overs();
  b.ring(HCA_UAR_SQ, 5, 0x10007, 100_ns);
  b.ring(HCA_UAR_RQ, 5, 3, 200_ns);
  b.ring(HCA_UAR_CQ, 9 | HCA_ARM_NEXT << 24, 0x12345678, 300_ns);
  b.ring(HCA_UAR_EQ, 1, 7, 400_ns);
  testing::run_until_idle();
  ASSERT_EQ(b.log.size(), 4U);
  EXPECT_EQ(b.log[0].kind, bell::send);
  EXPECT_EQ(b.log[0].number, 5U);
  EXPECT_EQ(b.log[0].value, 7U);  // modulo 2^16
  EXPECT_EQ(b.log[0].at, 104_ns);
  EXPECT_EQ(b.log[1].kind, bell::receive);
  EXPECT_EQ(b.log[2].kind, bell::completion);
  EXPECT_EQ(b.log[2].number, 9U | HCA_ARM_NEXT << 24);
  EXPECT_EQ(b.log[2].value, 0x12345678U);
  EXPECT_EQ(b.log[3].kind, bell::event);
  EXPECT_EQ(event_queue::instance().hand_overs() - before, 10U);  // the stimulus, two orders, and the unit's latency
}

// A doorbell through another page neither reaches the QP nor displaces the owner's doorbell.
TEST(doorbell, a_qp_is_rung_through_its_own_page) {
  doorbell_config c;
  c.fifo_depth = 2;
  bench b(c);
  for (const std::uint32_t q : {1U, 2U, 3U}) {
    b.begun.insert(q);
    b.add_qp(q);
    b.order(true, q, 7, 0_ns);
  }
  b.ring(HCA_UAR_SQ, 1, 1, 10_ns, 7);
  b.ring(HCA_UAR_SQ, 2, 5, 10_ns, 7);
  b.ring(HCA_UAR_SQ, 2, 9, 10_ns, 8);  // not merged with the one that waits
  b.ring(HCA_UAR_RQ, 1, 4, 10_ns, 0);
  b.blueflame(3, 0, 1, 10_ns);
  b.begun.insert(4);
  b.ring(HCA_UAR_SQ, 4, 1, 10_ns, 7);  // of no queue
  b.order(false, 1, 0, 50_ns);
  b.ring(HCA_UAR_SQ, 1, 2, 60_ns, 7);
  b.order(true, 1, 8, 70_ns);
  b.ring(HCA_UAR_SQ, 1, 3, 80_ns, 7);
  b.ring(HCA_UAR_SQ, 1, 4, 90_ns, 8);
  testing::run_until_idle();
  std::vector<std::pair<std::uint32_t, std::uint32_t>> sq;
  for (const auto& r : b.log) {
    EXPECT_EQ(r.kind, bell::send);
    sq.emplace_back(r.number, r.value);
  }
  EXPECT_EQ(sq, (std::vector<std::pair<std::uint32_t, std::uint32_t>>{{1, 1}, {2, 5}, {1, 4}}));
  EXPECT_EQ(b.stat("foreign"), 6);
  EXPECT_EQ(b.stat("dropped") + b.stat("bad_writes") + b.stat("coalesced"), 0);
}

TEST(doorbell, a_cq_is_rung_through_its_own_page_and_an_eq_through_the_first) {
  doorbell_config c;
  c.fifo_depth = 1;
  bench b(c);
  b.begun_cqs = {1, 2, 3};
  b.order_cq(1, true, 7, 0_ns);
  b.order_cq(2, true, 8, 0_ns);
  b.ring(HCA_UAR_SQ, 5, 1, 10_ns);  // the unit is busy, and its FIFO full
  b.ring(HCA_UAR_SQ, 6, 1, 10_ns);
  b.ring(HCA_UAR_CQ, 1 | HCA_ARM_NEXT << 24, 3, 10_ns, 7);
  b.ring(HCA_UAR_CQ, 1, 9, 10_ns, 8);  // not merged with the one that waits
  b.ring(HCA_UAR_CQ, 3, 1, 10_ns, 7);  // of no queue
  b.ring(HCA_UAR_CQ, 2, 4, 10_ns, 8);
  b.ring(HCA_UAR_EQ, 1, 5, 10_ns);
  b.ring(HCA_UAR_EQ, 1, 6, 10_ns, 7);
  b.order_cq(2, false, 0, 10_ns);  // its waiting doorbells go with it
  b.order_cq(2, true, 9, 20_ns);
  b.ring(HCA_UAR_CQ, 2, 7, 30_ns, 8);
  b.ring(HCA_UAR_CQ, 2, 2, 30_ns, 9);
  testing::run_until_idle();
  std::vector<std::tuple<bell, std::uint32_t, std::uint32_t>> rung;
  for (const auto& r : b.log) {
    if (r.kind != bell::send) rung.emplace_back(r.kind, r.number, r.value);
  }
  EXPECT_EQ(rung, (std::vector<std::tuple<bell, std::uint32_t, std::uint32_t>>{
                      {bell::completion, 1 | HCA_ARM_NEXT << 24, 3}, {bell::event, 1, 5}, {bell::completion, 2, 2}}));
  EXPECT_EQ(b.stat("foreign"), 4);
}

// A later QP may get the same number: doorbells still waiting for the old QP do not reach it.
TEST(doorbell, what_waits_for_a_qp_goes_with_it) {
  doorbell_config c;
  c.interval = 1000;
  bench b(c);
  b.ring(HCA_UAR_SQ, 1, 1, 10_ns);
  b.ring(HCA_UAR_SQ, 2, 5, 10_ns);
  b.ring(HCA_UAR_RQ, 2, 6, 10_ns);
  b.ring(HCA_UAR_SQ, 3, 7, 10_ns);
  b.order(false, 2, 0, 50_ns);
  b.order(true, 2, 0, 60_ns);
  b.ring(HCA_UAR_SQ, 2, 2, 70_ns);
  testing::run_until_idle();
  std::vector<std::pair<std::uint32_t, std::uint32_t>> rung;
  for (const auto& r : b.log) rung.emplace_back(r.number, r.value);
  EXPECT_EQ(rung, (std::vector<std::pair<std::uint32_t, std::uint32_t>>{{1, 1}, {3, 7}, {2, 2}}));
}

TEST(doorbell, one_per_interval_in_order) {
  bench b;
  for (std::uint32_t q = 1; q <= 10; ++q) b.ring(HCA_UAR_SQ, q, 1, 0_ns);
  testing::run_until_idle();
  ASSERT_EQ(b.log.size(), 10U);
  for (std::uint32_t i = 0; i < 10; ++i) {
    EXPECT_EQ(b.log[i].number, i + 1);
    EXPECT_EQ(b.log[i].at, ps(4000 + 2000 * i));
  }
}

TEST(doorbell, a_newer_doorbell_of_a_waiting_qp_replaces_it) {
  bench b;
  b.ring(HCA_UAR_SQ, 1, 1, 0_ns);
  b.ring(HCA_UAR_SQ, 2, 1, 0_ns);
  b.ring(HCA_UAR_SQ, 3, 1, 0_ns);
  b.ring(HCA_UAR_SQ, 2, 2, 0_ns);
  b.ring(HCA_UAR_SQ, 2, 3, 1_ns);
  b.ring(HCA_UAR_SQ, 2, 2, 1_ns);  // older: changes nothing
  testing::run_until_idle();
  ASSERT_EQ(b.log.size(), 3U);
  EXPECT_EQ(b.log[1].number, 2U);
  EXPECT_EQ(b.log[1].value, 3U);
  EXPECT_EQ(b.stat("coalesced"), 3);
}

TEST(doorbell, coalescing_can_be_turned_off) {
  doorbell_config c;
  c.coalesce = false;
  bench b(c);
  for (std::uint32_t i = 1; i <= 5; ++i) b.ring(HCA_UAR_SQ, 2, i, 0_ns);
  testing::run_until_idle();
  EXPECT_EQ(b.log.size(), 5U);
}

TEST(doorbell, dropped_doorbells_come_back_from_the_record) {
  doorbell_config c;
  c.fifo_depth = 2;
  bench b(c);
  for (std::uint32_t q = 1; q <= 6; ++q) {
    b.add_qp(q);
    b.record(q) = {10 + q, 20 + q};
    b.ring(HCA_UAR_SQ, q, 10 + q, 0_ns);
  }
  testing::run_until_idle();
  EXPECT_EQ(b.stat("dropped"), 3);
  EXPECT_EQ(b.stat("recovered"), 3);
  std::map<std::uint32_t, std::uint32_t> sq, rq;
  for (const auto& r : b.log) (r.kind == bell::send ? sq : rq)[r.number] = r.value;
  for (std::uint32_t q = 1; q <= 6; ++q) EXPECT_EQ(sq[q], 10 + q);
  EXPECT_EQ(rq.size(), 3U);
  EXPECT_EQ(rq[6], 26U);
  // The fourth was dropped at 0: context 300 ns, record 400 ns, then 4 ns.
  EXPECT_EQ(b.log[3].number, 4U);
  EXPECT_EQ(b.log[3].at, 704_ns);
}

// Passed on, waiting, merged with a newer one, dropped: the doorbell that leaves has the number of the newest.
TEST(doorbell, carries_the_number_of_the_last_request) {
  doorbell_config c;
  c.fifo_depth = 1;
  bench b(c);
  b.add_qp(3);
  b.record(3) = {6, 0};
  const auto ring = [&](std::uint32_t qpn, std::uint32_t value, std::uint64_t operation) {
    b.ring(HCA_UAR_SQ, qpn, value, 0_ns).extension.operation = operation;
  };
  std::map<std::uint32_t, std::uint64_t> operations;
  b.send.serve = [&](doorbell_ring& d, tlm::tlm_phase, ps) { operations[d.number] = d.operation; };
  ring(1, 1, 11);
  ring(2, 1, 21);
  ring(2, 2, 22);
  ring(3, 5, 35);
  ring(3, 6, 36);
  testing::run_until_idle();
  EXPECT_EQ(b.stat("dropped"), 2);
  EXPECT_EQ(b.stat("coalesced"), 1);
  EXPECT_EQ(operations, (std::map<std::uint32_t, std::uint64_t>{{1, 11}, {2, 22}, {3, 36}}));
}

TEST(doorbell, a_doorbell_passed_on_during_recovery_is_not_undone) {
  doorbell_config c;
  c.fifo_depth = 1;
  c.interval = 10;
  bench b(c);
  b.add_qp(3);
  b.record(3) = {5, 0};
  b.ring(HCA_UAR_SQ, 1, 1, 0_ns);
  b.ring(HCA_UAR_SQ, 2, 1, 0_ns);
  b.ring(HCA_UAR_SQ, 3, 5, 0_ns);    // dropped
  b.ring(HCA_UAR_SQ, 3, 9, 500_ns);  // passed on while the record, still 5, is being read
  testing::run_until_idle();
  std::vector<std::uint32_t> values;
  for (const auto& r : b.log) {
    if (r.number == 3 && r.kind == bell::send) values.push_back(r.value);
  }
  EXPECT_EQ(values, (std::vector<std::uint32_t>{9}));
}

// The newest doorbell passed on during recovery counts, not the last: a late one must not make the record look new.
TEST(doorbell, a_late_doorbell_during_recovery_undoes_nothing) {
  doorbell_config c;
  c.fifo_depth = 1;
  c.interval = 10;
  bench b(c);
  b.add_qp(3);
  b.record(3) = {8, 8};
  b.ring(HCA_UAR_SQ, 1, 1, 0_ns);
  b.ring(HCA_UAR_SQ, 2, 1, 0_ns);
  b.ring(HCA_UAR_SQ, 3, 8, 0_ns);  // dropped
  for (const std::uint32_t where : {HCA_UAR_SQ, HCA_UAR_RQ}) {
    b.ring(where, 3, 9, where == HCA_UAR_SQ ? 500_ns : 540_ns);
    b.ring(where, 3, 7, where == HCA_UAR_SQ ? 520_ns : 560_ns);
  }
  testing::run_until_idle();
  for (const bell kind : {bell::send, bell::receive}) {
    std::vector<std::uint32_t> values;
    for (const auto& r : b.log) {
      if (r.number == 3 && r.kind == kind) values.push_back(r.value);
    }
    EXPECT_EQ(values, (std::vector<std::uint32_t>{9, 7}));
  }
}

TEST(doorbell, recovery_of_a_dead_qp_is_counted) {
  doorbell_config c;
  c.fifo_depth = 1;
  bench b(c);
  b.add_qp(4);
  b.qps[4].state = HCA_QP_RESET;
  for (std::uint32_t q = 1; q <= 4; ++q) b.ring(HCA_UAR_SQ, q, 1, 0_ns);
  testing::run_until_idle();
  EXPECT_EQ(b.stat("dropped"), 2);
  EXPECT_EQ(b.stat("recovery_failures"), 2);
  EXPECT_EQ(b.log.size(), 2U);
}

TEST(doorbell, cq_doorbells_wait_beside_a_full_fifo_and_keep_their_arming) {
  doorbell_config c;
  c.fifo_depth = 1;
  bench b(c);
  b.ring(HCA_UAR_SQ, 1, 1, 0_ns);
  b.ring(HCA_UAR_SQ, 2, 1, 0_ns);
  b.ring(HCA_UAR_CQ, 7 | HCA_ARM_SOLICITED << 24, 4, 0_ns);
  b.ring(HCA_UAR_EQ, 7 | HCA_ARM_NEXT << 24, 8, 0_ns);
  b.ring(HCA_UAR_CQ, 8, 1, 0_ns);
  b.ring(HCA_UAR_CQ, 7, 6, 0_ns);
  b.ring(HCA_UAR_CQ, 8 | HCA_ARM_NEXT << 24, 1, 0_ns);
  testing::run_until_idle();
  ASSERT_EQ(b.log.size(), 5U);
  EXPECT_EQ(b.log[4].number, 8U | HCA_ARM_NEXT << 24);
  EXPECT_EQ(b.log[2].kind, bell::completion);
  EXPECT_EQ(b.log[2].number, 7U | HCA_ARM_SOLICITED << 24);
  EXPECT_EQ(b.log[2].value, 6U);
  EXPECT_EQ(b.log[3].kind, bell::event);
  EXPECT_EQ(b.stat("dropped"), 0);
}

// However many doorbells are dropped, the newest indices of every QP arrive, and never run backwards.
void expect_nothing_lost(const doorbell_config& c, std::uint64_t seed) {
  bench b(c);
  const auto random = [&seed](std::uint64_t n) {
    seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
    return (seed >> 33) % n;
  };
  constexpr std::uint32_t qps = 12;
  std::array<std::uint32_t, qps + 1> sq{}, rq{}, ci{};
  for (std::uint32_t q = 1; q <= qps; ++q) {
    b.add_qp(q);
    sq[q] = rq[q] = 0xfff0;
  }
  ps at{0};
  for (unsigned i = 0; i < 4000; ++i) {
    at += ps(static_cast<std::int64_t>(random(5) == 0 ? random(40'000) : random(600)));
    const auto q = static_cast<std::uint32_t>(1 + random(qps));
    const auto kind = random(5);
    if (kind == 0) {
      b.ring(HCA_UAR_CQ, q, ++ci[q], at);
      continue;
    }
    std::uint32_t& index = kind == 1 ? rq[q] : sq[q];
    testing::burst_source::burst* j = nullptr;
    if (kind == 2) {
      j = &b.blueflame(q, static_cast<std::uint16_t>(index), 2, at);
      index += 2;
    } else {
      index += static_cast<std::uint32_t>(1 + random(3));
      j = &b.ring(kind == 1 ? HCA_UAR_RQ : HCA_UAR_SQ, q, index & 0xffff, at);
    }
    // Software writes the record first.
    j->before = [&b, q, value = index & 0xffff, receive = kind == 1] {
      (receive ? b.record(q).rq_pi : b.record(q).sq_pi) = value;
    };
  }
  testing::run_until_idle();
  EXPECT_GT(b.stat("dropped"), 100);
  std::array<std::uint32_t, qps + 1> got_sq{}, got_rq{}, got_ci{};
  got_sq.fill(0xfff0);
  got_rq.fill(0xfff0);
  for (const auto& r : b.log) {
    if (r.kind == bell::completion) {
      got_ci[r.number] = r.value;
      continue;
    }
    std::uint32_t& got = r.kind == bell::send ? got_sq[r.number] : got_rq[r.number];
    if (r.kind == bell::receive && r.value == 0) continue;  // recovered before anything was posted
    if (r.kind == bell::send && r.value == 0 && got == 0xfff0) continue;
    ASSERT_GE(doorbell_rules::ahead(r.value, got), 0) << "QP " << r.number;
    got = r.value;
  }
  for (std::uint32_t q = 1; q <= qps; ++q) {
    EXPECT_EQ(got_sq[q], sq[q] & 0xffff);
    EXPECT_EQ(got_rq[q], rq[q] & 0xffff);
    EXPECT_EQ(got_ci[q], ci[q]);
  }
}
TEST(doorbell, nothing_is_lost_with_coalescing) {
  doorbell_config c;
  c.fifo_depth = 3;
  expect_nothing_lost(c, 1);
}
TEST(doorbell, nothing_is_lost_without_coalescing) {
  doorbell_config c;
  c.fifo_depth = 8;
  c.coalesce = false;
  expect_nothing_lost(c, 2);
}
TEST(doorbell, nothing_is_lost_with_a_stalling_blueflame) {
  doorbell_config c;
  c.fifo_depth = 2;
  c.blueflame_stall = true;
  c.blueflame_buffer = 4;
  expect_nothing_lost(c, 3);
}

TEST(doorbell, registers_go_to_their_owners) {
  bench b;
  const std::uint32_t value = 0xabcd;
  b.cpu.access(true, HCA_REG_CMDQ_BELL, &value, 4, 0_ns);
  b.cpu.access(true, HCA_BAR_MSIX + 24, &value, 4, 1_ns);
  auto& id = b.cpu.access(false, HCA_REG_ID, nullptr, 4, 10_ns);
  auto& entry = b.cpu.access(false, HCA_BAR_MSIX + 16, nullptr, 8, 20_ns);
  testing::run_until_idle();
  EXPECT_EQ(b.registers.at(HCA_REG_CMDQ_BELL), value);
  EXPECT_EQ(b.registers.at(0x80000000 | (HCA_BAR_MSIX + 24)), value);
  EXPECT_EQ(id.get_response_status(), tlm::TLM_OK_RESPONSE);
  EXPECT_EQ(id.answered, 18_ns);
  std::uint64_t read = 0;
  std::memcpy(&read, entry.data.data(), 8);
  EXPECT_EQ(read, 0x1111111100000000ULL | 0x80000000 | (HCA_BAR_MSIX + 16));
}

TEST(doorbell, nonsense_is_refused_and_rings_nothing) {
  bench b;
  const std::uint64_t value = 1;
  auto& hole = b.cpu.access(true, 0x2000, &value, 8, 0_ns);
  auto& hole_read = b.cpu.access(false, 0x2000, nullptr, 8, 0_ns);
  auto& odd = b.cpu.access(true, 0x11, &value, 4, 0_ns);
  b.cpu.access(true, std::uint64_t{HCA_BAR_UAR} + HCA_UAR_SQ, &value, 4, 0_ns);
  b.cpu.access(true, HCA_BAR_UAR + 0x20, &value, 8, 0_ns);
  b.ring(HCA_UAR_SQ, 0, 1, 0_ns);
  b.ring(HCA_UAR_RQ, 0x01000000, 1, 0_ns);
  auto& uar_read = b.cpu.access(false, HCA_BAR_UAR, nullptr, 8, 0_ns);
  testing::run_until_idle();
  EXPECT_TRUE(b.log.empty());
  EXPECT_EQ(hole.get_response_status(), tlm::TLM_ADDRESS_ERROR_RESPONSE);
  EXPECT_EQ(hole_read.get_response_status(), tlm::TLM_ADDRESS_ERROR_RESPONSE);
  EXPECT_EQ(odd.get_response_status(), tlm::TLM_BURST_ERROR_RESPONSE);
  EXPECT_EQ(uar_read.get_response_status(), tlm::TLM_OK_RESPONSE);
  EXPECT_EQ(b.stat("bad_writes"), 6);
  EXPECT_EQ(b.stat("bad_reads"), 2);
}

}  // namespace
}  // namespace hcasim
