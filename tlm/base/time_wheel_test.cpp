// The list of future work against a sorted map; reminders; refusals of a server.
#include "tlm/base/time_wheel.h"

#include <gtest/gtest.h>

#include <map>
#include <stdexcept>

#include "tlm/base/alarm.h"
#include "tlm/base/random.h"
#include "tlm/base/server.h"
#include "tlm/base/unit.h"

namespace hcasim {
namespace {

TEST(TimeWheel, IsInTheOrderOfTimeAndThenOfPosting) {
  constexpr std::uint64_t spans[] = {1, 100, 100'000, 10'000'000, 1'000'000'000'000};
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    random_stream random(seed, "wheel");
    time_wheel<int> wheel;
    std::map<std::pair<std::int64_t, int>, int> reference;
    std::int64_t reached = 0;
    for (int i = 0; i < 5000; ++i) {
      if (reference.empty() || random.below(2) == 0) {
        const bool past = random.below(50) == 0;
        const auto away = static_cast<std::int64_t>(random.below(past ? 1000 : spans[random.below(5)]));
        const std::int64_t at = std::max<std::int64_t>(reached + (past ? -away : away), 0);
        wheel.push(ps(at), i);
        reference.emplace(std::pair(at, i), i);
      } else {
        const auto first = reference.begin();
        ASSERT_EQ(wheel.next().count(), first->first.first) << "seed " << seed;
        ASSERT_EQ(wheel.pop(), first->second) << "seed " << seed;
        reached = std::max(reached, first->first.first);
        reference.erase(first);
      }
      ASSERT_EQ(wheel.size(), reference.size());
    }
  }
}

TEST(Server, RefusesARequestOutOfTimeOrder) {
  server s;
  EXPECT_EQ(s.start(10_ns, 5_ns), 10_ns);
  EXPECT_EQ(s.start(10_ns, 5_ns), 15_ns);  // a tie: first come, first served
  EXPECT_EQ(s.start(12_ns, 5_ns, 40_ns), 40_ns);
  EXPECT_EQ(s.start(13_ns, 5_ns), 45_ns);
  EXPECT_THROW(s.start(13_ns - 1_ps, 5_ns), std::logic_error);
  EXPECT_THROW(s.stream(1_ns, 5_ns), std::logic_error);
}

TEST(Server, PassesAStreamWithoutAWait) {
  server s;
  EXPECT_EQ(s.stream(100_ns, 20_ns), 100_ns);  // streaming since 80 ns
  EXPECT_EQ(s.stream(105_ns, 20_ns), 120_ns);
  EXPECT_EQ(s.stream(200_ns, 20_ns), 200_ns);
}

// A sleeper that is woken early over and over, and late at last.
class sleeper : public sc_core::sc_module {
 public:
  std::vector<ps> woken;
  explicit sleeper(const sc_core::sc_module_name& n) : sc_module(n) {
    sc_core::sc_spawn([this] {
      alarm a({[](void* c) { wake(static_cast<sleeper*>(c)->wake_); }, this});
      for (int i = 0; i < 1000; ++i) {
        a.set(now() + 1'000'000_ns);
        event_queue::instance().at(now() + 1_us, {[](void* c) { wake(static_cast<sleeper*>(c)->wake_); }, this});
        sc_core::wait(wake_);
        a.clear();
      }
      woken.push_back(now());
      a.set(now() + 5_us);
      sc_core::wait(wake_);
      a.clear();
      woken.push_back(now());
    });
  }

 private:
  sc_core::sc_event wake_;
};

TEST(Alarm, WakesAtItsDeadlineAndLeavesNothingBehind) {
  sleeper s("s");
  const std::uint64_t before = event_queue::instance().hand_overs();
  run_simulation();
  EXPECT_EQ(s.woken, (std::vector<ps>{1000_us, 1005_us}));
  EXPECT_EQ(kernel_now(), 1005_us) << "a deadline without a waiter does not keep the simulation going";
  EXPECT_LT(event_queue::instance().hand_overs() - before, 1010U) << "reminders do not pile up";
}

}  // namespace
}  // namespace hcasim
