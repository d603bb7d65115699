#include "testbenches/verbs_programs/simulator/system_calls.h"

#include <sys/syscall.h>

#include <algorithm>
#include <fstream>

#include <fmt/format.h>

namespace hcasim::applications {
namespace {

struct named_call {
  long number;
  const char* name;
};

constexpr named_call names[] = {{SYS_accept, "accept"},
                                {SYS_accept4, "accept4"},
                                {SYS_clock_nanosleep, "clock_nanosleep"},
                                {SYS_connect, "connect"},
                                {SYS_epoll_pwait, "epoll_pwait"},
                                {SYS_epoll_pwait2, "epoll_pwait2"},
                                {SYS_fcntl, "fcntl"},
                                {SYS_flock, "flock"},
                                {SYS_fsync, "fsync"},
                                {SYS_futex, "futex"},
                                {SYS_io_getevents, "io_getevents"},
                                {SYS_io_uring_enter, "io_uring_enter"},
                                {SYS_ioctl, "ioctl"},
                                {SYS_mq_timedreceive, "mq_timedreceive"},
                                {SYS_mq_timedsend, "mq_timedsend"},
                                {SYS_msgrcv, "msgrcv"},
                                {SYS_msgsnd, "msgsnd"},
                                {SYS_nanosleep, "nanosleep"},
                                {SYS_openat, "openat"},
                                {SYS_ppoll, "ppoll"},
                                {SYS_pselect6, "pselect6"},
                                {SYS_read, "read"},
                                {SYS_readv, "readv"},
                                {SYS_recvfrom, "recvfrom"},
                                {SYS_recvmmsg, "recvmmsg"},
                                {SYS_recvmsg, "recvmsg"},
                                {SYS_rt_sigsuspend, "rt_sigsuspend"},
                                {SYS_rt_sigtimedwait, "rt_sigtimedwait"},
                                {SYS_semop, "semop"},
                                {SYS_semtimedop, "semtimedop"},
                                {SYS_sendfile, "sendfile"},
                                {SYS_sendmmsg, "sendmmsg"},
                                {SYS_sendmsg, "sendmsg"},
                                {SYS_sendto, "sendto"},
                                {SYS_splice, "splice"},
                                {SYS_wait4, "wait4"},
                                {SYS_waitid, "waitid"},
                                {SYS_write, "write"},
#ifdef SYS_poll  // machines that came later have the newer calls alone
                                {SYS_epoll_wait, "epoll_wait"},
                                {SYS_pause, "pause"},
                                {SYS_poll, "poll"},
                                {SYS_select, "select"},
#endif
                                {SYS_writev, "writev"}};

}  // namespace

std::string call_of(int process, int thread) {
  std::ifstream file(fmt::format("/proc/{}/task/{}/syscall", process, thread));
  long number = -1;
  if (!(file >> number)) return "a system call";
  const auto* const found =
      std::find_if(std::begin(names), std::end(names), [=](const named_call& n) { return n.number == number; });
  return found == std::end(names) ? fmt::format("system call {}", number) : found->name;
}

}  // namespace hcasim::applications
