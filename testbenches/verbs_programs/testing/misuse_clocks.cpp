// Every clock of a program shows simulated time, and clocks of processor time do so, too.
#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <ctime>
#include <string>
#include <thread>

#include "testbenches/verbs_programs/testing/misuse.h"

namespace misuse {
namespace {

constexpr long ms = 1'000'000;  // ns

long read_clock(clockid_t id) {
  timespec t{};
  REQUIRE(clock_gettime(id, &t) == 0);
  return t.tv_sec * 1000 * ms + t.tv_nsec;
}

long us_of(const timeval& t) {
  return t.tv_sec * 1'000'000 + t.tv_usec;
}

void compute_for(long ns) {
  const long end = read_clock(CLOCK_MONOTONIC) + ns;
  while (read_clock(CLOCK_MONOTONIC) < end) {
  }
}

// Returns the ticks of user time in the line of all processors, from a file that stays open.
long ticks_in(int file) {
  char text[4096] = {};
  REQUIRE(lseek(file, 0, SEEK_SET) == 0 && read(file, text, sizeof text - 1) > 0);
  long user = 0;
  REQUIRE(std::sscanf(text, "cpu %ld", &user) == 1);
  return user;
}

// Returns its own user and system time of /proc/self/stat.
long own_ticks() {
  std::FILE* const f = std::fopen("/proc/self/stat", "r");
  long user = 0;
  long system = 0;
  REQUIRE(f && std::fscanf(f, "%*d %*s %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %ld %ld", &user, &system) == 2 &&
          system == 0);
  std::fclose(f);
  return user;
}

std::uint64_t read_ticks() {
#ifdef __x86_64__
  return __builtin_ia32_rdtsc();
#else
  return 1;
#endif
}

}  // namespace

// Blocks all signals again and again, reads the time-stamp counter meanwhile, and makes threads, which glibc does with all
// signals blocked.
void masked() {
  sigset_t all;
  sigset_t old;
  sigset_t now;
  sigfillset(&all);
  struct sigaction handler {};
  handler.sa_mask = all;
  handler.sa_handler = [](int) { REQUIRE(read_ticks() != 0); };
  REQUIRE(sigaction(SIGUSR2, &handler, nullptr) == 0);
  open();
  REQUIRE(raise(SIGUSR2) == 0);
  sigset_t but_one = all;
  sigdelset(&but_one, SIGUSR2);
  REQUIRE(sigprocmask(SIG_SETMASK, &all, &old) == 0 && raise(SIGUSR2) == 0 && sigsuspend(&but_one) < 0);
  REQUIRE(sigprocmask(SIG_SETMASK, &old, nullptr) == 0);
  volatile unsigned long work = 0;
  for (int i = 0; i < 100'000; ++i) {
    REQUIRE(sigprocmask(SIG_SETMASK, &all, &old) == 0 && sigismember(&old, SIGSEGV) == 0);
    if (i % 1000 == 0) REQUIRE(read_ticks() != 0);
    for (int k = 0; k < 100; ++k) work = work + 1;
    REQUIRE(pthread_sigmask(SIG_BLOCK, nullptr, &now) == 0 && sigismember(&now, SIGSEGV) == 1 &&
            sigismember(&now, SIGUSR1) == 1);
    REQUIRE(pthread_sigmask(SIG_SETMASK, &old, nullptr) == 0);
  }
  for (int i = 0; i < 200; ++i) std::thread([&work] { work = work + 1; }).join();
}

// Reads the time-stamp counter of threads that have told the simulator their end.
void late_reads() {
  static pthread_key_t key;
  static std::atomic<int> reads{0};
  open();
  REQUIRE(pthread_key_create(&key, [](void* again) {
            if (read_ticks() != 0 && ++reads % PTHREAD_DESTRUCTOR_ITERATIONS != 0) pthread_setspecific(key, again);
          }) == 0);
  for (int i = 0; i < 3; ++i) std::thread([] { REQUIRE(pthread_setspecific(key, &key) == 0); }).join();
  std::printf("late reads: %d\n", reads.load());
}

void clocks() {
  const int stat = ::open("/proc/stat", O_RDONLY);
  tms before{};
  const clock_t begin = times(&before);
  const long node = ticks_in(stat);
  const long thread = read_clock(CLOCK_THREAD_CPUTIME_ID);
  compute_for(30 * ms);
  usleep(50'000);
  tms after{};
  const clock_t end = times(&after);
  std::printf("times: %ld elapsed, %ld user, %ld system\n", end - begin, after.tms_utime - before.tms_utime, after.tms_stime);
  std::printf("stat: %ld, self: %ld\n", ticks_in(stat) - node, own_ticks());
  rusage u{};
  REQUIRE(getrusage(RUSAGE_SELF, &u) == 0 && us_of(u.ru_stime) == 0);
  std::printf("process: %ld us, %ld us, %ld us\n", us_of(u.ru_utime), clock() * 1'000'000 / CLOCKS_PER_SEC,
              read_clock(CLOCK_PROCESS_CPUTIME_ID) / 1000);
  std::printf("thread: %ld us\n", (read_clock(CLOCK_THREAD_CPUTIME_ID) - thread) / 1000);

  if (fork() == 0) {
    compute_for(20 * ms);
    _exit(0);
  }
  REQUIRE(wait(nullptr) > 0 && getrusage(RUSAGE_CHILDREN, &u) == 0 && times(&after) > end);
  std::printf("children: %ld us, %ld ticks\n", us_of(u.ru_utime), after.tms_cutime);

  struct sysinfo info {};
  double up = 0;
  std::FILE* const f = std::fopen("/proc/uptime", "r");
  REQUIRE(f && std::fscanf(f, "%lf", &up) == 1 && sysinfo(&info) == 0);
  std::fclose(f);
  timespec utc{};
  REQUIRE(timespec_get(&utc, TIME_UTC) == TIME_UTC && utc.tv_sec == time(nullptr));
  std::printf("up: %.2f s, %ld s, %ld s\n", up, info.uptime, read_clock(CLOCK_BOOTTIME) / (1000 * ms));

  itimerval left{};
  alarm(10);
  usleep(1000);
  REQUIRE(getitimer(ITIMER_REAL, &left) == 0 && left.it_value.tv_sec == 9 && left.it_value.tv_usec > 998'900);
  std::printf("alarm: %ld us\n", us_of(left.it_value));
}

// Reads clocks that cannot be simulated.
void machine_clocks() {
  clockid_t other{};
  REQUIRE(clock_getcpuclockid(getppid(), &other) == 0);
  read_clock(other);
  itimerval t{};
  REQUIRE(getitimer(ITIMER_VIRTUAL, &t) == 0);
  std::FILE* const f = std::fopen("/proc/loadavg", "r");
  if (f) std::fclose(f);
}

}  // namespace misuse
