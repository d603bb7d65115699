#include "testbenches/verbs_programs/preload/timers.h"

#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>

#include "testbenches/verbs_programs/preload/clock.h"
#include "testbenches/verbs_programs/preload/connection.h"
#include "testbenches/verbs_programs/preload/libc.h"
#include "testbenches/verbs_programs/preload/times.h"
#include "testbenches/verbs_programs/preload/usage.h"

namespace hcasim::preload {
namespace {

constexpr std::uint64_t never = ~std::uint64_t{0};
constexpr std::uint64_t ps_per_us = 1'000'000;
constexpr std::uint64_t us_per_s = 1'000'000;

// A timer with a signal for the thread that finds the timer due. If `thread` is set, only this thread looks for the timer.
struct interval_timer {
  std::atomic<bool> used{false};
  std::uint64_t due = never;  // ps
  std::uint64_t interval = 0;
  int overrun = 0;  // further expiries before the first was found
  clockid_t clock = CLOCK_MONOTONIC;
  sigevent event{};
  pid_t thread = 0;  // 0 = any
};
// The first timer is ITIMER_REAL, which alarm() sets as well.
std::array<interval_timer, 33> timers;
std::atomic<std::uint64_t> earliest{never};
std::atomic<std::uint32_t> changes{0};  // of `due`

std::uint64_t as_ps(const timeval& t) {
  return (static_cast<std::uint64_t>(t.tv_sec) * us_per_s + static_cast<std::uint64_t>(t.tv_usec)) * ps_per_us;
}
timeval as_time(std::uint64_t ps) {
  const std::uint64_t us = (ps + ps_per_us - 1) / ps_per_us;
  return {static_cast<time_t>(us / us_per_s), static_cast<suseconds_t>(us % us_per_s)};
}

// Finds the earliest `due` after a change. A signal's handler may change another timer meanwhile.
void find_earliest() {
  ++changes;
  std::uint32_t seen = 0;
  do {
    seen = changes;
    std::uint64_t first = never;
    for (const interval_timer& t : timers) first = std::min(first, t.due);
    earliest = first;
  } while (changes != seen);
}

std::uint64_t left_of(const interval_timer& t, std::uint64_t now) {
  return t.due == never ? 0 : std::max(t.due, now + 1) - now;
}

// Sets a timer, and returns its remaining time before.
std::uint64_t set(interval_timer& t, std::uint64_t first, std::uint64_t again) {
  std::uint64_t now = 0;
  look_at_clock(now);
  const std::uint64_t before = left_of(t, now);
  t.due = first ? now + first : never;
  t.interval = again;
  t.overrun = 0;
  find_earliest();
  return before;
}

bool is_for(const interval_timer& t, pid_t thread) {
  return t.thread == 0 || t.thread == thread;
}

void notify(const interval_timer& t, pid_t thread) {
  if (t.event.sigev_notify == SIGEV_NONE) return;
  if (&t == timers.data()) {
    ::syscall(SYS_tgkill, ::getpid(), thread, SIGALRM);
    return;
  }
  siginfo_t info{};
  info.si_signo = t.event.sigev_signo;
  info.si_code = SI_TIMER;
  info.si_value = t.event.sigev_value;
  info.si_overrun = t.overrun;
  ::syscall(SYS_rt_tgsigqueueinfo, ::getpid(), thread, t.event.sigev_signo, &info);
}

interval_timer* known(timer_t id) {
  for (interval_timer& t : timers) {
    if (&t == id && t.used) return &t;
  }
  return nullptr;
}

}  // namespace

void deliver_timers(std::uint64_t now) {
  if (now < earliest.load(std::memory_order_relaxed)) return;
  const auto self = static_cast<pid_t>(::syscall(SYS_gettid));
  for (interval_timer& t : timers) {
    if (now < t.due || !is_for(t, self)) continue;
    t.overrun = t.interval ? static_cast<int>((now - t.due) / t.interval) : 0;
    t.due = t.interval ? now + t.interval - (now - t.due) % t.interval : never;
    find_earliest();
    notify(t, self);
  }
}

void forget_timers() {
  for (interval_timer& t : timers) {
    t.due = never;
    t.used = false;
  }
  earliest = never;
}

std::uint64_t no_longer_than_timer(std::uint64_t timeout) {
  const connection* c = present();
  if (!c || earliest == never) return timeout;
  std::uint64_t at = never;
  for (const interval_timer& t : timers) {
    if (is_for(t, c->thread)) at = std::min(at, t.due);
  }
  if (at == never) return timeout;
  const std::uint64_t now = c->now + c->spent;
  return std::min(timeout, at > now ? at - now : 0);
}

}  // namespace hcasim::preload

using namespace hcasim::preload;

HCASIM_PUBLIC unsigned alarm(unsigned seconds) noexcept {
  if (!mine()) {
    const itimerval wanted{{0, 0}, {static_cast<time_t>(seconds), 0}};
    itimerval old{};
    ::syscall(SYS_setitimer, ITIMER_REAL, &wanted, &old);
    const auto& [s, us] = old.it_value;
    return static_cast<unsigned>(s + (us >= 500'000 || (s == 0 && us > 0)));
  }
  constexpr std::uint64_t second = us_per_s * ps_per_us;
  return static_cast<unsigned>((set(timers[0], seconds * second, 0) + second - 1) / second);
}

HCASIM_PUBLIC useconds_t ualarm(useconds_t us, useconds_t interval) noexcept {
  const itimerval wanted{as_time(interval * ps_per_us), as_time(us * ps_per_us)};
  itimerval old{};
  setitimer(ITIMER_REAL, &wanted, &old);
  return static_cast<useconds_t>(static_cast<std::uint64_t>(old.it_value.tv_sec) * us_per_s) +
         static_cast<useconds_t>(old.it_value.tv_usec);
}

HCASIM_PUBLIC int setitimer(__itimer_which_t which, const itimerval* wanted, itimerval* old) noexcept {
  if (which != ITIMER_REAL) note_machine_clock();
  if (which != ITIMER_REAL || !mine()) return static_cast<int>(::syscall(SYS_setitimer, which, wanted, old));
  const std::uint64_t again = timers[0].interval;
  const std::uint64_t left = set(timers[0], as_ps(wanted->it_value), as_ps(wanted->it_interval));
  if (old) *old = {as_time(again), as_time(left)};
  return 0;
}

HCASIM_PUBLIC int getitimer(__itimer_which_t which, itimerval* out) noexcept {
  if (which != ITIMER_REAL) note_machine_clock();
  if (which != ITIMER_REAL || !mine()) return static_cast<int>(::syscall(SYS_getitimer, which, out));
  std::uint64_t now = 0;
  look_at_clock(now);
  *out = {as_time(timers[0].interval), as_time(left_of(timers[0], now))};
  return 0;
}

// A timer that begins a thread at each expiry (SIGEV_THREAD) stays the C library's, and runs by the machine's clock.
HCASIM_PUBLIC int timer_create(clockid_t clock, sigevent* event, timer_t* id) noexcept {
  const bool simulated = clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC || clock == CLOCK_BOOTTIME;
  if (!simulated || (event && event->sigev_notify == SIGEV_THREAD) || !mine()) {
    note_machine_clock();
    return HCASIM_REAL(timer_create)(clock, event, id);
  }
  for (interval_timer& t : timers) {
    if (&t == timers.data() || t.used.exchange(true)) continue;
    t.clock = clock;
    t.event = event ? *event : sigevent{};
    if (!event) t.event.sigev_signo = SIGALRM;
    if (!event) t.event.sigev_value.sival_ptr = &t;
    t.thread = t.event.sigev_notify == SIGEV_THREAD_ID ? t.event._sigev_un._tid : 0;
    *id = &t;
    return 0;
  }
  errno = EAGAIN;
  return -1;
}

HCASIM_PUBLIC int timer_settime(timer_t id, int flags, const itimerspec* wanted, itimerspec* old) noexcept {
  interval_timer* const t = known(id);
  if (!t) return HCASIM_REAL(timer_settime)(id, flags, wanted, old);
  if (!is_time(wanted->it_value) || !is_time(wanted->it_interval)) {
    errno = EINVAL;
    return -1;
  }
  const bool absolute = (flags & TIMER_ABSTIME) && ps_of(wanted->it_value) != 0;
  const std::uint64_t first = absolute ? ps_until(t->clock, wanted->it_value) : ps_of(wanted->it_value);
  const std::uint64_t again = t->interval;
  const std::uint64_t left = set(*t, first, ps_of(wanted->it_interval));
  if (old) *old = {time_of(again), time_of(left)};
  return 0;
}

HCASIM_PUBLIC int timer_gettime(timer_t id, itimerspec* current) noexcept {
  const interval_timer* const t = known(id);
  if (!t) return HCASIM_REAL(timer_gettime)(id, current);
  std::uint64_t now = 0;
  look_at_clock(now);
  *current = {time_of(t->interval), time_of(left_of(*t, now))};
  return 0;
}

HCASIM_PUBLIC int timer_getoverrun(timer_t id) noexcept {
  const interval_timer* const t = known(id);
  return t ? t->overrun : HCASIM_REAL(timer_getoverrun)(id);
}

HCASIM_PUBLIC int timer_delete(timer_t id) noexcept {
  interval_timer* const t = known(id);
  if (!t) return HCASIM_REAL(timer_delete)(id);
  set(*t, 0, 0);
  t->used = false;
  return 0;
}
