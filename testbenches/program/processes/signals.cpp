#include "testbenches/program/processes/signals.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <initializer_list>

namespace hcasim {
namespace {

sigset_t found{};

void fill_closed_files() {
  for (const int file : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(file, F_GETFD) >= 0 || errno != EBADF) continue;
    // The lowest number that is free is this one.
    if (::open("/dev/null", file == STDERR_FILENO ? O_WRONLY : O_RDONLY) != file) return;
  }
}

}  // namespace

void begin_program() {
  fill_closed_files();
  sigset_t of_writes;
  sigemptyset(&of_writes);
  sigaddset(&of_writes, SIGPIPE);
  sigaddset(&of_writes, SIGXFSZ);
  pthread_sigmask(SIG_BLOCK, &of_writes, &found);
}

sigset_t ending_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGALRM, SIGVTALRM, SIGUSR1, SIGUSR2, SIGXCPU}) {
    struct sigaction now {};
    if (::sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_DFL) sigaddset(&set, signal);
  }
  return set;
}

const char* signal_name(int signal) {
  static char text[80];
  const char* const name = sigabbrev_np(signal);
  const char* const meaning = sigdescr_np(signal);
  std::snprintf(text, sizeof text, "SIG%s (%s)", name ? name : "?", meaning ? meaning : "?");
  return text;
}

void restore_signals() {
  pthread_sigmask(SIG_SETMASK, &found, nullptr);
}

void end_at_time_limit() {
  sigset_t limit;
  sigemptyset(&limit);
  sigaddset(&limit, SIGXCPU);
  pthread_sigmask(SIG_UNBLOCK, &limit, nullptr);
}

}  // namespace hcasim
