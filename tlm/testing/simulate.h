// Helpers of unit tests: a fake initiator and a fake target of any protocol, and running the kernel for a while.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <vector>

#include "tlm/base/unit.h"
#include "tlm/socket.h"

namespace hcasim::testing {

// Host time says nothing in a build without optimisation.
#ifdef __OPTIMIZE__
inline constexpr bool optimised = true;
#else
inline constexpr bool optimised = false;
#endif

inline void run_for(ps t) {
  sc_core::sc_start(to_sc(t));
}
inline void run_until_idle() {
  run_simulation();
}

// Sends requests and notes when their answers came.
template <class P>
class fake_initiator : public unit {
 public:
  initiator_socket<P> out{"out"};

  explicit fake_initiator(const sc_core::sc_module_name& n) : unit(n) {}

  struct answer {
    P* payload;
    ps at;
    bool immediate;
  };
  std::vector<answer> answers;

  // Returns when the request was answered; never = it was not.
  [[nodiscard]] ps answered(const P& p) const {
    const auto a = std::find_if(answers.begin(), answers.end(), [&](const answer& x) { return x.payload == &p; });
    return a == answers.end() ? never : a->at;
  }
  // Sends the request at `at`; call before or during the simulation.
  void send(P& p, ps at) {
    jobs_.push_back({this, &p});
    queue_.at(at, {[](void* j) { static_cast<job*>(j)->self->go(*static_cast<job*>(j)->payload); }, &jobs_.back()});
  }

 private:
  struct job {
    fake_initiator* self;
    P* payload;
  };
  void go(P& p) {
    p.context = this;
    p.on_response = [](void* self, transaction& t, ps at) {
      static_cast<fake_initiator*>(self)->answers.push_back({static_cast<P*>(&t), at, false});
    };
    ps t = now();
    if (out.send(p, t) == tlm::TLM_COMPLETED) answers.push_back({&p, t, true});
  }
  std::deque<job> jobs_;
};

// Answers every request with `serve` after `latency`, in the call (latency 0, `inline_answers`) or later.
template <class P>
class fake_target : public unit {
 public:
  target_socket<P> in{"in"};
  std::function<void(P&, tlm::tlm_phase, ps)> serve = [](P&, tlm::tlm_phase, ps) {};
  ps latency{0};
  bool inline_answers = true;
  std::vector<std::pair<P*, ps>> requests;

  explicit fake_target(const sc_core::sc_module_name& n) : unit(n) { in.template on<&fake_target::handle>(this); }

 private:
  tlm::tlm_sync_enum handle(P& p, tlm::tlm_phase phase, ps& t) {
    if (phase == tlm::BEGIN_REQ) requests.emplace_back(&p, t);
    if (inline_answers || phase != tlm::BEGIN_REQ) {
      serve(p, phase, t);
      if (phase == tlm::BEGIN_REQ) t += latency;
      return tlm::TLM_COMPLETED;
    }
    jobs_.push_back({this, &p});
    queue_.at(t + latency,
              {[](void* j) { static_cast<job*>(j)->self->answer(*static_cast<job*>(j)->payload); }, &jobs_.back()});
    return tlm::TLM_ACCEPTED;
  }
  struct job {
    fake_target* self;
    P* payload;
  };
  void answer(P& p) {
    serve(p, tlm::BEGIN_REQ, now());
    target_socket<P>::respond(p, now());
  }
  std::deque<job> jobs_;
};

}  // namespace hcasim::testing
