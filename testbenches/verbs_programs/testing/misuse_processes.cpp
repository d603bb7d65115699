// Threads and processes of a program, and what it begins.
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstdarg>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "testbenches/verbs_programs/channel/channel.h"
#include "testbenches/verbs_programs/testing/machine_code.h"
#include "testbenches/verbs_programs/testing/misuse.h"

namespace misuse {
namespace {

thread_local bool signals_at_munmap = false;
std::atomic<int> signalled{0};

}  // namespace

// Stands in for the C library's syscall, through which the preload library makes its calls.
extern "C" long syscall(long number, ...) noexcept {
  va_list list;
  va_start(list, number);
  long a[6];
  for (long& each : a) each = va_arg(list, long);
  va_end(list);
  const long result = call_kernel(number, a[0], a[1], a[2], a[3], a[4], a[5]);
  if (number == SYS_munmap && signals_at_munmap) {
    signals_at_munmap = false;
    ++signalled;
    call_kernel(SYS_tgkill, getpid(), call_kernel(SYS_gettid, 0, 0, 0, 0, 0, 0), SIGRTMAX - 1, 0, 0, 0);
  }
  if (result < 0 && result > -4096) errno = static_cast<int>(-result);
  return result < 0 && result > -4096 ? -1 : result;
}

void forked() {
  const opened o = open();
  ibv_mr* const of_parent = ibv_reg_mr(o.pd, buffer, 4096, IBV_ACCESS_LOCAL_WRITE);
  REQUIRE(of_parent);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ibv_device_attr a{};
    REQUIRE(ibv_query_device(o.context, &a) == EINVAL);  // the parent's
    const opened own = open();
    ibv_mr* const mine = ibv_reg_mr(own.pd, buffer, 4096, IBV_ACCESS_LOCAL_WRITE);
    REQUIRE(mine);
    // The child's own objects do not take the place of its parent's.
    REQUIRE(ibv_query_device(o.context, &a) == EINVAL);
    REQUIRE(ibv_dereg_mr(of_parent) != 0);
    REQUIRE(ibv_dereg_mr(mine) == 0);
    std::printf("child\n");
    std::fflush(stdout);
    _exit(7);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == 7);
  REQUIRE(ibv_reg_mr(o.pd, buffer + 4096, 4096, IBV_ACCESS_LOCAL_WRITE));
  std::printf("parent\n");
}

// The simulator's signal comes while the library gives back its resources of an ending thread.
void signalled_ends() {
  for (int n = 0; n < 20; ++n) {
    std::thread([] {
      const opened o = open();
      ibv_close_device(o.context);
      signals_at_munmap = true;
    }).join();
  }
  std::printf("signalled: %d\n", signalled.load());
}

void threads() {
  std::mutex m;
  std::condition_variable c;
  int turn = 0;
  std::vector<std::thread> all;
  constexpr int many = 4;
  constexpr int rounds = 50;
  all.reserve(many);
  for (int i = 0; i < many; ++i) {
    all.emplace_back([&, i] {
      const opened o = open();
      for (int r = 0; r < rounds; ++r) {
        std::unique_lock lock(m);
        c.wait(lock, [&] { return turn % many == i; });
        ++turn;
        c.notify_all();
        lock.unlock();
        REQUIRE(ibv_reg_mr(o.pd, buffer, 4096, 0));
      }
      ibv_close_device(o.context);
    });
  }
  for (std::thread& t : all) t.join();
  std::unique_lock lock(m);
  timespec before{};
  timespec after{};
  clock_gettime(CLOCK_MONOTONIC, &before);
  REQUIRE(c.wait_for(lock, std::chrono::milliseconds(5)) == std::cv_status::timeout);
  clock_gettime(CLOCK_MONOTONIC, &after);
  const long waited = (after.tv_sec - before.tv_sec) * 1'000'000'000 + after.tv_nsec - before.tv_nsec;
  REQUIRE(waited >= 5'000'000 && waited < 5'100'000);
  std::printf("turns: %d\n", turn);
}

// Speaks a channel that does not exist.
void version() {
  const char* name = std::getenv("HCASIM_SOCKET");
  const int s = socket(AF_UNIX, SOCK_SEQPACKET, 0);
  sockaddr_un a{};
  a.sun_family = AF_UNIX;
  std::memcpy(a.sun_path + 1, name, std::strlen(name));
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + std::strlen(name));
  REQUIRE(connect(s, reinterpret_cast<sockaddr*>(&a), length) == 0);
  const int memory = memfd_create("other", 0);
  hcasim::channel::hello h{hcasim::channel::magic, hcasim::channel::version + 1, getpid(), gettid(), getppid(), 0, 0};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  iovec part{&h, sizeof h};
  msghdr m{};
  m.msg_iov = &part;
  m.msg_iovlen = 1;
  m.msg_control = control;
  m.msg_controllen = sizeof control;
  cmsghdr* c = CMSG_FIRSTHDR(&m);
  c->cmsg_level = SOL_SOCKET;
  c->cmsg_type = SCM_RIGHTS;
  c->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(c), &memory, sizeof memory);
  REQUIRE(sendmsg(s, &m, 0) == sizeof h);
  sleep(100);
}

namespace {

int status_of(pid_t child) {
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child && WIFEXITED(status));
  return WEXITSTATUS(status);
}

}  // namespace

void spawn() {
  const opened o = open();
  std::FILE* lines = popen("ibv_devices", "r");
  REQUIRE(lines);
  int n = 0;
  for (char c = 0; read(fileno(lines), &c, 1) == 1;) n += c == '\n';  // the C library's own sleeps are unknown
  std::printf("popen: %d lines\n", n);
  std::printf("pclose: %d\n", pclose(lines));
  std::fflush(stdout);

  pid_t child = 0;
  posix_spawn_file_actions_t quietly;
  posix_spawn_file_actions_init(&quietly);
  posix_spawn_file_actions_addopen(&quietly, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  std::string name = "ibv_devinfo";
  char* const words[] = {name.data(), nullptr};
  REQUIRE(posix_spawnp(&child, "ibv_devinfo", &quietly, nullptr, words, environ) == 0);
  std::printf("spawned: %d\n", status_of(child));
  std::fflush(stdout);

  child = vfork();
  if (child == 0) {
    execlp("sh", "sh", "-c", "exit 3", nullptr);
    _exit(127);
  }
  std::printf("vfork: %d\n", status_of(child));

  std::FILE* to = popen("read word; exit $word", "w");
  REQUIRE(to && std::fputs("7\n", to) >= 0);
  const int status = pclose(to);
  std::printf("to sh: %d\n", WEXITSTATUS(status));
  REQUIRE(ibv_reg_mr(o.pd, buffer, 4096, 0));
}

// A killed process is gone when kill() returns, and does not run meanwhile.
void killed() {
  for (int i = 0; i < 20; ++i) {
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      for (;;) sleep(1000);
    }
    usleep(100);
    int status = 0;
    REQUIRE(waitpid(child, &status, WNOHANG) == 0);
    REQUIRE(kill(child, i % 2 ? SIGTERM : SIGKILL) == 0);
    REQUIRE(waitpid(child, &status, WNOHANG) == child && WIFSIGNALED(status));
  }
  std::printf("killed: 20\n");
}

}  // namespace misuse
