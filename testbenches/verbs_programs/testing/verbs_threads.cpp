// Threads with objects of one context: each waits only for requests about its own objects, in their order.
#include <algorithm>
#include <array>
#include <atomic>
#include <ctime>
#include <functional>
#include <thread>
#include <vector>

#include "testbenches/verbs_programs/testing/misuse.h"

namespace misuse {
namespace {

double now_us() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_nsec) / 1e3;
}

// Returns the longest of many calls, in us, while other threads make calls of their own.
double longest(int calls, const std::function<void()>& call, int threads, const std::function<void()>& other) {
  constexpr double patience = 20'000;
  std::atomic<bool> go{true};
  const double last = now_us() + patience;
  std::vector<std::thread> others;
  for (int i = 0; i < threads; ++i) {
    others.emplace_back([&] {
      while (go && now_us() < last) other();
    });
  }
  double most = 0;
  for (int i = 0; i < calls; ++i) {
    const double begin = now_us();
    call();
    most = std::max(most, now_us() - begin);
    const timespec pause{0, 3000};
    nanosleep(&pause, nullptr);
  }
  go = false;
  for (std::thread& t : others) t.join();
  return most;
}

}  // namespace

// Verbs that destroy or rebuild objects get their turn beside threads in the driver.
void busy_threads() {
  const looped l;
  ibv_mr* mr = ibv_reg_mr(l.o.pd, buffer, 4096, IBV_ACCESS_LOCAL_WRITE);
  ibv_cq* const cq = ibv_create_cq(l.o.context, 64, nullptr, nullptr, 0);
  REQUIRE(mr && cq);
  const auto query = [&] {
    ibv_qp_attr a{};
    ibv_qp_init_attr init{};
    REQUIRE(ibv_query_qp(l.qp, &a, IBV_QP_STATE, &init) == 0);
  };
  const auto register_again = [&] { REQUIRE(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0, 0) == 0); };
  const auto deregister = [&] {
    REQUIRE(ibv_dereg_mr(mr) == 0);
    mr = ibv_reg_mr(l.o.pd, buffer, 4096, IBV_ACCESS_LOCAL_WRITE);
    REQUIRE(mr);
  };
  const auto window = [&] {
    ibv_mw* const mw = ibv_alloc_mw(l.o.pd, IBV_MW_TYPE_1);
    REQUIRE(mw && ibv_dealloc_mw(mw) == 0);
  };
  int size = 64;
  const auto resize = [&] { REQUIRE(ibv_resize_cq(cq, size ^= 192) == 0); };
  for (const std::function<void()>& call : std::array<std::function<void()>, 4>{register_again, deregister, window, resize}) {
    const double beside = longest(10, call, 3, query);
    std::printf("%.1f us\n", beside);
    REQUIRE(beside < 100);
  }
}

// Posting and polling do not wait for another thread's verbs of other objects.
void data_path() {
  looped l;
  ibv_mr* const other = ibv_reg_mr(l.o.pd, buffer, 4096, IBV_ACCESS_LOCAL_WRITE);
  REQUIRE(other);
  double posting = 0;
  const auto write = [&] {
    const double begin = now_us();
    l.write_flag();
    posting = std::max(posting, now_us() - begin);
    finish(l);
  };
  const double alone = longest(200, write, 0, [] {});
  const double posting_alone = posting;
  const double beside =
      longest(200, write, 1, [&] { REQUIRE(ibv_rereg_mr(other, IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0, 0) == 0); });
  std::printf("%.2f us and %.2f us, posting %.2f us and %.2f us\n", alone, beside, posting_alone, posting);
  REQUIRE(posting < 2 * posting_alone && beside < 2 * alone);
}

}  // namespace misuse
