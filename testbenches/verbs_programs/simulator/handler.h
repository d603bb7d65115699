// Makes an entry of the table from a function of a request's struct.
#pragma once

#include <cerrno>
#include <cstring>
#include <type_traits>

#include "testbenches/verbs_programs/channel/channel.h"
#include "testbenches/verbs_programs/simulator/serve.h"

namespace hcasim::applications {

template <class Request>
using answer_of = typename Request::answer;

template <class Request, int (*Handle)(caller&, const Request&, answer_of<Request>&)>
int unpack(caller& k, const std::byte* arguments, std::byte* answer) {
  static_assert(std::is_trivially_copyable_v<Request> && sizeof(Request) <= channel::argument_bytes);
  static_assert(sizeof(answer_of<Request>) <= channel::argument_bytes);
  Request in;
  std::memcpy(&in, arguments, sizeof in);
  answer_of<Request> out{};
  const int error = Handle(k, in, out);
  std::memcpy(answer, &out, sizeof out);
  return error;
}

template <class Request>
claims unpack_claims(const std::byte* arguments) {
  Request in;
  std::memcpy(&in, arguments, sizeof in);
  return all_claims_of(in);
}

template <class Request, int (*Handle)(caller&, const Request&, answer_of<Request>&)>
void add(handler_table& t) {
  t[static_cast<std::size_t>(Request::number)] = {unpack<Request, Handle>, unpack_claims<Request>};
}

// The wait of a thread for an event of the simulation. Checkpoints look for signals that end the wait.
class signal_place : public waiting::place {
 public:
  explicit signal_place(caller& k) : place(k.who.sleeping, prepared(k), k.waking != 0), k_(k) {}
  ~signal_place() { k_.bed.signals = 0; }
  signal_place(const signal_place&) = delete;
  signal_place& operator=(const signal_place&) = delete;

 private:
  static waiting::sleeper& prepared(caller& k) {
    k.bed.fds.clear();
    k.bed.signals = k.waking;
    return k.bed;
  }
  caller& k_;
};

// Objects of one request belong to one context.
template <class A, class B>
bool together(const A& a, const B& b) {
  return a.context == b.context;
}

// Returns a program's pointer, which the simulator never follows.
inline void* as_context(std::uint64_t user) {
  return reinterpret_cast<void*>(user);  // NOLINT(performance-no-int-to-ptr)
}
inline std::uint64_t as_user(const void* context) {
  return reinterpret_cast<std::uint64_t>(context);
}

// Copies the next element of `data`. False = `data` is too short.
template <class T>
bool take_from(std::span<std::byte> data, std::size_t& at, T& out) {
  if (data.size() - at < sizeof(T)) return false;
  std::memcpy(&out, data.data() + at, sizeof(T));
  at += sizeof(T);
  return true;
}

}  // namespace hcasim::applications
