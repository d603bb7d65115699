#include "testbenches/applications/preload/blocking.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <ctime>

#include "testbenches/applications/preload/addresses.h"
#include "testbenches/applications/preload/clock.h"
#include "testbenches/applications/preload/connection.h"
#include "testbenches/applications/preload/connection_files.h"
#include "testbenches/applications/preload/real.h"
#include "testbenches/applications/preload/timer_files.h"
#include "testbenches/applications/preload/timers.h"

// NOLINTBEGIN(readability-identifier-naming): the C library's own names

namespace hcasim::preload {
namespace {

constexpr std::uint64_t ps_per_second = 1'000'000'000'000;

// A signal that the simulator sends to a thread that it suspects of spinning interrupts even a look that does not sleep.
template <class Look>
int undisturbed(Look look_once) {
  for (;;) {
    const int ready = static_cast<int>(look_once());
    if (ready >= 0 || errno != EINTR) return ready;
  }
}
int look(pollfd* fds, nfds_t n) {
  return undisturbed([=] { return ::syscall(SYS_poll, fds, n, 0); });
}

std::uint64_t as_ps(const timespec& t) {
  if (t.tv_sec < 0) return 0;
  if (t.tv_sec > 1'000'000) return channel::forever;
  return static_cast<std::uint64_t>(t.tv_sec) * ps_per_second + static_cast<std::uint64_t>(t.tv_nsec) * 1000;
}
std::uint64_t as_ps(int milliseconds) {
  return milliseconds < 0 ? channel::forever : static_cast<std::uint64_t>(milliseconds) * (ps_per_second / 1000);
}

// 1: ready, or not worth asking; 0: the time is over.
int sleep_for(const pollfd* fds, nfds_t n, std::uint64_t timeout) {
  timeout = no_longer_than_timer(timeout);
  std::array<int, channel::most_descriptors> passed;
  std::uint32_t many = 0;
  for (nfds_t i = 0; i < n && many < passed.size(); ++i) {
    if (fds[i].fd < 0) continue;
    const auto events = static_cast<std::uint32_t>(fds[i].events);
    std::memcpy(data().data() + many * sizeof events, &events, sizeof events);
    passed[many++] = fds[i].fd;
  }
  if (many == 0) {
    call(channel::sleep{timeout});
    return 0;
  }
  channel::wait_descriptors::answer out{};
  const int error = call(channel::wait_descriptors{many, timeout}, out, std::span(passed.data(), many));
  return error || out.ready ? 1 : 0;
}

// A call that does not sleep will find nothing. Once costs nothing; a program that looks again and again waits.
void nothing_there(const pollfd* fds, nfds_t n) {
  connection* c = mine();
  static const std::uint64_t stretch = setting("HCASIM_POLL_STRETCH", 20'000'000);
  if (c->looked && n > 0) sleep_for(fds, n, stretch);
  c->looked = true;
}

// Before a call on a descriptor that would sleep.
void before(int fd, short events, bool sleeps = true) {
  connection* c = mine();
  if (!c) return;
  const int kept = errno;
  pollfd p{fd, events, 0};
  if (look(&p, 1) != 0) {
    c->looked = false;
    errno = kept;
    return;
  }
  if (!sleeps || !may_sleep(fd)) {
    nothing_there(&p, 1);
    errno = kept;
    return;
  }
  for (const std::uint64_t interrupts = timers_delivered(); look(&p, 1) == 0;) {
    wait_for(fd, events, channel::forever);
    if (timers_delivered() != interrupts) break;
  }
  errno = kept;
}

void before_receive(int fd, int flags) {
  before(fd, POLLIN, !(flags & MSG_DONTWAIT));
}
void before_send(int fd, int flags) {
  connection* c = mine();
  if (!c) return;
  before(fd, POLLOUT, !(flags & MSG_DONTWAIT));
  c->sent = true;
}

// Nagle's algorithm holds bytes back until an acknowledgement comes, tens of milliseconds of the machine's time, while
// simulated time goes on. No error: it may be a socket of another kind.
void deliver_at_once(int fd) {
  if (!mine()) return;
  const int kept = errno;
  const int on = 1;
  ::syscall(SYS_setsockopt, fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  errno = kept;
}

// Sleeps between looks until one finds something, or the time is over. `look` gives what the call gives, 0 for nothing.
template <class Look>
int until(Look look_once, std::uint64_t timeout, const pollfd* fds, nfds_t n) {
  std::uint64_t begin = 0;
  look_at_clock(begin);
  for (const std::uint64_t interrupts = timers_delivered();;) {
    const int found = look_once();
    if (found != 0) return found;
    if (timeout == 0) {
      nothing_there(fds, n);
      return look_once();
    }
    if (timers_delivered() != interrupts) {
      errno = EINTR;
      return -1;
    }
    std::uint64_t now = 0;
    look_at_clock(now);
    if (timeout != channel::forever && now - begin >= timeout) return 0;
    sleep_for(fds, n, timeout == channel::forever ? timeout : timeout - (now - begin));
  }
}

// Returns the rest of the sleep when a timer's signal ends it.
std::uint64_t sleep_ps(std::uint64_t ps) {
  const connection* c = mine();
  const std::uint64_t end = c->now + c->spent + ps;
  const std::uint64_t interrupts = timers_delivered();
  do {
    call(channel::sleep{no_longer_than_timer(end - c->now - c->spent)});
  } while (c->now < end && timers_delivered() == interrupts);
  return end > c->now ? end - c->now : 0;
}

}  // namespace

bool may_sleep(int fd) {
  const long flags = ::syscall(SYS_fcntl, fd, F_GETFL);
  return flags >= 0 && !(flags & O_NONBLOCK);
}

bool wait_for(int fd, short events, std::uint64_t timeout) {
  const pollfd p{fd, events, 0};
  return sleep_for(&p, 1, timeout) != 0;
}

bool take_token(int fd) {
  before(fd, POLLIN);
  char token = 0;
  const long n = ::syscall(SYS_read, fd, &token, 1);
  if (n == 1) return true;
  if (n == 0) errno = EIO;
  return false;
}

}  // namespace hcasim::preload

using namespace hcasim;
using namespace hcasim::preload;

HCASIM_PUBLIC ssize_t read(int fd, void* to, size_t n) {
  before(fd, POLLIN);
  return is_timer_file(fd) ? read_timer(fd, to, n) : ::syscall(SYS_read, fd, to, n);
}
HCASIM_PUBLIC ssize_t __read_chk(int fd, void* to, size_t n, size_t) {
  return read(fd, to, n);
}
HCASIM_PUBLIC ssize_t readv(int fd, const iovec* v, int n) {
  before(fd, POLLIN);
  return ::syscall(SYS_readv, fd, v, n);
}
HCASIM_PUBLIC ssize_t write(int fd, const void* from, size_t n) {
  if (is_connection_file(fd)) return write_command(fd, from, n);
  before_send(fd, 0);
  return ::syscall(SYS_write, fd, from, n);
}
HCASIM_PUBLIC ssize_t writev(int fd, const iovec* v, int n) {
  before_send(fd, 0);
  return ::syscall(SYS_writev, fd, v, n);
}
HCASIM_PUBLIC ssize_t recvfrom(int fd, void* to, size_t n, int flags, sockaddr* from, socklen_t* length) {
  before_receive(fd, flags);
  const ssize_t got = ::syscall(SYS_recvfrom, fd, to, n, flags, from, length);
  if (got >= 0 && from && length) show_address(from, *length);
  return got;
}
HCASIM_PUBLIC ssize_t recv(int fd, void* to, size_t n, int flags) {
  return recvfrom(fd, to, n, flags, nullptr, nullptr);
}
HCASIM_PUBLIC ssize_t __recv_chk(int fd, void* to, size_t n, size_t, int flags) {
  return recv(fd, to, n, flags);
}
HCASIM_PUBLIC ssize_t __recvfrom_chk(int fd, void* to, size_t n, size_t, int flags, sockaddr* from, socklen_t* length) {
  return recvfrom(fd, to, n, flags, from, length);
}
HCASIM_PUBLIC ssize_t recvmsg(int fd, msghdr* m, int flags) {
  before_receive(fd, flags);
  return ::syscall(SYS_recvmsg, fd, m, flags);
}
HCASIM_PUBLIC ssize_t send(int fd, const void* from, size_t n, int flags) {
  before_send(fd, flags);
  return ::syscall(SYS_sendto, fd, from, n, flags, nullptr, 0);
}
HCASIM_PUBLIC ssize_t sendto(int fd, const void* from, size_t n, int flags, const sockaddr* to, socklen_t length) {
  before_send(fd, flags);
  const own_address there(to, length);
  return ::syscall(SYS_sendto, fd, from, n, flags, there.get(), there.length());
}
HCASIM_PUBLIC ssize_t sendmsg(int fd, const msghdr* m, int flags) {
  before_send(fd, flags);
  if (!m || !m->msg_name) return ::syscall(SYS_sendmsg, fd, m, flags);
  const own_address there(static_cast<const sockaddr*>(m->msg_name), m->msg_namelen);
  msghdr sent = *m;
  sent.msg_name = const_cast<sockaddr*>(there.get());
  sent.msg_namelen = there.length();
  return ::syscall(SYS_sendmsg, fd, &sent, flags);
}
HCASIM_PUBLIC int accept4(int fd, sockaddr* from, socklen_t* length, int flags) {
  before(fd, POLLIN);
  const int got = static_cast<int>(::syscall(SYS_accept4, fd, from, length, flags));
  if (got >= 0) deliver_at_once(got);
  if (got >= 0 && from && length) show_address(from, *length);
  return got;
}
HCASIM_PUBLIC int accept(int fd, sockaddr* from, socklen_t* length) {
  return accept4(fd, from, length, 0);
}
HCASIM_PUBLIC int connect(int fd, const sockaddr* to, socklen_t length) {
  const own_address there(to, length);
  deliver_at_once(fd);
  bind_before_connecting(fd, there.get(), there.length());
  const int result = static_cast<int>(::syscall(SYS_connect, fd, there.get(), there.length()));
  if (connection* c = mine()) c->sent = true;
  return result;
}

HCASIM_PUBLIC int ppoll(pollfd* fds, nfds_t n, const timespec* t, const sigset_t* mask) {
  if (!mine()) return static_cast<int>(::syscall(SYS_ppoll, fds, n, t, mask, _NSIG / 8));
  return until([&] { return look(fds, n); }, t ? as_ps(*t) : channel::forever, fds, n);
}
HCASIM_PUBLIC int poll(pollfd* fds, nfds_t n, int milliseconds) {
  if (!mine()) return static_cast<int>(::syscall(SYS_poll, fds, n, milliseconds));
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
  return until(once, t ? as_ps(*t) : channel::forever, fds.data(), many);
}
HCASIM_PUBLIC int select(int n, fd_set* in, fd_set* out, fd_set* bad, timeval* t) {
  if (!mine()) return static_cast<int>(::syscall(SYS_select, n, in, out, bad, t));
  const timespec s = t ? timespec{t->tv_sec, t->tv_usec * 1000} : timespec{};
  return pselect(n, in, out, bad, t ? &s : nullptr, nullptr);
}

HCASIM_PUBLIC int epoll_pwait(int fd, epoll_event* events, int most, int milliseconds, const sigset_t* mask) {
  if (!mine()) return static_cast<int>(::syscall(SYS_epoll_pwait, fd, events, most, milliseconds, mask, _NSIG / 8));
  const pollfd p{fd, POLLIN, 0};
  return until([&] { return static_cast<int>(::syscall(SYS_epoll_wait, fd, events, most, 0)); }, as_ps(milliseconds), &p, 1);
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
  call(channel::sleep{turn});
  return 0;
}
// NOLINTEND(readability-identifier-naming)
