#include "testbenches/verbs_programs/preload/blocking.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>

#include "testbenches/verbs_programs/preload/addresses.h"
#include "testbenches/verbs_programs/preload/connection.h"
#include "testbenches/verbs_programs/preload/connection_files.h"
#include "testbenches/verbs_programs/preload/proc_files.h"
#include "testbenches/verbs_programs/preload/sleeping.h"
#include "testbenches/verbs_programs/preload/timer_files.h"
#include "testbenches/verbs_programs/preload/times.h"

// NOLINTBEGIN(readability-identifier-naming): the C library's own names

namespace hcasim::preload {
namespace {

// Returns a socket's SO_RCVTIMEO or SO_SNDTIMEO; forever = there is none, or this is not a socket.
std::uint64_t limit_of(int fd, short events) {
  timeval t{};
  socklen_t length = sizeof t;
  const int option = events & POLLIN ? SO_RCVTIMEO : SO_SNDTIMEO;
  if (::syscall(SYS_getsockopt, fd, SOL_SOCKET, option, &t, &length) != 0) return channel::forever;
  const std::uint64_t ps = ps_of({t.tv_sec, t.tv_usec * 1000});
  return ps == 0 ? channel::forever : ps;
}

// Prepares a call that would sleep on a descriptor. False = the call ends with errno.
bool before(int fd, short events, bool sleeps = true) {
  connection* c = mine();
  if (!c) return true;
  const int kept = errno;
  int error = 0;
  pollfd p{fd, events, 0};
  if (look(&p, 1) != 0) {
    c->looked = false;
  } else if (!sleeps || !may_sleep(fd)) {
    nothing_there(&p, 1);
  } else {
    error = sleep_until_ready(fd, events);
  }
  errno = error ? error : kept;
  return error == 0;
}

bool before_receive(int fd, int flags) {
  return before(fd, POLLIN, !(flags & MSG_DONTWAIT));
}
bool before_send(int fd, int flags) {
  connection* c = mine();
  if (!c) return true;
  if (!before(fd, POLLOUT, !(flags & MSG_DONTWAIT))) return false;
  c->sent = true;
  return true;
}

// Tells whether a receive from a stream waits for all its bytes: one call of the system would sleep for the rest.
bool in_pieces(int fd, int flags) {
  if (!(flags & MSG_WAITALL) || (flags & (MSG_DONTWAIT | MSG_PEEK)) || !mine() || !may_sleep(fd)) return false;
  int type = 0;
  socklen_t length = sizeof type;
  return ::syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_TYPE, &type, &length) == 0 && type == SOCK_STREAM;
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

}  // namespace

bool may_sleep(int fd) {
  const long flags = ::syscall(SYS_fcntl, fd, F_GETFL);
  return flags >= 0 && !(flags & O_NONBLOCK);
}

int sleep_until_ready(int fd, short events) {
  const std::uint64_t limit = limit_of(fd, events);
  const bool limited = limit != channel::forever;
  std::uint64_t begin = 0;
  if (limited) look_at_clock(begin);
  held_signals held;
  pollfd p{fd, events, 0};
  do {
    if (held.interrupt(!limited)) return EINTR;
    std::uint64_t now = begin;
    if (limited) look_at_clock(now);
    if (limited && now - begin >= limit) return EAGAIN;
    sleep_for(&p, 1, limited ? limit - (now - begin) : limit, held.waking());
  } while (look(&p, 1) == 0);
  return 0;
}

bool take_token(int fd) {
  if (!before(fd, POLLIN)) return false;
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
  refresh_proc_file(fd);
  if (!before(fd, POLLIN)) return -1;
  return is_timer_file(fd) ? read_timer(fd, to, n) : ::syscall(SYS_read, fd, to, n);
}
HCASIM_PUBLIC ssize_t __read_chk(int fd, void* to, size_t n, size_t) {
  return read(fd, to, n);
}
HCASIM_PUBLIC ssize_t readv(int fd, const iovec* v, int n) {
  if (!before(fd, POLLIN)) return -1;
  return ::syscall(SYS_readv, fd, v, n);
}
HCASIM_PUBLIC ssize_t write(int fd, const void* from, size_t n) {
  if (is_connection_file(fd)) return write_command(fd, from, n);
  if (!before_send(fd, 0)) return -1;
  return ::syscall(SYS_write, fd, from, n);
}
HCASIM_PUBLIC ssize_t writev(int fd, const iovec* v, int n) {
  if (!before_send(fd, 0)) return -1;
  return ::syscall(SYS_writev, fd, v, n);
}
HCASIM_PUBLIC ssize_t recvfrom(int fd, void* to, size_t n, int flags, sockaddr* from, socklen_t* length) {
  const bool pieces = in_pieces(fd, flags);
  const int how = pieces ? flags & ~MSG_WAITALL : flags;
  size_t all = 0;
  do {
    const ssize_t got =
        before_receive(fd, flags) ? ::syscall(SYS_recvfrom, fd, static_cast<char*>(to) + all, n - all, how, from, length) : -1;
    if (got < 0 && all == 0) return -1;
    if (got <= 0) break;
    all += static_cast<size_t>(got);
  } while (pieces && all < n);
  if (from && length) show_address(from, *length);
  return static_cast<ssize_t>(all);
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
  if (!before_receive(fd, flags)) return -1;
  return ::syscall(SYS_recvmsg, fd, m, flags);
}
HCASIM_PUBLIC int recvmmsg(int fd, mmsghdr* messages, unsigned n, int flags, timespec* timeout) {
  const auto real = [&](int how) { return static_cast<int>(::syscall(SYS_recvmmsg, fd, messages, n, how, timeout)); };
  if (!mine()) return real(flags);
  if (!before_receive(fd, flags)) return -1;
  if ((flags & MSG_DONTWAIT) || !may_sleep(fd)) return real(flags);
  // Takes the messages that are there, or waits for each. The time limit counts only between messages.
  std::uint64_t begin = 0;
  std::uint64_t now = 0;
  look_at_clock(begin);
  unsigned got = 0;
  while (got < n) {
    if (got > 0 && !(flags & MSG_WAITFORONE) && !before_receive(fd, flags)) break;
    const int more = static_cast<int>(::syscall(SYS_recvmmsg, fd, messages + got, n - got, flags | MSG_DONTWAIT, nullptr));
    if (more <= 0 && got == 0) return more;
    if (more <= 0) break;
    got += static_cast<unsigned>(more);
    look_at_clock(now);
    if ((flags & MSG_WAITFORONE) || (timeout && now - begin >= ps_of(*timeout))) break;
  }
  return static_cast<int>(got);
}
HCASIM_PUBLIC ssize_t send(int fd, const void* from, size_t n, int flags) {
  if (!before_send(fd, flags)) return -1;
  return ::syscall(SYS_sendto, fd, from, n, flags, nullptr, 0);
}
HCASIM_PUBLIC ssize_t sendto(int fd, const void* from, size_t n, int flags, const sockaddr* to, socklen_t length) {
  if (!before_send(fd, flags)) return -1;
  const own_address there(to, length);
  return ::syscall(SYS_sendto, fd, from, n, flags, there.get(), there.length());
}
HCASIM_PUBLIC ssize_t sendmsg(int fd, const msghdr* m, int flags) {
  if (!before_send(fd, flags)) return -1;
  if (!m || !m->msg_name) return ::syscall(SYS_sendmsg, fd, m, flags);
  const own_address there(static_cast<const sockaddr*>(m->msg_name), m->msg_namelen);
  msghdr sent = *m;
  sent.msg_name = const_cast<sockaddr*>(there.get());
  sent.msg_namelen = there.length();
  return ::syscall(SYS_sendmsg, fd, &sent, flags);
}
HCASIM_PUBLIC int sendmmsg(int fd, mmsghdr* messages, unsigned n, int flags) {
  if (!mine()) return static_cast<int>(::syscall(SYS_sendmmsg, fd, messages, n, flags));
  unsigned sent = 0;
  for (; sent < n; ++sent) {
    const ssize_t bytes = sendmsg(fd, &messages[sent].msg_hdr, flags);
    if (bytes < 0 && sent == 0) return -1;
    if (bytes < 0) break;
    messages[sent].msg_len = static_cast<unsigned>(bytes);
  }
  return static_cast<int>(sent);
}
HCASIM_PUBLIC int eventfd_read(int fd, std::uint64_t* value) {
  return read(fd, value, sizeof *value) == sizeof *value ? 0 : -1;
}
HCASIM_PUBLIC int eventfd_write(int fd, std::uint64_t value) {
  return write(fd, &value, sizeof value) == sizeof value ? 0 : -1;
}
HCASIM_PUBLIC int accept4(int fd, sockaddr* from, socklen_t* length, int flags) {
  if (!before(fd, POLLIN)) return -1;
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

// NOLINTEND(readability-identifier-naming)
