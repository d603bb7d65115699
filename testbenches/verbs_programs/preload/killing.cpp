// Signals that a program sends. If the signal ends a process, the call returns after the end, because the system's own delay
// depends on the machine.
#include <fcntl.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "testbenches/verbs_programs/preload/connection.h"
#include "testbenches/verbs_programs/preload/libc.h"

namespace hcasim::preload {
namespace {

// A signal's handler may send a signal, so no memory is allocated here.
long content_of(const char* path, char* to, std::size_t bytes) {
  const int file = static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC));
  const long n = ::syscall(SYS_read, file, to, bytes - 1);
  if (file >= 0) ::syscall(SYS_close, file);
  to[n > 0 ? n : 0] = 0;
  return n;
}

// Tells whether a set of /proc/PID/status has the signal.
bool has(const char* status, const char* set, int signal) {
  const char* const at = std::strstr(status, set);
  return at && (std::strtoull(at + std::strlen(set), nullptr, 16) >> (signal - 1) & 1);
}

// Tells whether the signal will end the process, as far as /proc shows.
bool ends_by(pid_t process, int signal) {
  constexpr int most = 64;
  if (signal <= 0 || signal > most) return false;
  for (const int harmless : {SIGCHLD, SIGCONT, SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU, SIGURG, SIGWINCH}) {
    if (signal == harmless) return false;
  }
  if (signal == SIGKILL) return true;
  char status[4096];
  std::snprintf(status, sizeof status, "/proc/%d/status", process);
  if (content_of(status, status, sizeof status) <= 0) return false;
  return !has(status, "SigBlk:", signal) && !has(status, "SigIgn:", signal) && !has(status, "SigCgt:", signal);
}

pid_t group_of(pid_t process) {
  char stat[1024];
  std::snprintf(stat, sizeof stat, "/proc/%d/stat", process);
  if (content_of(stat, stat, sizeof stat) <= 0) return 0;
  const char* const name_end = std::strrchr(stat, ')');
  int parent = 0;
  int group = 0;
  return name_end && std::sscanf(name_end + 1, " %*c %d %d", &parent, &group) == 2 ? group : 0;
}

template <class Visit>
void each_process(Visit visit) {
  struct entry {
    std::uint64_t inode;
    std::int64_t offset;
    std::uint16_t bytes;
    unsigned char type;
    char name[1];
  };
  const int folder = static_cast<int>(::syscall(SYS_openat, AT_FDCWD, "/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  alignas(8) char entries[4096];
  for (long n = 0; folder >= 0 && (n = ::syscall(SYS_getdents64, folder, entries, sizeof entries)) > 0;) {
    for (long at = 0; at < n;) {
      const auto* e = reinterpret_cast<const entry*>(entries + at);
      if (const long process = std::strtol(e->name, nullptr, 10); process > 0) visit(static_cast<pid_t>(process));
      at += e->bytes;
    }
  }
  if (folder >= 0) ::syscall(SYS_close, folder);
}

// Processes that a signal is about to end, with descriptors of their ends.
class ending {
 public:
  ending(pid_t to, int signal) {
    if (!present()) return;
    if (to > 0) add(to, signal);
    if (to == 0 || to < -1) {
      const pid_t group = to == 0 ? ::getpgrp() : -to;
      each_process([&](pid_t p) {
        if (group_of(p) == group) add(p, signal);
      });
    }
  }
  ~ending() {
    for (std::size_t i = 0; i < many_; ++i) ::syscall(SYS_close, ends_[i]);
  }
  ending(const ending&) = delete;
  ending& operator=(const ending&) = delete;

  void await() const {
    for (std::size_t i = 0; i < many_; ++i) await_machine(ends_[i]);
  }

 private:
  void add(pid_t process, int signal) {
    if (process == ::getpid() || many_ == ends_.size() || !ends_by(process, signal)) return;
    const int end = static_cast<int>(::syscall(SYS_pidfd_open, process, 0));
    if (end >= 0) ends_[many_++] = end;
  }

  std::array<int, 64> ends_;
  std::size_t many_ = 0;
};

template <class Send>
int sent(pid_t to, int signal, Send send) {
  const ending those(to, signal);
  if (connection* c = present()) c->signalled = true;
  const auto result = static_cast<int>(send());
  const int error = errno;
  if (result == 0) those.await();
  errno = error;
  return result;
}

}  // namespace
}  // namespace hcasim::preload

using namespace hcasim::preload;

HCASIM_PUBLIC int kill(pid_t to, int signal) noexcept {
  return sent(to, signal, [=] { return ::syscall(SYS_kill, to, signal); });
}
HCASIM_PUBLIC int killpg(pid_t group, int signal) noexcept {
  if (group < 0) {
    errno = EINVAL;
    return -1;
  }
  return kill(-group, signal);
}
HCASIM_PUBLIC int sigqueue(pid_t to, int signal, const sigval value) noexcept {
  return sent(to, signal, [=] { return HCASIM_REAL(sigqueue)(to, signal, value); });
}
HCASIM_PUBLIC int tgkill(pid_t process, pid_t thread, int signal) {
  return sent(process, signal, [=] { return ::syscall(SYS_tgkill, process, thread, signal); });
}
HCASIM_PUBLIC int pthread_kill(pthread_t to, int signal) noexcept {
  return sent(::getpid(), signal, [=] { return HCASIM_REAL(pthread_kill)(to, signal); });
}
HCASIM_PUBLIC int pthread_sigqueue(pthread_t to, int signal, const sigval value) noexcept {
  return sent(::getpid(), signal, [=] { return HCASIM_REAL(pthread_sigqueue)(to, signal, value); });
}
HCASIM_PUBLIC int pidfd_send_signal(int fd, int signal, siginfo_t* info, unsigned flags) noexcept {
  if (connection* c = present()) c->signalled = true;
  const auto result = static_cast<int>(::syscall(SYS_pidfd_send_signal, fd, signal, info, flags));
  if (result == 0 && signal == SIGKILL && present()) await_machine(fd);
  return result;
}
