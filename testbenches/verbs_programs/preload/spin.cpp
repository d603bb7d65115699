#include "testbenches/verbs_programs/preload/spin.h"

#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <utility>

#include "testbenches/verbs_programs/channel/machine.h"
#include "testbenches/verbs_programs/preload/clock.h"
#include "testbenches/verbs_programs/preload/connection.h"
#include "testbenches/verbs_programs/preload/counter_reads.h"
#include "testbenches/verbs_programs/preload/libc.h"
#include "testbenches/verbs_programs/preload/operands.h"
#include "testbenches/verbs_programs/preload/signals.h"

// NOLINTBEGIN(performance-no-int-to-ptr): registers hold numbers

namespace hcasim::preload {
namespace {

constexpr std::size_t stack_bytes = 512;
constexpr int most_steps = 400;       // of a round
constexpr int rounds_of_a_proof = 8;  // a sum in memory changes the flags within so many rounds

// The state of the thread when it was stopped, and since. A waiting loop comes back to an earlier state. A loop that counts in
// memory does so too, between its stores and loads, but its rounds differ.
struct snapshot {
  bool stepping = false;
  bool taking = false;        // the loop is taken for waiting: these steps only learn its places
  bool within_taken = false;  // all steps were at places of such loops
  std::uint32_t beats = 0;
  machine::registers registers{};
  channel::spin reads{};   // the pages that the first round reads
  bool reads_all = false;  // too many, or not to be told
  std::array<char, stack_bytes> stack{};
  struct round {
    int steps = 0;
    std::uint64_t way = 0;     // hash over the registers and flags at each step
    std::uint64_t places = 0;  // sum over its instructions' addresses, the same from any first step
  };
  round now;
  std::uint64_t first_way = 0;
  int rounds = 0;
};
thread_local snapshot seen;

std::uint64_t further(std::uint64_t way, std::uint64_t v) {
  way = (way ^ v) * 0x9e3779b97f4a7c15;
  return way ^ way >> 32;
}
std::uint64_t further(std::uint64_t way, const ucontext_t& u, const machine::registers& registers) {
  for (const std::uint64_t r : registers) way = further(way, r);
  return further(way, machine::flags_of(u));
}

void note_page(std::uint64_t address) {
  channel::spin& r = seen.reads;
  constexpr std::uint64_t page = 4096;
  const std::uint64_t at = address & ~(page - 1);
  if (std::find(r.pages, r.pages + r.count, at) != r.pages + r.count) return;
  if (r.count == channel::spin::most_pages) {
    seen.reads_all = true;
  } else {
    r.pages[r.count++] = at;
  }
}

// Notes the memory that the next instruction reads.
void note_read(const ucontext_t& u, const machine::registers& registers) {
  constexpr std::uint64_t widest = 8;
  const operand o = operand_of(reinterpret_cast<const std::uint8_t*>(machine::place_of(u)), registers);
  if (o.what == operand::kind::unknown) seen.reads_all = true;
  if (o.what != operand::kind::memory) return;
  note_page(o.address);
  note_page(o.address + widest - 1);
}

void wait_for_memory() {
  channel::spin wait = seen.reads;
  wait.proven = 1;
  if (seen.reads_all) wait.count = 0;
  call(wait);
}

// Loops proven to wait: the same instructions do not count the next time either.
struct known_loops {
  [[nodiscard]] bool has(std::uint64_t places) const { return std::find(sums.begin(), sums.end(), places) != sums.end(); }
  void add(std::uint64_t places) { sums[next++ % sums.size()] = places; }
  std::array<std::uint64_t, 8> sums{};
  std::size_t next = 0;
};
thread_local known_loops proven;

// The places of loops taken for waiting without a proof. A thread that stays within them waits again.
struct taken_loops {
  static constexpr int enough_steps = 200;

  [[nodiscard]] bool has(std::uint64_t place) const { return std::find(places.begin(), end(), place) != end(); }
  void add(std::uint64_t place) {
    if (has(place)) return;
    if (count == places.size()) count = 0;
    places[count++] = place;
  }
  [[nodiscard]] const std::uint64_t* end() const { return places.begin() + count; }
  std::array<std::uint64_t, 256> places{};
  std::size_t count = 0;
};
thread_local taken_loops taken;

// A thread that has waited for memory once will do so again. Its own timer stops the thread sooner than the simulator, which
// may have to wait for a processor.
thread_local bool watches = false;
thread_local int timer = -1;

bool set_timer(long ns) {
  const itimerspec t{{0, 0}, {0, ns}};
  return ::syscall(SYS_timer_settime, timer, 0, &t, nullptr) == 0;
}

bool make_timer() {
  sigevent e{};
  e.sigev_notify = SIGEV_THREAD_ID;
  e.sigev_signo = spin_signal();
  e._sigev_un._tid = static_cast<pid_t>(::syscall(SYS_gettid));
  return ::syscall(SYS_timer_create, CLOCK_MONOTONIC, &e, &timer) == 0;
}

void begin_steps(int, siginfo_t*, void* context) {
  auto& u = *static_cast<ucontext_t*>(context);
  connection* c = present();
  // The thread takes no more steps if a jump has left one of its handlers.
  if (!machine::is_stepping(u)) seen.stepping = false;
  if (!c || c->asking || seen.stepping || machine::changes_mask(u)) return;
  const std::uint32_t told = c->page->unprovable.load();
  if (told == channel::take_now) c->page->unprovable = 0;
  if (!machine::can_step) {
    const int kept = errno;
    if (told == channel::take_now) call(channel::spin{});
    errno = kept;
    return;
  }
  seen.stepping = true;
  seen.taking = told == channel::take_now;
  seen.within_taken = told == channel::take_known;
  seen.now = {};
  seen.rounds = 0;
  seen.beats = c->page->beats.load(std::memory_order_relaxed);
  seen.reads = {};
  seen.reads_all = false;
  machine::note(u, seen.registers);
  note_read(u, seen.registers);
  std::memcpy(seen.stack.data(), machine::stack_of(u), stack_bytes);
  machine::let_step(u, true);
}

struct kept_action {
  struct sigaction action {};
  bool given = false;
};
kept_action program_fault;
kept_action program_trap;
kept_action program_spin;

// Hands a signal to the program, because the library has no use for it.
void hand_on(const kept_action& k, int signal, siginfo_t* info, void* context) {
  if (k.given && (k.action.sa_flags & SA_SIGINFO) && k.action.sa_sigaction) return k.action.sa_sigaction(signal, info, context);
  if (k.given && k.action.sa_handler == SIG_IGN) return;
  if (k.given && k.action.sa_handler != SIG_DFL) return k.action.sa_handler(signal);
  struct sigaction normal {};
  normal.sa_handler = SIG_DFL;
  HCASIM_REAL(sigaction)(signal, &normal, nullptr);
  // A fault repeats by itself; other signals are sent again.
  if (info->si_code <= 0) ::syscall(SYS_tgkill, ::getpid(), ::syscall(SYS_gettid), signal);
}

void step(int signal, siginfo_t* info, void* context) {
  auto& u = *static_cast<ucontext_t*>(context);
  if (!seen.stepping && info->si_code == TRAP_TRACE && !program_trap.given) {  // a later look has ended these steps
    machine::let_step(u, false);
    return;
  }
  if (!seen.stepping) return hand_on(program_trap, signal, info, context);
  const int kept = errno;
  connection* c = present();
  const auto end = [&] {
    seen.stepping = false;
    machine::let_step(u, false);
  };
  const std::uint64_t place = machine::place_of(u);
  if (!c || c->asking || machine::changes_mask(u)) {
    end();
  } else if (seen.taking) {
    taken.add(place);
    if (++seen.now.steps == most_steps) {
      end();
      call(channel::spin{});
    }
  } else if (++seen.now.steps > most_steps || c->page->beats.load(std::memory_order_relaxed) != seen.beats) {
    end();
  } else if ((seen.within_taken &= taken.has(place)) && seen.now.steps == taken_loops::enough_steps) {
    end();
    call(channel::spin{});
  } else {
    machine::registers current;
    machine::note(u, current);
    if (seen.rounds == 0) note_read(u, current);
    seen.now.way = further(seen.now.way, u, current);
    seen.now.places += further(0, place);
    if (current == seen.registers && std::memcmp(machine::stack_of(u), seen.stack.data(), stack_bytes) == 0) {
      const snapshot::round round = std::exchange(seen.now, {});
      const bool known = seen.rounds == 0 && proven.has(round.places);
      if (seen.rounds++ == 0) seen.first_way = round.way;
      if (round.way != seen.first_way) {
        end();
      } else if (known || seen.rounds == rounds_of_a_proof) {
        if (!known) proven.add(round.places);
        end();
        wait_for_memory();
        watches = true;
        watch_for_spin(true);
      }
    }
  }
  errno = kept;
}

void fault(int signal, siginfo_t* info, void* context) {
  const int kept = errno;
  const bool ours = info->si_code == SI_KERNEL && (emulate_time_stamp(context) || have_libraries_changed(context));
  errno = kept;
  if (!ours) hand_on(program_fault, signal, info, context);
}

using handler = void(int, siginfo_t*, void*);

bool install(int signal, handler* h, kept_action& before) {
  struct sigaction a {};
  a.sa_sigaction = h;
  a.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
  // Both signals are blocked in either handler: a trap or fault during the other's handler would find its signal blocked.
  sigemptyset(&a.sa_mask);
  sigaddset(&a.sa_mask, spin_signal());
  struct sigaction old {};
  if (HCASIM_REAL(sigaction)(signal, &a, &old) != 0) return false;
  const bool programs = (old.sa_flags & SA_SIGINFO) || old.sa_handler != SIG_DFL;
  if (programs) before = {old, true};
  return true;
}

kept_action* ours(int signal) {
  if (signal == SIGSEGV) return &program_fault;
  if (signal == SIGTRAP) return &program_trap;
  return signal == spin_signal() ? &program_spin : nullptr;
}

bool catching = false;

}  // namespace

int spin_signal() {
  return SIGRTMAX - 1;
}

void accept_spin_signal(bool on) {
  connection* c = present();
  if (!c || !catching) return;
  const std::uint64_t set = bit_of(spin_signal());
  if (!on) c->page->listens = 0;
  ::syscall(SYS_rt_sigprocmask, on ? SIG_UNBLOCK : SIG_BLOCK, &set, nullptr, sizeof set);
  if (on) c->page->listens = 1;
}

void watch_for_spin(bool begins) {
  if (!watches) return;
  constexpr long grace = 40'000;  // ns
  if (timer < 0) watches = begins && make_timer();
  if (watches) watches = set_timer(begins ? grace : 0);
  present()->page->watches.store(watches, std::memory_order_relaxed);
}

void end_watch() {
  watches = false;
  if (timer >= 0) ::syscall(SYS_timer_delete, std::exchange(timer, -1));
}

bool catch_faults() {
  if (catching) return true;
  catching = install(SIGSEGV, fault, program_fault) && install(SIGTRAP, step, program_trap) &&
             install(spin_signal(), begin_steps, program_spin);
  return catching;
}

}  // namespace hcasim::preload

using namespace hcasim::preload;

HCASIM_PUBLIC int sigaction(int signal, const struct sigaction* action, struct sigaction* old) noexcept {
  kept_action* k = catching ? ours(signal) : nullptr;
  if (!k) {
    struct sigaction passed_on {};
    if (action) passed_on = *action;
    sigdelset(&passed_on.sa_mask, SIGSEGV);  // reads of the time-stamp counter in the handler
    const int result = HCASIM_REAL(sigaction)(signal, action ? &passed_on : nullptr, old);
    if (result == 0 && action) note_action(signal, *action);
    return result;
  }
  const kept_action before = *k;
  if (action) *k = {*action, true};
  if (old) *old = before.action;
  return 0;
}

HCASIM_PUBLIC sighandler_t signal(int number, sighandler_t h) noexcept {
  struct sigaction a {};
  struct sigaction old {};
  a.sa_handler = h;
  a.sa_flags = SA_RESTART;
  return sigaction(number, &a, &old) == 0 ? old.sa_handler : SIG_ERR;
}
// NOLINTEND(performance-no-int-to-ptr)
