#include "testbenches/verbs_programs/preload/timer_files.h"

#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "testbenches/verbs_programs/preload/connection.h"
#include "testbenches/verbs_programs/preload/descriptor_table.h"
#include "testbenches/verbs_programs/preload/times.h"

namespace hcasim::preload {
namespace {

descriptor_table files;
std::array<clockid_t, 1024> clocks;

}  // namespace

bool is_timer_file(int fd) {
  return files.of(fd) != 0;
}

ssize_t read_timer(int fd, void* to, size_t n) {
  channel::read_timer::answer out{};
  int error = n < sizeof out.expired ? EINVAL : call(channel::read_timer{files.of(fd)}, out);
  if (!error && out.expired == 0) error = EAGAIN;
  if (error) {
    errno = error;
    return -1;
  }
  std::memcpy(to, &out.expired, sizeof out.expired);
  return sizeof out.expired;
}

void drop_timer_file(int fd) {
  if (const channel::handle timer = files.take(fd)) call(channel::close_timer{timer});
}

void disown_timer_files() {
  files.become(0);
}

}  // namespace hcasim::preload

using namespace hcasim;
using namespace hcasim::preload;

HCASIM_PUBLIC int timerfd_create(clockid_t clock, int flags) noexcept {
  const bool simulated = clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC || clock == CLOCK_BOOTTIME;
  const bool known = (flags & ~(TFD_CLOEXEC | TFD_NONBLOCK)) == 0;
  if (!simulated || !known || !mine()) return static_cast<int>(::syscall(SYS_timerfd_create, clock, flags));
  static_assert(int{TFD_CLOEXEC} == int{EFD_CLOEXEC} && int{TFD_NONBLOCK} == int{EFD_NONBLOCK});
  const int fd = ::eventfd(0, flags);
  if (fd < 0) return fd;
  channel::made out{};
  const int error = files.has_room_for(fd) ? call(channel::open_timer{}, out, std::span(&fd, 1)) : EMFILE;
  if (error) {
    ::syscall(SYS_close, fd);
    errno = error;
    return -1;
  }
  files.put(fd, out.object);
  clocks[static_cast<std::size_t>(fd)] = clock;
  return fd;
}

HCASIM_PUBLIC int timerfd_settime(int fd, int flags, const itimerspec* wanted, itimerspec* old) noexcept {
  const channel::handle timer = files.of(fd);
  if (!timer) return static_cast<int>(::syscall(SYS_timerfd_settime, fd, flags, wanted, old));
  const timespec& first = wanted->it_value;
  if (!is_time(first) || !is_time(wanted->it_interval)) {
    errno = EINVAL;
    return -1;
  }
  channel::set_timer in{timer, ps_of(first), ps_of(wanted->it_interval), 1};
  if (in.first != 0 && (flags & TFD_TIMER_ABSTIME)) in.first = ps_until(clocks[static_cast<std::size_t>(fd)], first);
  channel::set_timer::answer before{};
  call(in, before);
  if (old) *old = {time_of(before.interval), time_of(before.left)};
  return 0;
}

HCASIM_PUBLIC int timerfd_gettime(int fd, itimerspec* current) noexcept {
  const channel::handle timer = files.of(fd);
  if (!timer) return static_cast<int>(::syscall(SYS_timerfd_gettime, fd, current));
  channel::set_timer::answer now{};
  call(channel::set_timer{timer, 0, 0, 0}, now);
  *current = {time_of(now.interval), time_of(now.left)};
  return 0;
}
