#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>

#include "tlm/base/random.h"
#include "tlm/checker/checker_set.h"
#include "tlm/dma.h"
#include "tlm/testing/simulate.h"

namespace hcasim {
namespace {

using testing::fake_initiator;
using testing::fake_target;
using testing::run_for;
using testing::run_until_idle;

constexpr auto collect = violation_log::action::collect;

// The checker alone: the test plays both sides of the binding.
template <class P, class Checker = protocol_checker<P>>
struct played {
  violation_log log{collect};
  Checker checker;

  template <class... A>
  explicit played(A&&... a) : checker("binding", log, std::forward<A>(a)...) {}

  void begin(const P& p, ps t) { checker.forward(p, tlm::BEGIN_REQ, t); }
  void returns(const P& p, tlm::tlm_sync_enum status, ps t) { checker.forward_done(p, tlm::BEGIN_REQ, status, t); }
  void hit(const P& p, ps t, ps answer) {
    begin(p, t);
    returns(p, tlm::TLM_COMPLETED, answer);
  }
  void miss(const P& p, ps t) {
    begin(p, t);
    returns(p, tlm::TLM_ACCEPTED, t);
  }
  void answer(const P& p, ps t) { checker.backward(p, tlm::BEGIN_RESP, t); }
  void release(const P& p, ps t) {
    checker.forward(p, tlm::END_RESP, t);
    checker.forward_done(p, tlm::END_RESP, tlm::TLM_COMPLETED, t);
  }
  void expect_only(rule r, std::size_t n = 1) {
    EXPECT_EQ(log.count(r), n) << name_of(r);
    EXPECT_EQ(log.all().size(), n);
    for (const violation& v : log.all()) EXPECT_EQ(v.broken, r) << name_of(v.broken) << ": " << v.text;
  }
};

TEST(ProtocolChecker, AcceptsBothWaysOfAnswering) {
  played<dma_request> t;
  dma_request a, b;
  t.hit(a, 10_ns, 10_ns);
  t.hit(a, 10_ns, 20_ns);
  t.miss(a, 20_ns);
  t.miss(b, 20_ns);
  t.answer(b, 30_ns);
  t.answer(a, 20_ns);
  t.miss(a, 30_ns);
  t.answer(a, 40_ns);
  t.checker.finish(1_ns);
  EXPECT_TRUE(t.log.all().empty());
  EXPECT_EQ(t.checker.in_flight(), 0U);
}

TEST(ProtocolChecker, FindsAPayloadThatIsReusedBeforeItsAnswer) {
  played<dma_request> t;
  dma_request a;
  t.miss(a, 10_ns);
  t.miss(a, 20_ns);
  t.expect_only(rule::payload_reused);
}

TEST(ProtocolChecker, FindsAPayloadThatIsReusedBeforeItsRelease) {
  played<context_request> t;
  context_request a;
  t.hit(a, 10_ns, 20_ns);
  t.begin(a, 30_ns);
  t.expect_only(rule::payload_reused);
}

TEST(ProtocolChecker, FindsASecondAnswer) {
  played<dma_request> t;
  dma_request a;
  t.miss(a, 10_ns);
  t.answer(a, 20_ns);
  t.answer(a, 20_ns);
  t.expect_only(rule::answered_twice);
}

TEST(ProtocolChecker, FindsAnAnswerAfterCompleted) {
  played<dma_request> t;
  dma_request a;
  t.hit(a, 10_ns, 20_ns);
  t.answer(a, 20_ns);
  t.expect_only(rule::answered_twice);
}

TEST(ProtocolChecker, FindsASecondAnswerWhileTheLoanLasts) {
  played<context_request> t;
  context_request a;
  t.hit(a, 10_ns, 20_ns);
  t.answer(a, 20_ns);
  t.expect_only(rule::answered_twice);
}

TEST(ProtocolChecker, FindsAnAnswerToNothing) {
  played<dma_request> t;
  dma_request a;
  t.answer(a, 20_ns);
  t.expect_only(rule::answered_twice);
}

TEST(ProtocolChecker, FindsAnAnswerInsideTheCall) {
  played<dma_request> t;
  dma_request a;
  t.begin(a, 10_ns);
  t.answer(a, 10_ns);
  t.returns(a, tlm::TLM_ACCEPTED, 10_ns);
  t.expect_only(rule::answered_in_call);
}

TEST(ProtocolChecker, FindsCompletedOnTopOfAnAnswer) {
  played<dma_request> t;
  dma_request a;
  t.begin(a, 10_ns);
  t.answer(a, 10_ns);
  t.returns(a, tlm::TLM_COMPLETED, 10_ns);
  EXPECT_EQ(t.log.count(rule::answered_in_call), 1U);
  EXPECT_EQ(t.log.count(rule::answered_twice), 1U);
}

TEST(ProtocolChecker, FindsAStatusThatTheContractDoesNotKnow) {
  played<dma_request> t;
  dma_request a;
  t.begin(a, 10_ns);
  t.returns(a, tlm::TLM_UPDATED, 10_ns);
  t.expect_only(rule::bad_status);
}

TEST(ProtocolChecker, FindsPhasesThatTheContractDoesNotKnow) {
  played<dma_request> t;
  dma_request a;
  t.checker.forward(a, tlm::BEGIN_RESP, 10_ns);
  t.expect_only(rule::bad_phase);
  t.miss(a, 10_ns);
  t.checker.backward(a, tlm::END_REQ, 10_ns);
  t.expect_only(rule::bad_phase, 2);
}

TEST(ProtocolChecker, FindsTimesBeforeTheKernels) {
  fake_initiator<dma_request> clock("clock");
  fake_target<dma_request> other("other");
  clock.out.bind(other.in);
  played<dma_request> t;
  dma_request a, b;
  t.miss(b, 0_ps);
  run_for(100_ns);
  t.begin(a, 99_ns);
  t.expect_only(rule::time_before_now);
  t.answer(b, 99_ns);
  t.expect_only(rule::time_before_now, 2);
  t.answer(a, 100_ns);
}

TEST(ProtocolChecker, FindsAnAnswerBeforeItsRequest) {
  played<dma_request> t;
  dma_request a, b;
  t.hit(a, 20_ns, 20_ns - 1_ps);
  t.expect_only(rule::time_backwards);
  t.miss(b, 20_ns);
  t.answer(b, 20_ns - 1_ps);
  t.expect_only(rule::time_backwards, 2);
}

TEST(ProtocolChecker, FindsAReleaseBeforeItsLoan) {
  played<context_request> t;
  context_request a;
  t.hit(a, 10_ns, 20_ns);
  t.release(a, 20_ns - 1_ps);
  t.expect_only(rule::time_backwards);
}

TEST(ProtocolChecker, FindsAReleaseOfWhatWasNotLent) {
  {
    played<dma_request> t;
    dma_request a;
    t.hit(a, 10_ns, 20_ns);
    t.release(a, 20_ns);
    t.expect_only(rule::release_without_loan);
  }
  {
    played<context_request> t;
    context_request a;
    t.miss(a, 10_ns);
    t.release(a, 20_ns);  // has not been answered
    t.expect_only(rule::release_without_loan);
  }
  {
    played<context_request> t;
    context_request a;
    a.failed = true;
    t.hit(a, 10_ns, 20_ns);
    t.release(a, 20_ns);
    t.expect_only(rule::release_without_loan);
  }
  {
    played<key_request> t;
    key_request a;
    a.result = verdict::bad_bounds;
    t.hit(a, 10_ns, 20_ns);
    t.release(a, 20_ns);
    t.expect_only(rule::release_without_loan);
  }
  {
    played<context_request> t;
    context_request a;
    t.hit(a, 10_ns, 20_ns);
    t.release(a, 20_ns);
    t.release(a, 20_ns);
    t.expect_only(rule::release_without_loan);
  }
}

TEST(ProtocolChecker, FindsHangsOldestFirstAndExactly) {
  fake_initiator<dma_request> clock("clock");
  fake_target<dma_request> other("other");
  clock.out.bind(other.in);
  played<dma_request> t;
  dma_request r[3];
  t.miss(r[2], 10_ns);
  t.miss(r[0], 20_ns);
  t.miss(r[1], 30_ns);
  t.answer(r[0], 30_ns);
  run_for(110_ns);
  t.checker.check_hangs(100_ns);
  EXPECT_TRUE(t.log.all().empty());
  t.checker.check_hangs(100_ns - 1_ps);
  t.expect_only(rule::hang);
  t.checker.check_hangs(1_ns);
  t.expect_only(rule::hang, 3);
  EXPECT_EQ(t.log.all()[1].text, "not answered since 10000 ps");
  EXPECT_EQ(t.log.all()[2].text, "not answered since 30000 ps");
}

TEST(ProtocolChecker, FindsLoansThatAreKept) {
  fake_initiator<dma_request> clock("clock");
  fake_target<dma_request> other("other");
  clock.out.bind(other.in);
  played<key_request> t;
  key_request a, b;
  t.hit(a, 0_ps, 10_ns);
  t.hit(b, 0_ps, 10_ns);
  t.release(b, 20_ns);
  run_for(1_us);
  t.checker.check_hangs(1_ns);
  EXPECT_TRUE(t.log.all().empty());
  t.checker.finish(1_us);
  EXPECT_TRUE(t.log.all().empty());
  t.checker.finish(100_ns);
  t.expect_only(rule::not_released);
}

TEST(ProtocolChecker, PassesEverythingOn) {
  struct recorder : socket_observer<dma_request> {
    int calls = 0;
    void forward(const dma_request&, tlm::tlm_phase, ps) override { ++calls; }
    void forward_done(const dma_request&, tlm::tlm_phase, tlm::tlm_sync_enum, ps) override { ++calls; }
    void backward(const dma_request&, tlm::tlm_phase, ps) override { ++calls; }
  } next;
  played<dma_request> t(&next);
  dma_request a;
  t.miss(a, 1_ns);
  t.answer(a, 2_ns);
  EXPECT_EQ(next.calls, 3);
}

TEST(ProtocolChecker, ListensOnRealBindingsInBothModes) {
  checker_set set;
  fake_initiator<dma_request> from("from");
  fake_target<dma_request> to("to");
  from.out.bind(to.in);
  set.watch(from.out);
  dma_request r[4];
  to.latency = 5_ns;
  from.send(r[0], 1_ns);
  from.send(r[1], 1_ns);
  run_for(10_ns);
  to.inline_answers = false;
  from.send(r[2], 20_ns);
  from.send(r[3], 20_ns);
  run_until_idle();
  set.finish(1_ps);
  EXPECT_EQ(from.answers.size(), 4U);
  EXPECT_TRUE(set.log().all().empty());
}

TEST(ProtocolChecker, SeesATargetThatNeverAnswers) {
  struct deaf : unit {
    target_socket<dma_request> in{"in"};
    explicit deaf(const sc_core::sc_module_name& n) : unit(n) { in.on<&deaf::take>(this); }
    tlm::tlm_sync_enum take(dma_request&, tlm::tlm_phase, ps&) { return tlm::TLM_ACCEPTED; }
  };
  checker_set set(collect);
  fake_initiator<dma_request> from("from");
  deaf to("to");
  from.out.bind(to.in);
  set.watch(from.out);
  dma_request r;
  from.send(r, 1_ns);
  run_for(1_us);
  set.finish(500_ns);
  ASSERT_EQ(set.log().all().size(), 1U);
  EXPECT_EQ(set.log().all()[0].broken, rule::hang);
  EXPECT_EQ(set.log().all()[0].binding, "from.out");
}

struct two_bindings {
  loan_book book;
  played<context_request, context_checker> a{book};
  played<context_request, context_checker> b{book};
  context_request fetch, drop;

  two_bindings() {
    fetch.index = drop.index = 7;
    drop.op = context_op::drop;
  }
};

TEST(ContextChecker, ADropWaitsForPinsOfAllBindings) {
  two_bindings t;
  t.a.hit(t.fetch, 1_ns, 2_ns);
  EXPECT_EQ(t.book.open(7), 1U);
  t.b.miss(t.drop, 3_ns);
  t.a.release(t.fetch, 10_ns);
  t.b.answer(t.drop, 10_ns);
  EXPECT_TRUE(t.b.log.all().empty());
  EXPECT_EQ(t.book.open(7), 0U);
}

TEST(ContextChecker, FindsADropAnsweredWhileALineIsHeld) {
  two_bindings t;
  t.a.hit(t.fetch, 1_ns, 2_ns);
  t.b.hit(t.drop, 3_ns, 4_ns);
  t.b.expect_only(rule::changed_while_lent);
}

TEST(ContextChecker, FindsADropAnsweredBeforeTheTimeOfTheRelease) {
  two_bindings t;
  t.a.hit(t.fetch, 1_ns, 2_ns);
  t.b.miss(t.drop, 3_ns);
  t.a.release(t.fetch, 10_ns);
  t.b.answer(t.drop, 10_ns - 1_ps);
  t.b.expect_only(rule::changed_while_lent);
}

TEST(ContextChecker, OtherLinesDoNotMatter) {
  two_bindings t;
  t.fetch.index = 8;
  t.a.hit(t.fetch, 1_ns, 2_ns);
  t.b.hit(t.drop, 3_ns, 4_ns);
  EXPECT_TRUE(t.b.log.all().empty());
}

TEST(KeyChecker, ADrainWaitsForOlderReferencesOnly) {
  loan_book book;
  played<key_request, key_checker> t(book);
  key_request old, young, drain;
  old.key = young.key = 0x1201;
  drain.key = 0x1200;
  drain.op = key_op::drain;
  t.hit(old, 1_ns, 2_ns);
  t.miss(drain, 3_ns);
  t.hit(young, 4_ns, 5_ns);  // belongs to the new epoch
  t.release(old, 9_ns);
  t.answer(drain, 9_ns);
  EXPECT_TRUE(t.log.all().empty());
  t.release(young, 20_ns);

  t.hit(old, 21_ns, 22_ns);
  t.hit(drain, 30_ns, 30_ns);
  t.expect_only(rule::changed_while_lent);
}

// The access was granted by a window and by its region.
TEST(KeyChecker, ADrainOfTheRegionWaitsForAccessesThroughItsWindows) {
  for (const bool early : {false, true}) {
    loan_book book;
    played<key_request, key_checker> t(book);
    key_request access, drain;
    access.key = 0x1201;
    access.map.index = 0x77;
    access.parent_epoch = 1;
    drain.key = 0x7700;
    drain.op = key_op::drain;
    t.hit(access, 1_ns, 2_ns);
    t.miss(drain, 3_ns);
    if (!early) t.release(access, 9_ns);
    t.answer(drain, 9_ns);
    if (early) {
      t.expect_only(rule::changed_while_lent);
    } else {
      EXPECT_TRUE(t.log.all().empty());
    }
  }
}

packet& sealed(packet& p, std::uint8_t opcode, std::uint32_t psn) {
  p.header = {};
  p.header.opcode = opcode;
  p.header.psn = psn;
  p.header.dest_qpn = 3;
  p.payload = 0;
  encode(p);
  return p;
}

TEST(PacketChecker, FindsPacketsWithoutTheirIcrc) {
  played<packet, packet_checker> t(packet_rules{});
  packet p;
  t.hit(sealed(p, wire::send_only, 1), 1_ns, 1_ns);
  EXPECT_TRUE(t.log.all().empty());
  p.raw()[p.head + 9] ^= std::byte{1};
  t.hit(p, 2_ns, 2_ns);
  t.expect_only(rule::packet_not_sealed);
  t.hit(sealed(p, 0xff, 1), 3_ns, 3_ns);
  t.expect_only(rule::packet_not_sealed, 2);
}

TEST(PacketChecker, FindsPsnsThatDoNotGoForward) {
  played<packet, packet_checker> t(packet_rules{.sealed = true, .ordered = true});
  packet p;
  ps at = 1_ns;
  const auto send = [&](std::uint8_t op, std::uint32_t psn) { t.hit(sealed(p, op, psn), at, at); };
  send(wire::send_only, 0xfffffe);
  send(wire::acknowledge, 5);
  send(wire::acknowledge, 5);  // an ACK may be said again
  send(wire::send_only, 0xffffff);
  send(wire::send_only, 0);  // around the end
  send(wire::ud | wire::send_only, 0);
  EXPECT_TRUE(t.log.all().empty());
  send(wire::send_only, 0);
  t.expect_only(rule::packet_order);
  send(wire::send_only, 0xffffff);
  t.expect_only(rule::packet_order, 2);
  send(wire::acknowledge, 4);
  t.expect_only(rule::packet_order, 3);
}

// The hash table against a test's own list, over random insertions and removals.
TEST(PointerMap, HoldsWhatWasPutIn) {
  EXPECT_TRUE(rc::check([](const std::vector<std::uint8_t>& steps) {
    static std::array<std::uint64_t, 256> objects;
    pointer_map<int> map;
    std::map<const void*, int> expected;
    int n = 0;
    for (const std::uint8_t s : steps) {
      const void* key = &objects[s];
      if (expected.count(key)) {
        map.erase(key);
        expected.erase(key);
      } else {
        map.insert(key, n);
        expected[key] = n++;
      }
      RC_ASSERT(map.size() == expected.size());
    }
    for (const std::uint64_t& o : objects) {
      const int* found = map.find(&o);
      const auto e = expected.find(&o);
      RC_ASSERT((found != nullptr) == (e != expected.end()));
      if (found) RC_ASSERT(*found == e->second);
    }
  }));
}

TEST(PointerMap, SurvivesLongChurn) {
  static std::array<std::uint64_t, 4096> objects;
  pointer_map<std::size_t> map;
  std::map<const void*, std::size_t> expected;
  random_stream r(1, "churn");
  for (std::size_t i = 0; i < 200'000; ++i) {
    const void* key = &objects[r.below(objects.size())];
    if (expected.erase(key)) {
      map.erase(key);
    } else {
      map.insert(key, i);
      expected[key] = i;
    }
  }
  ASSERT_EQ(map.size(), expected.size());
  for (const auto& [key, value] : expected) ASSERT_EQ(*map.find(key), value);
}

}  // namespace
}  // namespace hcasim
