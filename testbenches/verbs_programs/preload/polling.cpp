// poll, select, epoll and sleeps, in simulated time.
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <ctime>

#include "testbenches/verbs_programs/preload/connection.h"
#include "testbenches/verbs_programs/preload/sleeping.h"
#include "testbenches/verbs_programs/preload/timers.h"
#include "testbenches/verbs_programs/preload/times.h"

// NOLINTBEGIN(readability-identifier-naming): the C library's own names

namespace hcasim::preload {
namespace {

constexpr std::uint64_t ps_per_second = 1'000'000'000'000;

std::uint64_t as_ps(const timespec* t) {
  if (!t || t->tv_sec > longest_s) return channel::forever;
  return t->tv_sec < 0 ? 0 : ps_of(*t);
}
std::uint64_t as_ps(int milliseconds) {
  constexpr std::uint64_t ps_per_ms = 1'000'000'000;
  return milliseconds < 0 ? channel::forever : static_cast<std::uint64_t>(milliseconds) * ps_per_ms;
}

// Returns the rest of the sleep when a signal's handler ends it.
std::uint64_t sleep_ps(std::uint64_t ps) {
  const connection* c = mine();
  const std::uint64_t end = c->now + c->spent + ps;
  held_signals held;
  do {
    call(channel::sleep{no_longer_than_timer(end - c->now - c->spent), held.waking()});
  } while (c->now < end && !held.interrupt());
  return end > c->now ? end - c->now : 0;
}

}  // namespace
}  // namespace hcasim::preload

using namespace hcasim;
using namespace hcasim::preload;

HCASIM_PUBLIC int ppoll(pollfd* fds, nfds_t n, const timespec* t, const sigset_t* mask) {
  if (!mine()) return static_cast<int>(::syscall(SYS_ppoll, fds, n, t, mask, _NSIG / 8));
  return until([&] { return look(fds, n); }, as_ps(t), fds, n, mask);
}
HCASIM_PUBLIC int poll(pollfd* fds, nfds_t n, int milliseconds) {
  if (!mine()) {
    timespec t{milliseconds / 1000, milliseconds % 1000 * 1'000'000L};
    return static_cast<int>(::syscall(SYS_ppoll, fds, n, milliseconds < 0 ? nullptr : &t, nullptr, 0));
  }
  return until([&] { return look(fds, n); }, as_ps(milliseconds), fds, n);
}
HCASIM_PUBLIC int __poll_chk(pollfd* fds, nfds_t n, int milliseconds, size_t) {
  return poll(fds, n, milliseconds);
}
HCASIM_PUBLIC int __ppoll_chk(pollfd* fds, nfds_t n, const timespec* t, const sigset_t* mask, size_t) {
  return ppoll(fds, n, t, mask);
}

HCASIM_PUBLIC int pselect(int n, fd_set* in, fd_set* out, fd_set* bad, const timespec* t, const sigset_t* mask) {
  struct {
    const sigset_t* set;
    size_t bytes;
  } blocked{mask, _NSIG / 8};
  if (!mine()) return static_cast<int>(::syscall(SYS_pselect6, n, in, out, bad, t, &blocked));
  std::array<pollfd, channel::most_descriptors> fds;
  nfds_t many = 0;
  for (int fd = 0; fd < n && many < fds.size(); ++fd) {
    int events = 0;
    if (in && FD_ISSET(fd, in)) events |= POLLIN;
    if (out && FD_ISSET(fd, out)) events |= POLLOUT;
    if (bad && FD_ISSET(fd, bad)) events |= POLLPRI;
    if (events) fds[many++] = {fd, static_cast<short>(events), 0};
  }
  fd_set none;
  FD_ZERO(&none);
  const fd_set wanted[] = {in ? *in : none, out ? *out : none, bad ? *bad : none};
  const auto once = [&] {
    if (in) *in = wanted[0];
    if (out) *out = wanted[1];
    if (bad) *bad = wanted[2];
    const timespec zero{0, 0};
    return undisturbed([&] { return ::syscall(SYS_pselect6, n, in, out, bad, &zero, nullptr); });
  };
  return until(once, as_ps(t), fds.data(), many, mask);
}
HCASIM_PUBLIC int select(int n, fd_set* in, fd_set* out, fd_set* bad, timeval* t) {
  timespec s = t ? timespec{t->tv_sec + t->tv_usec / 1'000'000, t->tv_usec % 1'000'000 * 1000} : timespec{};
  if (mine()) return pselect(n, in, out, bad, t ? &s : nullptr, nullptr);
  const int ready = static_cast<int>(::syscall(SYS_pselect6, n, in, out, bad, t ? &s : nullptr, nullptr));
  if (t) *t = {s.tv_sec, s.tv_nsec / 1000};  // the system shows the time that is left
  return ready;
}

HCASIM_PUBLIC int epoll_pwait(int fd, epoll_event* events, int most, int milliseconds, const sigset_t* mask) {
  if (!mine()) return static_cast<int>(::syscall(SYS_epoll_pwait, fd, events, most, milliseconds, mask, _NSIG / 8));
  const pollfd p{fd, POLLIN, 0};
  const auto once = [&] { return undisturbed([&] { return ::syscall(SYS_epoll_pwait, fd, events, most, 0, nullptr, 0); }); };
  return until(once, as_ps(milliseconds), &p, 1, mask);
}
HCASIM_PUBLIC int epoll_pwait2(int fd, epoll_event* events, int most, const timespec* t, const sigset_t* mask) {
  if (!mine()) return static_cast<int>(::syscall(SYS_epoll_pwait2, fd, events, most, t, mask, _NSIG / 8));
  const pollfd p{fd, POLLIN, 0};
  const auto once = [&] { return undisturbed([&] { return ::syscall(SYS_epoll_pwait, fd, events, most, 0, nullptr, 0); }); };
  return until(once, as_ps(t), &p, 1, mask);
}
HCASIM_PUBLIC int epoll_wait(int fd, epoll_event* events, int most, int milliseconds) {
  return epoll_pwait(fd, events, most, milliseconds, nullptr);
}

HCASIM_PUBLIC int clock_nanosleep(clockid_t id, int flags, const timespec* t, timespec* left) {
  if (!mine()) {
    return ::syscall(SYS_clock_nanosleep, id, flags, t, left) == 0 ? 0 : errno;
  }
  if (t->tv_nsec < 0 || t->tv_nsec >= 1'000'000'000 || t->tv_sec < 0) return EINVAL;
  std::uint64_t ps = static_cast<std::uint64_t>(t->tv_sec) * ps_per_second + static_cast<std::uint64_t>(t->tv_nsec) * 1000;
  if (flags & TIMER_ABSTIME) {
    timespec n{};
    ::clock_gettime(id, &n);
    const std::uint64_t current =
        static_cast<std::uint64_t>(n.tv_sec) * ps_per_second + static_cast<std::uint64_t>(n.tv_nsec) * 1000;
    ps = ps > current ? ps - current : 0;
  }
  const std::uint64_t rest = sleep_ps(ps);
  if (rest == 0) return 0;
  if (left && !(flags & TIMER_ABSTIME)) {
    *left = {static_cast<time_t>(rest / ps_per_second), static_cast<long>(rest % ps_per_second / 1000)};
  }
  return EINTR;
}
HCASIM_PUBLIC int nanosleep(const timespec* t, timespec* left) {
  if (!mine()) return static_cast<int>(::syscall(SYS_nanosleep, t, left));
  const int error = clock_nanosleep(CLOCK_MONOTONIC, 0, t, left);
  if (error) errno = error;
  return error ? -1 : 0;
}
HCASIM_PUBLIC int usleep(useconds_t us) {
  const timespec t{us / 1'000'000, static_cast<long>(us % 1'000'000) * 1000};
  return nanosleep(&t, nullptr);
}
HCASIM_PUBLIC unsigned sleep(unsigned s) {
  const timespec t{s, 0};
  timespec left{};
  return nanosleep(&t, &left) == 0 ? 0 : static_cast<unsigned>(left.tv_sec + (left.tv_nsec > 0));
}
HCASIM_PUBLIC int sched_yield() noexcept {
  if (!mine()) return static_cast<int>(::syscall(SYS_sched_yield));
  constexpr std::uint64_t turn = 1'000'000;  // ps
  call(channel::sleep{turn, 0});
  return 0;
}
// NOLINTEND(readability-identifier-naming)
