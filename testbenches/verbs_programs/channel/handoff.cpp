#include "testbenches/verbs_programs/channel/handoff.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <ctime>

#include "testbenches/verbs_programs/channel/machine.h"

namespace hcasim::channel {
namespace {

// A look takes some 25 ns. Most answers come within a few microseconds if the other side has a processor of its own. On a busy
// machine the other side has to wait for the processor of this one.
constexpr std::uint32_t most_looks = 2000;
constexpr std::uint32_t least_looks = 20;
constexpr std::uint32_t probe_every = 64;

std::uint32_t* word(std::atomic<std::uint32_t>& a) {
  return reinterpret_cast<std::uint32_t*>(&a);
}

void wake(std::atomic<std::uint32_t>& count) {
  ::syscall(SYS_futex, word(count), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

// Looks twice as long as the longest successful look. A look in vain shortens the next by an eighth. Each 64th looks as long as
// allowed, because one long wait among short ones says nothing of the next. `vain` not 0 = there is no use in looking.
bool look_for(const std::atomic<std::uint32_t>& count, std::uint32_t old, const std::atomic<std::uint32_t>* vain,
              impatience& how) {
  const bool probes = ++how.waits % probe_every == 0;
  const std::uint32_t looks = probes ? most_looks : std::clamp(how.looks, least_looks, most_looks);
  for (std::uint32_t i = 0; i < looks; ++i) {
    if (count.load(std::memory_order_acquire) != old) {
      how.looks = std::max(how.looks, 2 * i);
      return true;
    }
    if (vain && vain->load(std::memory_order_relaxed)) return false;
    machine::pause();
  }
  if (!probes) how.looks -= how.looks / 8;
  return false;
}

// Waits until `count` is no longer `old`. False = the time is over.
bool wait_change(std::atomic<std::uint32_t>& count, std::uint32_t old, std::atomic<std::uint32_t>& sleeps,
                 const std::atomic<std::uint32_t>* vain, impatience& how, std::chrono::nanoseconds at_most) {
  if (look_for(count, old, vain, how)) return true;
  const timespec timeout{static_cast<time_t>(at_most.count() / 1'000'000'000),
                         static_cast<long>(at_most.count() % 1'000'000'000)};
  sleeps.store(1);
  if (count.load() == old) ::syscall(SYS_futex, word(count), FUTEX_WAIT, old, &timeout, nullptr, 0);
  sleeps.store(0, std::memory_order_relaxed);
  return count.load(std::memory_order_acquire) != old;
}

}  // namespace

void ask(page& p) {
  p.requests.fetch_add(1);
  if (p.simulator_sleeps.load()) wake(p.requests);
}

bool is_answered(const page& p) {
  return p.answers.load(std::memory_order_acquire) == p.requests.load(std::memory_order_relaxed);
}

bool await_answer(page& p, impatience& how) {
  const std::uint32_t before = p.answers.load();
  if (is_answered(p)) return true;
  wait_change(p.answers, before, p.program_sleeps, &p.overtaken, how, std::chrono::seconds(1));
  return is_answered(p);
}

bool is_asked(const page& p, std::uint32_t seen) {
  return p.requests.load(std::memory_order_acquire) != seen;
}

bool await_request(page& p, std::uint32_t seen, impatience& how, std::chrono::nanoseconds at_most) {
  return wait_change(p.requests, seen, p.simulator_sleeps, nullptr, how, at_most);
}

void answer(page& p, std::uint32_t seen) {
  p.overtaken.store(0, std::memory_order_relaxed);
  p.answers.store(seen);
  if (p.program_sleeps.load()) wake(p.answers);
}

void let_sleep(page& p) {
  p.overtaken.store(1, std::memory_order_relaxed);
}

}  // namespace hcasim::channel
