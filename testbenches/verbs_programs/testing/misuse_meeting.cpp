// Threads and processes that wait for each other in memory, without a call and before any QP is connected.
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ctime>
#include <map>
#include <string>

#include "testbenches/verbs_programs/testing/machine_code.h"
#include "testbenches/verbs_programs/testing/misuse.h"

namespace misuse {
namespace {

volatile int* told = nullptr;

long clock_ns() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1'000'000'000 + t.tv_nsec;
}

void* tell_later(void*) {
  usleep(1000);
  *told = 1;
  return nullptr;
}

void in_memory() {
  while (*told == 0) hcasim::machine::pause();
}
void at_clock() {
  while (*told == 0) clock_ns();
}

template <void (*Wait)()>
void thread_waits() {
  pthread_t other{};
  REQUIRE(pthread_create(&other, nullptr, tell_later, nullptr) == 0);
  Wait();
  REQUIRE(pthread_join(other, nullptr) == 0);
}

int status_of(pid_t child) {
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child && WIFEXITED(status));
  return WEXITSTATUS(status);
}

template <void (*Wait)()>
void process_waits() {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    tell_later(nullptr);
    _exit(0);
  }
  Wait();
  REQUIRE(status_of(child) == 0);
}

// A program computes for long, and becomes others that do.
void computes() {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    execl("/bin/sh", "sh", "-c", "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; exec sh -c 'exit 3'", nullptr);
    _exit(127);
  }
  REQUIRE(status_of(child) == 3);
}

}  // namespace

namespace {

void* sleeps_for_ever(void*) {
  for (;;) pause();
}

}  // namespace

// Polls an empty queue without sleep until the file is there, for 50 ms at most.
void polls_for(const char* file, bool beside_a_sleeper) {
  const opened o = open();
  ibv_cq* cq = ibv_create_cq(o.context, 16, nullptr, nullptr, 0);
  REQUIRE(cq);
  pthread_t other{};
  if (beside_a_sleeper) REQUIRE(pthread_create(&other, nullptr, sleeps_for_ever, nullptr) == 0);
  const long begin = clock_ns();
  ibv_wc wc{};
  while (access(file, F_OK) != 0) {
    REQUIRE(ibv_poll_cq(cq, 1, &wc) == 0);
    REQUIRE(clock_ns() - begin < 50'000'000);
  }
  std::exit(0);
}

void meet(const char* how) {
  const std::map<std::string, void (*)()> ways{{"thread", thread_waits<in_memory>},
                                               {"thread_clock", thread_waits<at_clock>},
                                               {"process", process_waits<in_memory>},
                                               {"process_clock", process_waits<at_clock>},
                                               {"computes", computes}};
  void* const shared = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(shared != MAP_FAILED);
  told = static_cast<int*>(shared);
  const long begin = clock_ns();
  ways.at(how)();
  std::printf("%s: met after %ld us\n", how, (clock_ns() - begin) / 1000);
}

}  // namespace misuse
