// A program's end of the channel: one connection a thread, made when it first needs one. Without HCASIM_SOCKET in the
// environment the library stands aside, and every call is the system's.
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
  volatile bool asking = false;  // a signal finds it within a request
  bool sent = false;             // it has written to descriptors
  bool signalled = false;        // it has sent signals
  bool interrupted = false;      // a signal's handler has run at the end of the last wait for others
  bool looked = false;           // since its last request, at descriptors, and found nothing
  std::uint64_t now = 0;         // ps, at the last answer
  std::uint64_t horizon = 0;
  std::uint64_t spent = 0;  // ps since then
  channel::impatience waits;
};

// For a program that another one has begun: the number of a descriptor to close when it is known.
inline constexpr const char* tell_variable = "HCASIM_TELL";

// Returns the connection of the calling thread; nullptr = there is no simulator.
connection* mine();
// Connects a new thread or process; `tell` is called when the simulator will hear of it, before it is the thread's turn.
void connect_and_tell(void (*tell)(void*), void* of);
// Tells the simulator of a child that will not: simulated time stands still while it computes.
void speak_for(pid_t child);
// Returns the connection of the calling thread, if it has one.
connection* present();
// Around a sleep that ends when what it has made connects, or what it has ended is gone, however long the machine takes.
void set_begetting(bool now);
// Until the descriptor is ready, ten seconds at most; signals do not end it.
void await_machine(int fd);
// The child of a fork has none yet.
void forget();
// A thread says that it ends, and waits for no answer: it may not have a turn again. What its destructors call is the system's.
void end_for_good();

// 0 or an errno value. Descriptors go along with the request.
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

// The page's list area of the calling thread, between requests.
std::span<std::byte> data();

// The host that the program runs on.
std::uint32_t own_node();

// A number from the environment.
std::uint64_t setting(const char* name, std::uint64_t otherwise);

// Ends the program with a message.
[[noreturn]] void give_up(const char* why);

}  // namespace hcasim::preload
