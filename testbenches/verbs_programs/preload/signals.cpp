#include "testbenches/verbs_programs/preload/signals.h"

#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <ctime>

#include "testbenches/verbs_programs/preload/blocking.h"
#include "testbenches/verbs_programs/preload/clock.h"
#include "testbenches/verbs_programs/preload/connection.h"
#include "testbenches/verbs_programs/preload/libc.h"
#include "testbenches/verbs_programs/preload/spin.h"
#include "testbenches/verbs_programs/preload/times.h"

namespace hcasim::preload {
namespace {

std::atomic<std::uint64_t> handled{0};
std::atomic<std::uint64_t> restarting{0};
std::atomic<std::uint64_t> of_files{0};
thread_local bool holding = false;      // a sleeping call of this thread holds them already
thread_local bool hides_fault = false;  // the program has SIGSEGV blocked, the thread has not

std::uint64_t change_mask(int how, std::uint64_t set) {
  std::uint64_t before = 0;
  ::syscall(SYS_rt_sigprocmask, how, &set, &before, sizeof set);
  return before;
}

std::uint64_t waiting_signals() {
  std::uint64_t set = 0;
  ::syscall(SYS_rt_sigpending, &set, sizeof set);
  return set;
}

void change(std::atomic<std::uint64_t>& set, std::uint64_t bit, bool in) {
  if (in) {
    set |= bit;
  } else {
    set &= ~bit;
  }
}

}  // namespace

std::uint64_t bits_of(const sigset_t& set) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &set, sizeof bits);
  return bits;
}

void note_action(int signal, const struct sigaction& action) {
  const bool handles = (action.sa_flags & SA_SIGINFO) || (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN);
  change(handled, bit_of(signal), handles);
  change(restarting, bit_of(signal), handles && (action.sa_flags & SA_RESTART));
}

std::uint64_t signals_of_files() {
  return of_files.load(std::memory_order_relaxed);
}

// Signals of faults are not held: a fault while its signal is blocked ends the process.
std::uint64_t hold_for_request() {
  constexpr std::uint64_t faults = bit_of(SIGILL) | bit_of(SIGFPE) | bit_of(SIGBUS) | bit_of(SIGSEGV) | bit_of(SIGTRAP);
  const std::uint64_t held = handled.load(std::memory_order_relaxed) & ~faults;
  if (held == 0 || holding) return 0;
  return held & ~change_mask(SIG_BLOCK, held);
}

bool let_after_request(std::uint64_t held, bool look) {
  if (held == 0) return false;
  const bool come = look && (waiting_signals() & held) != 0;
  change_mask(SIG_UNBLOCK, held);
  return come;
}

held_signals::held_signals(const sigset_t* mask) : has_mask_(mask != nullptr), mask_(mask ? bits_of(*mask) : 0) {
  mask_ |= bit_of(spin_signal());  // the simulator's signal, which is not the program's
  mask_ &= ~bit_of(SIGSEGV);       // reads of the time-stamp counter in a handler
  hold();
}

held_signals::~held_signals() {
  let();
}

void held_signals::hold() {
  held_ = handled.load(std::memory_order_relaxed);
  if (held_ == 0 && !has_mask_) return;
  before_ = change_mask(SIG_BLOCK, held_);
  holding = true;
  waking_ = has_mask_ ? ~mask_ : held_ & ~before_;
}

void held_signals::let() {
  holding = false;  // first: a handler may leave by a jump
  if (held_ != 0) change_mask(SIG_SETMASK, before_);
  held_ = 0;
}

bool held_signals::interrupt(bool restarts) {
  if (has_mask_) {
    const timespec zero{0, 0};
    holding = false;
    const bool come = ::syscall(SYS_ppoll, nullptr, 0, &zero, &mask_, sizeof mask_) < 0 && errno == EINTR;
    holding = true;
    return come;
  }
  if (held_ == 0) return false;
  const std::uint64_t come = waiting_signals() & waking_;
  if (come == 0) return false;
  const std::uint64_t going_on = restarts ? restarting.load(std::memory_order_relaxed) : 0;
  let();  // here they run
  if (come & ~going_on) return true;
  hold();
  return false;
}

namespace {

// Changes the mask as the program wants, except for SIGSEGV. Reads of the time-stamp counter come as this signal, and a fault
// while its signal is blocked ends the process.
template <class Change>
int change_but_for_faults(int how, const sigset_t* set, sigset_t* old, Change change) {
  const bool hidden = hides_fault;
  sigset_t taken;
  if (set) {
    taken = *set;
    const bool named = sigismember(set, SIGSEGV) == 1;
    if (how != SIG_UNBLOCK) sigdelset(&taken, SIGSEGV);
    if (how == SIG_SETMASK || named) hides_fault = named && how != SIG_UNBLOCK;
  }
  const int result = change(how, set ? &taken : nullptr, old);
  if (result != 0) hides_fault = hidden;
  if (result == 0 && old && hidden) sigaddset(old, SIGSEGV);
  return result;
}

// Sleeps until a signal's handler has run.
int suspend(held_signals& held) {
  while (!held.interrupt()) wait_for_signals(channel::forever, held.waking());
  errno = EINTR;
  return -1;
}

}  // namespace
}  // namespace hcasim::preload

using namespace hcasim;
using namespace hcasim::preload;

HCASIM_PUBLIC int sigprocmask(int how, const sigset_t* set, sigset_t* old) noexcept {
  return change_but_for_faults(how, set, old, HCASIM_REAL(sigprocmask));
}

HCASIM_PUBLIC int pthread_sigmask(int how, const sigset_t* set, sigset_t* old) noexcept {
  return change_but_for_faults(how, set, old, HCASIM_REAL(pthread_sigmask));
}

HCASIM_PUBLIC int sigsuspend(const sigset_t* mask) {
  if (!mine()) return static_cast<int>(::syscall(SYS_rt_sigsuspend, mask, sizeof(std::uint64_t)));
  held_signals held(mask);
  return suspend(held);
}

// System V's sigpause, without one signal. BSD's function of this name takes a mask.
HCASIM_PUBLIC int sigpause(int signal) {
  sigset_t mask;
  sigprocmask(SIG_BLOCK, nullptr, &mask);
  sigdelset(&mask, signal);
  return sigsuspend(&mask);
}

HCASIM_PUBLIC int sigpause_of_mask(int mask) __asm__("sigpause");
HCASIM_PUBLIC int sigpause_of_mask(int mask) {
  sigset_t set;
  sigemptyset(&set);
  std::memcpy(&set, &mask, sizeof mask);
  return sigsuspend(&set);
}

HCASIM_PUBLIC int pause() {
  if (!mine()) return static_cast<int>(::syscall(SYS_ppoll, nullptr, 0, nullptr, nullptr, 0));
  held_signals held;
  return suspend(held);
}

HCASIM_PUBLIC int sigtimedwait(const sigset_t* set, siginfo_t* info, const timespec* timeout) {
  const auto real = [&](const timespec* t) {
    return static_cast<int>(::syscall(SYS_rt_sigtimedwait, set, info, t, sizeof(std::uint64_t)));
  };
  if (!mine()) return real(timeout);
  if (timeout && !is_time(*timeout)) {
    errno = EINVAL;
    return -1;
  }
  const timespec zero{0, 0};
  const std::uint64_t limit = timeout ? ps_of(*timeout) : channel::forever;
  std::uint64_t begin = 0;
  if (timeout) look_at_clock(begin);
  for (held_signals held;;) {
    const int found = real(&zero);
    if (found > 0 || errno != EAGAIN) return found;
    if (held.interrupt()) {
      errno = EINTR;
      return -1;
    }
    std::uint64_t now = begin;
    if (timeout) look_at_clock(now);
    if (timeout && now - begin >= limit) {
      errno = EAGAIN;
      return -1;
    }
    wait_for_signals(timeout ? limit - (now - begin) : limit, held.waking() | bits_of(*set));
  }
}

HCASIM_PUBLIC int sigwaitinfo(const sigset_t* set, siginfo_t* info) {
  return sigtimedwait(set, info, nullptr);
}

HCASIM_PUBLIC int sigwait(const sigset_t* set, int* signal) {
  for (;;) {
    const int found = sigtimedwait(set, nullptr, nullptr);
    if (found < 0 && errno == EINTR) continue;
    if (found < 0) return errno;
    *signal = found;
    return 0;
  }
}

// The system shows a signalfd as ready only to its own process, so the simulator looks for the signals themselves.
HCASIM_PUBLIC int signalfd(int fd, const sigset_t* set, int flags) noexcept {
  if (mine()) of_files |= bits_of(*set);
  return static_cast<int>(::syscall(SYS_signalfd4, fd, set, sizeof(std::uint64_t), flags));
}
