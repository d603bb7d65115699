// A flow of control with a stack of its own: its place among the items of a time, its waits, its ends.
#include "tlm/base/fibre.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <deque>
#include <stdexcept>
#include <string>
#include <vector>

#include "tlm/base/units.h"

namespace hcasim {
namespace {

constexpr std::size_t stack = 64 << 10;

class Fibre : public ::testing::Test {
 public:
  void tell(const std::string& what) { heard_.push_back(what + " at " + std::to_string(now().count() - begin_.count())); }
  ps after(ps t) const { return begin_ + t; }

 protected:
  // An item that tells, and then does something.
  action item(
      const char* what, std::function<void()> then = [] {}) {
    items_.push_back({this, what, std::move(then)});
    return {[](void* p) {
              auto& i = *static_cast<posted*>(p);
              i.self->tell(i.what);
              i.then();
            },
            &items_.back()};
  }
  static void run() { sc_core::sc_start(); }

  event_queue& queue_ = event_queue::instance();
  std::vector<std::string> heard_;

 private:
  struct posted {
    Fibre* self;
    const char* what;
    std::function<void()> then;
  };
  std::deque<posted> items_;
  const ps begin_ = now();
};

TEST_F(Fibre, RunsBetweenTheItemsOfItsTimeAndTheLastOnes) {
  fibre f(stack, [this] {
    tell("begins");
    queue_.at(now(), item("item of the fibre"));
  });
  queue_.last(after(10_ps), item("last"));
  f.wake_at(after(10_ps));
  queue_.at(after(10_ps), item("item"));
  run();
  EXPECT_EQ(heard_, (std::vector<std::string>{"item at 10", "begins at 10", "item of the fibre at 10", "last at 10"}));
}

TEST_F(Fibre, IsWokenWhileItWaitsAndNotWhileItSleeps) {
  fibre* self = nullptr;
  fibre f(stack, [&] {
    tell("begins");
    self->wait();
    tell("was woken");
    self->wait_until(after(50_ps));
    tell("slept");
    self->wait();
    tell("was woken again");
  });
  self = &f;
  f.wake_at(after(0_ps));
  queue_.at(after(10_ps), item("wakes", [&] { f.wake(); }));
  queue_.at(after(20_ps), item("wakes in vain", [&] { f.wake(); }));
  f.wake_at(after(30_ps));
  f.wake_at(after(70_ps));
  f.wake_at(after(80_ps));
  run();
  EXPECT_EQ(heard_, (std::vector<std::string>{"begins at 0", "wakes at 10", "was woken at 10", "wakes in vain at 20",
                                              "slept at 50", "was woken again at 70"}));
}

// A time that has passed means now, as for items.
TEST_F(Fibre, SleepsUntilNowAtLeast) {
  fibre* self = nullptr;
  fibre f(stack, [&] {
    self->wait_until(ps(0));
    tell("slept");
  });
  self = &f;
  f.wake_at(after(10_ps));
  run();
  EXPECT_EQ(heard_, (std::vector<std::string>{"slept at 10"}));
}

// Each keeps what lies on its stack while others run on theirs.
TEST_F(Fibre, ManyTakeTurnsEachOnItsStack) {
  constexpr int rounds = 100;
  std::array<std::vector<int>, 8> sums;
  std::deque<fibre> fibres;
  for (std::size_t n = 0; n < sums.size(); ++n) {
    fibres.emplace_back(stack, [&, n] {
      std::array<int, 1000> own{};
      for (int r = 0; r < rounds; ++r) {
        for (int& v : own) v += static_cast<int>(n);
        fibres[n].wait_until(now() + ps(static_cast<std::int64_t>(n + 1)));
      }
      int sum = 0;
      for (const int v : own) sum += v;
      sums[n].push_back(sum);
    });
  }
  for (fibre& f : fibres) f.wake_at(after(1_ps));
  run();
  for (std::size_t n = 0; n < sums.size(); ++n) EXPECT_EQ(sums[n], std::vector<int>{rounds * 1000 * static_cast<int>(n)}) << n;
  EXPECT_EQ(now(), after(801_ps));
}

TEST_F(Fibre, KeepsTheSimulationGoingOnlyWhileItSleeps) {
  fibre* self = nullptr;
  fibre f(stack, [&] {
    self->wait_until(after(20_ps));
    self->wait();
  });
  self = &f;
  f.wake_at(after(10_ps));
  run();
  EXPECT_EQ(now(), after(20_ps));
}

TEST_F(Fibre, DoesNothingAfterItsEnd) {
  int runs = 0;
  fibre f(stack, [&] { ++runs; });
  f.wake_at(after(10_ps));
  f.wake_at(after(20_ps));
  queue_.at(after(30_ps), item("wakes in vain", [&] { f.wake(); }));
  run();
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(now(), after(30_ps));
}

TEST_F(Fibre, NeedsNoKernelActivationOfItsOwn) {
  fibre* self = nullptr;
  fibre f(stack, [&] {
    for (int i = 0; i < 1000; ++i) self->wait_until(now() + 1_ns);
  });
  self = &f;
  f.wake();
  const std::uint64_t before = queue_.activations();
  run_simulation();
  EXPECT_LE(queue_.activations() - before, 2U);
  EXPECT_EQ(now(), after(1000_ns));
}

TEST_F(Fibre, AnExceptionOfTheBodyEndsTheSimulation) {
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
  GTEST_SKIP() << "AddressSanitizer does not know the stacks that the kernel makes, on which the exception is thrown";
#endif
#endif
  const auto broken = [] {
    fibre f(stack, [] { throw std::runtime_error("the body broke"); });
    f.wake();
    sc_core::sc_report_handler::set_handler(nullptr);
    try {
      run();
    } catch (const std::exception& e) {
      std::fputs(e.what(), stderr);
      std::exit(3);
    }
  };
  EXPECT_EXIT(broken(), ::testing::ExitedWithCode(3), "the body broke");
}

}  // namespace
}  // namespace hcasim
