#include "testbenches/program/execution/interrupt.h"

#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>
#include <chrono>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <thread>

#include <fmt/format.h>

#include "testbenches/program/description/errors.h"
#include "testbenches/program/description/system_errors.h"
#include "testbenches/program/processes/signals.h"

namespace hcasim {
namespace {

std::mutex guarding;
std::filesystem::path doomed;
std::filesystem::path doomed_parent;  // the topmost folder made for `doomed`; empty = none
pid_t doomed_by = 0;                  // of `doomed`: forks of this process leave it alone
int watched = -1;
std::chrono::milliseconds patience_left{0};  // with the program that is watched
int first_signal = 0;
int told_to = -1;  // the watch that has the first signal

// Renames the output first: the run goes on meanwhile and must not find its folder.
void remove_doomed() {
  if (doomed.empty() || doomed_by != ::getpid()) return;
  std::error_code ec;
  const std::filesystem::path moved = doomed.parent_path() / fmt::format(".hcasim.{}.gone", ::getpid());
  std::filesystem::rename(doomed, moved, ec);
  std::filesystem::remove_all(ec ? doomed : moved, ec);
  if (doomed_parent.empty()) return;
  for (auto p = doomed.parent_path(); std::filesystem::remove(p, ec) && p != doomed_parent;) p = p.parent_path();
}

// Waits for a signal, or as long as the program may take to notice the first one; 0 = it has taken longer.
int next_signal(const sigset_t& set, std::chrono::milliseconds patience) {
  const timespec limit{patience.count() / 1000, patience.count() % 1000 * 1'000'000};
  for (;;) {
    const int signal = sigtimedwait(&set, nullptr, patience.count() != 0 ? &limit : nullptr);
    if (signal > 0) return signal;
    if (errno == EAGAIN) return 0;
  }
}

// One key or one `timeout` may signal the program and its group, so twice: a signal right behind the first one is the same.
void wait_for_signal(sigset_t set) {
  using clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds same{200};
  clock::time_point first;
  int signal = 0;
  std::chrono::milliseconds patience{0};
  for (;;) {
    const int next = next_signal(set, patience);
    const std::lock_guard lock(guarding);
    if (next == 0) {
      if (patience_left.count() != 0) break;
      patience = {};
      continue;
    }
    signal = next;
    if (first_signal != 0 && clock::now() - first < same) continue;
    if (watched < 0 || first_signal != 0) break;
    first = clock::now();
    first_signal = signal;
    told_to = watched;
    patience = patience_left;
    ::eventfd_write(watched, 1);
  }
  const std::lock_guard lock(guarding);
  remove_doomed();
  ::dprintf(STDERR_FILENO, "hcasim: ended by %s%s\n", signal_name(signal),
            doomed.empty() ? "" : "; nothing is left of the run");
  ::_exit(128 + signal);
}

// Lowers the soft limit of processor time: it signals, and the hard limit kills.
void hear_time_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_CPU, &limit) != 0 || limit.rlim_max == RLIM_INFINITY || limit.rlim_max < 2) return;
  limit.rlim_cur = std::min(limit.rlim_cur, limit.rlim_max - 1);
  ::setrlimit(RLIMIT_CPU, &limit);
}

// Starts the one thread that waits for signals as long as the program lives.
void begin_waiting() {
  static bool begun = false;
  if (begun) return;
  const sigset_t set = ending_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  try {
    std::thread(wait_for_signal, set).detach();
  } catch (const std::system_error& e) {
    pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
    throw input_error(fmt::format("no thread can be made: {}", cause(e.code().value(), "")));
  }
  begun = true;
  hear_time_limit();
}

// Prints the cause and ends the program, with status 2 for a limit of the machine. Used-up memory is told without memory.
[[noreturn]] void end_after_exception() {
  bool used_up = false;
  const auto say = [](std::string_view why) {
    ::dprintf(STDERR_FILENO, "hcasim: %.*s\n", static_cast<int>(why.size()), why.data());
  };
  const std::exception_ptr thrown = std::current_exception();
  try {
    remove_doomed();
  } catch (...) {  // the folder stays
  }
  try {
    if (thrown) std::rethrow_exception(thrown);
  } catch (const std::system_error& e) {
    used_up = true;
    say(cause(e));
  } catch (const std::exception& e) {
    used_up = is_out_of_memory(e);
    say(used_up ? out_of_memory : std::string_view(fmt::format("internal error: {}", e.what())));
  } catch (...) {
    say("internal error");
  }
  if (used_up) ::_exit(run_bad_input);
  std::abort();
}

void handle_exceptions() {
  std::set_terminate(end_after_exception);
}

// Exceptions may leave a thread, or a constructor of something static, in libraries too: this runs before these constructors.
[[gnu::used, gnu::section(".preinit_array")]] void (*const before_constructors)() = handle_exceptions;

}  // namespace

interrupt_guard::interrupt_guard(const std::filesystem::path& unfinished, const std::filesystem::path& made,
                                 const std::function<void()>& make) {
  begin_waiting();
  const std::lock_guard lock(guarding);
  make();
  doomed = unfinished;
  doomed_parent = made;
  doomed_by = ::getpid();
}

interrupt_guard::~interrupt_guard() {
  const std::lock_guard lock(guarding);
  doomed.clear();
}

interrupt_watch::interrupt_watch(std::chrono::milliseconds patience) : fd_(::eventfd(0, EFD_CLOEXEC)), outer_(-1) {
  if (fd_ < 0) throw input_error(fmt::format("no event file can be made: {}", cause(errno, "")));
  try {
    begin_waiting();
  } catch (...) {
    ::close(fd_);
    throw;
  }
  const std::lock_guard lock(guarding);
  outer_ = std::exchange(watched, fd_);
  patience_left = patience;
}

interrupt_watch::~interrupt_watch() {
  const std::lock_guard lock(guarding);
  watched = outer_;
  patience_left = {};
  ::close(fd_);
}

std::string interrupt_watch::noticed() const {
  const std::lock_guard lock(guarding);
  if (told_to != fd_) return {};
  patience_left = {};
  return signal_name(first_signal);
}

int interrupt_watch::exit_status() {
  const std::lock_guard lock(guarding);
  return 128 + first_signal;
}

}  // namespace hcasim
