#include "testbenches/runner/sweep/pool.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): kill is POSIX
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>

#include <fmt/format.h>

#include "testbenches/runner/errors.h"

namespace hcasim {
namespace {

using clock = std::chrono::steady_clock;

constexpr std::size_t output_shown = 2000;
constexpr int message_room = 1 << 20;  // a child that fits in does not wait for its reader

[[noreturn]] void cannot(const char* what) {
  throw input_error(fmt::format("cannot start a run: {}: {}; lower -j", what, std::strerror(errno)));
}

void write_all(int fd, const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t n = ::write(fd, text.data() + at, text.size() - at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) ::_exit(120);
    at += static_cast<std::size_t>(n);
  }
}

double in_seconds(const timeval& t) {
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
}

std::string tail(int fd) {
  const off_t size = ::lseek(fd, 0, SEEK_END);
  std::string text(std::min<std::size_t>(static_cast<std::size_t>(std::max<off_t>(size, 0)), output_shown), 0);
  const ssize_t n = ::pread(fd, text.data(), text.size(), size - static_cast<off_t>(text.size()));
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
  return text;
}

// A core is idle until this process has taken a result and started the next piece, which takes less than a millisecond. So it
// asks the scheduler for short slices, which come before the long ones of the children (Linux 6.12 and newer; others change
// nothing).
void ask_for_short_slices() {
  if (::sched_getscheduler(0) != SCHED_OTHER) return;
  struct {  // sched_setattr(2); <linux/sched/types.h> cannot stand beside <sched.h>
    std::uint32_t size = 48;
    std::uint32_t policy = SCHED_OTHER;
    std::uint64_t flags = 1;  // SCHED_FLAG_RESET_ON_FORK
    std::int32_t nice = ::getpriority(PRIO_PROCESS, 0);
    std::uint32_t priority = 0;
    std::uint64_t runtime_ns = 100'000;
    std::uint64_t deadline_ns = 0;
    std::uint64_t period_ns = 0;
  } wanted;
  ::syscall(SYS_sched_setattr, 0, &wanted, 0);
}

}  // namespace

process_pool::~process_pool() {
  end_all();
}

void process_pool::start(std::uint64_t id) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) cannot("pipe");
  ::fcntl(ends[1], F_SETPIPE_SZ, message_room);
  const int output = ::memfd_create("output", MFD_CLOEXEC);
  if (output < 0) cannot("memfd");
  std::cout.flush();
  std::fflush(nullptr);
  const int parent = ::getpid();
  const int pid = ::fork();
  if (pid < 0) {
    ::close(ends[0]);
    ::close(ends[1]);
    ::close(output);
    cannot("fork");
  }
  if (pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(121);
    ::setpgid(0, 0);  // an interrupt at the keyboard is for the parent
    ::dup2(output, STDOUT_FILENO);
    ::dup2(output, STDERR_FILENO);
    std::string message;
    try {
      message = work_(id);
    } catch (const std::exception& e) {
      std::cerr << e.what() << "\n";
      ::_exit(1);
    }
    std::cout.flush();
    write_all(ends[1], message);
    ::_exit(0);
  }
  ::close(ends[1]);
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  children_.push_back({id, pid, ends[0], output, {}, clock::now()});
}

bool process_pool::read_some(child& c) {
  std::array<char, 1 << 16> buffer;  // NOLINT(*-member-init): filled by read
  for (;;) {
    const ssize_t n = ::read(c.message, buffer.data(), buffer.size());
    if (n > 0) {
      c.text.append(buffer.data(), static_cast<std::size_t>(n));
    } else if (n == 0) {
      return true;
    } else if (errno != EINTR) {
      return errno != EAGAIN;
    }
  }
}

void process_pool::wait_for_news() {
  std::vector<pollfd> fds;
  fds.reserve(children_.size() + 1);
  for (const child& c : children_) fds.push_back({c.message, POLLIN, 0});
  if (options_.stop_fd >= 0) fds.push_back({options_.stop_fd, POLLIN, 0});
  ::poll(fds.data(), fds.size(), static_cast<int>(options_.tick.count()));
  if (options_.stop_fd >= 0 && (fds.back().revents & POLLIN)) {
    stopped_ = true;
    return;
  }
  for (std::size_t i = children_.size(); i-- > 0;) {
    child& c = children_[i];
    if (options_.time_limit && !c.timed_out && clock::now() - c.begin > *options_.time_limit) {
      c.timed_out = true;
      ::kill(c.pid, SIGKILL);
    }
    if (fds[i].revents != 0 && read_some(c)) finish(i);
  }
}

void process_pool::finish(std::size_t index) {
  child c = std::move(children_[index]);
  children_.erase(children_.begin() + static_cast<std::ptrdiff_t>(index));
  piece_outcome o;
  rusage used{};
  while (::wait4(c.pid, &o.status, 0, &used) < 0 && errno == EINTR) {
  }
  o.id = c.id;
  o.timed_out = c.timed_out;
  o.seconds = std::chrono::duration<double>(clock::now() - c.begin).count();
  o.cpu_seconds = in_seconds(used.ru_utime) + in_seconds(used.ru_stime);
  o.output = tail(c.output);
  ::close(c.message);
  ::close(c.output);
  if (WIFEXITED(o.status) && WEXITSTATUS(o.status) == 0) o.message = std::move(c.text);
  done(std::move(o));
}

void process_pool::end_all() noexcept {
  for (const child& c : children_) ::kill(c.pid, SIGKILL);
  for (const child& c : children_) {
    ::waitpid(c.pid, nullptr, 0);
    ::close(c.message);
    ::close(c.output);
  }
  children_.clear();
}

bool process_pool::run() {
  ask_for_short_slices();
  bool more = true;
  while (!stopped_) {
    while (more && children_.size() < options_.jobs) {
      const auto id = next();
      more = id.has_value();
      if (id) start(*id);
    }
    if (children_.empty()) return true;
    wait_for_news();
    if (idle) idle();
  }
  end_all();
  return false;
}

}  // namespace hcasim
