// The order in which sleepers go on, and how far a thread that only reads the clock may run ahead.
#include "testbenches/verbs_programs/simulator/waiting.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>

#include "testbenches/kit/world.h"
#include "testbenches/verbs_programs/simulator/horizon.h"

namespace hcasim::applications {
namespace {

struct pipe_ends {
  pipe_ends() {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    read = descriptor(ends[0]);
    write = descriptor(ends[1]);
  }
  void put() const { EXPECT_EQ(::write(write.get(), "x", 1), 1); }
  descriptor read;
  descriptor write;
};

struct woken {
  int who;
  ps at;
  bool ready;
  bool operator==(const woken&) const = default;
};
void PrintTo(const woken& w, std::ostream* out) {
  *out << w.who << " at " << w.at.count() << (w.ready ? " ready" : " late");
}

// Threads 0, 1, ... that fall asleep one after the other, 1 us apart, each for its own pipe.
struct sleeping_threads {
  sleeping_threads(node& on, std::vector<ps> timeouts) : pipes(timeouts.size()), beds(timeouts.size()) {
    for (std::size_t i = 0; i < timeouts.size(); ++i) {
      on.host.run("sleeper" + std::to_string(i), [this, i, t = timeouts[i]](cpu& c) {
        c.spend(1_us * static_cast<int>(i + 1));
        beds[i].fds = {{pipes[i].read.get(), POLLIN, 0}};
        const bool ready = sleeping.sleep(c, beds[i], t);
        c.sync();
        seen.push_back({static_cast<int>(i), now(), ready});
      });
    }
  }
  std::vector<pipe_ends> pipes;
  std::deque<waiting::sleeper> beds;
  waiting sleeping;
  std::vector<woken> seen;
};

template <class Body>
void with_node(Body body) {
  kit::world w;
  ASSERT_TRUE(w.run({[&](cpu& c, node& n) { body(c, n); }}));
}

TEST(waiting, sleepers_found_together_go_on_in_their_order) {
  with_node([](cpu& c, node& n) {
    c.sync();
    const ps begin = now();
    sleeping_threads d(n, std::vector<ps>(4, never));
    c.spend(10_us);
    c.sync();
    ASSERT_EQ(d.sleeping.sleeping(), 4U);
    for (const int i : {3, 0, 2}) d.pipes[static_cast<std::size_t>(i)].put();
    EXPECT_TRUE(d.seen.empty()) << "descriptors are looked at at checkpoints only";
    d.sleeping.checkpoint(begin + 15_us);
    d.sleeping.checkpoint(begin + 12_us);  // known already: nothing new
    c.spend(10_us);
    c.sync();
    const ps at = begin + 15_us;
    EXPECT_EQ(d.seen, (std::vector<woken>{{0, at, true}, {2, at, true}, {3, at, true}}));
    EXPECT_EQ(d.sleeping.sleeping(), 1U);
    waiting::dismiss(d.beds[1]);
    c.spend(1_us);
    c.sync();
    ASSERT_EQ(d.seen.size(), 4U);
    EXPECT_EQ(d.seen.back(), (woken{1, begin + 20_us, true}));
  });
}

struct early {
  const char* name;
  ps due;
  ps at;
};
class written_early : public ::testing::TestWithParam<early> {};

// A thread falls asleep at 5 us, but has looked before another thread wrote. The sleeper goes on at 5 us, or when the message
// is due.
TEST_P(written_early, wakes_a_thread_that_sleeps_later) {
  with_node([](cpu& c, node& n) {
    c.sync();
    const ps begin = now();
    pipe_ends pipe;
    waiting sleeping;
    ps woken_at{0};
    n.host.run("sleeper", [&](cpu& own) {
      waiting::sleeper bed;
      bed.fds = {{pipe.read.get(), POLLIN, 0}};
      own.spend(begin + 5_us - own.time());
      EXPECT_TRUE(sleeping.sleep(own, bed, 30'000_ms));
      woken_at = now() - begin;
    });
    c.spend(1_us);
    c.sync();
    pipe.put();
    sleeping.checkpoint(begin + GetParam().due);
    c.spend(20_us);
    c.sync();
    EXPECT_EQ(woken_at, GetParam().at);
  });
}
INSTANTIATE_TEST_SUITE_P(waiting, written_early,
                         ::testing::Values(early{"due_before", 2_us, 5_us}, early{"due_later", 9_us, 9_us}),
                         [](const auto& i) { return i.param.name; });

TEST(waiting, a_timeout_is_met_to_the_picosecond) {
  with_node([](cpu& c, node& n) {
    c.sync();
    const ps begin = now();
    sleeping_threads d(n, {7_us, 7_us + ps(1), 20_us});
    c.spend(5_us);
    c.sync();
    d.pipes[2].put();
    d.sleeping.checkpoint(begin + 6_us);
    c.spend(20_us);
    c.sync();
    EXPECT_EQ(d.seen,
              (std::vector<woken>{{2, begin + 6_us, true}, {0, begin + 8_us, false}, {1, begin + 9_us + ps(1), false}}));
    EXPECT_EQ(d.sleeping.sleeping(), 0U);
  });
}

// A watcher that is called may unwatch its own descriptor and another one.
TEST(waiting, a_watcher_may_unwatch_any_descriptor) {
  with_node([](cpu&, node&) {
    waiting sleeping;
    std::array<pipe_ends, 3> pipes;
    std::array<int, 3> told{};
    for (std::size_t i = 0; i < 3; ++i) {
      sleeping.watch(pipes[i].read.get(), [&, i] {
        ++told[i];
        if (i == 0) sleeping.unwatch(pipes[0].read.get());
        if (i == 0) sleeping.unwatch(pipes[1].read.get());
      });
      pipes[i].put();
    }
    sleeping.checkpoint(now());
    sleeping.checkpoint(now());
    EXPECT_EQ(told, (std::array<int, 3>{1, 0, 2}));
    EXPECT_FALSE([&] {
      sleeping.unwatch(pipes[2].read.get());
      return sleeping.wait_outside(1, now());
    }());
  });
}

TEST(waiting, the_horizon_grows_with_looking_and_ends_at_what_can_happen) {
  EXPECT_GE(horizon_of(false, ps(0), ps(0)), 1000_ms) << "nothing can reach it";
  EXPECT_EQ(horizon_of(true, ps(0), ps(0)), 2_us);
  EXPECT_EQ(horizon_of(true, 5_us, ps(0)), 5_us) << "nothing happens before";
  EXPECT_EQ(horizon_of(true, ps(0), 80_us), 10_us) << "an eighth";
  EXPECT_EQ(horizon_of(true, 5_us, 80_us), 10_us);
  EXPECT_EQ(horizon_of(true, ps(0), 1000_ms), 10_ms) << "no more than this";
  EXPECT_EQ(horizon_of(true, 1000_ms, ps(0)), 10_ms);
  int looks = 0;  // that a calibration of 220 ms takes
  for (ps looking{0}; looking < 220_ms; looking += horizon_of(true, ps(0), looking)) ++looks;
  EXPECT_LT(looks, 300);
}

}  // namespace
}  // namespace hcasim::applications
