// The channel between one thread of a program and the simulator: a page of shared memory for requests and answers. The program
// makes the page and hands the page over when the thread connects. Everything but the atomic members belongs to one side at a
// time: to the simulator from a request to its answer, otherwise to the program. The simulator trusts no value in the page: it
// copies each value, then checks the copy.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace hcasim::channel {

inline constexpr std::uint32_t magic = 0x6863'6173;
inline constexpr std::uint32_t version = 11;
inline constexpr std::size_t argument_bytes = 256;
inline constexpr std::size_t data_bytes = 64 << 10;

// The simulator cannot prove that a thread waits. take_now: the thread is to ask for sleep. take_known: only within loops for
// which the thread has asked before.
inline constexpr std::uint32_t take_now = 1;
inline constexpr std::uint32_t take_known = 2;

struct page {
  std::uint32_t magic;
  std::uint32_t version;
  std::atomic<std::uint32_t> requests;
  std::atomic<std::uint32_t> answers;
  std::atomic<std::uint32_t> simulator_sleeps;
  std::atomic<std::uint32_t> program_sleeps;
  std::atomic<std::uint32_t> overtaken;   // 1 = another thread was answered after this request: no need to look for the answer
  std::atomic<std::uint32_t> beats;       // reads of the clock: tell a loop over the clock from a loop over memory
  std::atomic<std::uint32_t> unprovable;  // take_now, take_known; 0 = sleep takes a proof
  std::atomic<std::uint32_t> watches;     // 1 = the thread has waited in loops, and watches itself for further loops
  std::atomic<std::uint32_t> listens;     // 1 = the thread handles the simulator's signal
  std::atomic<std::uint32_t> awaits_machine;  // 1 = the thread sleeps until the machine has begun or ended a thread or process
  std::uint32_t what;
  std::int32_t error;                         // errno value of the answer
  std::uint32_t sent;                         // 1 = the thread has written to descriptors since the last answer
  std::uint32_t signalled;                    // 1 = the thread has sent signals since the last answer
  std::atomic<std::uint32_t> machine_clocks;  // how often the thread has read a clock of the machine
  std::uint64_t waking;                       // signals that end a sleep: the thread holds them back until the answer
  std::uint64_t spent;                        // ps of simulated time that the thread has used up since the last answer
  std::uint64_t now;                          // ps: the thread's time when it was answered
  std::uint64_t horizon;                      // ps: how far the thread may run ahead of `now` by itself
  alignas(64) std::byte arguments[argument_bytes];
  alignas(64) std::byte data[data_bytes];
};
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

// The first message of a thread, sent when the thread connects. The page's descriptor goes with the message.
struct hello {
  std::uint32_t magic;
  std::uint32_t version;
  std::int32_t process;
  std::int32_t thread;
  std::int32_t parent;   // process
  std::int32_t program;  // from its environment
  std::int32_t node;     // from its environment, or its rank among the processes that a launcher has begun
};

}  // namespace hcasim::channel
