// Loops that wait or compute, clocks, and handlers of faults.
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <ctime>
#include <map>
#include <string>

#include "testbenches/verbs_programs/testing/machine_code.h"
#include "testbenches/verbs_programs/testing/misuse.h"

namespace misuse {
namespace {

void spin_pure() {
  while (flag == 0) {
  }
}
void spin_pause() {
  while (flag == 0) hcasim::machine::pause();
}
// On the stack, a counter that comes round.
void spin_stack() {
  volatile unsigned char n = 0;
  while (flag == 0) n = (n + 1) % 4;
}
void spin_register() {
  std::uint64_t n = 0;
  while (flag == 0) asm volatile("" : "+r"(++n));
}
volatile std::uint64_t far_counter;
void spin_memory() {
  while (flag == 0) far_counter = far_counter + 1;
}
void spin_increment() {
  while (flag == 0) increment(far_counter);
}
void spin_clock() {
  timespec t{};
  while (flag == 0) clock_gettime(CLOCK_MONOTONIC, &t);
}
void spin_stamp() {
  while (flag == 0) read_counter();
}

}  // namespace

void spin(const char* how) {
  const std::map<std::string, void (*)()> loops{
      {"pure", spin_pure},     {"pause", spin_pause},         {"stack", spin_stack}, {"register", spin_register},
      {"memory", spin_memory}, {"increment", spin_increment}, {"clock", spin_clock}, {"stamp", spin_stamp}};
  looped l;
  for (int i = 0; i < 20; ++i) {
    l.write_flag();
    loops.at(how)();
    ibv_wc wc{};
    while (ibv_poll_cq(l.cq, 1, &wc) == 0) {
    }
    REQUIRE(wc.status == IBV_WC_SUCCESS);
  }
  std::printf("%s: done\n", how);
}

namespace {

// Waits for the last byte of a long message, as a latency test does.
void wait_proven(const volatile char& last, char wanted) {
  while (last != wanted) {
  }
}
// Counts its rounds, as a test does that validates its data.
volatile std::uint64_t rounds = 0;
void wait_counting(const volatile char& last, char wanted) {
  while (last != wanted) increment(rounds);
}

}  // namespace

// Messages of many packets, and waits for the last byte of each.
void spin_long(const char* how) {
  const bool counts = std::strcmp(how, "counting") == 0;
  const std::uint32_t long_bytes = counts ? 16 << 10 : 1 << 20;
  looped l;
  auto* const both = static_cast<char*>(std::calloc(2, long_bytes));
  REQUIRE(both);
  ibv_mr* mr = ibv_reg_mr(l.o.pd, both, 2 * long_bytes, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  REQUIRE(mr);
  for (char turn = 1; turn <= 8; ++turn) {
    both[long_bytes - 1] = turn;
    ibv_sge s{reinterpret_cast<std::uint64_t>(both), long_bytes, mr->lkey};
    ibv_send_wr wr{};
    ibv_send_wr* bad = nullptr;
    wr.sg_list = &s;
    wr.num_sge = 1;
    wr.opcode = IBV_WR_RDMA_WRITE;
    wr.send_flags = IBV_SEND_SIGNALED;
    wr.wr.rdma = {reinterpret_cast<std::uint64_t>(both) + long_bytes, mr->rkey};
    REQUIRE(ibv_post_send(l.qp, &wr, &bad) == 0);
    (counts ? wait_counting : wait_proven)(both[2 * long_bytes - 1], turn);
    ibv_wc wc{};
    while (ibv_poll_cq(l.cq, 1, &wc) == 0) {
    }
    REQUIRE(wc.status == IBV_WC_SUCCESS);
  }
  std::printf("done\n");
}

// Computes for long without a wait: no simulated time may pass.
void compute() {
  looped l;
  timespec before{};
  timespec after{};
  clock_gettime(CLOCK_MONOTONIC, &before);
  volatile double x = 1;
  for (int i = 0; i < 3'000'000; ++i) x = x * 1.0000001;
  clock_gettime(CLOCK_MONOTONIC, &after);
  std::printf("computed in %ld ns\n", (after.tv_sec - before.tv_sec) * 1'000'000'000 + after.tv_nsec - before.tv_nsec);
}

namespace {

sigjmp_buf back;
int* const nowhere = reinterpret_cast<int*>(8);
void on_fault(int, siginfo_t* info, void*) {
  if (info->si_addr != nowhere) _exit(9);
  siglongjmp(back, 1);
}

}  // namespace

// The program handles its own faults, and sees no fault of the time-stamp counter.
void faults() {
  looped l;
  struct sigaction mine {};
  mine.sa_sigaction = on_fault;
  mine.sa_flags = SA_SIGINFO | SA_NODEFER;
  REQUIRE(sigaction(SIGSEGV, &mine, nullptr) == 0);
  // A jump leaves the program's handler, even while the library steps through the program.
  for (volatile int i = 0; i < 20'000;) {
    if (sigsetjmp(back, 1) == 0) const_cast<volatile int&>(*nowhere) = 1;
    i = i + 1;
  }
  volatile int seen = 0;
  while (seen < 3) {
    const unsigned long long before = read_counter();
    if (sigsetjmp(back, 1) == 0) {
      const_cast<volatile int&>(*nowhere) = 1;
      REQUIRE(false);
    }
    seen = seen + 1;
    REQUIRE(read_counter() > before);
    l.write_flag();
    while (flag == 0) {
    }
    finish(l);
  }
  struct sigaction now {};
  REQUIRE(sigaction(SIGSEGV, nullptr, &now) == 0 && now.sa_sigaction == on_fault);
  std::printf("faults: %d\n", seen);
}

namespace {

constexpr long ms = 1'000'000;  // ns

long clock_ns() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000 * ms + t.tv_nsec;
}

bool is_ready(int fd, int milliseconds) {
  pollfd p{fd, POLLIN, 0};
  return poll(&p, 1, milliseconds) == 1;
}

std::uint64_t expired(int fd) {
  std::uint64_t n = 0;
  return read(fd, &n, sizeof n) == sizeof n ? n : 0;
}

}  // namespace

// However long the machine takes, they expire when it is their time.
void timer_files() {
  const int fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
  REQUIRE(fd >= 0);
  const long begin = clock_ns();
  itimerspec wanted{{0, 20 * ms}, {0, 250 * ms}};
  REQUIRE(timerfd_settime(fd, 0, &wanted, nullptr) == 0);
  REQUIRE(!is_ready(fd, 100) && expired(fd) == 0 && errno == EAGAIN);
  itimerspec left{};
  REQUIRE(timerfd_gettime(fd, &left) == 0 && left.it_interval.tv_nsec == 20 * ms);
  REQUIRE(left.it_value.tv_nsec > 149 * ms && left.it_value.tv_nsec <= 150 * ms);
  REQUIRE(is_ready(fd, -1) && expired(fd) == 1);
  std::printf("first after %ld us\n", (clock_ns() - begin) / 1000);
  usleep(70'000);
  std::printf("then %d times\n", static_cast<int>(expired(fd)));
  wanted = {};
  REQUIRE(timerfd_settime(fd, 0, &wanted, nullptr) == 0);
  REQUIRE(!is_ready(fd, 100));

  const long due = clock_ns() + 5 * ms;
  wanted.it_value = {due / (1000 * ms), due % (1000 * ms)};
  REQUIRE(timerfd_settime(fd, TFD_TIMER_ABSTIME, &wanted, nullptr) == 0);
  REQUIRE(is_ready(fd, -1) && expired(fd) == 1 && clock_ns() >= due && clock_ns() < due + ms);
  wanted.it_value.tv_nsec = 1000 * ms;
  REQUIRE(timerfd_settime(fd, 0, &wanted, nullptr) == -1 && errno == EINVAL);
  REQUIRE(close(fd) == 0);

  const int sleeps = timerfd_create(CLOCK_REALTIME, 0);
  wanted = {{}, {0, ms}};
  REQUIRE(sleeps >= 0 && timerfd_settime(sleeps, 0, &wanted, nullptr) == 0);
  REQUIRE(expired(sleeps) == 1);
}

namespace {

volatile sig_atomic_t rung = 0;
volatile int rung_for = 0;

void ring(int, siginfo_t* info, void*) {
  rung = rung + 1;
  rung_for = info->si_value.sival_int;
}

}  // namespace

// Timers that send a signal to any thread, or to one thread.
void timers_that_signal() {
  struct sigaction a {};
  a.sa_sigaction = ring;
  a.sa_flags = SA_SIGINFO;
  REQUIRE(sigaction(SIGUSR1, &a, nullptr) == 0);
  sigevent e{};
  e.sigev_notify = SIGEV_SIGNAL;
  e.sigev_signo = SIGUSR1;
  e.sigev_value.sival_int = 7;
  timer_t id{};
  REQUIRE(timer_create(CLOCK_MONOTONIC, &e, &id) == 0);
  const long begin = clock_ns();
  itimerspec wanted{{0, 30 * ms}, {0, 250 * ms}};
  REQUIRE(timer_settime(id, 0, &wanted, nullptr) == 0);
  REQUIRE(sleep(100) > 0 && rung == 1 && rung_for == 7);
  std::printf("first after %ld us\n", (clock_ns() - begin) / 1000);
  itimerspec left{};
  REQUIRE(timer_gettime(id, &left) == 0 && left.it_interval.tv_nsec == 30 * ms);
  REQUIRE(left.it_value.tv_nsec > 29 * ms && left.it_value.tv_nsec <= 30 * ms);
  while (rung < 4) usleep(1000);
  std::printf("fourth after %ld us\n", (clock_ns() - begin) / 1000);
  REQUIRE(timer_getoverrun(id) == 0);
  REQUIRE(timer_delete(id) == 0);
  REQUIRE(usleep(100'000) == 0 && rung == 4);

  e.sigev_notify = SIGEV_NONE;
  REQUIRE(timer_create(CLOCK_REALTIME, &e, &id) == 0);
  timespec due{};
  clock_gettime(CLOCK_REALTIME, &due);
  ++due.tv_sec;
  wanted = {{}, due};
  REQUIRE(timer_settime(id, TIMER_ABSTIME, &wanted, nullptr) == 0);
  REQUIRE(timer_gettime(id, &left) == 0 && left.it_value.tv_sec == 0 && left.it_value.tv_nsec > 999 * ms);
  REQUIRE(usleep(1'100'000) == 0 && rung == 4);
  REQUIRE(timer_gettime(id, &left) == 0 && left.it_value.tv_sec == 0 && left.it_value.tv_nsec == 0);
}

}  // namespace misuse
