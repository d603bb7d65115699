// The two ends of a channel. A side looks for a moment, then sleeps in the kernel until the other side wakes it. `impatience`
// learns from earlier waits how long to look.
#pragma once

#include <chrono>

#include "testbenches/verbs_programs/channel/channel.h"

namespace hcasim::channel {

struct impatience {
  std::uint32_t looks = 300;
  std::uint32_t waits = 0;
};

// Hands the program's request over. `is_answered` looks without waiting. `await_answer` waits at most a second, and returns
// whether the answer is there.
void ask(page& p);
[[nodiscard]] bool is_answered(const page& p);
bool await_answer(page& p, impatience& how);

// Tells, at the simulator's end, whether a request is there. `seen`: requests taken so far.
[[nodiscard]] bool is_asked(const page& p, std::uint32_t seen);
bool await_request(page& p, std::uint32_t seen, impatience& how, std::chrono::nanoseconds at_most);
void answer(page& p, std::uint32_t seen);
// Makes the waiting side leave the processor to another thread, which was answered before this one.
void let_sleep(page& p);

}  // namespace hcasim::channel
