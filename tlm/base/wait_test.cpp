#include "tlm/base/wait.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

#include "tlm/base/process.h"
#include "tlm/base/unit.h"

namespace hcasim {
namespace {

class resource : public unit {
 public:
  credits pool;
  wait_list list;
  std::vector<int> order;

  resource(const sc_core::sc_module_name& n, std::uint64_t total) : unit(n), pool(queue_, total) {}

  process take(int id, std::uint64_t n) {
    co_await pool.take(n);
    order.push_back(id);
  }
  process wait(int id) {
    co_await list.wait();
    order.push_back(id);
  }
  process wait_forever(int id) {
    for (;;) {
      co_await list.wait();
      order.push_back(id);
    }
  }
  void wake_one() { list.wake_one(queue_); }
  void wake_all() { list.wake_all(queue_); }
};

void settle() {
  sc_core::sc_start();
}

TEST(WaitList, WakesFirstComeFirstServed) {
  resource r("r", 0);
  for (int i = 0; i < 4; ++i) r.wait(i);
  EXPECT_EQ(r.list.size(), 4U);
  r.wake_one();
  settle();
  EXPECT_EQ(r.order, (std::vector<int>{0}));
  r.wake_all();
  settle();
  EXPECT_EQ(r.order, (std::vector<int>{0, 1, 2, 3}));
  EXPECT_TRUE(r.list.empty());
}

TEST(WaitList, WakerIsNotReentered) {
  resource r("r", 0);
  r.wait(0);
  r.wake_one();
  EXPECT_TRUE(r.order.empty());
  settle();
  EXPECT_EQ(r.order.size(), 1U);
}

TEST(WaitList, WakeAllDoesNotWakeAWaiterThatWaitsAgain) {
  resource r("r", 0);
  r.wait_forever(0);
  r.wait_forever(1);
  r.wake_all();
  settle();
  EXPECT_EQ(r.order, (std::vector<int>{0, 1}));
  EXPECT_EQ(r.list.size(), 2U);
}

TEST(WaitList, WakingWithoutAWaiterIsHarmless) {
  resource r("r", 0);
  r.wake_one();
  r.wake_all();
  settle();
  EXPECT_TRUE(r.order.empty());
}

TEST(Credits, AreTakenWithoutWaitingWhileTheyLast) {
  resource r("r", 3);
  r.take(0, 2);
  r.take(1, 1);
  EXPECT_EQ(r.order, (std::vector<int>{0, 1}));
  EXPECT_EQ(r.pool.available(), 0U);
  EXPECT_EQ(r.pool.in_use(), 3U);
  EXPECT_FALSE(r.pool.try_take());
}

TEST(Credits, ASmallRequestDoesNotOvertakeALargeOne) {
  resource r("r", 4);
  r.take(0, 3);
  r.take(1, 3);
  r.take(2, 1);  // one is free, but it is not its turn
  EXPECT_FALSE(r.pool.try_take());
  EXPECT_EQ(r.pool.waiting(), 2U);
  r.pool.give(1);
  settle();
  EXPECT_EQ(r.order, (std::vector<int>{0}));
  r.pool.give(1);
  settle();
  EXPECT_EQ(r.order, (std::vector<int>{0, 1}));
  r.pool.give(1);
  settle();
  EXPECT_EQ(r.order, (std::vector<int>{0, 1, 2}));
}

TEST(Credits, AreReservedForTheOneThatIsWoken) {
  resource r("r", 1);
  r.take(0, 1);
  r.take(1, 1);
  r.pool.give(1);
  EXPECT_FALSE(r.pool.try_take());  // promised to 1, which has not run yet
  EXPECT_EQ(r.order, (std::vector<int>{0}));
  settle();
  EXPECT_EQ(r.order, (std::vector<int>{0, 1}));
}

TEST(Credits, OneReturnServesManyInOrder) {
  resource r("r", 6);
  r.take(0, 6);
  for (int i = 1; i <= 4; ++i) r.take(i, 2);
  r.pool.give(6);
  settle();
  EXPECT_EQ(r.order, (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(r.pool.waiting(), 1U);
  EXPECT_EQ(r.pool.available(), 0U);
}

// Tasks: results, exceptions and depth.
task<int> add_one(int v) {
  co_return v + 1;
}
task<int> deep(int n) {
  if (n == 0) co_return 0;
  const int below = co_await deep(n - 1);
  const int next = co_await add_one(below);
  co_return next;
}
task<> fails() {
  throw std::runtime_error("no");
  co_return;
}
process run_deep(int n, int& result) {
  result = co_await deep(n);
}
process run_fails(bool& caught) {
  try {
    co_await fails();
  } catch (const std::runtime_error&) {
    caught = true;
  }
}
process plain_throw() {
  throw std::runtime_error("no");
  co_return;
}

TEST(Task, HandsBackItsResultThroughManyLevels) {
  int result = -1;
  run_deep(500, result);
  EXPECT_EQ(result, 500);
}

TEST(Task, ExceptionsReachTheOneThatAwaits) {
  bool caught = false;
  run_fails(caught);
  EXPECT_TRUE(caught);
}

TEST(Process, ExceptionsReachTheOneThatRunsIt) {
  EXPECT_THROW(plain_throw(), std::runtime_error);
}

TEST(Task, StartsOnlyWhenAwaited) {
  static int runs;
  runs = 0;
  struct lazy {
    static task<> body() {
      ++runs;
      co_return;
    }
    static process await_it(task<>& t) { co_await t; }
  };
  task<> t = lazy::body();
  EXPECT_EQ(runs, 0);
  lazy::await_it(t);
  EXPECT_EQ(runs, 1);
}

TEST(Task, IsResumedWhereItWaited) {
  resource r("r", 1);
  struct steps {
    static task<> inner(resource& owner) {
      co_await owner.list.wait();
      owner.order.push_back(1);
    }
    static process outer(resource& owner) {
      owner.order.push_back(0);
      co_await inner(owner);
      owner.order.push_back(2);
    }
  };
  steps::outer(r);
  EXPECT_EQ(r.order, (std::vector<int>{0}));
  r.wake_one();
  settle();
  EXPECT_EQ(r.order, (std::vector<int>{0, 1, 2}));
}

}  // namespace
}  // namespace hcasim
