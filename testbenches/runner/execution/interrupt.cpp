#include "testbenches/runner/execution/interrupt.h"

#include <signal.h>  // NOLINT(modernize-deprecated-headers): sigset_t and sigwait are POSIX
#include <sys/eventfd.h>
#include <unistd.h>

#include <mutex>
#include <thread>

namespace hcasim {
namespace {

std::mutex guarding;
std::filesystem::path doomed;
int watched = -1;
int first_signal = 0;

sigset_t interrupts() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  return set;
}

void wait_for_interrupt() {
  const sigset_t set = interrupts();
  int signal = 0;
  for (;;) {
    while (sigwait(&set, &signal) != 0) {
    }
    const std::lock_guard lock(guarding);
    if (watched < 0 || first_signal != 0) break;
    first_signal = signal;
    ::eventfd_write(watched, 1);
  }
  const std::lock_guard lock(guarding);
  if (!doomed.empty()) {
    // The run goes on meanwhile, but finds no folder any more to make files in.
    std::error_code ec;
    const std::filesystem::path moved = doomed.string() + ".gone";
    std::filesystem::rename(doomed, moved, ec);
    std::filesystem::remove_all(ec ? doomed : moved, ec);
  }
  ::_exit(128 + signal);
}

}  // namespace

void block_interrupts() {
  const sigset_t set = interrupts();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  std::thread(wait_for_interrupt).detach();
}

interrupt_guard::interrupt_guard(const std::filesystem::path& temporary_folder, const std::function<void()>& make) {
  const std::lock_guard lock(guarding);
  make();
  doomed = temporary_folder;
}

interrupt_guard::~interrupt_guard() {
  const std::lock_guard lock(guarding);
  doomed.clear();
}

interrupt_watch::interrupt_watch() : fd_(::eventfd(0, EFD_CLOEXEC)) {
  const std::lock_guard lock(guarding);
  watched = fd_;
}

interrupt_watch::~interrupt_watch() {
  const std::lock_guard lock(guarding);
  watched = -1;
  ::close(fd_);
}

int interrupt_watch::exit_status() {
  const std::lock_guard lock(guarding);
  return 128 + first_signal;
}

}  // namespace hcasim
