// Hears every payload that begins at a socket, in addition to an earlier observer.
#pragma once

#include <functional>

#include "tlm/socket.h"

namespace hcasim::kit {

template <class P>
class tap final : private socket_observer<P> {
 public:
  tap(initiator_socket<P>& socket, std::function<void(const P&)> hear)
      : socket_(socket), before_(socket.observed_by()), hear_(std::move(hear)) {
    socket_.observe(this);
  }
  ~tap() override { socket_.observe(before_); }
  tap(const tap&) = delete;
  tap& operator=(const tap&) = delete;

 private:
  void forward(const P& p, tlm::tlm_phase phase, ps t) override {
    if (before_) before_->forward(p, phase, t);
    if (phase == tlm::BEGIN_REQ) hear_(p);
  }
  void forward_done(const P& p, tlm::tlm_phase phase, tlm::tlm_sync_enum status, ps t) override {
    if (before_) before_->forward_done(p, phase, status, t);
  }
  void backward(const P& p, tlm::tlm_phase phase, ps t) override {
    if (before_) before_->backward(p, phase, t);
  }

  initiator_socket<P>& socket_;
  socket_observer<P>* const before_;
  const std::function<void(const P&)> hear_;
};

}  // namespace hcasim::kit
