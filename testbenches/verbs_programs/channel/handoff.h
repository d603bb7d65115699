// The two ends of a channel. A side looks for a moment, then sleeps in the kernel until the other one wakes it. How long it
// looks follows what looking has brought it.
#pragma once

#include <chrono>

#include "testbenches/verbs_programs/channel/channel.h"

namespace hcasim::channel {

struct impatience {
  std::uint32_t looks = 300;
  std::uint32_t waits = 0;
};

// The program's end: hands the request over. `is_answered` looks without waiting; `await_answer` waits, at most a second, and
// says whether the answer is there.
void ask(page& p);
[[nodiscard]] bool is_answered(const page& p);
bool await_answer(page& p, impatience& how);

// The simulator's end. `seen`: requests taken so far.
[[nodiscard]] bool is_asked(const page& p, std::uint32_t seen);
bool await_request(page& p, std::uint32_t seen, impatience& how, std::chrono::nanoseconds at_most);
void answer(page& p, std::uint32_t seen);
// Another thread has been answered before this one: a waiting side leaves the processor to it.
void let_sleep(page& p);

}  // namespace hcasim::channel
