// Threads of C11, which are POSIX threads by other names. The C library's own functions would sleep inside the library.
#include <pthread.h>
#include <threads.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <ctime>

#include "testbenches/verbs_programs/preload/connection.h"

namespace hcasim::preload {
namespace {

// Objects of C11 hold those of POSIX.
static_assert(sizeof(cnd_t) == sizeof(pthread_cond_t) && sizeof(mtx_t) == sizeof(pthread_mutex_t));

pthread_cond_t* of(cnd_t* c) {
  return reinterpret_cast<pthread_cond_t*>(c);
}
pthread_mutex_t* of(mtx_t* m) {
  return reinterpret_cast<pthread_mutex_t*>(m);
}

int as_result(int error) {
  switch (error) {
    case 0:
      return thrd_success;
    case ETIMEDOUT:
      return thrd_timedout;
    case EBUSY:
      return thrd_busy;
    case ENOMEM:
      return thrd_nomem;
    default:
      return thrd_error;
  }
}

struct start {
  thrd_start_t body;
  void* argument;
};

void* run_body(void* of_it) {
  const start s = *static_cast<start*>(of_it);
  std::free(of_it);
  return reinterpret_cast<void*>(static_cast<std::intptr_t>(s.body(s.argument)));  // NOLINT(performance-no-int-to-ptr)
}

}  // namespace
}  // namespace hcasim::preload

using namespace hcasim::preload;

HCASIM_PUBLIC int cnd_init(cnd_t* c) {
  return as_result(::pthread_cond_init(of(c), nullptr));
}
HCASIM_PUBLIC void cnd_destroy(cnd_t* c) {
  ::pthread_cond_destroy(of(c));
}
HCASIM_PUBLIC int cnd_signal(cnd_t* c) {
  return as_result(::pthread_cond_signal(of(c)));
}
HCASIM_PUBLIC int cnd_broadcast(cnd_t* c) {
  return as_result(::pthread_cond_broadcast(of(c)));
}
HCASIM_PUBLIC int cnd_wait(cnd_t* c, mtx_t* m) {
  return as_result(::pthread_cond_wait(of(c), of(m)));
}
HCASIM_PUBLIC int cnd_timedwait(cnd_t* c, mtx_t* m, const timespec* t) {
  return as_result(::pthread_cond_timedwait(of(c), of(m), t));
}

HCASIM_PUBLIC int mtx_lock(mtx_t* m) {
  return as_result(::pthread_mutex_lock(of(m)));
}
HCASIM_PUBLIC int mtx_timedlock(mtx_t* m, const timespec* t) {
  return as_result(::pthread_mutex_timedlock(of(m), t));
}

HCASIM_PUBLIC int thrd_create(thrd_t* id, thrd_start_t body, void* argument) {
  auto* s = static_cast<start*>(std::malloc(sizeof(start)));
  if (!s) return thrd_nomem;
  *s = {body, argument};
  const int error = ::pthread_create(id, nullptr, run_body, s);
  if (error) std::free(s);
  return as_result(error == EAGAIN ? ENOMEM : error);
}
HCASIM_PUBLIC int thrd_join(thrd_t id, int* result) {
  void* returned = nullptr;
  const int error = ::pthread_join(id, &returned);
  if (error == 0 && result) *result = static_cast<int>(reinterpret_cast<std::intptr_t>(returned));
  return as_result(error);
}
HCASIM_PUBLIC int thrd_sleep(const timespec* t, timespec* left) {
  const int error = ::clock_nanosleep(CLOCK_REALTIME, 0, t, left);
  return error == 0 ? 0 : error == EINTR ? -1 : -2;
}
HCASIM_PUBLIC void thrd_yield() {
  ::sched_yield();
}
