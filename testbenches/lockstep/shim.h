// The stalls of a shell's streams in front of a model: requests, answers and releases pass one a cycle, in order, each after
// what its gate holds it back. Several bindings may share the gates, as they share a stream of the RTL.
#pragma once

#include <deque>
#include <string>

#include "models/base/clock_domain.h"
#include "models/base/unit.h"
#include "tlm/rtl/gate.h"
#include "tlm/socket.h"

namespace hcasim::lockstep {

// One stream: passes things on in the order of their times.
template <class P>
class gated_channel {
 public:
  using pass = void (*)(void* owner, P& p, unsigned binding);

  gated_channel(event_queue& queue, const clock_domain& clock, rtl::gate g, void* owner, pass on_pass)
      : queue_(queue), clock_(clock), gate_(g), owner_(owner), pass_(on_pass) {}

  void push(P& p, unsigned binding, ps t) {
    auto at = items_.end();
    while (at != items_.begin() && std::prev(at)->t > t) --at;
    items_.insert(at, {&p, binding, t});
    arm();
  }

 private:
  struct item {
    P* payload;
    unsigned binding;
    ps t;
  };
  // When the first one goes: after what its transfer is stalled for, counted from when it could go.
  [[nodiscard]] std::uint64_t due() const {
    const std::uint64_t k = cycle_from(items_.front().t);
    return (passed_ > 0 ? std::max(k, last_ + 1) : k) + gate_.delay(passed_);
  }
  void arm() {
    if (items_.empty()) return;
    const ps at = std::max(clock_.cycles(static_cast<double>(due())), now());
    if (armed_ <= at) return;
    armed_ = at;
    queue_.at(at, {[](void* self) { static_cast<gated_channel*>(self)->go(); }, this});
  }
  void go() {
    if (armed_ > now()) return;  // an earlier item had come, and has been served
    armed_ = never;
    const std::uint64_t k = cycle_from(now());
    if (!items_.empty() && due() <= k) {
      const item i = items_.front();
      items_.pop_front();
      ++passed_;
      last_ = k;
      pass_(owner_, *i.payload, i.binding);
    }
    arm();
  }
  [[nodiscard]] std::uint64_t cycle_from(ps t) const {
    auto k = static_cast<std::uint64_t>(clock_.cycles_in(t));
    while (clock_.cycles(static_cast<double>(k)) < t) ++k;
    return k;
  }

  event_queue& queue_;
  const clock_domain clock_;
  rtl::gate gate_;
  void* owner_;
  pass pass_;
  std::deque<item> items_;
  ps armed_ = never;
  std::uint64_t passed_ = 0;
  std::uint64_t last_ = 0;  // cycle of the last one
};

template <class P>
class stall_shim : public unit {
 public:
  std::deque<target_socket<P>> in;
  std::deque<initiator_socket<P>> out;

  // Channels named "" are not gated.
  stall_shim(const sc_core::sc_module_name& name, unsigned bindings, const clock_domain& clock, const rtl::shell_options& o,
             const char* request, const char* response, const char* release)
      : unit(name),
        request_(queue_, clock, gate_of(o, request), this,
                 [](void* s, P& p, unsigned b) { static_cast<stall_shim*>(s)->forward(p, b); }),
        response_(queue_, clock, gate_of(o, response), this,
                  [](void* s, P& p, unsigned b) { static_cast<stall_shim*>(s)->answer(p, b); }),
        release_(queue_, clock, gate_of(o, release), this,
                 [](void* s, P& p, unsigned b) { static_cast<stall_shim*>(s)->give_back(p, b); }),
        gated_release_(*release != 0) {
    for (unsigned i = 0; i < bindings; ++i) {
      ports_.push_back({this, i});
      in.emplace_back(("in_" + std::to_string(i)).c_str());
      out.emplace_back(("out_" + std::to_string(i)).c_str());
      in.back().template on<&port::handle>(&ports_.back());
    }
  }

 private:
  struct port {
    stall_shim* self;
    unsigned number;
    tlm::tlm_sync_enum handle(P& p, tlm::tlm_phase phase, ps& t) { return self->handle(p, phase, t, number); }
  };
  // Who asked, while the payload waits for an answer here.
  struct asker {
    std::coroutine_handle<> waiter;
    void (*on_response)(void*, transaction&, ps);
    void* context;
    void* via;
  };
  struct flight {
    stall_shim* self;
    P* payload;
    unsigned binding;
    asker from;
    bool used;
  };

  static rtl::gate gate_of(const rtl::shell_options& o, const char* channel) {
    return *channel ? rtl::gate(o.seed, channel, o.stall) : rtl::gate();
  }
  tlm::tlm_sync_enum handle(P& p, tlm::tlm_phase phase, ps& t, unsigned binding) {
    if (phase == tlm::END_RESP) {
      if (gated_release_) {
        release_.push(p, binding, t);
      } else {
        out[binding].release(p, t);
      }
      return tlm::TLM_COMPLETED;
    }
    flight* f = nullptr;
    for (flight& x : flights_) {
      if (!x.used) {
        f = &x;
        break;
      }
    }
    if (!f) f = &flights_.emplace_back();
    *f = {this, &p, binding, {p.waiter, p.on_response, p.context, p.via}, true};
    p.waiter = {};
    p.on_response = [](void* context, transaction&, ps at) {
      flight& x = *static_cast<flight*>(context);
      x.self->response_.push(*x.payload, x.binding, at);
    };
    p.context = f;
    request_.push(p, binding, t);
    return tlm::TLM_ACCEPTED;
  }
  void forward(P& p, unsigned binding) {
    ps t = now();
    if (out[binding].send(p, t) == tlm::TLM_COMPLETED) response_.push(p, binding, t);
  }
  void answer(P& p, unsigned) {
    flight& f = *static_cast<flight*>(p.context);
    const asker a = f.from;
    f.used = false;
    p.waiter = a.waiter;
    p.on_response = a.on_response;
    p.context = a.context;
    p.via = a.via;
    target_socket<P>::respond(p, now());
  }
  void give_back(P& p, unsigned binding) { out[binding].release(p, now()); }

  std::deque<port> ports_;
  std::deque<flight> flights_;
  gated_channel<P> request_, response_, release_;
  bool gated_release_;
};

}  // namespace hcasim::lockstep
