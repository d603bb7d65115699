// Processes that a program makes. The simulator knows the child of a fork before its parent goes on. Another program in the
// process gets the machine's time-stamp counter. A wait for a child takes simulated time.
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "testbenches/verbs_programs/preload/blocking.h"
#include "testbenches/verbs_programs/preload/clock.h"
#include "testbenches/verbs_programs/preload/connection.h"
#include "testbenches/verbs_programs/preload/libc.h"
#include "testbenches/verbs_programs/preload/sleeping.h"
#include "testbenches/verbs_programs/preload/spin.h"
#include "testbenches/verbs_programs/preload/unpreloaded_programs.h"
#include "testbenches/verbs_programs/preload/usage.h"

namespace hcasim::preload {
namespace {

void tell_parent(void* of) {
  const int end = *static_cast<int*>(of);
  const char byte = 1;
  [[maybe_unused]] const long n = ::syscall(SYS_write, end, &byte, 1);
  ::syscall(SYS_close, end);
}

template <class Exec>
int becoming(Exec exec) {
  release_time_stamps();
  accept_spin_signal(false);
  const int result = exec();
  const int error = errno;
  accept_spin_signal(true);
  trap_time_stamps_again();
  errno = error;
  return result;
}

std::vector<char*> words(const char* first, va_list more) {
  std::vector<char*> out{const_cast<char*>(first)};
  while (out.back()) out.push_back(va_arg(more, char*));
  return out;
}

// Children of this thread, as far as the system tells.
void wait_for_a_child(pid_t one) {
  std::vector<pollfd> ends;
  const auto add = [&](pid_t p) {
    const int fd = static_cast<int>(::syscall(SYS_pidfd_open, p, 0));
    if (fd >= 0) ends.push_back({fd, POLLIN, 0});
  };
  if (one > 0) {
    add(one);
  } else if (std::FILE* list = HCASIM_REAL(fopen)("/proc/thread-self/children", "re")) {
    for (int p = 0; std::fscanf(list, "%d", &p) == 1;) add(p);
    std::fclose(list);
  }
  if (ends.empty()) {
    wait_for_others(channel::forever);
    return;
  }
  ::poll(ends.data(), ends.size(), -1);
  for (const pollfd& e : ends) ::syscall(SYS_close, e.fd);
}

// Reaping a child can take long, and the system shows the thread as asleep meanwhile.
template <class Wait>
int reaping(Wait wait_once) {
  set_awaiting_machine(true);
  const auto result = static_cast<int>(wait_once());
  set_awaiting_machine(false);
  return result;
}

}  // namespace
}  // namespace hcasim::preload

using namespace hcasim;
using namespace hcasim::preload;

HCASIM_PUBLIC pid_t fork() noexcept {
  int ends[2];
  if (!mine() || ::syscall(SYS_pipe2, ends, O_CLOEXEC) != 0) return HCASIM_REAL(fork)();
  const pid_t child = HCASIM_REAL(fork)();
  if (child == 0) {
    ::syscall(SYS_close, ends[0]);
    connect_and_tell(tell_parent, &ends[1]);
    return 0;
  }
  const int error = errno;
  ::syscall(SYS_close, ends[1]);
  char byte = 0;
  set_awaiting_machine(true);
  if (child > 0) ::syscall(SYS_read, ends[0], &byte, 1);
  set_awaiting_machine(false);
  ::syscall(SYS_close, ends[0]);
  errno = error;
  return child;
}

HCASIM_PUBLIC pid_t wait4(pid_t which, int* status, int options, rusage* usage) noexcept {
  const auto once = [&](int how) { return reaping([&] { return ::syscall(SYS_wait4, which, status, how, usage); }); };
  if (!mine()) return static_cast<pid_t>(::syscall(SYS_wait4, which, status, options, usage));
  if (usage) note_machine_clock();
  if (options & WNOHANG) return once(options);
  for (;;) {
    const pid_t found = once(options | WNOHANG);
    if (found != 0) return found;
    wait_for_a_child(which);
  }
}
HCASIM_PUBLIC pid_t waitpid(pid_t which, int* status, int options) {
  return wait4(which, status, options, nullptr);
}
HCASIM_PUBLIC pid_t wait3(int* status, int options, rusage* usage) noexcept {
  return wait4(-1, status, options, usage);
}
HCASIM_PUBLIC pid_t wait(int* status) {
  return wait4(-1, status, 0, nullptr);
}
HCASIM_PUBLIC int waitid(idtype_t type, id_t which, siginfo_t* info, int options) {
  const auto once = [&](int how) { return reaping([&] { return ::syscall(SYS_waitid, type, which, info, how, nullptr); }); };
  if (!mine()) return static_cast<int>(::syscall(SYS_waitid, type, which, info, options, nullptr));
  if ((options & WNOHANG) || !info) return once(options);
  for (;;) {
    info->si_pid = 0;
    const int result = once(options | WNOHANG);
    if (result != 0 || info->si_pid != 0) return result;
    wait_for_a_child(type == P_PID ? static_cast<pid_t>(which) : -1);
  }
}

HCASIM_PUBLIC int execve(const char* path, char* const* argv, char* const* env) noexcept {
  tell_of_outsider(path);
  return becoming([&] { return HCASIM_REAL(execve)(path, argv, env); });
}
HCASIM_PUBLIC int execv(const char* path, char* const* argv) noexcept {
  tell_of_outsider(path);
  return becoming([&] { return HCASIM_REAL(execv)(path, argv); });
}
HCASIM_PUBLIC int execvp(const char* file, char* const* argv) noexcept {
  tell_of_outsider_in_path(file);
  return becoming([&] { return HCASIM_REAL(execvp)(file, argv); });
}
HCASIM_PUBLIC int execvpe(const char* file, char* const* argv, char* const* env) noexcept {
  tell_of_outsider_in_path(file);
  return becoming([&] { return HCASIM_REAL(execvpe)(file, argv, env); });
}
HCASIM_PUBLIC int fexecve(int fd, char* const* argv, char* const* env) noexcept {
  return becoming([&] { return HCASIM_REAL(fexecve)(fd, argv, env); });
}
HCASIM_PUBLIC int execl(const char* path, const char* first, ...) noexcept {
  va_list more;
  va_start(more, first);
  std::vector<char*> argv = words(first, more);
  va_end(more);
  return execv(path, argv.data());
}
HCASIM_PUBLIC int execlp(const char* file, const char* first, ...) noexcept {
  va_list more;
  va_start(more, first);
  std::vector<char*> argv = words(first, more);
  va_end(more);
  return execvp(file, argv.data());
}

HCASIM_PUBLIC int system(const char* line) {
  if (!mine() || !line) return HCASIM_REAL(system)(line);
  const pid_t child = ::fork();
  if (child < 0) return -1;
  if (child == 0) {
    ::execl("/bin/sh", "sh", "-c", line, nullptr);
    ::_exit(127);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return -1;
  }
  return status;
}
