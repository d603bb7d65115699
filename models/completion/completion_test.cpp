#include "models/completion/completion.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "firmware/abi/mrc.h"
#include "tlm/checker/checker_set.h"
#include "tlm/testing/simulate.h"

namespace hcasim {
namespace {

using testing::fake_initiator;
using testing::fake_target;

// A CQ context cache whose misses take as long as the test says, each another time.
class slow_cache : public unit {
 public:
  target_socket<context_request> in{"in"};
  std::map<std::uint32_t, hca_cqc> entries;
  std::function<ps()> latency = [] { return ps(0); };  // 0: hit
  unsigned held = 0;

  explicit slow_cache(const sc_core::sc_module_name& n) : unit(n) { in.on<&slow_cache::handle>(this); }

 private:
  tlm::tlm_sync_enum handle(context_request& c, tlm::tlm_phase phase, ps& t) {
    if (phase == tlm::END_RESP) {
      --held;
      return tlm::TLM_COMPLETED;
    }
    const auto found = entries.find(c.index);
    c.failed = found == entries.end();
    if (!c.failed) {
      c.entry = reinterpret_cast<std::byte*>(&found->second);
      ++held;
    }
    const ps late = latency();
    if (late == ps(0)) return tlm::TLM_COMPLETED;
    queue_.at(t + late,
              {[](void* p) { target_socket<context_request>::respond(*static_cast<context_request*>(p), now()); }, &c});
    return tlm::TLM_ACCEPTED;
  }
};

constexpr std::uint64_t ring_at = 0x1000;
constexpr std::uint64_t record_at = 0x8000;
constexpr std::uint64_t eq_at = 0x9000;
constexpr std::uint64_t msi_at = 0xf000;

// 1 GHz; CQE 6 ns, EQE 6 ns, interrupt 4 ns after its cause.
struct bench {
  clock_domain clock{frequency{1e9}};
  completion unit_under_test;
  slow_cache cache{"cache"};
  fake_target<translate_request> walker{"walker"};
  fake_target<dma_request> memory_port{"memory"};
  std::deque<fake_initiator<report>> reporters;
  fake_initiator<doorbell_ring> bells{"bells"};
  fake_initiator<control_request> control{"control"};
  fake_initiator<register_access> msix{"msix"};
  std::vector<std::byte> memory = std::vector<std::byte>(0x10000);
  std::deque<report> sent;
  std::deque<doorbell_ring> rung;
  std::deque<control_request> controls;
  std::deque<register_access> accesses;
  checker_set checkers;

  struct write {
    dma_source source;
    std::uint64_t address;
    ps at;
  };
  std::vector<write> writes;
  unsigned record_reads = 0;
  translation walked;
  std::uint64_t failing = ~0ULL;

  explicit bench(unsigned reporters_wanted = 1) : unit_under_test("completion", completion_config{}, clock, reporters_wanted) {
    unit_under_test.cqc.bind(cache.in);
    unit_under_test.walker.bind(walker.in);
    unit_under_test.dma.bind(memory_port.in);
    for (unsigned i = 0; i < reporters_wanted; ++i) {
      reporters.emplace_back(("reporter" + std::to_string(i)).c_str());
      reporters.back().out.bind(unit_under_test.reports[i]);
      checkers.watch(reporters.back().out);
    }
    bells.out.bind(unit_under_test.bells);
    control.out.bind(unit_under_test.control);
    msix.out.bind(unit_under_test.msix);
    checkers.watch(unit_under_test.cqc);
    checkers.watch(unit_under_test.walker);
    checkers.watch(unit_under_test.dma);
    walker.serve = [this](translate_request& q, tlm::tlm_phase, ps) {
      walked = q.map;
      q.status = q.map.table == 0xbad ? translate_status::not_present : translate_status::ok;
      q.physical = q.map.table + 0x100 + q.va;
      q.bytes = q.length;
    };
    memory_port.serve = [this](dma_request& d, tlm::tlm_phase, ps t) {
      d.failed = d.address == failing;
      if (d.failed) return;
      if (d.op == dma_op::write) {
        std::memcpy(&memory[d.address], d.data, d.bytes);
        writes.push_back({d.source, d.address, t});
      } else {
        std::memcpy(d.data, &memory[d.address], d.bytes);
        ++record_reads;
      }
    };
  }

  ~bench() { checkers.finish(0_ns); }

  hca_cqc& add_cq(std::uint32_t cqn, std::uint8_t log_entries, std::uint64_t at = ring_at) {
    hca_cqc& cq = cache.entries[cqn];
    cq = {};
    cq.buffer.pages = at;
    cq.buffer.log_bytes = static_cast<std::uint8_t>(log_entries + 6);
    cq.record = record_at;
    cq.state = HCA_CQ_VALID;
    cq.eqn = 1;
    return cq;
  }
  void open_eq(std::uint32_t eqn, std::uint8_t log_entries, ps at = 0_ns) {
    control_request& c = controls.emplace_back();
    c.op = control_op::set_eq;
    c.number = eqn;
    c.open = true;
    c.eqc.buffer.pages = eq_at + 0x1000 * eqn;
    c.eqc.buffer.log_bytes = static_cast<std::uint8_t>(log_entries + 5);
    c.eqc.vector = eqn;
    control.send(c, at);
    set_vector(eqn, 0, at);
  }
  void set_vector(std::uint32_t vector, std::uint32_t masked, ps at) {
    access(vector, 0, 8, msi_at + 16 * vector, at);
    access(vector, 8, 4, 0x40 + vector, at);
    access(vector, 12, 4, masked, at);
  }
  register_access& access(std::uint32_t vector, std::uint32_t field, std::uint32_t bytes, std::uint64_t value, ps at) {
    register_access& a = accesses.emplace_back();
    a.offset = HCA_BAR_MSIX + vector * 16 + field;
    a.bytes = bytes;
    a.write = true;
    a.value = value;
    msix.send(a, at);
    return a;
  }
  report& complete(std::uint32_t cqn, std::uint16_t index, ps at, std::uint8_t flags = 0, unsigned from = 0) {
    report& r = sent.emplace_back();
    r.cqn = cqn;
    r.cqe.index = index;
    r.cqe.flags = flags;
    reporters[from].send(r, at);
    return r;
  }
  void event(std::uint32_t type, std::uint32_t number, ps at) {
    report& r = sent.emplace_back();
    r.event = true;
    r.type = type;
    r.number = number;
    reporters[0].send(r, at);
  }
  void ring(bell kind, std::uint32_t number, std::uint32_t arm, std::uint32_t value, ps at) {
    doorbell_ring& d = rung.emplace_back();
    d.kind = kind;
    d.number = number | arm << 24;
    d.value = value;
    bells.send(d, at);
  }
  hca_cqe cqe(std::uint32_t slot, std::uint64_t at = ring_at) const {
    hca_cqe e{};
    std::memcpy(&e, &memory[at + slot * 64], sizeof e);
    return e;
  }
  hca_eqe eqe(std::uint32_t eqn, std::uint32_t slot) const {
    hca_eqe e{};
    std::memcpy(&e, &memory[eq_at + 0x1000 * eqn + slot * 32], sizeof e);
    return e;
  }
  unsigned count(dma_source source) const {
    unsigned n = 0;
    for (const write& w : writes) n += w.source == source;
    return n;
  }
  unsigned interrupts() const { return count(dma_source::interrupt); }
  unsigned events(std::uint32_t eqn) const {
    unsigned n = 0;
    for (const write& w : writes) n += w.address >= eq_at + 0x1000 * eqn && w.address < eq_at + 0x1000 * (eqn + 1);
    return n;
  }
  double stat(const char* name) const {
    for (const statistic& s : unit_under_test.stats().all()) {
      if (s.name == name) return static_cast<double>(std::get<const counter*>(s.value)->value());
    }
    ADD_FAILURE() << name;
    return 0;
  }
};

TEST(completion, a_hit_is_answered_after_its_latency) {
  bench b;
  b.add_cq(5, 4);
  b.complete(5, 77, 100_ns);
  testing::run_until_idle();
  ASSERT_EQ(b.writes.size(), 1U);
  EXPECT_EQ(b.writes[0].at, 106_ns);
  EXPECT_EQ(b.writes[0].address, ring_at);
  EXPECT_EQ(b.reporters[0].answers[0].at, 106_ns);
  EXPECT_EQ(b.cqe(0).index, 77);
  EXPECT_EQ(b.cache.entries[5].pi, 1U);
  EXPECT_EQ(b.cache.held, 0U);
}

TEST(completion, one_completion_per_interval) {
  bench b;
  b.add_cq(5, 8);
  for (std::uint16_t i = 0; i < 100; ++i) b.complete(5, i, 0_ns);
  testing::run_until_idle();
  EXPECT_EQ(b.writes.back().at, 106_ns - 1_ns);
}

TEST(completion, buffers_in_pages_go_through_the_walker) {
  bench b;
  hca_cqc& cq = b.add_cq(5, 4);
  cq.buffer.page_shift = 12;
  cq.buffer.pages = 0x3000;
  cq.pi = 3;
  cq.ci = 3;
  b.complete(5, 1, 0_ns);
  testing::run_until_idle();
  EXPECT_EQ(b.writes.at(0).address, 0x3100U + 3 * 64);
  EXPECT_EQ(b.walked.index, HCA_TAG_CQ | 5U);
  EXPECT_EQ(b.walked.levels, 1);
  EXPECT_EQ(b.walked.page_shift, 12);
}

TEST(completion, owner_bits_over_wraps) {
  bench b;
  b.add_cq(5, 2);
  const auto put_index = [&](std::uint32_t ci) { std::memcpy(&b.memory[record_at], &ci, 4); };
  std::uint32_t next = 0;
  for (unsigned pass = 0; pass < 5; ++pass) {
    for (unsigned slot = 0; slot < 4; ++slot) {
      put_index(next);
      b.complete(5, static_cast<std::uint16_t>(next++), now() + 1_ns);
      testing::run_for(100_ns);
      EXPECT_EQ(b.cqe(slot).owner, pass % 2 == 0 ? 1 : 0);
      EXPECT_EQ(b.cqe(slot).index, next - 1);
    }
  }
  EXPECT_EQ(b.stat("cqes_lost"), 0);
  // The record is read only when the context's consumer index says full.
  EXPECT_EQ(b.record_reads, 4U);
}

TEST(completion, overflow_loses_the_cqe_and_says_so_once) {
  bench b;
  b.add_cq(5, 2);
  b.open_eq(0, 4);
  for (std::uint16_t i = 0; i < 6; ++i) b.complete(5, i, 10_ns);
  testing::run_until_idle();
  EXPECT_EQ(b.cache.entries[5].state, HCA_CQ_OVERFLOWN);
  EXPECT_EQ(b.cache.entries[5].pi, 4U);
  EXPECT_EQ(b.cqe(0).index, 0);
  EXPECT_EQ(b.stat("cqes_lost"), 2);
  EXPECT_EQ(b.stat("overflows"), 1);
  EXPECT_EQ(b.record_reads, 1U);
  EXPECT_EQ(b.events(0), 1U);
  EXPECT_EQ(b.eqe(0, 0).type, static_cast<std::uint32_t>(HCA_EVENT_CQ_OVERFLOW));
  EXPECT_EQ(b.eqe(0, 0).number, 5U);
  EXPECT_EQ(b.eqe(0, 0).owner, 1);
  EXPECT_EQ(b.reporters[0].answers.size(), 6U);
}

TEST(completion, unknown_and_untranslated_cqs_raise_an_event) {
  bench b;
  hca_cqc& cq = b.add_cq(5, 2);
  cq.buffer.page_shift = 12;
  cq.buffer.pages = 0xbad;
  b.open_eq(0, 4);
  b.complete(9, 0, 10_ns);
  b.complete(5, 0, 20_ns);
  testing::run_until_idle();
  EXPECT_EQ(b.stat("bad_reports"), 1);
  EXPECT_EQ(b.stat("cqes_lost"), 1);
  EXPECT_EQ(b.eqe(0, 0).type, static_cast<std::uint32_t>(HCA_EVENT_CATASTROPHIC));
  EXPECT_EQ(b.eqe(0, 0).number, 9U);
  EXPECT_EQ(b.eqe(0, 1).number, 5U);
  EXPECT_EQ(b.reporters[0].answers.size(), 2U);
  EXPECT_EQ(b.cache.held, 0U);
}

TEST(completion, a_cqe_that_memory_refuses_raises_an_event) {
  bench b;
  b.add_cq(5, 2);
  b.open_eq(0, 4);
  b.failing = ring_at;
  b.complete(5, 0, 10_ns);
  testing::run_until_idle();
  EXPECT_EQ(b.stat("write_failures"), 1);
  EXPECT_EQ(b.eqe(0, 0).type, static_cast<std::uint32_t>(HCA_EVENT_CATASTROPHIC));
}

TEST(completion, armed_cq_writes_cqe_then_eqe_then_interrupt) {
  bench b;
  b.add_cq(5, 4);
  b.open_eq(1, 4);
  b.ring(bell::event, 1, 1, 0, 1_ns);
  b.ring(bell::completion, 5, HCA_ARM_NEXT, 0, 2_ns);
  b.complete(5, 0, 10_ns);
  b.complete(5, 1, 20_ns);
  testing::run_until_idle();
  ASSERT_EQ(b.writes.size(), 4U);
  EXPECT_EQ(b.writes[0].address, ring_at);
  EXPECT_EQ(b.writes[0].at, 16_ns);
  EXPECT_EQ(b.writes[1].address, eq_at + 0x1000);
  EXPECT_EQ(b.writes[1].at, 22_ns);
  EXPECT_EQ(b.writes[2].source, dma_source::interrupt);
  EXPECT_EQ(b.writes[2].address, msi_at + 16);
  EXPECT_EQ(b.writes[2].at, 26_ns);
  EXPECT_EQ(b.memory[msi_at + 16], std::byte{0x41});
  EXPECT_EQ(b.eqe(1, 0).type, static_cast<std::uint32_t>(HCA_EVENT_COMPLETION));
  EXPECT_EQ(b.eqe(1, 0).number, 5U);
  EXPECT_EQ(b.events(1), 1U);  // one arming, one event
}

TEST(completion, no_event_for_a_cq_that_is_not_armed) {
  bench b;
  b.add_cq(5, 4);
  b.open_eq(1, 4);
  b.ring(bell::completion, 5, HCA_ARM_NONE, 0, 2_ns);
  b.complete(5, 0, 10_ns);
  testing::run_until_idle();
  EXPECT_EQ(b.events(1), 0U);
}

TEST(completion, solicited_arming_waits_for_a_solicited_cqe) {
  bench b;
  b.add_cq(5, 4);
  b.open_eq(1, 4);
  b.ring(bell::completion, 5, HCA_ARM_SOLICITED, 0, 2_ns);
  b.complete(5, 0, 10_ns);
  testing::run_for(50_ns);
  EXPECT_EQ(b.events(1), 0U);
  b.complete(5, 1, 60_ns, HCA_CQE_SOLICITED);
  testing::run_until_idle();
  EXPECT_EQ(b.events(1), 1U);
}

TEST(completion, a_solicited_arming_does_not_weaken_an_earlier_one) {
  bench b;
  b.add_cq(5, 4);
  b.open_eq(1, 4);
  b.ring(bell::completion, 5, HCA_ARM_NEXT, 0, 2_ns);
  b.ring(bell::completion, 5, HCA_ARM_SOLICITED, 0, 3_ns);
  b.complete(5, 0, 10_ns);
  testing::run_until_idle();
  EXPECT_EQ(b.events(1), 1U);
}

// Software found the CQ empty at index 0; the CQE came before its arming did.
TEST(completion, arming_behind_a_cqe_fires_at_once) {
  bench b;
  b.add_cq(5, 4);
  b.open_eq(1, 4);
  b.complete(5, 0, 10_ns);
  b.ring(bell::completion, 5, HCA_ARM_NEXT, 0, 20_ns);
  testing::run_until_idle();
  EXPECT_EQ(b.events(1), 1U);
  EXPECT_EQ(b.writes.back().at, 26_ns);
  EXPECT_EQ(b.stat("late_arms"), 1);
  EXPECT_EQ(b.cache.entries[5].arm, HCA_ARM_NONE);
}

TEST(completion, arming_after_consuming_waits) {
  bench b;
  b.add_cq(5, 4);
  b.open_eq(1, 4);
  b.complete(5, 0, 10_ns, HCA_CQE_SOLICITED);
  b.ring(bell::completion, 5, HCA_ARM_NEXT, 1, 20_ns);
  testing::run_until_idle();
  EXPECT_EQ(b.events(1), 0U);
  EXPECT_EQ(b.cache.entries[5].arm, HCA_ARM_NEXT);
  EXPECT_EQ(b.cache.entries[5].ci, 1U);
}

TEST(completion, moderation_counts) {
  bench b;
  b.add_cq(5, 6).moderation_count = 4;
  b.open_eq(1, 4);
  b.ring(bell::completion, 5, HCA_ARM_NEXT, 0, 2_ns);
  for (std::uint16_t i = 0; i < 3; ++i) b.complete(5, i, ps(10'000 + i * 1000));
  testing::run_for(1_us);
  EXPECT_EQ(b.events(1), 0U);
  b.complete(5, 3, 2_us);
  testing::run_until_idle();
  EXPECT_EQ(b.events(1), 1U);
}

TEST(completion, moderation_timer_runs_from_the_first_cqe) {
  bench b;
  hca_cqc& cq = b.add_cq(5, 6);
  cq.moderation_count = 100;
  cq.moderation_us = 10;
  b.open_eq(1, 4);
  b.ring(bell::completion, 5, HCA_ARM_NEXT, 0, 2_ns);
  b.complete(5, 0, 1_us);
  b.complete(5, 1, 8_us);
  testing::run_for(11_us + 11_ns);
  EXPECT_EQ(b.events(1), 0U);
  testing::run_for(2_ns);
  EXPECT_EQ(b.events(1), 1U);
  EXPECT_EQ(b.writes.back().at, 11_us + 12_ns);
  EXPECT_EQ(b.stat("timer_events"), 1);
}

TEST(completion, a_timer_of_an_earlier_arming_is_void) {
  bench b;
  hca_cqc& cq = b.add_cq(5, 6);
  cq.moderation_count = 2;
  cq.moderation_us = 10;
  b.open_eq(1, 4);
  b.ring(bell::completion, 5, HCA_ARM_NEXT, 0, 2_ns);
  b.complete(5, 0, 1_us);
  b.complete(5, 1, 2_us);  // fires
  b.ring(bell::completion, 5, HCA_ARM_NEXT, 2, 3_us);
  b.complete(5, 2, 9_us);
  testing::run_for(15_us);
  EXPECT_EQ(b.events(1), 1U);
  testing::run_until_idle();
  EXPECT_EQ(b.events(1), 2U);
  EXPECT_EQ(b.stat("timer_events"), 1);
}

TEST(completion, events_wait_while_their_queue_is_full) {
  bench b;
  b.open_eq(0, 1);
  b.ring(bell::event, 0, 1, 0, 1_ns);
  for (std::uint32_t i = 0; i < 5; ++i) b.event(HCA_EVENT_QP_FATAL, i, 10_ns);
  testing::run_for(100_ns);
  EXPECT_EQ(b.events(0), 2U);
  EXPECT_EQ(b.stat("eqes_deferred"), 3);
  EXPECT_EQ(b.interrupts(), 1U);
  EXPECT_EQ(b.eqe(0, 1).owner, 1);
  b.ring(bell::event, 0, 1, 1, 200_ns);  // one consumed: one more fits, and the queue is not empty
  testing::run_for(150_ns);
  EXPECT_EQ(b.events(0), 3U);
  EXPECT_EQ(b.eqe(0, 0).number, 2U);
  EXPECT_EQ(b.eqe(0, 0).owner, 0);
  EXPECT_EQ(b.interrupts(), 2U);
  b.ring(bell::event, 0, 0, 3, 400_ns);
  testing::run_until_idle();
  EXPECT_EQ(b.events(0), 5U);
  EXPECT_EQ(b.eqe(0, 0).number, 4U);
  EXPECT_EQ(b.interrupts(), 2U);  // not armed
  EXPECT_EQ(b.stat("events_lost"), 0);
}

TEST(completion, arming_an_event_queue_with_unseen_events_interrupts_at_once) {
  bench b;
  b.open_eq(0, 4);
  b.event(HCA_EVENT_QP_FATAL, 1, 10_ns);
  testing::run_for(50_ns);
  EXPECT_EQ(b.interrupts(), 0U);
  b.ring(bell::event, 0, 1, 0, 60_ns);
  testing::run_until_idle();
  EXPECT_EQ(b.interrupts(), 1U);
}

TEST(completion, masked_interrupts_come_when_they_are_unmasked) {
  bench b;
  b.open_eq(0, 4);
  b.access(0, 12, 4, 1, 1_ns);
  b.ring(bell::event, 0, 1, 0, 2_ns);
  b.event(HCA_EVENT_QP_FATAL, 1, 10_ns);
  testing::run_for(50_ns);
  EXPECT_EQ(b.events(0), 1U);
  EXPECT_EQ(b.interrupts(), 0U);
  b.access(0, 12, 4, 0, 100_ns);
  testing::run_until_idle();
  EXPECT_EQ(b.interrupts(), 1U);
  EXPECT_EQ(b.writes.back().at, 100_ns);
}

TEST(completion, msix_table_reads_back) {
  bench b;
  b.open_eq(3, 4);
  register_access read;
  read.offset = HCA_BAR_MSIX + 3 * 16;
  read.bytes = 8;
  b.msix.send(read, 10_ns);
  register_access mask;
  mask.offset = HCA_BAR_MSIX + 4 * 16 + 12;
  mask.bytes = 4;
  b.msix.send(mask, 10_ns);
  testing::run_until_idle();
  EXPECT_EQ(read.value, msi_at + 48);
  EXPECT_EQ(mask.value, 1U);  // masked until software opens it
}

TEST(completion, closed_queues_and_nonsense_doorbells_are_counted) {
  bench b;
  b.event(HCA_EVENT_QP_FATAL, 1, 1_ns);
  b.ring(bell::event, 3, 1, 0, 2_ns);
  b.ring(bell::event, 0xffffff, 1, 0, 2_ns);
  b.ring(bell::completion, 0xffffff, 1, 0, 3_ns);
  testing::run_until_idle();
  EXPECT_EQ(b.stat("events_lost"), 1);
  EXPECT_EQ(b.stat("bad_doorbells"), 3);
}

TEST(completion, a_reopened_event_queue_starts_afresh) {
  bench b;
  b.open_eq(0, 1);
  for (std::uint32_t i = 0; i < 3; ++i) b.event(HCA_EVENT_QP_FATAL, i, 10_ns);
  b.open_eq(0, 2, 50_ns);
  b.event(HCA_EVENT_QP_FATAL, 9, 60_ns);
  testing::run_until_idle();
  EXPECT_EQ(b.eqe(0, 0).number, 9U);
  EXPECT_EQ(b.eqe(0, 0).owner, 1);
}

// Whatever the context cache does, the CQEs of one CQ stand in memory in the order of their reports.
TEST(completion, order_per_cq_under_random_misses) {
  bench b(3);
  constexpr unsigned cqs = 7;
  constexpr unsigned per_cq = 64;
  std::uint64_t seed = 99;
  const auto random = [&seed](std::uint64_t n) {
    seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
    return (seed >> 33) % n;
  };
  b.cache.latency = [&] { return random(3) == 0 ? ps(0) : ps(static_cast<std::int64_t>(random(700'000))); };
  std::array<std::uint16_t, cqs> next{};
  for (unsigned i = 0; i < cqs; ++i) {
    b.add_cq(i, 6, 0x1000 * i);
    b.cache.entries[i].record = record_at;
  }
  ps at{0};
  for (unsigned i = 0; i < cqs * per_cq * 2; ++i) {
    const auto cq = static_cast<std::uint32_t>(random(cqs));
    if (next[cq] == per_cq) continue;
    at += ps(static_cast<std::int64_t>(1 + random(40'000)));
    b.complete(cq, next[cq]++, at, 0, static_cast<unsigned>(random(3)));
  }
  testing::run_until_idle();
  EXPECT_GT(b.stat("order_waits"), 50);
  std::size_t answers = 0;
  for (const auto& r : b.reporters) answers += r.answers.size();
  EXPECT_EQ(answers, b.sent.size());
  for (unsigned i = 0; i < cqs; ++i) {
    EXPECT_EQ(b.cache.entries[i].pi, next[i]);
    for (std::uint32_t slot = 0; slot < next[i]; ++slot) ASSERT_EQ(b.cqe(slot, 0x1000 * i).index, slot) << "CQ " << i;
  }
  EXPECT_EQ(b.cache.held, 0U);
  EXPECT_EQ(b.stat("cqes_lost"), 0);
}

TEST(completion, an_answer_comes_only_once_the_cqe_is_on_its_way) {
  bench b;
  b.add_cq(5, 4);
  b.cache.latency = [] { return 300_ns; };
  b.complete(5, 0, 10_ns);
  testing::run_for(315999_ps);
  EXPECT_TRUE(b.reporters[0].answers.empty());
  testing::run_for(2_ps);
  ASSERT_EQ(b.reporters[0].answers.size(), 1U);
  EXPECT_EQ(b.reporters[0].answers[0].at, 316_ns);
  EXPECT_EQ(b.writes.at(0).at, 316_ns);
}

TEST(completion, hits_cost_two_hand_overs) {
  bench b;
  b.add_cq(5, 10);
  for (std::uint16_t i = 0; i < 500; ++i) b.complete(5, i, ps(i * 10'000));
  const std::uint64_t before = event_queue::instance().hand_overs();
  testing::run_until_idle();
  EXPECT_EQ(event_queue::instance().hand_overs() - before, 1500U);  // with the reporter's own
}

}  // namespace
}  // namespace hcasim
