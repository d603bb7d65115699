// Message queues of POSIX. A queue is a descriptor, for which the simulator can wait.
#include <fcntl.h>
#include <mqueue.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>

#include "testbenches/verbs_programs/preload/blocking.h"
#include "testbenches/verbs_programs/preload/clock.h"
#include "testbenches/verbs_programs/preload/connection.h"
#include "testbenches/verbs_programs/preload/sleeping.h"
#include "testbenches/verbs_programs/preload/times.h"

namespace hcasim::preload {
namespace {

// `real` is the system's call with a deadline; a deadline in the past makes the call look without sleep.
template <class Call>
long transfer(mqd_t queue, short events, const timespec* deadline, Call real) {
  if (!mine() || !may_sleep(queue) || (deadline && !is_time(*deadline))) return real(deadline);
  const timespec over{0, 0};
  const std::uint64_t limit = deadline ? ps_until(CLOCK_REALTIME, *deadline) : channel::forever;
  std::uint64_t begin = 0;
  look_at_clock(begin);
  for (held_signals held;;) {
    const long done = real(&over);
    if (done >= 0 || errno != ETIMEDOUT) return done;
    if (held.interrupt(true)) {
      errno = EINTR;
      return -1;
    }
    std::uint64_t now = begin;
    if (deadline) look_at_clock(now);
    if (deadline && now - begin >= limit) {
      errno = ETIMEDOUT;
      return -1;
    }
    const pollfd p{queue, events, 0};
    sleep_for(&p, 1, deadline ? limit - (now - begin) : limit, held.waking());
  }
}

ssize_t receive(mqd_t queue, char* to, size_t n, unsigned* priority, const timespec* deadline) {
  return transfer(queue, POLLIN, deadline,
                  [=](const timespec* t) { return ::syscall(SYS_mq_timedreceive, queue, to, n, priority, t); });
}

int send_to(mqd_t queue, const char* from, size_t n, unsigned priority, const timespec* deadline) {
  return static_cast<int>(transfer(
      queue, POLLOUT, deadline, [=](const timespec* t) { return ::syscall(SYS_mq_timedsend, queue, from, n, priority, t); }));
}

}  // namespace
}  // namespace hcasim::preload

using namespace hcasim;
using namespace hcasim::preload;

HCASIM_PUBLIC ssize_t mq_timedreceive(mqd_t queue, char* to, size_t n, unsigned* priority, const timespec* deadline) {
  return receive(queue, to, n, priority, deadline);
}

HCASIM_PUBLIC ssize_t mq_receive(mqd_t queue, char* to, size_t n, unsigned* priority) {
  return receive(queue, to, n, priority, nullptr);
}

HCASIM_PUBLIC int mq_timedsend(mqd_t queue, const char* from, size_t n, unsigned priority, const timespec* deadline) {
  return send_to(queue, from, n, priority, deadline);
}

HCASIM_PUBLIC int mq_send(mqd_t queue, const char* from, size_t n, unsigned priority) {
  return send_to(queue, from, n, priority, nullptr);
}
