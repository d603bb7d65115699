// A flow of control with a stack of its own, for code that cannot suspend as a coroutine does (process.h): C firmware.
//
// The event queue resumes the fibre after the items of its time and before those of `last`, without the kernel. The body runs
// from the first wake on. The item that resumes a body throws the body's exception.
#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <memory>

#include "tlm/base/event_queue.h"

namespace sc_core {
class sc_cor;
}

namespace hcasim {

class fibre {
 public:
  // `stack`: bytes.
  fibre(std::size_t stack, std::function<void()> body);
  ~fibre();
  fibre(const fibre&) = delete;
  fibre& operator=(const fibre&) = delete;

  // Ends a wait() that stands at time `when`. A fibre that runs or sleeps then does not notice.
  void wake_at(ps when);
  void wake();

  // Suspends the body until a wake. A wake may be meant for an earlier wait, so the body looks at its condition again.
  void wait();
  // Suspends the body until a time.
  void wait_until(ps when);

 private:
  enum class doing : std::uint8_t { runs, waits, sleeps, ended };

  void resume();
  void suspend(doing until);
  static void enter(void* self);

  event_queue& queue_;
  const std::size_t stack_;
  const std::function<void()> body_;
  std::unique_ptr<sc_core::sc_cor> flow_;  // empty = not begun
  std::exception_ptr error_;
  doing state_ = doing::waits;
};

}  // namespace hcasim
