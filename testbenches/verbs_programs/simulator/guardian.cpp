#include "testbenches/verbs_programs/simulator/guardian.h"

#include <fcntl.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): kill is POSIX
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "tlm/base/send_signal.h"

namespace hcasim::applications {
namespace {

// In the child: nothing here may take memory or locks.
[[noreturn]] void keep_watch(pid_t group, int simulator) {
  ::setpgid(0, 0);
  constexpr int kept = 0;
  ::dup2(simulator, kept);
  ::syscall(SYS_close_range, kept + 1, ~0U, 0);
  char nothing = 0;
  while (::read(kept, &nothing, 1) < 0 && errno == EINTR) {
  }
  signal_group(group, SIGKILL);
  ::_exit(0);
}

}  // namespace

guardian::guardian(pid_t group) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return;
  const descriptor watched(ends[0]);
  alive_ = descriptor(ends[1]);
  process_ = ::fork();
  if (process_ == 0) {
    alive_ = descriptor();
    keep_watch(group, watched.get());
  }
}

guardian::~guardian() {
  alive_ = descriptor();
  if (process_ > 0) ::waitpid(process_, nullptr, 0);
}

}  // namespace hcasim::applications
