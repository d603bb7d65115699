#include "models/doorbell/doorbell.h"

#include <gtest/gtest.h>
#include <tlm_utils/simple_initiator_socket.h>

#include <cstring>
#include <map>
#include <set>

#include "models/doorbell/doorbell_rules.h"
#include "tlm/access.h"
#include "tlm/checker/checker_set.h"
#include "tlm/pcie.h"
#include "tlm/testing/simulate.h"

namespace hcasim {
namespace {

using testing::fake_target;

constexpr std::uint64_t uar = HCA_BAR_UAR;

// MMIO as it arrives from PCIe.
class mmio : public unit {
 public:
  tlm_utils::simple_initiator_socket<mmio, 64> out{"out"};

  explicit mmio(const sc_core::sc_module_name& n) : unit(n) { out.register_nb_transport_bw(this, &mmio::backward); }

  struct job {
    mmio* self = nullptr;
    tlm::tlm_generic_payload gp;
    pcie_extension extension;
    std::vector<unsigned char> bytes;
    ps done{0};
    std::function<void()> before;

    job() { gp.set_extension(&extension); }
    ~job() { gp.clear_extension(&extension); }
    job(const job&) = delete;
    job& operator=(const job&) = delete;
  };
  job& access(bool write, std::uint64_t address, const void* data, std::size_t n, ps at) {
    job& j = jobs.emplace_back();
    j.self = this;
    j.bytes.resize(n);
    if (write) std::memcpy(j.bytes.data(), data, n);
    set_access(j.gp, write ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND, address, j.bytes.data(), n);
    queue_.at(at, {[](void* p) { static_cast<job*>(p)->self->go(*static_cast<job*>(p)); }, &j});
    return j;
  }
  std::deque<job> jobs;

 private:
  void go(job& j) {
    if (j.before) j.before();
    tlm::tlm_phase phase = tlm::BEGIN_REQ;
    sc_core::sc_time delay = to_delay(now());
    EXPECT_EQ(out->nb_transport_fw(j.gp, phase, delay), tlm::TLM_COMPLETED);
    j.done = from_delay(delay);
  }
  tlm::tlm_sync_enum backward(tlm::tlm_generic_payload&, tlm::tlm_phase&, sc_core::sc_time&) { return tlm::TLM_COMPLETED; }
};

// 1 GHz: interval 2 ns, latency 4 ns, register reads 8 ns, one BlueFlame line in 10 ns.
struct bench {
  clock_domain clock{frequency{1e9}};
  doorbell unit_under_test;
  mmio cpu{"cpu"};
  testing::fake_initiator<control_request> firmware{"firmware"};
  fake_target<doorbell_ring> send{"send"};
  fake_target<doorbell_ring> receive{"receive"};
  fake_target<doorbell_ring> completion{"completion"};
  fake_target<register_access> command{"command"};
  fake_target<register_access> msix{"msix"};
  fake_target<register_access> device_memory{"device_memory"};
  fake_target<context_request> qpc{"qpc"};
  fake_target<dma_request> dma{"dma"};
  std::map<std::uint32_t, hca_qpc> qps;
  std::map<std::uint64_t, hca_qp_record> records;
  checker_set checkers;

  struct rung {
    bell kind;
    std::uint32_t number;
    std::uint32_t value;
    std::uint32_t blueflame;
    ps at;
  };
  std::vector<rung> log;
  std::deque<control_request> orders;
  std::set<std::uint32_t> begun;
  std::map<std::uint32_t, std::uint32_t> registers;

  explicit bench(const doorbell_config& config = {}) : unit_under_test("doorbell", config, clock) {
    cpu.out.bind(unit_under_test.bar);
    firmware.out.bind(unit_under_test.control);
    unit_under_test.send.bind(send.in);
    unit_under_test.receive.bind(receive.in);
    unit_under_test.completion.bind(completion.in);
    unit_under_test.command.bind(command.in);
    unit_under_test.msix.bind(msix.in);
    unit_under_test.device_memory.bind(device_memory.in);
    unit_under_test.qpc.bind(qpc.in);
    unit_under_test.dma.bind(dma.in);
    for (auto* out : {&unit_under_test.send, &unit_under_test.receive, &unit_under_test.completion}) checkers.watch(*out);
    for (auto* out : {&unit_under_test.command, &unit_under_test.msix}) checkers.watch(*out);
    checkers.watch(unit_under_test.qpc);
    checkers.watch(unit_under_test.dma);
    for (auto* t : {&send, &receive, &completion}) {
      t->serve = [this](doorbell_ring& d, tlm::tlm_phase, ps at) {
        log.push_back({d.kind, d.number, d.value, d.blueflame_bytes, at});
        last = d;
      };
    }
    command.serve = [this](register_access& a, tlm::tlm_phase, ps) { touch(a, 0); };
    msix.serve = [this](register_access& a, tlm::tlm_phase, ps) { touch(a, 0x80000000); };
    qpc.inline_answers = false;
    qpc.latency = 300_ns;
    qpc.serve = [this](context_request& c, tlm::tlm_phase phase, ps) {
      if (phase != tlm::BEGIN_REQ) return;
      const auto q = qps.find(c.index);
      c.failed = q == qps.end();
      if (!c.failed) c.entry = reinterpret_cast<std::byte*>(&q->second);
    };
    dma.inline_answers = false;
    dma.latency = 400_ns;
    dma.serve = [this](dma_request& d, tlm::tlm_phase, ps) {
      EXPECT_EQ(d.source, dma_source::doorbell_record);
      std::memcpy(d.data, &records.at(d.address), sizeof(hca_qp_record));
    };
  }
  ~bench() { checkers.finish(0_ns); }
  void touch(register_access& a, std::uint32_t bank) {
    if (a.write) {
      registers[bank | a.offset] = static_cast<std::uint32_t>(a.value);
    } else {
      a.value = 0x1111111100000000ULL | (bank | a.offset);
    }
  }
  void add_qp(std::uint32_t qpn) {
    hca_qpc& q = qps[qpn];
    q.state = HCA_QP_RTS;
    q.record = 0x1000 + 8 * qpn;
    records[q.record] = {};
  }
  hca_qp_record& record(std::uint32_t qpn) { return records.at(qps.at(qpn).record); }
  void order(control_op op, std::uint32_t qpn, std::uint32_t page, ps at) {
    control_request& c = orders.emplace_back();
    c.op = op;
    c.number = qpn;
    c.uar = page;
    firmware.send(c, at);
  }
  // Begun at 0 with page 0, unless somebody has said otherwise.
  void need(std::uint32_t qpn) {
    if (qpn <= doorbell_rules::number_mask && begun.insert(qpn).second) order(control_op::start, qpn, 0, 0_ns);
  }
  mmio::job& ring(std::uint32_t where, std::uint32_t number, std::uint32_t value, ps at, unsigned page = 0) {
    const hca_doorbell d{number, value};
    if (where == HCA_UAR_SQ || where == HCA_UAR_RQ) need(number);
    return cpu.access(true, uar + page * std::uint64_t{HCA_UAR_PAGE} + where, &d, sizeof d, at);
  }
  mmio::job& blueflame(std::uint32_t qpn, std::uint16_t index, std::uint8_t blocks, ps at, std::size_t bytes = 0) {
    std::vector<std::byte> wqe(bytes ? bytes : blocks * 64U, std::byte{0x5a});
    hca_wqe_control c{};
    c.qpn = qpn;
    c.index = index;
    c.blocks = blocks;
    std::memcpy(wqe.data(), &c, sizeof c);
    need(qpn);
    return cpu.access(true, uar + HCA_UAR_BF, wqe.data(), wqe.size(), at);
  }
  double stat(const char* name) const {
    for (const statistic& s : unit_under_test.stats().all()) {
      if (s.name == name) return static_cast<double>(std::get<const counter*>(s.value)->value());
    }
    ADD_FAILURE() << name;
    return 0;
  }
  doorbell_ring last;
};

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
  EXPECT_EQ(event_queue::instance().hand_overs() - before, 9U);  // the stimulus, an order, and the unit's latency
}

// Whatever another page rings it neither reaches the QP nor takes the place of what its owner has rung.
TEST(doorbell, a_qp_is_rung_through_its_own_page) {
  doorbell_config c;
  c.fifo_depth = 2;
  bench b(c);
  for (const std::uint32_t q : {1U, 2U, 3U}) {
    b.begun.insert(q);
    b.add_qp(q);
    b.order(control_op::start, q, 7, 0_ns);
  }
  b.ring(HCA_UAR_SQ, 1, 1, 10_ns, 7);
  b.ring(HCA_UAR_SQ, 2, 5, 10_ns, 7);
  b.ring(HCA_UAR_SQ, 2, 9, 10_ns, 8);  // not merged with the one that waits
  b.ring(HCA_UAR_RQ, 1, 4, 10_ns, 0);
  b.blueflame(3, 0, 1, 10_ns);
  b.begun.insert(4);
  b.ring(HCA_UAR_SQ, 4, 1, 10_ns, 7);  // nobody's
  b.ring(HCA_UAR_CQ, 2, 3, 10_ns, 8);  // a CQ's
  b.order(control_op::stop, 1, 0, 50_ns);
  b.ring(HCA_UAR_SQ, 1, 2, 60_ns, 7);
  b.order(control_op::start, 1, 8, 70_ns);
  b.ring(HCA_UAR_SQ, 1, 3, 80_ns, 7);
  b.ring(HCA_UAR_SQ, 1, 4, 90_ns, 8);
  testing::run_until_idle();
  std::vector<std::pair<std::uint32_t, std::uint32_t>> sq;
  for (const auto& r : b.log) {
    EXPECT_TRUE(r.kind == bell::send || r.kind == bell::completion);
    if (r.kind == bell::send) sq.emplace_back(r.number, r.value);
  }
  EXPECT_EQ(sq, (std::vector<std::pair<std::uint32_t, std::uint32_t>>{{1, 1}, {2, 5}, {1, 4}}));
  EXPECT_EQ(b.stat("foreign"), 6);
  EXPECT_EQ(b.stat("dropped") + b.stat("bad_writes") + b.stat("coalesced"), 0);
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
    mmio::job* j = nullptr;
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

TEST(doorbell, blueflame_carries_the_wqe) {
  bench b;
  b.blueflame(5, 0xffff, 3, 100_ns);
  testing::run_until_idle();
  ASSERT_EQ(b.log.size(), 1U);
  EXPECT_EQ(b.log[0].kind, bell::send);
  EXPECT_EQ(b.log[0].number, 5U);
  EXPECT_EQ(b.log[0].value, 2U);
  EXPECT_EQ(b.log[0].blueflame, 192U);
  EXPECT_EQ(b.log[0].at, 100_ns + 3 * 10_ns + 4_ns);
  EXPECT_EQ(b.last.blueflame[191], std::byte{0x5a});
  hca_wqe_control control;
  std::memcpy(&control, b.last.blueflame.data(), sizeof control);
  EXPECT_EQ(control.qpn, 5U);
}

TEST(doorbell, blueflame_lines_per_second) {
  doorbell_config c;
  c.blueflame_stall = true;
  c.fifo_depth = 1000;
  bench b(c);
  for (std::uint32_t i = 0; i < 200; ++i) b.blueflame(1 + i, 0, 2, ps(i * 1000));
  testing::run_until_idle();
  ASSERT_EQ(b.log.size(), 200U);
  EXPECT_EQ(b.log.back().at, 200 * 20_ns + 4_ns);
  for (const auto& r : b.log) EXPECT_EQ(r.blueflame, 128U);
}

TEST(doorbell, blueflame_without_room_is_a_plain_doorbell) {
  doorbell_config c;
  c.blueflame_buffer = 4;
  bench b(c);
  b.blueflame(1, 0, 2, 0_ns);
  b.blueflame(2, 0, 2, 0_ns);
  b.blueflame(3, 4, 2, 0_ns);
  b.blueflame(4, 0, 2, 30_ns);
  testing::run_until_idle();
  ASSERT_EQ(b.log.size(), 4U);
  EXPECT_EQ(b.stat("blueflame_refused"), 1);
  for (const auto& r : b.log) EXPECT_EQ(r.blueflame, r.number == 3 ? 0U : 128U) << r.number;
  EXPECT_EQ(b.log[2].value, 6U);
}

TEST(doorbell, blueflame_larger_than_it_takes_is_a_plain_doorbell) {
  bench b;
  b.blueflame(1, 0, 5, 0_ns);
  testing::run_until_idle();
  ASSERT_EQ(b.log.size(), 1U);
  EXPECT_EQ(b.log[0].blueflame, 0U);
  EXPECT_EQ(b.log[0].value, 5U);
  EXPECT_EQ(b.log[0].at, 4_ns);
}

TEST(doorbell, a_blueflame_write_without_a_whole_wqe_is_read_from_the_record) {
  bench b;
  b.add_qp(6);
  b.record(6) = {40, 50};
  b.blueflame(6, 36, 4, 0_ns, 128);
  b.blueflame(0, 36, 4, 10_ns);
  b.blueflame(6, 36, 0, 2_us, 64);
  testing::run_until_idle();
  EXPECT_EQ(b.stat("blueflame_bad"), 3);
  ASSERT_EQ(b.log.size(), 4U);
  EXPECT_EQ(b.log[0].value, 40U);
  EXPECT_EQ(b.log[0].blueflame, 0U);
  EXPECT_EQ(b.log[1].kind, bell::receive);
  EXPECT_EQ(b.log[1].value, 50U);
}

TEST(doorbell, coalesced_blueflame_is_fetched_from_the_queue) {
  doorbell_config c;
  c.interval = 100;
  bench b(c);
  b.ring(HCA_UAR_SQ, 1, 1, 0_ns);
  b.blueflame(2, 0, 1, 10_ns);
  b.blueflame(2, 1, 1, 20_ns);
  testing::run_until_idle();
  ASSERT_EQ(b.log.size(), 2U);
  EXPECT_EQ(b.log[1].value, 2U);
  EXPECT_EQ(b.log[1].blueflame, 0U);
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
  EXPECT_EQ(id.gp.get_response_status(), tlm::TLM_OK_RESPONSE);
  EXPECT_EQ(id.done, 18_ns);
  std::uint64_t read = 0;
  std::memcpy(&read, entry.bytes.data(), 8);
  EXPECT_EQ(read, 0x1111111100000000ULL | 0x80000000 | (HCA_BAR_MSIX + 16));
}

TEST(doorbell, nonsense_is_refused_and_rings_nothing) {
  bench b;
  const std::uint64_t value = 1;
  auto& hole = b.cpu.access(true, 0x2000, &value, 8, 0_ns);
  auto& hole_read = b.cpu.access(false, 0x2000, nullptr, 8, 0_ns);
  auto& odd = b.cpu.access(true, 0x11, &value, 4, 0_ns);
  b.cpu.access(true, uar + HCA_UAR_SQ, &value, 4, 0_ns);
  b.cpu.access(true, HCA_BAR_UAR + 0x20, &value, 8, 0_ns);
  b.ring(HCA_UAR_SQ, 0, 1, 0_ns);
  b.ring(HCA_UAR_RQ, 0x01000000, 1, 0_ns);
  auto& uar_read = b.cpu.access(false, HCA_BAR_UAR, nullptr, 8, 0_ns);
  testing::run_until_idle();
  EXPECT_TRUE(b.log.empty());
  EXPECT_EQ(hole.gp.get_response_status(), tlm::TLM_ADDRESS_ERROR_RESPONSE);
  EXPECT_EQ(hole_read.gp.get_response_status(), tlm::TLM_ADDRESS_ERROR_RESPONSE);
  EXPECT_EQ(odd.gp.get_response_status(), tlm::TLM_BURST_ERROR_RESPONSE);
  EXPECT_EQ(uar_read.gp.get_response_status(), tlm::TLM_OK_RESPONSE);
  EXPECT_EQ(b.stat("bad_writes"), 6);
  EXPECT_EQ(b.stat("bad_reads"), 2);
}

}  // namespace
}  // namespace hcasim
