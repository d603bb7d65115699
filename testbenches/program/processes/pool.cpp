#include "testbenches/program/processes/pool.h"

#include <poll.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): kill is POSIX
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>

#include <fmt/format.h>

#include "testbenches/program/description/errors.h"
#include "testbenches/program/processes/short_slices.h"
#include "testbenches/program/processes/signals.h"
#include "tlm/base/send_signal.h"

namespace hcasim {
namespace {

using clock = std::chrono::steady_clock;

constexpr std::size_t output_shown = 2000;

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

// The end of a file, at most `most` bytes.
std::string tail(int fd, std::size_t most) {
  const off_t size = ::lseek(fd, 0, SEEK_END);
  std::string text(std::min(static_cast<std::size_t>(std::max<off_t>(size, 0)), most), 0);
  const ssize_t n = ::pread(fd, text.data(), text.size(), size - static_cast<off_t>(text.size()));
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
  return text;
}

void make_empty(int fd) {
  if (::ftruncate(fd, 0) != 0 || ::lseek(fd, 0, SEEK_SET) != 0) cannot_start("memfd", errno);
}

}  // namespace

process_pool::~process_pool() {
  end_all();
  for (const slot& s : slots_) {
    ::close(s.message);
    ::close(s.output);
  }
}

void process_pool::in_child(const spawner::order& o) {
  const slot& mine = slots_[o.slot];
  ::dup2(mine.output, STDOUT_FILENO);
  ::dup2(mine.output, STDERR_FILENO);
  end_at_time_limit();
  std::string message;
  try {
    message = work_(o.id);
  } catch (const std::exception& e) {
    std::cerr << e.what() << "\n";
    ::_exit(1);
  }
  std::cout.flush();
  write_all(mine.message, message);
  ::_exit(0);
}

std::size_t process_pool::free_slot() {
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (std::none_of(children_.begin(), children_.end(), [i](const child& c) { return c.slot == i; })) return i;
  }
  make_slot();
  return slots_.size() - 1;
}

void process_pool::make_slot() {
  const int message = ::memfd_create("message", MFD_CLOEXEC);
  if (message < 0) cannot_start("memfd", errno);
  const int output = ::memfd_create("output", MFD_CLOEXEC);
  if (output < 0) {
    const int error = errno;
    ::close(message);
    cannot_start("memfd", error);
  }
  slots_.push_back({message, output});
  refresh();
}

void process_pool::prepare() {
  while (slots_.size() < options_.jobs) make_slot();
  if (!spawner_) spawner_.emplace([this](const spawner::order& o) { in_child(o); });
}

void process_pool::start(std::uint64_t id) {
  const std::size_t at = free_slot();
  make_empty(slots_[at].message);
  make_empty(slots_[at].output);
  if (!spawner_) spawner_.emplace([this](const spawner::order& o) { in_child(o); });
  const int pid = spawner_->start({id, at});
  const int ended = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  const int error = errno;
  children_.push_back({id, pid, ended, at, clock::now()});
  if (ended < 0) cannot_start("pidfd_open", error);
}

void process_pool::wait_for_news() {
  std::vector<pollfd> fds;
  fds.reserve(children_.size() + 1);
  for (const child& c : children_) fds.push_back({c.ended, POLLIN, 0});
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
      signal_process(c.pid, SIGKILL);
    }
    if (fds[i].revents != 0) finish(i);
  }
}

void process_pool::finish(std::size_t index) {
  const child c = children_[index];
  children_.erase(children_.begin() + static_cast<std::ptrdiff_t>(index));
  const slot& s = slots_[c.slot];
  piece_outcome o;
  rusage used{};
  while (::wait4(c.pid, &o.status, 0, &used) < 0 && errno == EINTR) {
  }
  ::close(c.ended);
  o.id = c.id;
  o.timed_out = c.timed_out;
  o.seconds = std::chrono::duration<double>(clock::now() - c.begin).count();
  o.cpu_seconds = in_seconds(used.ru_utime) + in_seconds(used.ru_stime);
  o.peak_bytes = static_cast<std::uint64_t>(used.ru_maxrss) * 1024;
  o.output = tail(s.output, output_shown);
  if (WIFEXITED(o.status) && WEXITSTATUS(o.status) == 0) o.message = tail(s.message, SIZE_MAX);
  done(std::move(o));
}

void process_pool::end_all() noexcept {
  for (const child& c : children_) signal_process(c.pid, SIGKILL);
  for (const child& c : children_) {
    ::waitpid(c.pid, nullptr, 0);
    ::close(c.ended);
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
