#include "tlm/base/event_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>

#include "tlm/base/process.h"
#include "tlm/base/random.h"
#include "tlm/base/unit.h"

namespace hcasim {
namespace {

// A queue, and the record of its runs.
class worker : public unit {
 public:
  struct entry {
    int id;
    ps at;
    bool operator==(const entry&) const = default;
  };
  std::vector<entry> ran;

  explicit worker(const sc_core::sc_module_name& n) : unit(n) {}
  event_queue& queue() { return queue_; }

  action note(int id) {
    return does(id, [](worker&) {});
  }
  action does(int id, void (*then)(worker&)) {
    steps_.push_back({this, id, then});
    return {[](void* c) {
              auto& s = *static_cast<step*>(c);
              s.self->ran.push_back({s.id, now()});
              s.then(*s.self);
            },
            &steps_.back()};
  }
  process wait_until(int id, ps t) {
    co_await queue_.until(t);
    ran.push_back({id, now()});
  }

 private:
  struct step {
    worker* self;
    int id;
    void (*then)(worker&);
  };
  std::deque<step> steps_;
};

std::vector<int> ids(const worker& w) {
  std::vector<int> v;
  for (const auto& e : w.ran) v.push_back(e.id);
  return v;
}
void run() {
  sc_core::sc_start();
}
void run_for(ps t) {
  sc_core::sc_start(to_sc(t));
}

TEST(EventQueue, RunsEachItemExactlyAtItsTime) {
  worker w("w");
  w.queue().at(30_ns, w.note(3));
  w.queue().at(10_ns, w.note(1));
  w.queue().at(20_ns + 1_ps, w.note(2));
  run();
  EXPECT_EQ(w.ran, (std::vector<worker::entry>{{1, 10_ns}, {2, 20_ns + 1_ps}, {3, 30_ns}}));
}

TEST(EventQueue, ItemsAtOneTimeRunInTheOrderTheyWerePosted) {
  worker w("w");
  std::vector<int> expected;
  for (int i = 0; i < 100; ++i) {
    w.queue().at(10_ns, w.note(i));
    expected.push_back(i);
  }
  run();
  EXPECT_EQ(ids(w), expected);
}

TEST(EventQueue, OneActivationForEachDistinctTime) {
  worker w("w");
  for (int i = 0; i < 1000; ++i) w.queue().at(ps((i % 7) * 1000), w.note(i));
  const std::uint64_t before = event_queue::instance().activations();
  run();
  EXPECT_EQ(w.ran.size(), 1000U);
  EXPECT_EQ(event_queue::instance().activations() - before, 7U);
}

TEST(EventQueue, AnEarlierItemPostedLaterIsNotMissed) {
  worker w("w");
  w.queue().at(100_ns, w.note(1));
  run_for(10_ns);
  w.queue().at(20_ns, w.note(0));
  w.queue().at(200_ns, w.note(2));
  const std::uint64_t before = event_queue::instance().activations();
  run();
  EXPECT_EQ(w.ran, (std::vector<worker::entry>{{0, 20_ns}, {1, 100_ns}, {2, 200_ns}}));
  EXPECT_EQ(event_queue::instance().activations() - before, 3U);
}

TEST(EventQueue, ATimeInThePastMeansNow) {
  worker w("w");
  w.queue().at(50_ns, w.does(0, [](worker& self) { self.queue().at(10_ns, self.note(1)); }));
  run();
  EXPECT_EQ(w.ran, (std::vector<worker::entry>{{0, 50_ns}, {1, 50_ns}}));
}

TEST(EventQueue, SoonRunsAfterTheCurrentItemAndBeforeTheNext) {
  worker w("w");
  w.queue().at(10_ns, w.does(0, [](worker& self) {
    self.queue().soon(self.does(2, [](worker& again) { again.queue().soon(again.note(3)); }));
    self.ran.push_back({1, now()});  // not re-entered: `soon` only posts
  }));
  w.queue().at(10_ns, w.note(4));
  const std::uint64_t before = event_queue::instance().activations();
  run();
  EXPECT_EQ(ids(w), (std::vector<int>{0, 1, 2, 3, 4}));
  EXPECT_EQ(event_queue::instance().activations() - before, 1U);
}

TEST(EventQueue, LastRunsAfterEverythingElseOfItsTime) {
  worker w("w");
  sc_core::sc_event event;
  sc_core::sc_spawn_options options;
  options.spawn_method();
  options.set_sensitivity(&event);
  options.dont_initialize();
  sc_core::sc_spawn([&w] { w.queue().at(now(), w.note(4)); }, "process", &options);
  event.notify(to_sc(10_ns));
  w.queue().at(10_ns, w.does(0, [](worker& self) {
    self.queue().last(self.does(5, [](worker& again) {
      again.queue().last(again.note(8));
      again.queue().at(now(), again.note(7));
    }));
    self.queue().last(self.note(6));
    self.queue().at(now(), self.note(2));
    self.queue().soon(self.note(1));
  }));
  w.queue().at(10_ns + 1_ps, w.note(9));
  run();
  std::vector<int> order = ids(w);
  const auto process = std::find(order.begin(), order.end(), 4);
  EXPECT_LT(process, std::find(order.begin(), order.end(), 5));
  order.erase(process);
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 5, 6, 7, 8, 9}));
  for (const worker::entry& e : w.ran) EXPECT_EQ(e.at, e.id == 9 ? 10_ns + 1_ps : 10_ns) << e.id;
}

// Items of the three turns, posted for now and for later: against a sorted list.
TEST(EventQueue, ItemsOfATimeRunByTurnThenInTheOrderPosted) {
  worker w("w");
  random_stream r(6, "last");
  struct posted {
    worker::entry item;
    std::uint64_t turn;
  };
  std::vector<posted> expected;
  for (int i = 0; i < 5000; ++i) {
    const ps t(static_cast<std::int64_t>(r.below(300)));
    const std::uint64_t turn = r.below(3);
    if (turn == 0) {
      w.queue().at(t, w.note(i));
    } else if (turn == 1) {
      w.queue().as_process(t, w.note(i));
    } else {
      w.queue().last(t, w.note(i));
    }
    expected.push_back({{i, t}, turn});
  }
  std::stable_sort(expected.begin(), expected.end(), [](const posted& a, const posted& b) {
    return a.item.at != b.item.at ? a.item.at < b.item.at : a.turn < b.turn;
  });
  run();
  ASSERT_EQ(w.ran.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) ASSERT_EQ(w.ran[i], expected[i].item) << i;
}

// An item of `last` posts one as a process: the other items of `last` in hand go on first.
TEST(EventQueue, AsProcessRunsAfterTheItemsAndTheLastInHand) {
  worker w("w");
  w.queue().last(10_ns, w.does(3, [](worker& self) {
    self.queue().last(self.note(8));
    self.queue().as_process(now(), self.does(6, [](worker& again) { again.queue().at(now(), again.note(7)); }));
    self.queue().at(now(), self.note(5));
  }));
  w.queue().last(10_ns, w.note(4));
  w.queue().as_process(10_ns, w.does(1, [](worker& self) { self.queue().at(now(), self.note(2)); }));
  w.queue().at(10_ns, w.note(0));
  w.queue().as_process(11_ns, w.note(9));
  const std::uint64_t before = event_queue::instance().activations();
  run();
  EXPECT_EQ(ids(w), (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  EXPECT_LE(event_queue::instance().activations() - before, 4U);
}

// A clock's item runs last and posts the next tick.
TEST(EventQueue, ClocksTickInTheirOrderUntilTheyStop) {
  worker w("w");
  struct ticker {
    worker& w;
    int id;
    static void tick(void* self) {
      const ticker& t = *static_cast<ticker*>(self);
      t.w.ran.push_back({t.id, now()});
      if (now() < 1000_ns) t.w.queue().last(now() + 1_ns, {&tick, self});
    }
  };
  std::deque<ticker> tickers;
  std::vector<int> expected;
  for (int id = 0; id < 3; ++id) w.queue().last(1_ns, {&ticker::tick, &tickers.emplace_back(ticker{w, id})});
  w.queue().last(500_ns + 1_ps, w.does(3, [](worker& self) { self.queue().last(10_ns, self.note(4)); }));
  run();
  for (int t = 1; t <= 1000; ++t) {
    for (int id = 0; id < 3; ++id) expected.push_back(id);
    if (t == 500) expected.insert(expected.end(), {3, 4});
  }
  EXPECT_EQ(ids(w), expected);
  EXPECT_EQ(w.ran.back().at, 1000_ns);
}

TEST(EventQueue, SoonFromOutsideRunsAtTheSameTime) {
  worker w("w");
  run_for(5_ns);
  w.queue().soon(w.note(1));
  EXPECT_TRUE(w.ran.empty());
  run();
  EXPECT_EQ(w.ran, (std::vector<worker::entry>{{1, 5_ns}}));
}

TEST(EventQueue, UntilSuspendsOnlyForTheFuture) {
  worker w("w");
  run_for(10_ns);
  w.wait_until(0, 10_ns);
  EXPECT_EQ(ids(w), (std::vector<int>{0}));
  w.wait_until(1, 10_ns + 1_ps);
  EXPECT_EQ(ids(w), (std::vector<int>{0}));
  run();
  EXPECT_EQ(w.ran.back(), (worker::entry{1, 10_ns + 1_ps}));
}

// Against a sorted list: times and order of a random schedule.
TEST(EventQueue, FollowsARandomScheduleInOrder) {
  worker w("w");
  random_stream r(5, "schedule");
  std::vector<worker::entry> expected;
  for (int i = 0; i < 5000; ++i) {
    const ps t(static_cast<std::int64_t>(r.below(700)));
    w.queue().at(t, w.note(i));
    expected.push_back({i, t});
  }
  std::stable_sort(expected.begin(), expected.end(), [](const auto& a, const auto& b) { return a.at < b.at; });
  run();
  EXPECT_EQ(w.ran, expected);
}

}  // namespace
}  // namespace hcasim
