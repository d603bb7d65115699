// A program's end of the channel. Each thread makes its own connection when needed. Without HCASIM_SOCKET in the environment
// the library passes every call on to the system.
#pragma once

#include <sys/types.h>

#include <cstring>
#include <initializer_list>
#include <span>

#include "testbenches/verbs_programs/channel/channel.h"
#include "testbenches/verbs_programs/channel/handoff.h"
#include "testbenches/verbs_programs/channel/requests.h"

#define HCASIM_PUBLIC extern "C" __attribute__((visibility("default")))

namespace hcasim::preload {

struct connection {
  channel::page* page = nullptr;
  int socket = -1;
  pid_t thread = 0;
  volatile bool asking = false;  // a request is under way, which a signal may interrupt
  bool sent = false;             // the thread has written to descriptors since its last request
  bool signalled = false;        // the thread has sent signals since its last request
  bool interrupted = false;      // a signal's handler has run at the end of the last wait for others
  bool looked = false;           // the thread has looked at descriptors since its last request, and found nothing
  std::uint64_t now = 0;         // ps, at the last answer
  std::uint64_t horizon = 0;
  std::uint64_t spent = 0;  // ps since then
  channel::impatience waits;
};

// Variable of a spawned program: the number of the descriptor to close when the simulator knows the program.
inline constexpr const char* tell_variable = "HCASIM_TELL";

// Returns the connection of the calling thread; nullptr = there is no simulator.
connection* mine();
// Connects a new thread or process. `tell` is called once the connection is made, before the thread's turn.
void connect_and_tell(void (*tell)(void*), void* of);
// Connects on behalf of a child without the library. Simulated time stands still while the child computes.
void speak_for(pid_t child);
// Returns the connection of the calling thread, if it has one.
connection* present();
// Marks a sleep that the machine ends, however late. The thread waits for a thread or process to connect, or to be gone.
void set_awaiting_machine(bool now);
// Waits until the descriptor is ready, ten seconds at most; signals do not end the wait.
void await_machine(int fd);
// Drops the connection: the child of a fork has none of its own yet.
void forget();
// Announces the thread's end, without an answer: the thread may get no turn again. Its destructors' calls go to the system.
void end_for_good();

// Makes a request, with `descriptors`. Returns 0 or an errno value.
int ask(channel::request_id id, const void* in, std::size_t in_bytes, void* out, std::size_t out_bytes,
        std::span<const int> descriptors);

template <class Request>
int call(const Request& in, typename Request::answer& out, std::span<const int> descriptors = {}) {
  static_assert(sizeof(Request) <= channel::argument_bytes);
  return ask(Request::number, &in, sizeof in, &out, sizeof out, descriptors);
}
template <class Request>
int call(const Request& in) {
  typename Request::answer out;
  return call(in, out);
}

// Returns `data` of the calling thread's page, for use between requests.
std::span<std::byte> data();

// Returns the node that the program runs on.
std::uint32_t own_node();

// Returns a number from the environment, or `otherwise`.
std::uint64_t setting(const char* name, std::uint64_t otherwise);

// Ends the program with a message.
[[noreturn]] void give_up(const char* why);

}  // namespace hcasim::preload
