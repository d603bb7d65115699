#include "testbenches/program/processes/spawner.h"

#include <sched.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): SIGCHLD with clone
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>

#include <fmt/format.h>

#include "testbenches/program/description/errors.h"
#include "testbenches/program/processes/short_slices.h"

namespace hcasim {

void cannot_start(const char* what, int error) {
  const bool unknown = error == ENOSYS || error == EPERM;
  throw input_error(fmt::format("cannot start a run: {}: {}; {}", what, std::strerror(error),
                                unknown ? "it takes Linux 5.3 or newer, in which this call is allowed"
                                        : "lower -j, or raise the limits (ulimit -n, -u, -v)"));
}

namespace {

void end_with(int parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(121);
  ::setpgid(0, 0);  // an interrupt at the keyboard is for the parent
}

// To the two processes that start the next child: a core is idle for as long as they wait for one.
void give_way() {
  [[maybe_unused]] const int nice = ::nice(5);
}

// The children are the parent's, not this process's. fork() of the C library has no flags; what it does besides, for other
// threads' locks, a process with one thread does not need.
[[noreturn]] void serve(int line, int parent, const std::function<void(const spawner::order&)>& child) {
  spawner::order o{};
  while (::read(line, &o, sizeof o) == sizeof o) {
    const long pid = ::syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0);
    if (pid == 0) {
      ::close(line);
      end_with(parent);
      give_way();
      child(o);
      ::_exit(0);
    }
    const int answer = pid < 0 ? -errno : static_cast<int>(pid);
    if (::write(line, &answer, sizeof answer) < 0) break;
  }
  ::_exit(0);
}

}  // namespace

spawner::spawner(const std::function<void(const order&)>& child) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) cannot_start("socket", errno);
  std::cout.flush();
  std::fflush(nullptr);
  const int parent = ::getpid();
  pid_ = ::fork();
  if (pid_ == 0) {
    ::close(ends[0]);
    end_with(parent);
    ask_for_short_slices();
    serve(ends[1], parent, child);
  }
  ::close(ends[1]);
  line_ = ends[0];
  if (pid_ > 0) return;
  const int error = errno;
  ::close(line_);
  cannot_start("fork", error);
}

spawner::~spawner() {
  ::close(line_);
  ::waitpid(pid_, nullptr, 0);
}

int spawner::start(const order& o) {
  int answer = 0;
  const bool asked = ::send(line_, &o, sizeof o, MSG_NOSIGNAL) == sizeof o;
  if (!asked || ::read(line_, &answer, sizeof answer) != sizeof answer)
    throw input_error("cannot start a run: the process that forks is gone; go on with --resume");
  if (answer < 0) cannot_start("fork", -answer);
  return answer;
}

}  // namespace hcasim
