#include "testbenches/verbs_programs/preload/usage.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/timeb.h>
#include <sys/times.h>
#include <sys/timex.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>

#include "testbenches/verbs_programs/preload/clock.h"
#include "testbenches/verbs_programs/preload/connection.h"
#include "testbenches/verbs_programs/preload/libc.h"
#include "testbenches/verbs_programs/preload/times.h"

// NOLINTBEGIN(readability-identifier-naming): the C library's own names

namespace hcasim::preload {
namespace {

constexpr std::uint64_t ps_per_us = 1'000'000;
constexpr std::uint64_t us_per_s = 1'000'000;

timeval as_timeval(std::uint64_t ps) {
  return {static_cast<time_t>(ps / ps_per_us / us_per_s), static_cast<suseconds_t>(ps / ps_per_us % us_per_s)};
}

}  // namespace

bool look_at_usage(channel::query_usage::answer& out) {
  std::uint64_t ps = 0;
  const connection* c = mine();
  return c && !c->asking && look_at_clock(ps) && call(channel::query_usage{}, out) == 0;
}

void note_machine_clock() {
  if (connection* c = present()) c->page->machine_clocks.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace hcasim::preload

using namespace hcasim;
using namespace hcasim::preload;

HCASIM_PUBLIC clock_t clock() noexcept {
  channel::query_usage::answer u{};
  if (look_at_usage(u)) return static_cast<clock_t>(u.process / ps_per_us);
  timespec t{};
  if (::syscall(SYS_clock_gettime, CLOCK_PROCESS_CPUTIME_ID, &t) != 0) return -1;
  return static_cast<clock_t>(ps_of(t) / ps_per_us);
}

HCASIM_PUBLIC clock_t times(tms* out) noexcept {
  channel::query_usage::answer u{};
  if (!look_at_usage(u)) return ::syscall(SYS_times, out);
  if (out) *out = {static_cast<clock_t>(ticks_of(u.process)), 0, static_cast<clock_t>(ticks_of(u.children)), 0};
  std::uint64_t now = 0;
  look_at_clock(now);
  return static_cast<clock_t>(ticks_of(uptime_of(now)));
}

HCASIM_PUBLIC int getrusage(__rusage_who_t who, rusage* out) noexcept {
  const auto result = static_cast<int>(::syscall(SYS_getrusage, who, out));
  channel::query_usage::answer u{};
  if (result != 0 || !look_at_usage(u)) return result;
  out->ru_utime = as_timeval(who == RUSAGE_CHILDREN ? u.children : who == RUSAGE_THREAD ? u.thread : u.process);
  out->ru_stime = {};
  return 0;
}

HCASIM_PUBLIC int sysinfo(struct sysinfo* out) noexcept {
  const auto result = static_cast<int>(::syscall(SYS_sysinfo, out));
  std::uint64_t ps = 0;
  if (result == 0 && look_at_clock(ps)) out->uptime = static_cast<long>(uptime_of(ps) / (ps_per_us * us_per_s));
  return result;
}
HCASIM_PUBLIC int ftime(struct timeb* out) {
  timespec t{};
  if (::clock_gettime(CLOCK_REALTIME, &t) != 0) return -1;
  *out = {};
  out->time = t.tv_sec;
  out->millitm = static_cast<unsigned short>(t.tv_nsec / 1'000'000);
  return 0;
}

// Passes on calls that steer the system's clock.
HCASIM_PUBLIC int adjtimex(timex* t) noexcept {
  note_machine_clock();
  return static_cast<int>(::syscall(SYS_adjtimex, t));
}
HCASIM_PUBLIC int clock_adjtime(clockid_t id, timex* t) noexcept {
  note_machine_clock();
  return static_cast<int>(::syscall(SYS_clock_adjtime, id, t));
}
HCASIM_PUBLIC int ntp_gettimex(ntptimeval* t) noexcept {
  note_machine_clock();
  return HCASIM_REAL(ntp_gettimex)(t);
}
// NOLINTEND(readability-identifier-naming)
