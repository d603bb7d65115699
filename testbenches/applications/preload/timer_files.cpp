#include "testbenches/applications/preload/timer_files.h"

#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <ctime>

#include "testbenches/applications/preload/connection.h"
#include "testbenches/applications/preload/descriptor_table.h"

namespace hcasim::preload {
namespace {

constexpr std::int64_t ns_per_s = 1'000'000'000;
constexpr std::int64_t longest = 1'000'000;  // s
constexpr std::uint64_t ps_per_ns = 1000;

descriptor_table files;
std::array<clockid_t, 1024> clocks;

bool is_time(const timespec& t) {
  return t.tv_sec >= 0 && t.tv_nsec >= 0 && t.tv_nsec < ns_per_s;
}
std::int64_t as_ns(const timespec& t) {
  return std::min<std::int64_t>(t.tv_sec, longest) * ns_per_s + t.tv_nsec;
}
std::uint64_t as_ps(std::int64_t ns) {
  return static_cast<std::uint64_t>(ns) * ps_per_ns;
}
timespec as_time(std::uint64_t ps) {
  const auto ns = static_cast<std::int64_t>((ps + ps_per_ns - 1) / ps_per_ns);
  return {ns / ns_per_s, ns % ns_per_s};
}

// From now on. A time that is over is as soon as there is.
std::uint64_t until(clockid_t clock, const timespec& t) {
  timespec n{};
  ::clock_gettime(clock, &n);
  const bool far = t.tv_sec - n.tv_sec > longest;
  const std::int64_t left = far ? longest * ns_per_s : (t.tv_sec - n.tv_sec) * ns_per_s + t.tv_nsec - n.tv_nsec;
  return left > 0 ? as_ps(left) : 1;
}

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
  channel::set_timer in{timer, as_ps(as_ns(first)), as_ps(as_ns(wanted->it_interval)), 1};
  if (in.first != 0 && (flags & TFD_TIMER_ABSTIME)) in.first = until(clocks[static_cast<std::size_t>(fd)], first);
  channel::set_timer::answer before{};
  call(in, before);
  if (old) *old = {as_time(before.interval), as_time(before.left)};
  return 0;
}

HCASIM_PUBLIC int timerfd_gettime(int fd, itimerspec* current) noexcept {
  const channel::handle timer = files.of(fd);
  if (!timer) return static_cast<int>(::syscall(SYS_timerfd_gettime, fd, current));
  channel::set_timer::answer now{};
  call(channel::set_timer{timer, 0, 0, 0}, now);
  *current = {as_time(now.interval), as_time(now.left)};
  return 0;
}
