// How one thread of a program asks the simulator, and waits for the answer: a page of shared memory that the program makes and
// hands over when the thread connects. One side at a time owns everything but the counts: the program from an answer to its
// next request, the simulator in between. What the program writes is not to be trusted: copy it, then check it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace hcasim::channel {

inline constexpr std::uint32_t magic = 0x6863'6173;
inline constexpr std::uint32_t version = 9;
inline constexpr std::size_t argument_bytes = 256;
inline constexpr std::size_t data_bytes = 64 << 10;

// The simulator cannot prove that a thread waits. The thread is to ask for sleep, or only if it stays within loops for which
// it did before.
inline constexpr std::uint32_t take_now = 1;
inline constexpr std::uint32_t take_known = 2;

struct page {
  std::uint32_t magic;
  std::uint32_t version;
  std::atomic<std::uint32_t> requests;
  std::atomic<std::uint32_t> answers;
  std::atomic<std::uint32_t> simulator_sleeps;
  std::atomic<std::uint32_t> program_sleeps;
  std::atomic<std::uint32_t> overtaken;   // another thread was answered since it has asked: it need not look for its own answer
  std::atomic<std::uint32_t> beats;       // looks at the clock: tells a loop that reads it from one that reads memory
  std::atomic<std::uint32_t> unprovable;  // take_now, take_known; 0 = sleep takes a proof
  std::atomic<std::uint32_t> watches;     // it has turned in loops that wait, and watches itself for more of them
  std::atomic<std::uint32_t> listens;     // it handles the simulator's signal
  std::atomic<std::uint32_t> begets;      // it sleeps until the machine has begun a thread or process for it, or ended one
  std::uint32_t what;
  std::int32_t error;                         // of the answer: an errno value
  std::uint32_t sent;                         // since the last answer the thread has written to descriptors
  std::uint32_t signalled;                    // and has sent signals
  std::atomic<std::uint32_t> machine_clocks;  // how often it has read a clock of the machine's
  std::uint64_t waking;                       // signals that the thread holds back until it is answered: they end a sleep
  std::uint64_t spent;                        // ps of simulated time that the thread has used up since the last answer
  std::uint64_t now;                          // ps: the thread's time when it was answered
  std::uint64_t horizon;                      // ps: how far it may run ahead of `now` by itself
  alignas(64) std::byte arguments[argument_bytes];
  alignas(64) std::byte data[data_bytes];
};
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

// The message of a thread on the socket when it connects, with the page's descriptor beside it.
struct hello {
  std::uint32_t magic;
  std::uint32_t version;
  std::int32_t process;
  std::int32_t thread;
  std::int32_t parent;   // process
  std::int32_t program;  // as its environment says
  std::int32_t node;     // as well, or its rank among the processes that a launcher has begun
};

}  // namespace hcasim::channel
