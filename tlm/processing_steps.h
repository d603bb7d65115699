// The steps that requester and responder have done by the adapter's processing units. On an adapter without a pool of them a
// step is done in the call.
#pragma once

#include <coroutine>
#include <memory>

#include "tlm/base/delegate.h"
#include "tlm/base/pool.h"
#include "tlm/processing.h"

namespace hcasim {

class processing_steps {
 public:
  struct step {
    std::uint32_t qpn;
    processing_step kind;
    std::uint32_t bytes;
    std::uint64_t operation;
  };

  // Makes the socket if the adapter has processing units.
  explicit processing_steps(bool used) {
    if (used) port_ = std::make_unique<initiator_socket<processing_request>>("processing");
  }

  [[nodiscard]] bool used() const { return port_ != nullptr; }
  void bind(target_socket<processing_request>& units) { port_->bind(units); }
  // Runs `then` when the step is done.
  void run(const step& s, action then) {
    if (!port_) return then();
    job& j = jobs_.get();
    j.self = this;
    j.then = then;
    j.qpn = s.qpn;
    j.step = s.kind;
    j.bytes = s.bytes;
    j.operation = s.operation;
    call_on_response<&job::self, &processing_steps::finish>(j, j);
    ps t = now();
    if (port_->send(j, t) == tlm::TLM_COMPLETED) finish(j);
  }
  // Waits for a step: `co_await steps.done(s)`.
  [[nodiscard]] auto done(const step& s) {
    struct awaiter {
      processing_steps& owner;
      step s;
      [[nodiscard]] bool await_ready() const { return !owner.port_; }
      void await_suspend(std::coroutine_handle<> h) { owner.run(s, resume(h)); }
      void await_resume() const {}
    };
    return awaiter{*this, s};
  }

 private:
  struct job : processing_request {
    processing_steps* self = nullptr;
    action then{};
  };
  void finish(job& j) {
    const action then = j.then;
    jobs_.put(j);
    then();
  }

  std::unique_ptr<initiator_socket<processing_request>> port_;
  pool<job> jobs_;
};

}  // namespace hcasim
