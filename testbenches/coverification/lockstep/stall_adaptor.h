// The stalls of a shell's streams in front of a model. Requests, answers and releases pass in order, one a cycle, each after
// the stall of its stall source. Several bindings may share the stall sources, as they share a stream of the RTL.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tlm/base/clock_domain.h"
#include "tlm/base/unit.h"
#include "tlm/rtl/shell.h"
#include "tlm/rtl/stall_source.h"
#include "tlm/socket.h"

namespace hcasim::lockstep {

// One stream, which passes payloads on in the order of their times.
template <class P>
class stalled_channel {
 public:
  using pass = void (*)(void* owner, P& p, unsigned binding);

  // Returns the name of the transfer that a stall belongs to; null = its number.
  using identity = std::uint64_t (*)(const P&);

  stalled_channel(event_queue& queue, const clock_domain& clock, rtl::stall_source g, void* owner, pass on_pass,
                  identity what = nullptr)
      : queue_(queue), clock_(clock), stalls_(std::move(g)), owner_(owner), pass_(on_pass), what_(what) {}

  void push(P& p, unsigned binding, ps t) {
    auto at = items_.end();
    while (at != items_.begin() + drawn_ && std::prev(at)->t > t) --at;
    items_.insert(at, {&p, binding, t});
    arm();
  }

 private:
  struct item {
    P* payload;
    unsigned binding;
    ps t;
  };
  // Returns the cycle in which the first item could go, or, after its stall is drawn, in which it goes.
  [[nodiscard]] std::uint64_t due() const { return drawn_ ? goes_ : std::max(cycle_from(items_.front().t), first_free_); }
  void arm() {
    if (items_.empty()) return;
    const ps at = std::max(clock_.cycles(static_cast<double>(due())), now());
    if (armed_ <= at) return;
    armed_ = at;
    queue_.at(at, {[](void* self) { static_cast<stalled_channel*>(self)->go(); }, this});
  }
  void go() {
    if (armed_ > now()) return;  // an earlier item had come, and has been served
    armed_ = never;
    const std::uint64_t k = cycle_from(now());
    if (!items_.empty() && due() <= k) {
      const item i = items_.front();
      if (!std::exchange(drawn_, true)) goes_ = k + stalls_.draw(what_ ? what_(*i.payload) : 0);
      if (goes_ <= k) {
        items_.pop_front();
        drawn_ = false;
        first_free_ = k + 1;
        pass_(owner_, *i.payload, i.binding);
      }
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
  rtl::stall_source stalls_;
  void* owner_;
  pass pass_;
  identity what_;
  std::deque<item> items_;
  ps armed_ = never;
  bool drawn_ = false;            // the stall of the first item is drawn
  std::uint64_t goes_ = 0;        // cycle in which the first item then goes
  std::uint64_t first_free_ = 0;  // cycle
};

template <class P>
class stall_adaptor : public unit {
 public:
  std::deque<target_socket<P>> in;
  std::deque<initiator_socket<P>> out;
  // Called with the model's requests, before the stall.
  std::function<void(const P&)> on_request;

  // Puts stalls on three channels; a channel named "" has none.
  stall_adaptor(const sc_core::sc_module_name& name, unsigned bindings, const clock_domain& clock, const rtl::shell_options& o,
                const char* request, const char* response, const char* release,
                typename stalled_channel<P>::identity what = nullptr)
      : unit(name),
        clock_(clock),
        what_(what),
        request_(
            queue_, clock, stalls_of(o, request), this,
            [](void* s, P& p, unsigned b) { static_cast<stall_adaptor*>(s)->forward(p, b); }, what),
        response_(
            queue_, clock, stalls_of(o, response), this,
            [](void* s, P& p, unsigned b) { static_cast<stall_adaptor*>(s)->answer(p, b); }, what),
        release_(queue_, clock, stalls_of(o, release), this,
                 [](void* s, P& p, unsigned b) { static_cast<stall_adaptor*>(s)->give_back(p, b); }),
        gated_release_(*release != 0) {
    for (unsigned i = 0; i < bindings; ++i) {
      ports_.push_back({this, i});
      in.emplace_back(("in_" + std::to_string(i)).c_str());
      out.emplace_back(("out_" + std::to_string(i)).c_str());
      in.back().template on<&port::handle>(&ports_.back());
    }
  }

  // Sends requests for which `other` is true, and their answers, through channels of their own.
  void split(const char* request, const char* response, const rtl::shell_options& o, bool (*other)(const P&)) {
    other_ = other;
    request_2_.emplace(
        queue_, clock_, stalls_of(o, request), this,
        [](void* s, P& p, unsigned b) { static_cast<stall_adaptor*>(s)->forward(p, b); }, what_);
    response_2_.emplace(
        queue_, clock_, stalls_of(o, response), this,
        [](void* s, P& p, unsigned b) { static_cast<stall_adaptor*>(s)->answer(p, b); }, what_);
  }

 private:
  struct port {
    stall_adaptor* self;
    unsigned number;
    tlm::tlm_sync_enum handle(P& p, tlm::tlm_phase phase, ps& t) { return self->handle(p, phase, t, number); }
  };
  // The requester of a payload that waits here for its answer.
  struct asker {
    std::coroutine_handle<> waiter;
    void (*on_response)(void*, transaction&, ps);
    void* context;
    void* via;
  };
  struct flight {
    stall_adaptor* self;
    P* payload;
    unsigned binding;
    asker from;
  };

  static rtl::stall_source stalls_of(const rtl::shell_options& o, const char* channel) {
    return *channel ? rtl::stalls_of(o, channel) : rtl::stall_source();
  }
  tlm::tlm_sync_enum handle(P& p, tlm::tlm_phase phase, ps& t, unsigned binding) {
    if (phase == tlm::END_RESP) {
      if (gated_release_) {
        release_.push(p, binding, t);
      } else {
        out[binding].release(p);
      }
      return tlm::TLM_COMPLETED;
    }
    if (on_request) on_request(p);
    requests(p).push(p, binding, t);
    return tlm::TLM_ACCEPTED;
  }
  // Passes a request on. A coroutine has entered itself as the waiter of its request by now, not earlier.
  void forward(P& p, unsigned binding) {
    flight* f = nullptr;
    if (free_.empty()) {
      f = &flights_.emplace_back();
    } else {
      f = free_.back();
      free_.pop_back();
    }
    *f = {this, &p, binding, {std::exchange(p.waiter, {}), p.on_response, p.context, p.via}};
    p.on_response = [](void* context, transaction&, ps at) {
      flight& x = *static_cast<flight*>(context);
      x.self->responses(*x.payload).push(*x.payload, x.binding, at);
    };
    p.context = f;
    ps t = now();
    if (out[binding].send(p, t) == tlm::TLM_COMPLETED) responses(p).push(p, binding, t);
  }
  void answer(P& p, unsigned) {
    flight& f = *static_cast<flight*>(p.context);
    const asker a = f.from;
    free_.push_back(&f);
    p.waiter = a.waiter;
    p.on_response = a.on_response;
    p.context = a.context;
    p.via = a.via;
    target_socket<P>::respond(p, now());
  }
  void give_back(P& p, unsigned binding) { out[binding].release(p); }

  std::deque<port> ports_;
  std::deque<flight> flights_;
  std::vector<flight*> free_;
  stalled_channel<P>& requests(const P& p) { return other_ && other_(p) ? *request_2_ : request_; }
  stalled_channel<P>& responses(const P& p) { return other_ && other_(p) ? *response_2_ : response_; }

  const clock_domain clock_;
  const typename stalled_channel<P>::identity what_;
  stalled_channel<P> request_, response_, release_;
  std::optional<stalled_channel<P>> request_2_, response_2_;
  bool (*other_)(const P&) = nullptr;
  bool gated_release_;
};

}  // namespace hcasim::lockstep
