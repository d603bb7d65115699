#include "tlm/socket.h"

#include <gtest/gtest.h>

#include "tlm/base/process.h"
#include "tlm/dma.h"
#include "tlm/testing/simulate.h"

namespace hcasim {
namespace {

using testing::fake_target;
using testing::run_for;
using testing::run_until_idle;

// A coroutine that makes three requests one after the other.
class walker : public unit {
 public:
  initiator_socket<dma_request> out{"out"};
  std::vector<ps> times;
  std::vector<ps> reached;

  explicit walker(const sc_core::sc_module_name& n) : unit(n) {}
  void start(ps at) {
    queue_.at(at, {[](void* c) { static_cast<walker*>(c)->go(); }, this});
  }
  process go() {
    dma_request r;
    ps t = now();
    for (int i = 0; i < 3; ++i) {
      co_await out.request(r, t);
      times.push_back(t);
      reached.push_back(now());
    }
  }
};

TEST(Socket, HitsGoOnWhenTheirAnswerIsThere) {
  walker w("w");
  fake_target<dma_request> to("to");
  w.out.bind(to.in);
  to.latency = 7_ns;
  w.start(10_ns);
  const std::uint64_t before = event_queue::instance().hand_overs();
  run_until_idle();
  EXPECT_EQ(w.times, (std::vector<ps>{17_ns, 24_ns, 31_ns}));
  EXPECT_EQ(w.reached, w.times);
  EXPECT_EQ(event_queue::instance().hand_overs() - before, 4U);  // the start, and an answer each
}

TEST(Socket, MissesSuspendUntilTheAnswer) {
  walker w("w");
  fake_target<dma_request> to("to");
  w.out.bind(to.in);
  to.latency = 7_ns;
  to.inline_answers = false;
  w.start(10_ns);
  run_until_idle();
  EXPECT_EQ(w.times, (std::vector<ps>{17_ns, 24_ns, 31_ns}));
  EXPECT_EQ(w.reached, w.times);
}

// Answers after a while, and says so with an annotated time.
class annotating_target : public unit {
 public:
  target_socket<dma_request> in{"in"};
  ps ahead{0};
  std::vector<std::pair<tlm::tlm_phase, ps>> seen;

  explicit annotating_target(const sc_core::sc_module_name& n) : unit(n) { in.on<&annotating_target::take>(this); }

 private:
  tlm::tlm_sync_enum take(dma_request& p, tlm::tlm_phase phase, ps& t) {
    seen.emplace_back(phase, t);
    if (phase == tlm::END_RESP) return tlm::TLM_COMPLETED;
    held_ = &p;
    queue_.at(t + 10_ns, {[](void* c) {
                            auto* self = static_cast<annotating_target*>(c);
                            target_socket<dma_request>::respond(*self->held_, now() + self->ahead);
                          },
                          this});
    return tlm::TLM_ACCEPTED;
  }
  dma_request* held_ = nullptr;
};

TEST(Socket, AnswersCarryTheirAnnotatedTime) {
  walker w("w");
  annotating_target to("to");
  w.out.bind(to.in);
  to.ahead = 3_ns;
  w.start(0_ps);
  run_until_idle();
  EXPECT_EQ(w.times, (std::vector<ps>{13_ns, 26_ns, 39_ns}));
  EXPECT_EQ(w.reached, w.times);
}

TEST(Socket, AnAnswerInThePastCountsFromNow) {
  walker w("w");
  annotating_target to("to");
  w.out.bind(to.in);
  to.ahead = ps(-5000);
  w.start(0_ps);
  run_until_idle();
  EXPECT_EQ(w.times.at(0), 10_ns);
}

TEST(Socket, ReleaseReachesTheTargetAtOnce) {
  testing::fake_initiator<dma_request> from("from");
  annotating_target to("to");
  from.out.bind(to.in);
  run_for(5_ns);
  dma_request r;
  from.out.release(r);
  ASSERT_EQ(to.seen.size(), 1U);
  EXPECT_EQ(to.seen[0].first, tlm::END_RESP);
  EXPECT_EQ(to.seen[0].second, 5_ns);
}

// Two initiators at two sockets of one target: each answer goes back through the socket of its request.
class two_doors : public unit {
 public:
  std::array<target_socket<dma_request>, 2> in{target_socket<dma_request>("in_0"), target_socket<dma_request>("in_1")};
  explicit two_doors(const sc_core::sc_module_name& n) : unit(n) {
    for (auto& s : in) s.on<&two_doors::take>(this);
  }
  void answer_all() {
    for (auto p = held.rbegin(); p != held.rend(); ++p) target_socket<dma_request>::respond(**p, now());
  }
  std::vector<dma_request*> held;

 private:
  tlm::tlm_sync_enum take(dma_request& p, tlm::tlm_phase, ps&) {
    held.push_back(&p);
    if (held.size() == 2) queue_.at(20_ns, {[](void* c) { static_cast<two_doors*>(c)->answer_all(); }, this});
    return tlm::TLM_ACCEPTED;
  }
};

TEST(Socket, AnswersFindTheirInitiator) {
  testing::fake_initiator<dma_request> a("a"), b("b");
  two_doors to("to");
  a.out.bind(to.in[0]);
  b.out.bind(to.in[1]);
  dma_request from_a, from_b;
  a.send(from_a, 1_ns);
  b.send(from_b, 2_ns);
  run_until_idle();
  ASSERT_EQ(a.answers.size(), 1U);
  ASSERT_EQ(b.answers.size(), 1U);
  EXPECT_EQ(a.answers[0].payload, &from_a);
  EXPECT_EQ(b.answers[0].payload, &from_b);
  EXPECT_EQ(a.answers[0].at, 20_ns);
}

}  // namespace
}  // namespace hcasim
