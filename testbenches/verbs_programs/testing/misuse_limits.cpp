// Calls with a time limit: each ends at its limit, to the cost of reads of the clock.
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <threads.h>
#include <unistd.h>

#include <ctime>
#include <functional>
#include <string>

#include "testbenches/verbs_programs/testing/misuse.h"

namespace misuse {
namespace {

constexpr long ms = 1'000'000;  // ns

timespec after(clockid_t clock, long ns) {
  timespec t{};
  clock_gettime(clock, &t);
  t.tv_nsec += ns;
  t.tv_sec += t.tv_nsec / (1000 * ms);
  t.tv_nsec %= 1000 * ms;
  return t;
}

long clock_ns() {
  const timespec t = after(CLOCK_MONOTONIC, 0);
  return t.tv_sec * 1000 * ms + t.tv_nsec;
}

void takes_five_ms(const char* name, const std::function<bool()>& call) {
  const long begin = clock_ns();
  const bool over = call();
  const long took = clock_ns() - begin;
  std::printf("%s: %s\n", name, over && took >= 5 * ms && took < 5 * ms + 1000 ? "5 ms" : "wrong");
  if (!over || took < 5 * ms || took >= 5 * ms + 1000) std::printf("%d, errno %d, %ld ns\n", over, errno, took);
}

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
mtx_t other_mutex;

void* holds_all(void*) {
  pthread_mutex_lock(&mutex);
  pthread_rwlock_wrlock(&rwlock);
  mtx_lock(&other_mutex);
  usleep(1'000'000);
  return nullptr;
}

// A condition that a thread of C11 signals at 1 ms.
struct meeting {
  mtx_t m;
  cnd_t c;
  bool there = false;
};
int comes(void* to) {
  auto& m = *static_cast<meeting*>(to);
  const timespec t{0, ms};
  thrd_sleep(&t, nullptr);
  mtx_lock(&m.m);
  m.there = true;
  cnd_signal(&m.c);
  mtx_unlock(&m.m);
  return 7;
}

void meet() {
  meeting m;
  REQUIRE(mtx_init(&m.m, mtx_timed) == thrd_success && cnd_init(&m.c) == thrd_success);
  thrd_t t{};
  const long begin = clock_ns();
  REQUIRE(thrd_create(&t, comes, &m) == thrd_success);
  mtx_lock(&m.m);
  while (!m.there) cnd_wait(&m.c, &m.m);
  // A new thread begins at the time of its creator's last request.
  REQUIRE(clock_ns() - begin >= ms - 1000 && clock_ns() - begin < ms + 10'000);
  takes_five_ms("cnd_timedwait", [&] {
    const timespec end = after(CLOCK_REALTIME, 5 * ms);
    return cnd_timedwait(&m.c, &m.m, &end) == thrd_timedout;
  });
  mtx_unlock(&m.m);
  int result = 0;
  REQUIRE(thrd_join(t, &result) == thrd_success && result == 7);
}

// Receives a whole message, which comes in two parts, the second at 1 ms.
void receive_whole() {
  int ends[2];
  REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
  if (fork() == 0) {
    REQUIRE(write(ends[1], "ab", 2) == 2);
    usleep(1000);
    REQUIRE(write(ends[1], "cd", 2) == 2);
    usleep(1000);
    _exit(0);
  }
  const long begin = clock_ns();
  char text[5] = {};
  REQUIRE(recv(ends[0], text, 4, MSG_WAITALL) == 4 && std::strcmp(text, "abcd") == 0);
  REQUIRE(clock_ns() - begin >= ms - 1000 && clock_ns() - begin < ms + 10'000);
}

}  // namespace

void limits() {
  mtx_init(&other_mutex, mtx_timed);
  pthread_t holder{};
  REQUIRE(pthread_create(&holder, nullptr, holds_all, nullptr) == 0);
  usleep(1000);
  const auto soon = [](clockid_t clock) { return after(clock, 5 * ms); };
  takes_five_ms("pthread_mutex_clocklock", [&] {
    const timespec t = soon(CLOCK_MONOTONIC);
    return pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &t) == ETIMEDOUT;
  });
  takes_five_ms("pthread_rwlock_clockrdlock", [&] {
    const timespec t = soon(CLOCK_MONOTONIC);
    return pthread_rwlock_clockrdlock(&rwlock, CLOCK_MONOTONIC, &t) == ETIMEDOUT;
  });
  takes_five_ms("pthread_rwlock_timedwrlock", [&] {
    const timespec t = soon(CLOCK_REALTIME);
    return pthread_rwlock_timedwrlock(&rwlock, &t) == ETIMEDOUT;
  });
  takes_five_ms("pthread_timedjoin_np", [&] {
    const timespec t = soon(CLOCK_REALTIME);
    return pthread_timedjoin_np(holder, nullptr, &t) == ETIMEDOUT;
  });
  takes_five_ms("mtx_timedlock", [&] {
    const timespec t = soon(CLOCK_REALTIME);
    return mtx_timedlock(&other_mutex, &t) == thrd_timedout;
  });
  sem_t s;
  sem_init(&s, 0, 0);
  takes_five_ms("sem_clockwait", [&] {
    const timespec t = soon(CLOCK_MONOTONIC);
    return sem_clockwait(&s, CLOCK_MONOTONIC, &t) == -1 && errno == ETIMEDOUT;
  });
  sigset_t none;
  sigemptyset(&none);
  const timespec five{0, 5 * ms};
  takes_five_ms("sigtimedwait", [&] { return sigtimedwait(&none, nullptr, &five) == -1 && errno == EAGAIN; });
  const int all = epoll_create1(0);
  epoll_event e{};
  takes_five_ms("epoll_pwait2", [&] { return epoll_pwait2(all, &e, 1, &five, nullptr) == 0; });
  int ends[2];
  REQUIRE(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) == 0);
  const timeval limit{1, 0};  // the system counts its own ticks
  setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  mmsghdr message{};
  const long begin = clock_ns();
  REQUIRE(recvmmsg(ends[0], &message, 1, 0, nullptr) == -1 && errno == EAGAIN);
  REQUIRE(clock_ns() - begin >= 1000 * ms && clock_ns() - begin < 1000 * ms + 1000);
  takes_five_ms("thrd_sleep", [&] { return thrd_sleep(&five, nullptr) == 0; });
  meet();
  receive_whole();
}

}  // namespace misuse
