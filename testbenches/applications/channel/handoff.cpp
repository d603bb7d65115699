#include "testbenches/applications/channel/handoff.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>

namespace hcasim::channel {
namespace {

constexpr int looks = 300;

std::uint32_t* word(std::atomic<std::uint32_t>& a) {
  return reinterpret_cast<std::uint32_t*>(&a);
}

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

void wake(std::atomic<std::uint32_t>& count) {
  ::syscall(SYS_futex, word(count), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

// Until `count` is no longer `old`; false: it still is.
bool wait_change(std::atomic<std::uint32_t>& count, std::uint32_t old, std::atomic<std::uint32_t>& sleeps,
                 std::chrono::nanoseconds at_most) {
  for (int i = 0; i < looks; ++i) {
    if (count.load(std::memory_order_acquire) != old) return true;
    pause();
  }
  const timespec timeout{static_cast<time_t>(at_most.count() / 1'000'000'000),
                         static_cast<long>(at_most.count() % 1'000'000'000)};
  sleeps.store(1);
  if (count.load() == old) ::syscall(SYS_futex, word(count), FUTEX_WAIT, old, &timeout, nullptr, 0);
  sleeps.store(0, std::memory_order_relaxed);
  return count.load(std::memory_order_acquire) != old;
}

}  // namespace

void ask(page& p) {
  p.requests.fetch_add(1);
  if (p.simulator_sleeps.load()) wake(p.requests);
}

bool is_answered(const page& p) {
  return p.answers.load(std::memory_order_acquire) == p.requests.load(std::memory_order_relaxed);
}

bool await_answer(page& p) {
  if (is_answered(p)) return true;
  wait_change(p.answers, p.answers.load(), p.program_sleeps, std::chrono::seconds(1));
  return is_answered(p);
}

bool is_asked(const page& p, std::uint32_t seen) {
  return p.requests.load(std::memory_order_acquire) != seen;
}

bool await_request(page& p, std::uint32_t seen, std::chrono::nanoseconds at_most) {
  return wait_change(p.requests, seen, p.simulator_sleeps, at_most);
}

void answer(page& p, std::uint32_t seen) {
  p.answers.store(seen);
  if (p.program_sleeps.load()) wake(p.answers);
}

}  // namespace hcasim::channel
