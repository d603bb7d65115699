#include "testbenches/program/processes/short_slices.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace hcasim {

void ask_for_short_slices() {
  if (::sched_getscheduler(0) != SCHED_OTHER) return;
  struct {  // sched_setattr(2); <linux/sched/types.h> cannot stand beside <sched.h>
    std::uint32_t size = 48;
    std::uint32_t policy = SCHED_OTHER;
    std::uint64_t flags = 1;  // SCHED_FLAG_RESET_ON_FORK
    std::int32_t nice = ::getpriority(PRIO_PROCESS, 0);
    std::uint32_t priority = 0;
    std::uint64_t runtime_ns = 100'000;
    std::uint64_t deadline_ns = 0;
    std::uint64_t period_ns = 0;
  } wanted;
  ::syscall(SYS_sched_setattr, 0, &wanted, 0);
}

}  // namespace hcasim
