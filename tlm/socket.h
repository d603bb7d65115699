// Sockets between units: TLM-2.0 non-blocking transport over the protocol's own payload.
//
// Contract of every protocol (payload P):
//   initiator: BEGIN_REQ with P and its local time. P belongs to the initiator and lives until it is answered.
//   target:    TLM_COMPLETED - the answer is in P, the local time is advanced to when it is there (a hit; no kernel event), or
//              TLM_ACCEPTED  - the answer comes later as BEGIN_RESP on the backward path, exactly once.
//   initiator: END_RESP gives back what an answer lent, where the protocol lends something (a context line, a key reference).
//
// Times: `t` is absolute, never before the kernel's now. On the wire it is the usual delay annotation.
// Initiators written as coroutines say `co_await port.request(p, t)`: a hit goes straight on, a miss suspends.
#pragma once

#include <algorithm>
#include <coroutine>
#include <string>
#include <utility>

#include "models/base/kernel.h"

namespace hcasim {

// What every payload of ours carries: who waits for the answer.
struct transaction {
  std::coroutine_handle<> waiter;
  // Instead of a waiter: called with the payload and its time (for initiators that are not coroutines).
  void (*on_response)(void* context, transaction& self, ps t) = nullptr;
  void* context = nullptr;
  ps answered_at{0};
  void* via = nullptr;  // the target socket it came through
};

// Listens on one binding; spliced in by tests and recorders, never by units.
template <class P>
class socket_observer {
 public:
  virtual ~socket_observer() = default;
  virtual void forward(const P& payload, tlm::tlm_phase phase, ps t) = 0;
  // After the call: what the target returned, and the local time it advanced to.
  virtual void forward_done(const P& payload, tlm::tlm_phase phase, tlm::tlm_sync_enum status, ps t) = 0;
  virtual void backward(const P& payload, tlm::tlm_phase phase, ps t) = 0;
};

// TLM-2.0 protocol types of payload P with the base phases.
template <class P>
struct protocol {
  using tlm_payload_type = P;
  using tlm_phase_type = tlm::tlm_phase;
};
template <class P>
struct forward_if : tlm::tlm_fw_nonblocking_transport_if<P, tlm::tlm_phase> {
  using protocol_types = protocol<P>;
};
template <class P>
struct backward_if : tlm::tlm_bw_nonblocking_transport_if<P, tlm::tlm_phase> {
  using protocol_types = protocol<P>;
};

template <class P>
class initiator_socket final : public tlm::tlm_base_initiator_socket<32, forward_if<P>, backward_if<P>>,
                               private backward_if<P> {
  using base = tlm::tlm_base_initiator_socket<32, forward_if<P>, backward_if<P>>;

 public:
  explicit initiator_socket(const char* name) : base(name) { this->m_export.bind(*this); }

  // BEGIN_REQ. TLM_COMPLETED: answered, `t` advanced.
  tlm::tlm_sync_enum send(P& p, ps& t) { return transport(p, tlm::BEGIN_REQ, t); }
  // END_RESP.
  void release(P& p, ps t) { transport(p, tlm::END_RESP, t); }

  [[nodiscard]] auto request(P& p, ps& t) {
    struct awaiter {
      initiator_socket& port;
      P& p;
      ps& t;
      bool suspended = false;
      bool await_ready() { return port.send(p, t) == tlm::TLM_COMPLETED; }
      void await_suspend(std::coroutine_handle<> h) {
        suspended = true;
        p.waiter = h;
      }
      void await_resume() const {
        if (suspended) t = std::max(t, p.answered_at);
      }
    };
    return awaiter{*this, p, t};
  }

  void observe(socket_observer<P>* o) { observer_ = o; }
  // For an observer that comes second and hands on to the first.
  [[nodiscard]] socket_observer<P>* observed_by() const { return observer_; }
  [[nodiscard]] const char* kind() const override { return "hcasim::initiator_socket"; }

 private:
  tlm::tlm_sync_enum transport(P& p, tlm::tlm_phase phase, ps& t) {
    const ps at = now();
    sc_core::sc_time delay = to_sc(t - at);
    if (observer_) [[unlikely]] {
      observer_->forward(p, phase, t);
    }
    tlm::tlm_phase ph = phase;
    const tlm::tlm_sync_enum status = (*this)->nb_transport_fw(p, ph, delay);
    t = at + to_ps(delay);
    if (observer_) [[unlikely]] {
      observer_->forward_done(p, phase, status, t);
    }
    return status;
  }

  tlm::tlm_sync_enum nb_transport_bw(P& p, tlm::tlm_phase& phase, sc_core::sc_time& delay) override {
    const ps t = now() + to_ps(delay);
    if (observer_) [[unlikely]] {
      observer_->backward(p, phase, t);
    }
    p.answered_at = t;
    if (p.waiter) {
      std::exchange(p.waiter, {}).resume();
    } else if (p.on_response) {
      p.on_response(p.context, p, t);
    }
    return tlm::TLM_COMPLETED;
  }

  socket_observer<P>* observer_ = nullptr;
};

template <class P>
class target_socket final : public tlm::tlm_base_target_socket<32, forward_if<P>, backward_if<P>>, private forward_if<P> {
  using base = tlm::tlm_base_target_socket<32, forward_if<P>, backward_if<P>>;

 public:
  explicit target_socket(const char* name) : base(name) { this->bind(static_cast<forward_if<P>&>(*this)); }

  // `target_socket<P> in{"in"}; in.on<&my_unit::handle>(this)` with
  //   tlm::tlm_sync_enum my_unit::handle(P& p, tlm::tlm_phase phase, ps& t);
  template <auto Method, class Owner>
  void on(Owner* owner) {
    owner_ = owner;
    handler_ = [](void* o, P& p, tlm::tlm_phase phase, ps& t) { return (static_cast<Owner*>(o)->*Method)(p, phase, t); };
  }
  // BEGIN_RESP for a request that was accepted, through the socket it came from.
  static void respond(P& p, ps t) {
    tlm::tlm_phase phase = tlm::BEGIN_RESP;
    sc_core::sc_time delay = to_sc(std::max(t - now(), ps(0)));
    (*static_cast<target_socket*>(p.via))->nb_transport_bw(p, phase, delay);
  }

  [[nodiscard]] const char* kind() const override { return "hcasim::target_socket"; }

 private:
  tlm::tlm_sync_enum nb_transport_fw(P& p, tlm::tlm_phase& phase, sc_core::sc_time& delay) override {
    const ps at = now();
    ps t = at + to_ps(delay);
    if (phase == tlm::BEGIN_REQ) p.via = this;
    const tlm::tlm_sync_enum status = handler_(owner_, p, phase, t);
    delay = to_sc(t - at);
    return status;
  }

  void* owner_ = nullptr;
  tlm::tlm_sync_enum (*handler_)(void*, P&, tlm::tlm_phase, ps&) = nullptr;
};

}  // namespace hcasim
