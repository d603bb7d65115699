// Threads of a program, and the calls by which they wait for each other. One thread runs at a time. A thread that would sleep
// for another asks the simulator for a wake-up after another thread has run, and looks again.
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <ctime>

#include "testbenches/verbs_programs/preload/clock.h"
#include "testbenches/verbs_programs/preload/connection.h"
#include "testbenches/verbs_programs/preload/libc.h"
#include "testbenches/verbs_programs/preload/sleeping.h"
#include "testbenches/verbs_programs/preload/timers.h"

namespace hcasim::preload {
namespace {

constexpr std::uint64_t ps_per_second = 1'000'000'000'000;

// A thread from its creation to its join. The record of a detached thread stays.
struct started {
  void* (*body)(void*);
  void* argument;
  pthread_t id;
  std::atomic<std::uint32_t> connected{0};
  std::atomic<std::uint32_t> over{0};
  started* next = nullptr;
};
std::atomic<started*> all{nullptr};

void futex(std::atomic<std::uint32_t>& word, int what, std::uint32_t value) {
  ::syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), what, value, nullptr, nullptr, 0);
}

void tell_connected(void* of) {
  auto& s = *static_cast<started*>(of);
  s.connected = 1;
  futex(s.connected, FUTEX_WAKE_PRIVATE, INT_MAX);
}

void leave(void* of) {
  static_cast<started*>(of)->over = 1;
  end_for_good();
}

void* run(void* of) {
  auto* s = static_cast<started*>(of);
  connect_and_tell(tell_connected, s);
  void* result = nullptr;
  pthread_cleanup_push(leave, s);
  result = s->body(s->argument);
  pthread_cleanup_pop(1);
  return result;
}

// Looks until `done`, and sleeps between looks. False = `deadline` has come (ps; forever = none).
template <class Look>
bool until(Look done, std::uint64_t deadline = channel::forever) {
  for (std::uint32_t again = 0; !done();) {
    std::uint64_t now = 0;
    if (deadline != channel::forever && (!look_at_clock(now) || now >= deadline)) return false;
    again = wait_for_others(no_longer_than_timer(deadline == channel::forever ? deadline : deadline - now), again);
  }
  return true;
}

// The simulated time of a deadline on one of the clocks.
std::uint64_t as_deadline(clockid_t clock, const timespec& t) {
  timespec n{};
  ::clock_gettime(clock, &n);
  std::uint64_t now = 0;
  look_at_clock(now);
  const auto whole = [](const timespec& x) {
    return static_cast<__int128>(x.tv_sec) * static_cast<__int128>(ps_per_second) + static_cast<__int128>(x.tv_nsec) * 1000;
  };
  const __int128 left = whole(t) - whole(n);
  if (left <= 0) return now;
  return left > (__int128{1} << 62) ? channel::forever : now + static_cast<std::uint64_t>(left);
}

bool is_own(const pthread_mutex_t* m) {
  return m->__data.__owner == static_cast<int>(::syscall(SYS_gettid));
}

int lock(pthread_mutex_t* m, std::uint64_t deadline) {
  int error = EBUSY;
  const bool got = until([&] { return (error = HCASIM_REAL(pthread_mutex_trylock)(m)) != EBUSY || is_own(m); }, deadline);
  if (!got) return ETIMEDOUT;
  return error == EBUSY ? HCASIM_REAL(pthread_mutex_lock)(m)
                        : error;  // a lock that this thread holds itself: the system's own answer
}

int lock_by(int (*try_lock)(pthread_rwlock_t*), pthread_rwlock_t* l, std::uint64_t deadline = channel::forever) {
  int error = EBUSY;
  return until([&] { return (error = try_lock(l)) != EBUSY; }, deadline) ? error : ETIMEDOUT;
}

// The library's content of a program's pthread_cond_t and pthread_barrier_t; all zeroes = new.
struct condition {
  std::uint64_t tickets;
  std::uint64_t served;
  std::int64_t clock;
};
static_assert(sizeof(condition) <= sizeof(pthread_cond_t));
struct barrier {
  std::uint32_t wanted;
  std::uint32_t there;
  std::uint64_t round;
};
static_assert(sizeof(barrier) <= sizeof(pthread_barrier_t));

int wait_condition(pthread_cond_t* of, pthread_mutex_t* m, std::uint64_t deadline) {
  auto* c = reinterpret_cast<volatile condition*>(of);
  const std::uint64_t mine_is = c->tickets;
  c->tickets = mine_is + 1;
  HCASIM_REAL(pthread_mutex_unlock)(m);
  const bool served = until([&] { return c->served > mine_is; }, deadline);
  // A ticket that is given back wakes the longest waiter. Waiters look for the reason of their wake-up.
  if (!served) c->served = c->served + 1;
  lock(m, channel::forever);
  return served ? 0 : ETIMEDOUT;
}

}  // namespace
}  // namespace hcasim::preload

using namespace hcasim;
using namespace hcasim::preload;

HCASIM_PUBLIC int pthread_create(pthread_t* id, const pthread_attr_t* attr, void* (*body)(void*), void* argument) noexcept {
  if (!mine()) return HCASIM_REAL(pthread_create)(id, attr, body, argument);
  auto* s = new started{body, argument, {}};
  const int error = HCASIM_REAL(pthread_create)(&s->id, attr, run, s);
  if (error) {
    delete s;
    return error;
  }
  *id = s->id;
  set_awaiting_machine(true);
  while (!s->connected) futex(s->connected, FUTEX_WAIT_PRIVATE, 0);
  set_awaiting_machine(false);
  s->next = all.load();
  while (!all.compare_exchange_weak(s->next, s)) {
  }
  return 0;
}

HCASIM_PUBLIC int pthread_clockjoin_np(pthread_t id, void** result, clockid_t clock, const timespec* t) {
  if (mine()) {
    for (started* s = all; s; s = s->next) {
      if (!::pthread_equal(s->id, id) || s->over == 2) continue;
      if (!until([s] { return s->over != 0; }, t ? as_deadline(clock, *t) : channel::forever)) return ETIMEDOUT;
      s->over = 2;
      break;
    }
  }
  set_awaiting_machine(true);  // the C library does the rest of the thread's end
  const int error = HCASIM_REAL(pthread_join)(id, result);
  set_awaiting_machine(false);
  return error;
}

HCASIM_PUBLIC int pthread_join(pthread_t id, void** result) {
  return pthread_clockjoin_np(id, result, CLOCK_REALTIME, nullptr);
}

HCASIM_PUBLIC int pthread_timedjoin_np(pthread_t id, void** result, const timespec* t) {
  return pthread_clockjoin_np(id, result, CLOCK_REALTIME, t);
}

HCASIM_PUBLIC int pthread_mutex_lock(pthread_mutex_t* m) noexcept {
  const int error = HCASIM_REAL(pthread_mutex_trylock)(m);
  if (error != EBUSY) return error;
  return present() ? lock(m, channel::forever) : HCASIM_REAL(pthread_mutex_lock)(m);
}

HCASIM_PUBLIC int pthread_mutex_clocklock(pthread_mutex_t* m, clockid_t clock, const timespec* t) noexcept {
  if (!present()) return HCASIM_REAL(pthread_mutex_clocklock)(m, clock, t);
  return lock(m, as_deadline(clock, *t));
}

HCASIM_PUBLIC int pthread_mutex_timedlock(pthread_mutex_t* m, const timespec* t) noexcept {
  if (!present()) return HCASIM_REAL(pthread_mutex_timedlock)(m, t);
  return lock(m, as_deadline(CLOCK_REALTIME, *t));
}

HCASIM_PUBLIC int pthread_rwlock_rdlock(pthread_rwlock_t* l) noexcept {
  return present() ? lock_by(::pthread_rwlock_tryrdlock, l) : HCASIM_REAL(pthread_rwlock_rdlock)(l);
}
HCASIM_PUBLIC int pthread_rwlock_clockrdlock(pthread_rwlock_t* l, clockid_t clock, const timespec* t) noexcept {
  if (!present()) return HCASIM_REAL(pthread_rwlock_clockrdlock)(l, clock, t);
  return lock_by(::pthread_rwlock_tryrdlock, l, as_deadline(clock, *t));
}
HCASIM_PUBLIC int pthread_rwlock_timedrdlock(pthread_rwlock_t* l, const timespec* t) noexcept {
  if (!present()) return HCASIM_REAL(pthread_rwlock_timedrdlock)(l, t);
  return lock_by(::pthread_rwlock_tryrdlock, l, as_deadline(CLOCK_REALTIME, *t));
}

HCASIM_PUBLIC int pthread_rwlock_wrlock(pthread_rwlock_t* l) noexcept {
  return present() ? lock_by(::pthread_rwlock_trywrlock, l) : HCASIM_REAL(pthread_rwlock_wrlock)(l);
}
HCASIM_PUBLIC int pthread_rwlock_clockwrlock(pthread_rwlock_t* l, clockid_t clock, const timespec* t) noexcept {
  if (!present()) return HCASIM_REAL(pthread_rwlock_clockwrlock)(l, clock, t);
  return lock_by(::pthread_rwlock_trywrlock, l, as_deadline(clock, *t));
}
HCASIM_PUBLIC int pthread_rwlock_timedwrlock(pthread_rwlock_t* l, const timespec* t) noexcept {
  if (!present()) return HCASIM_REAL(pthread_rwlock_timedwrlock)(l, t);
  return lock_by(::pthread_rwlock_trywrlock, l, as_deadline(CLOCK_REALTIME, *t));
}

HCASIM_PUBLIC int pthread_spin_lock(pthread_spinlock_t* l) noexcept {
  if (!present()) return HCASIM_REAL(pthread_spin_lock)(l);
  int error = EBUSY;
  until([&] { return (error = ::pthread_spin_trylock(l)) != EBUSY; });
  return error;
}

HCASIM_PUBLIC int pthread_cond_init(pthread_cond_t* c, const pthread_condattr_t* attr) noexcept {
  if (!mine()) return HCASIM_REAL(pthread_cond_init)(c, attr);
  clockid_t clock = CLOCK_REALTIME;
  if (attr) ::pthread_condattr_getclock(attr, &clock);
  *reinterpret_cast<condition*>(c) = {0, 0, clock};
  return 0;
}

HCASIM_PUBLIC int pthread_cond_destroy(pthread_cond_t* c) noexcept {
  return mine() ? 0 : HCASIM_REAL(pthread_cond_destroy)(c);
}

HCASIM_PUBLIC int pthread_cond_signal(pthread_cond_t* of) noexcept {
  if (!mine()) return HCASIM_REAL(pthread_cond_signal)(of);
  auto* c = reinterpret_cast<condition*>(of);
  if (c->served < c->tickets) ++c->served;
  return 0;
}

HCASIM_PUBLIC int pthread_cond_broadcast(pthread_cond_t* of) noexcept {
  if (!mine()) return HCASIM_REAL(pthread_cond_broadcast)(of);
  auto* c = reinterpret_cast<condition*>(of);
  c->served = c->tickets;
  return 0;
}

HCASIM_PUBLIC int pthread_cond_wait(pthread_cond_t* c, pthread_mutex_t* m) {
  if (!mine()) return HCASIM_REAL(pthread_cond_wait)(c, m);
  return wait_condition(c, m, channel::forever);
}

HCASIM_PUBLIC int pthread_cond_timedwait(pthread_cond_t* c, pthread_mutex_t* m, const timespec* t) {
  if (!mine()) return HCASIM_REAL(pthread_cond_timedwait)(c, m, t);
  return wait_condition(c, m, as_deadline(static_cast<clockid_t>(reinterpret_cast<condition*>(c)->clock), *t));
}

HCASIM_PUBLIC int pthread_cond_clockwait(pthread_cond_t* c, pthread_mutex_t* m, clockid_t clock, const timespec* t) {
  if (!mine()) return HCASIM_REAL(pthread_cond_clockwait)(c, m, clock, t);
  return wait_condition(c, m, as_deadline(clock, *t));
}

HCASIM_PUBLIC int pthread_barrier_init(pthread_barrier_t* b, const pthread_barrierattr_t* attr, unsigned n) noexcept {
  if (!mine()) return HCASIM_REAL(pthread_barrier_init)(b, attr, n);
  if (n == 0) return EINVAL;
  *reinterpret_cast<barrier*>(b) = {n, 0, 0};
  return 0;
}

HCASIM_PUBLIC int pthread_barrier_destroy(pthread_barrier_t* b) noexcept {
  return mine() ? 0 : HCASIM_REAL(pthread_barrier_destroy)(b);
}

HCASIM_PUBLIC int pthread_barrier_wait(pthread_barrier_t* of) noexcept {
  if (!mine()) return HCASIM_REAL(pthread_barrier_wait)(of);
  auto* b = reinterpret_cast<volatile barrier*>(of);
  const std::uint64_t round = b->round;
  b->there = b->there + 1;
  if (b->there == b->wanted) {
    b->there = 0;
    b->round = round + 1;
    return PTHREAD_BARRIER_SERIAL_THREAD;
  }
  until([&] { return b->round != round; });
  return 0;
}

HCASIM_PUBLIC int sem_wait(sem_t* s) {
  if (!present()) return HCASIM_REAL(sem_wait)(s);
  until([s] { return ::sem_trywait(s) == 0; });
  return 0;
}

HCASIM_PUBLIC int sem_clockwait(sem_t* s, clockid_t clock, const timespec* t) {
  if (!present()) return HCASIM_REAL(sem_clockwait)(s, clock, t);
  if (until([s] { return ::sem_trywait(s) == 0; }, as_deadline(clock, *t))) return 0;
  errno = ETIMEDOUT;
  return -1;
}

HCASIM_PUBLIC int sem_timedwait(sem_t* s, const timespec* t) {
  return present() ? sem_clockwait(s, CLOCK_REALTIME, t) : HCASIM_REAL(sem_timedwait)(s, t);
}
