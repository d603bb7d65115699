// Sockets between units: TLM-2.0 non-blocking transport over the protocol's own payload.
//
// Contract of every protocol (payload P):
//   initiator: BEGIN_REQ with P. P belongs to the initiator and lives until it is answered.
//   target:    TLM_COMPLETED - the answer is in P, the local time is advanced to when it is there (a hit), or
//              TLM_ACCEPTED  - the answer comes later as BEGIN_RESP on the backward path, exactly once.
//   initiator: END_RESP gives back what an answer lent, where the protocol lends something (a context line, a key reference).
//
// Time: a request reaches the target, and an answer the initiator, when simulated time has got there. A unit may ask for a
// request or an answer to be handed over later (`t`); no unit acts ahead of time. Initiators written as coroutines say
// `co_await port.request(p, t)` and go on when the answer is there: t == now().
#pragma once

#include <algorithm>
#include <coroutine>
#include <cstdint>
#include <deque>
#include <stdexcept>
#include <string>
#include <utility>

#include "tlm/base/event_queue.h"

namespace hcasim {

// The head of every payload: the waiter for the response, and the number of the work request (tlm/operation.h; 0 = none).
struct transaction {
  std::coroutine_handle<> waiter;
  // Called with the payload and its time instead of a waiter (for initiators that are not coroutines).
  void (*on_response)(void* context, transaction& self, ps t) = nullptr;
  void* context = nullptr;
  ps answered_at{0};    // time of the response, known when the target answered in the call
  void* via = nullptr;  // the socket that the payload is at
  std::uint64_t operation = 0;
};

// Listens on one binding; spliced in by tests and recorders, never by units.
template <class P>
class socket_observer {
 public:
  virtual ~socket_observer() = default;
  virtual void forward(const P& payload, tlm::tlm_phase phase, ps t) = 0;
  // Reports the return of the call: the target's status, and the local time to which it advanced.
  virtual void forward_done(const P& payload, tlm::tlm_phase phase, tlm::tlm_sync_enum status, ps t) = 0;
  virtual void backward(const P& payload, tlm::tlm_phase phase, ps t) = 0;
};

// TLM-2.0 protocol types of payload P with the base phases.
template <class P>
struct protocol {
  using tlm_payload_type = P;
  using tlm_phase_type = tlm::tlm_phase;
};
// The handler of a target of this project. Calls between two sockets of the project go straight here; other initiators and
// targets are served through TLM's own interfaces.
template <class P>
struct target_handler {
  void* owner = nullptr;
  tlm::tlm_sync_enum (*handle)(void* owner, P& p, tlm::tlm_phase phase, ps& t) = nullptr;
};

template <class P>
class initiator_socket;

template <class P>
struct forward_if : tlm::tlm_fw_nonblocking_transport_if<P, tlm::tlm_phase> {
  using protocol_types = protocol<P>;
  // Returns the handler of a target of this project, which from then on answers `by` directly; null = a foreign target.
  virtual const target_handler<P>* meet(initiator_socket<P>&) { return nullptr; }
  // Returns the name of the socket's unit, for monitors.
  [[nodiscard]] virtual std::string where() const { return {}; }
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

  // Sends BEGIN_REQ at t or now. TLM_COMPLETED: answered already; TLM_ACCEPTED: the response comes through waiter or
  // on_response.
  tlm::tlm_sync_enum send(P& p, ps& t) {
    if (t > now()) {
      p.via = this;
      queue_.at(t, {&begin_later, static_cast<transaction*>(&p)});
      return tlm::TLM_ACCEPTED;
    }
    return begin(p, t);
  }
  // Sends BEGIN_REQ now, of a payload whose transfer goes on while the sender is still busy with it (a packet on a wire). The
  // response comes once known, with a time that may lie ahead.
  tlm::tlm_sync_enum send_ahead(P& p, ps& t) {
    t = now();
    return transport(p, tlm::BEGIN_REQ, t);
  }
  // Sends BEGIN_REQ now to a target that answers in the call, such as a register. `t`: time of the response.
  void access(P& p, ps& t) {
    t = now();
    if (transport(p, tlm::BEGIN_REQ, t) != tlm::TLM_COMPLETED) throw std::logic_error("an access was not answered in the call");
  }
  // Sends END_RESP now.
  void release(P& p) {
    ps t = now();
    transport(p, tlm::END_RESP, t);
  }

  [[nodiscard]] auto request(P& p, ps& t) {
    struct awaiter {
      initiator_socket& port;
      P& p;
      ps& t;
      bool await_ready() { return port.send(p, t) == tlm::TLM_COMPLETED; }
      void await_suspend(std::coroutine_handle<> h) { p.waiter = h; }
      void await_resume() const { t = now(); }
    };
    return awaiter{*this, p, t};
  }

  // Takes BEGIN_RESP from a target of this project.
  void answer(P& p, ps t) {
    if (observer_) [[unlikely]] {
      observer_->backward(p, tlm::BEGIN_RESP, t);
    }
    answered(p, t);
  }

  // Returns the name of the target unit.
  [[nodiscard]] std::string target() const { return (*this)->where(); }
  void observe(socket_observer<P>* o) { observer_ = o; }
  // Returns the observer, for a second one that passes its calls on to the first.
  [[nodiscard]] socket_observer<P>* observed_by() const { return observer_; }
  [[nodiscard]] const char* kind() const override { return "hcasim::initiator_socket"; }

 private:
  static P& payload(void* self) { return static_cast<P&>(*static_cast<transaction*>(self)); }

  tlm::tlm_sync_enum begin(P& p, ps& t) {
    const ps at = t = now();
    const tlm::tlm_sync_enum status = transport(p, tlm::BEGIN_REQ, t);
    if (status != tlm::TLM_COMPLETED || t == at) return status;
    p.answered_at = t;
    p.via = this;
    queue_.at(t, {[](void* self) {
                    P& done = payload(self);
                    static_cast<initiator_socket*>(done.via)->answered(done, now());
                  },
                  static_cast<transaction*>(&p)});
    return tlm::TLM_ACCEPTED;
  }

  static void begin_later(void* self) {
    P& p = payload(self);
    auto& port = *static_cast<initiator_socket*>(p.via);
    ps t = now();
    if (port.begin(p, t) == tlm::TLM_COMPLETED) port.answered(p, t);
  }

  static void answered(P& p, ps t) {
    p.answered_at = t;
    if (p.waiter) {
      std::exchange(p.waiter, {}).resume();
    } else if (p.on_response) {
      p.on_response(p.context, p, t);
    }
  }

  tlm::tlm_sync_enum transport(P& p, tlm::tlm_phase phase, ps& t) {
    if (observer_) [[unlikely]] {
      observer_->forward(p, phase, t);
    }
    if (!met_) [[unlikely]] {
      target_ = (*this)->meet(*this);
      met_ = true;
    }
    tlm::tlm_sync_enum status = tlm::TLM_COMPLETED;
    if (target_) [[likely]] {
      status = target_->handle(target_->owner, p, phase, t);
    } else {
      sc_core::sc_time delay = to_delay(t);
      tlm::tlm_phase ph = phase;
      status = (*this)->nb_transport_fw(p, ph, delay);
      t = from_delay(delay);
    }
    if (observer_) [[unlikely]] {
      observer_->forward_done(p, phase, status, t);
    }
    return status;
  }

  tlm::tlm_sync_enum nb_transport_bw(P& p, tlm::tlm_phase& phase, sc_core::sc_time& delay) override {
    const ps t = from_delay(delay);
    if (observer_) [[unlikely]] {
      observer_->backward(p, phase, t);
    }
    if (t > now()) {
      p.via = this;
      queue_.at(t, {[](void* self) {
                      P& late = payload(self);
                      static_cast<initiator_socket*>(late.via)->answered(late, now());
                    },
                    static_cast<transaction*>(&p)});
    } else {
      answered(p, t);
    }
    return tlm::TLM_COMPLETED;
  }

  event_queue& queue_ = event_queue::instance();
  const target_handler<P>* target_ = nullptr;
  bool met_ = false;
  socket_observer<P>* observer_ = nullptr;
};

// `Policy`: whether a target has to be bound to it.
template <class P, sc_core::sc_port_policy Policy = sc_core::SC_ONE_OR_MORE_BOUND>
class target_socket final : public tlm::tlm_base_target_socket<32, forward_if<P>, backward_if<P>, 1, Policy>,
                            private forward_if<P> {
  using base = tlm::tlm_base_target_socket<32, forward_if<P>, backward_if<P>, 1, Policy>;

 public:
  explicit target_socket(const char* name) : base(name) { this->bind(static_cast<forward_if<P>&>(*this)); }

  // `target_socket<P> in{"in"}; in.on<&my_unit::handle>(this)` with
  //   tlm::tlm_sync_enum my_unit::handle(P& p, tlm::tlm_phase phase, ps& t);
  template <auto Method, class Owner>
  void on(Owner* owner) {
    owner_ = owner;
    method_ = [](void* o, P& p, tlm::tlm_phase phase, ps& t) { return (static_cast<Owner*>(o)->*Method)(p, phase, t); };
  }
  // Sends BEGIN_RESP for an accepted request at t or now, through the socket it came from.
  static void respond(P& p, ps t) {
    if (t > now()) {
      event_queue::instance().at(t, {[](void* self) {
                                       P& late = static_cast<P&>(*static_cast<transaction*>(self));
                                       static_cast<target_socket*>(late.via)->answer(late);
                                     },
                                     static_cast<transaction*>(&p)});
    } else {
      static_cast<target_socket*>(p.via)->answer(p);
    }
  }

  // Answers a send_ahead now, for a time t that may lie ahead.
  static void respond_ahead(P& p, ps t) {
    auto& self = *static_cast<target_socket*>(p.via);
    if (self.initiator_) [[likely]] {
      self.initiator_->answer(p, t);
    } else {
      self.answer_foreign(p, t);
    }
  }

  [[nodiscard]] const char* kind() const override { return "hcasim::target_socket"; }

 private:
  static tlm::tlm_sync_enum take(void* self, P& p, tlm::tlm_phase phase, ps& t) {
    auto& s = *static_cast<target_socket*>(self);
    if (phase == tlm::BEGIN_REQ) p.via = &s;
    return s.method_(s.owner_, p, phase, t);
  }

  void answer(P& p) {
    if (initiator_) [[likely]] {
      initiator_->answer(p, now());
    } else {
      answer_foreign(p, now());
    }
  }
  void answer_foreign(P& p, ps t) {
    tlm::tlm_phase phase = tlm::BEGIN_RESP;
    sc_core::sc_time delay = to_delay(t);
    (*this)->nb_transport_bw(p, phase, delay);
  }

  [[nodiscard]] std::string where() const override {
    const sc_core::sc_object* const of = this->get_parent_object();
    return of ? of->name() : this->name();
  }
  const target_handler<P>* meet(initiator_socket<P>& by) override {
    initiator_ = &by;
    return &handler_;
  }

  tlm::tlm_sync_enum nb_transport_fw(P& p, tlm::tlm_phase& phase, sc_core::sc_time& delay) override {
    ps t = from_delay(delay);
    if (phase == tlm::BEGIN_REQ && t > now()) {
      p.via = this;
      event_queue::instance().at(t, {[](void* self) {
                                       P& late = static_cast<P&>(*static_cast<transaction*>(self));
                                       ps at = now();
                                       if (take(late.via, late, tlm::BEGIN_REQ, at) == tlm::TLM_COMPLETED) respond(late, at);
                                     },
                                     static_cast<transaction*>(&p)});
      return tlm::TLM_ACCEPTED;
    }
    const tlm::tlm_sync_enum status = take(this, p, phase, t);
    delay = to_delay(t);
    return status;
  }

  target_handler<P> handler_{this, &take};
  initiator_socket<P>* initiator_ = nullptr;
  void* owner_ = nullptr;
  tlm::tlm_sync_enum (*method_)(void*, P&, tlm::tlm_phase, ps&) = nullptr;
};

// Returns sockets of one kind, as many as there are ports: NAME, NAME_2 ...
template <class Socket>
std::deque<Socket> socket_of_each_port(const std::string& name, unsigned ports) {
  std::deque<Socket> sockets;
  for (unsigned i = 0; i < ports; ++i) sockets.emplace_back((i == 0 ? name : name + "_" + std::to_string(i + 1)).c_str());
  return sockets;
}

}  // namespace hcasim
