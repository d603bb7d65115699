#include "testbenches/verbs_programs/preload/clock.h"

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <ctime>

#include "testbenches/verbs_programs/channel/machine.h"
#include "testbenches/verbs_programs/preload/connection.h"
#include "testbenches/verbs_programs/preload/counter_reads.h"
#include "testbenches/verbs_programs/preload/spin.h"
#include "testbenches/verbs_programs/preload/timers.h"
#include "testbenches/verbs_programs/preload/usage.h"

// NOLINTBEGIN(performance-no-int-to-ptr): registers hold numbers

namespace hcasim::preload {
namespace {

constexpr std::uint64_t ps_per_second = 1'000'000'000'000;
constexpr std::uint64_t first_date = 1'700'000'000;  // s: CLOCK_REALTIME when simulated time begins
constexpr std::uint64_t first_uptime = 1000;         // s: CLOCK_MONOTONIC then

// Reads of the counter do not fault, fault by the kernel's doing, or are other instructions now.
enum class reads { go_through, are_trapped, are_replaced };
reads counter_reads_now = reads::go_through;
volatile bool probing = false;

double tsc_per_ps() {
  static const double rate = [] {
    const char* text = ::getenv("HCASIM_TSC_MHZ");
    return (text ? std::strtod(text, nullptr) : 3000.0) / 1e6;
  }();
  return rate;
}

timespec since(std::uint64_t seconds, std::uint64_t ps) {
  return {static_cast<time_t>(seconds + ps / ps_per_second), static_cast<long>(ps % ps_per_second / 1000)};
}

}  // namespace

std::uint64_t uptime_of(std::uint64_t ps) {
  return first_uptime * ps_per_second + ps;
}

std::uint64_t date_of(std::uint64_t ps) {
  return first_date * 1'000'000'000 + ps / 1000;
}

bool look_at_clock(std::uint64_t& ps) {
  connection* c = mine();
  if (!c) return false;
  static const std::uint64_t cost = setting("HCASIM_CLOCK_READ", 25000);
  // Only this thread writes `beats`.
  c->page->beats.store(c->page->beats.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  c->spent += cost;
  c->page->spent = c->spent;  // the thread may end without another request
  if (c->spent > c->horizon && !c->asking) call(channel::clock{});
  ps = c->now + c->spent;
  if (!c->asking) deliver_timers(ps);
  return true;
}

namespace {

// Some virtual machines promise to trap and do not.
bool kernel_traps() {
  if (::prctl(PR_SET_TSC, PR_TSC_SIGSEGV) != 0) return false;
  probing = true;
  machine::read_counter();
  if (!probing) return true;
  probing = false;
  ::prctl(PR_SET_TSC, PR_TSC_ENABLE);
  return false;
}

}  // namespace

void trap_time_stamps() {
  if (counter_reads_now != reads::go_through) return;
  constexpr const char* neither = "reads of its time-stamp counter can be neither trapped nor replaced";
  if (!catch_faults()) give_up(neither);
  if (setting("HCASIM_REPLACE_COUNTER_READS", 0) == 0 && kernel_traps()) {
    counter_reads_now = reads::are_trapped;
  } else if (replace_counter_reads()) {
    counter_reads_now = reads::are_replaced;
  } else {
    give_up(neither);
  }
}

void release_time_stamps() {
  if (counter_reads_now == reads::are_trapped) ::prctl(PR_SET_TSC, PR_TSC_ENABLE);
}
void trap_time_stamps_again() {
  if (counter_reads_now == reads::are_trapped) ::prctl(PR_SET_TSC, PR_TSC_SIGSEGV);
}

bool emulate_time_stamp(void* context) {
  auto& u = *static_cast<ucontext_t*>(context);
  const machine::counter_read read = machine::read_at(u);
  if (read == machine::counter_read::none) return false;
  if (probing) {
    probing = false;
    machine::answer_read(u, 0);
    return true;
  }
  std::uint64_t ps = 0;
  if (!look_at_clock(ps)) {
    if (counter_reads_now != reads::are_replaced) return false;
    machine::answer_read(u, machine::read_counter());
    return true;
  }
  const double of = read == machine::counter_read::ticks ? static_cast<double>(ps) : static_cast<double>(ps_per_second);
  machine::answer_read(u, static_cast<std::uint64_t>(of * tsc_per_ps()));
  return true;
}

}  // namespace hcasim::preload

using namespace hcasim;
using namespace hcasim::preload;

HCASIM_PUBLIC int clock_gettime(clockid_t id, timespec* t) {
  std::uint64_t ps = 0;
  switch (id) {
    case CLOCK_REALTIME:
    case CLOCK_REALTIME_COARSE:
    case CLOCK_REALTIME_ALARM:
    case CLOCK_TAI:
      if (!look_at_clock(ps)) break;
      *t = since(first_date, ps);
      return 0;
    case CLOCK_MONOTONIC:
    case CLOCK_MONOTONIC_RAW:
    case CLOCK_MONOTONIC_COARSE:
    case CLOCK_BOOTTIME:
    case CLOCK_BOOTTIME_ALARM:
      if (!look_at_clock(ps)) break;
      *t = since(first_uptime, ps);
      return 0;
    case CLOCK_PROCESS_CPUTIME_ID:
    case CLOCK_THREAD_CPUTIME_ID:
      if (channel::query_usage::answer u{}; look_at_usage(u)) {
        *t = since(0, id == CLOCK_THREAD_CPUTIME_ID ? u.thread : u.process);
        return 0;
      }
      break;
    default:
      note_machine_clock();
  }
  return static_cast<int>(::syscall(SYS_clock_gettime, id, t));
}

HCASIM_PUBLIC int gettimeofday(timeval* t, void* zone) noexcept {
  std::uint64_t ps = 0;
  if (!look_at_clock(ps)) return static_cast<int>(::syscall(SYS_gettimeofday, t, zone));
  const timespec n = since(first_date, ps);
  *t = {n.tv_sec, n.tv_nsec / 1000};
  return 0;
}

HCASIM_PUBLIC time_t time(time_t* t) noexcept {
  std::uint64_t ps = 0;
  if (!look_at_clock(ps)) {
    timespec n{};
    ::syscall(SYS_clock_gettime, CLOCK_REALTIME_COARSE, &n);
    if (t) *t = n.tv_sec;
    return n.tv_sec;
  }
  const time_t s = since(first_date, ps).tv_sec;
  if (t) *t = s;
  return s;
}

HCASIM_PUBLIC int timespec_get(timespec* t, int base) noexcept {
  return base == TIME_UTC && clock_gettime(CLOCK_REALTIME, t) == 0 ? base : 0;
}
// NOLINTEND(performance-no-int-to-ptr)
