#include "testbenches/applications/preload/timers.h"

#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>

#include "testbenches/applications/preload/clock.h"
#include "testbenches/applications/preload/connection.h"
#include "testbenches/applications/preload/real.h"

namespace hcasim::preload {
namespace {

constexpr std::uint64_t never = ~std::uint64_t{0};
constexpr std::uint64_t ps_per_us = 1'000'000;
constexpr std::uint64_t us_per_s = 1'000'000;

// The one of ITIMER_REAL, which alarm() sets as well.
std::atomic<std::uint64_t> due{never};
std::atomic<std::uint64_t> interval{0};
std::atomic<std::uint64_t> delivered{0};

std::uint64_t as_ps(const timeval& t) {
  return (static_cast<std::uint64_t>(t.tv_sec) * us_per_s + static_cast<std::uint64_t>(t.tv_usec)) * ps_per_us;
}
timeval as_time(std::uint64_t ps) {
  const std::uint64_t us = (ps + ps_per_us - 1) / ps_per_us;
  return {static_cast<time_t>(us / us_per_s), static_cast<suseconds_t>(us % us_per_s)};
}

// What was left of the timer before.
std::uint64_t set(std::uint64_t first, std::uint64_t again) {
  std::uint64_t now = 0;
  look_at_clock(now);
  const std::uint64_t before = due.exchange(first ? now + first : never);
  interval = again;
  return before == never ? 0 : std::max(before, now + 1) - now;
}

}  // namespace

void deliver_timers(std::uint64_t now) {
  std::uint64_t at = due.load(std::memory_order_relaxed);
  if (now < at) return;
  const std::uint64_t again = interval;
  if (!due.compare_exchange_strong(at, again ? now + again : never)) return;
  ++delivered;
  ::syscall(SYS_tgkill, ::getpid(), ::syscall(SYS_gettid), SIGALRM);
}

std::uint64_t timers_delivered() {
  return delivered;
}

std::uint64_t no_longer_than_timer(std::uint64_t timeout) {
  const connection* c = present();
  const std::uint64_t at = due;
  if (!c || at == never) return timeout;
  const std::uint64_t now = c->now + c->spent;
  return std::min(timeout, at > now ? at - now : 0);
}

}  // namespace hcasim::preload

using namespace hcasim::preload;

HCASIM_PUBLIC unsigned alarm(unsigned seconds) noexcept {
  if (!mine()) return static_cast<unsigned>(::syscall(SYS_alarm, seconds));
  return static_cast<unsigned>((set(seconds * us_per_s * ps_per_us, 0) + us_per_s * ps_per_us - 1) / (us_per_s * ps_per_us));
}

HCASIM_PUBLIC int setitimer(__itimer_which_t which, const itimerval* wanted, itimerval* old) noexcept {
  if (which != ITIMER_REAL || !mine()) return static_cast<int>(::syscall(SYS_setitimer, which, wanted, old));
  const std::uint64_t again = interval;
  const std::uint64_t left = set(as_ps(wanted->it_value), as_ps(wanted->it_interval));
  if (old) *old = {as_time(again), as_time(left)};
  return 0;
}
