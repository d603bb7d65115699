// Messages and semaphores of System V. A call that would sleep waits until any thread of the run has run, and looks again.
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <vector>

#include "testbenches/verbs_programs/preload/clock.h"
#include "testbenches/verbs_programs/preload/connection.h"
#include "testbenches/verbs_programs/preload/sleeping.h"
#include "testbenches/verbs_programs/preload/timers.h"
#include "testbenches/verbs_programs/preload/times.h"

namespace hcasim::preload {
namespace {

// `nothing`: the errno value of a look that would sleep. EINTR: a handler has run; EAGAIN: the time (ps) is over.
template <class Look>
long until(Look look_once, int nothing, std::uint64_t timeout = channel::forever) {
  std::uint64_t begin = 0;
  look_at_clock(begin);
  for (std::uint32_t again = 0;;) {
    const long found = look_once();
    if (found >= 0 || errno != nothing) return found;
    std::uint64_t now = begin;
    if (timeout != channel::forever) look_at_clock(now);
    if (timeout != channel::forever && now - begin >= timeout) {
      errno = EAGAIN;
      return -1;
    }
    const std::uint64_t left = timeout == channel::forever ? timeout : timeout - (now - begin);
    again = wait_for_others(no_longer_than_timer(left), again, true);
    if (present()->interrupted) {
      errno = EINTR;
      return -1;
    }
  }
}

// Whether the first operation without its turn must not sleep.
bool must_not_sleep(int set, const sembuf* operations, std::size_t n) {
  std::vector<int> added(n);
  for (std::size_t i = 0; i < n; ++i) {
    int value = semctl(set, operations[i].sem_num, GETVAL);
    for (std::size_t j = 0; j < i; ++j) {
      if (operations[j].sem_num == operations[i].sem_num) value += operations[j].sem_op;
    }
    const bool blocks = operations[i].sem_op == 0 ? value != 0 : value + operations[i].sem_op < 0;
    if (blocks) return (operations[i].sem_flg & IPC_NOWAIT) != 0;
  }
  return false;
}

}  // namespace
}  // namespace hcasim::preload

using namespace hcasim;
using namespace hcasim::preload;

HCASIM_PUBLIC ssize_t msgrcv(int queue, void* to, size_t n, long type, int flags) {
  const auto receive = [=](int how) { return ::syscall(SYS_msgrcv, queue, to, n, type, how); };
  if ((flags & IPC_NOWAIT) || !mine()) return receive(flags);
  return until([&] { return receive(flags | IPC_NOWAIT); }, ENOMSG);
}

HCASIM_PUBLIC int msgsnd(int queue, const void* from, size_t n, int flags) {
  const auto send = [=](int how) { return ::syscall(SYS_msgsnd, queue, from, n, how); };
  if ((flags & IPC_NOWAIT) || !mine()) return static_cast<int>(send(flags));
  return static_cast<int>(until([&] { return send(flags | IPC_NOWAIT); }, EAGAIN));
}

HCASIM_PUBLIC int semtimedop(int set, sembuf* operations, size_t n, const timespec* timeout) noexcept {
  constexpr std::size_t most = 32000;  // SEMOPM
  const timespec zero{0, 0};
  const auto real = [=](const timespec* t) { return ::syscall(SYS_semtimedop, set, operations, n, t); };
  if (!mine() || n > most || (timeout && !is_time(*timeout))) return static_cast<int>(real(timeout));
  return static_cast<int>(until(
      [&] {
        const long done = real(&zero);
        if (done < 0 && errno == EAGAIN && !must_not_sleep(set, operations, n)) errno = EINPROGRESS;
        return done;
      },
      EINPROGRESS, timeout ? ps_of(*timeout) : channel::forever));
}

HCASIM_PUBLIC int semop(int set, sembuf* operations, size_t n) noexcept {
  return semtimedop(set, operations, n, nullptr);
}
