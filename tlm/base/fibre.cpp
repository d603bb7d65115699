#include "tlm/base/fibre.h"

#include <sysc/kernel/sc_cor.h>

#include <utility>

namespace hcasim {
namespace {

// The kernel's own switch of stacks, which its thread processes use.
sc_core::sc_cor_pkg& switcher() {
  return *sc_core::sc_get_curr_simcontext()->cor_pkg();
}

}  // namespace

fibre::fibre(std::size_t stack, std::function<void()> body)
    : queue_(event_queue::instance()), stack_(stack), body_(std::move(body)) {}

fibre::~fibre() = default;

void fibre::wake_at(ps when) {
  queue_.as_process(when, {[](void* self) {
                             auto& f = *static_cast<fibre*>(self);
                             if (f.state_ == doing::waits) f.resume();
                           },
                           this});
}

void fibre::wake() {
  if (state_ == doing::waits) wake_at(now());
}

void fibre::wait() {
  suspend(doing::waits);
}

void fibre::wait_until(ps when) {
  queue_.as_process(when, {[](void* self) { static_cast<fibre*>(self)->resume(); }, this});
  suspend(doing::sleeps);
}

void fibre::resume() {
  if (!flow_) {
    flow_.reset(switcher().create(stack_, &fibre::enter, this));
    flow_->stack_protect(true);
  }
  state_ = doing::runs;
  switcher().yield(flow_.get());
  if (error_) std::rethrow_exception(std::exchange(error_, {}));
}

// The queue runs in a method process, on the main stack.
void fibre::suspend(doing until) {
  state_ = until;
  switcher().yield(switcher().get_main());
}

void fibre::enter(void* self) {
  auto& f = *static_cast<fibre*>(self);
  try {
    f.body_();
  } catch (...) {
    f.error_ = std::current_exception();
  }
  f.suspend(doing::ended);
}

}  // namespace hcasim
