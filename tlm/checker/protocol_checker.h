// Monitors one binding and checks the contract of tlm/socket.h. It changes nothing, and costs a table lookup for each phase.
//
// Every BEGIN_REQ is answered exactly once, after its call has returned. No payload is used again while in flight, and times
// never go backwards. END_RESP comes after an answer that lent something, and nothing hangs.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tlm/checker/pointer_map.h"
#include "tlm/checker/violation.h"
#include "tlm/context.h"
#include "tlm/protection.h"
#include "tlm/socket.h"

namespace hcasim {

// Tracks what an answer lends until END_RESP, and the requests that wait for its return. An answer may lend something of a
// second index, `other`, as well.
template <class P>
struct loan_traits {
  static bool lends(const P&) { return false; }
  static bool lends_two(const P&) { return false; }
  static bool changes(const P&) { return false; }
  static std::uint32_t index(const P&) { return 0; }
  static std::uint32_t other(const P&) { return 0; }
};
template <>
struct loan_traits<context_request> {
  static bool lends(const context_request& p) { return p.op == context_op::fetch && !p.failed; }
  static bool lends_two(const context_request&) { return false; }
  static bool changes(const context_request& p) { return p.op == context_op::drop || p.op == context_op::take; }
  static std::uint32_t index(const context_request& p) { return p.index; }
  static std::uint32_t other(const context_request& p) { return p.index; }
};
template <>
struct loan_traits<key_request> {
  static bool lends(const key_request& p) { return p.op == key_op::check && p.result == verdict::granted; }
  static bool lends_two(const key_request& p) { return p.parent_epoch != 0; }
  static bool changes(const key_request& p) { return p.op == key_op::drain; }
  static std::uint32_t index(const key_request& p) { return p.key >> 8; }
  static std::uint32_t other(const key_request& p) { return p.region(); }
};

class checker {
 public:
  checker(std::string binding, violation_log& log) : binding_(std::move(binding)), log_(log) {}
  virtual ~checker() = default;

  // Reports requests unanswered for longer than `limit`.
  virtual void check_hangs(ps limit) = 0;
  // Reports unanswered requests and loans older than `limit`.
  virtual void finish(ps limit) = 0;
  [[nodiscard]] const std::string& binding() const { return binding_; }

 protected:
  void broken(rule r, ps at, std::string_view text) { log_.add(r, binding_, at, text); }

 private:
  std::string binding_;
  violation_log& log_;
};

template <class P>
class protocol_checker : public checker, public socket_observer<P> {
  using traits = loan_traits<P>;

 public:
  // `next` listens on the same binding.
  protocol_checker(std::string binding, violation_log& log, socket_observer<P>* next = nullptr)
      : checker(std::move(binding), log), next_(next) {}

  void forward(const P& p, tlm::tlm_phase phase, ps t) override {
    if (t < now()) broken(rule::time_before_now, t, phase == tlm::BEGIN_REQ ? "BEGIN_REQ" : "END_RESP");
    if (phase == tlm::BEGIN_REQ) {
      begin(p, t);
    } else if (phase == tlm::END_RESP) {
      release(p, t);
    } else {
      broken(rule::bad_phase, t, "forward");
    }
    if (next_) next_->forward(p, phase, t);
  }

  void forward_done(const P& p, tlm::tlm_phase phase, tlm::tlm_sync_enum status, ps t) override {
    if (phase == tlm::BEGIN_REQ) {
      if (record* r = in_flight_.find(&p); r && r->state == stage::calling) {
        if (status == tlm::TLM_COMPLETED) {
          answer(p, *r, t);
        } else {
          r->state = stage::waiting;
        }
      } else if (status == tlm::TLM_COMPLETED) {
        broken(rule::answered_twice, t, "TLM_COMPLETED after BEGIN_RESP");
      }
      if (status != tlm::TLM_COMPLETED && status != tlm::TLM_ACCEPTED) broken(rule::bad_status, t, "TLM_UPDATED");
    }
    if (next_) next_->forward_done(p, phase, status, t);
  }

  void backward(const P& p, tlm::tlm_phase phase, ps t) override {
    if (t < now()) broken(rule::time_before_now, t, "BEGIN_RESP");
    record* r = in_flight_.find(&p);
    if (phase != tlm::BEGIN_RESP) {
      broken(rule::bad_phase, t, "backward");
    } else if (!r || r->state == stage::lent) {
      broken(rule::answered_twice, t, "BEGIN_RESP for a payload that waits for none");
    } else {
      if (r->state == stage::calling) broken(rule::answered_in_call, t, "BEGIN_RESP inside the call with BEGIN_REQ");
      answer(p, *r, t);
    }
    if (next_) next_->backward(p, phase, t);
  }

  void check_hangs(ps limit) override { report_old(limit, stage::waiting, rule::hang, "not answered since "); }
  void finish(ps limit) override {
    check_hangs(limit);
    report_old(limit, stage::lent, rule::not_released, "not given back since ");
  }
  [[nodiscard]] std::size_t in_flight() const { return in_flight_.size(); }

 protected:
  // Checks rules of one protocol. In `answered`, a payload that lends nothing may already be in use again.
  virtual void requested(const P&, ps) {}
  virtual void lent(const P&, std::uint32_t /*index*/) {}
  virtual void released(const P&, std::uint32_t /*index*/, ps) {}
  virtual void changed(const P&, std::uint32_t /*index*/, ps) {}

 private:
  enum class stage : std::uint8_t { calling, waiting, lent };
  struct record {
    stage state = stage::calling;
    bool changes = false;
    std::uint32_t index = 0;
    ps since{0};
    std::uint64_t order = 0;
  };

  void begin(const P& p, ps t) {
    const record fresh{stage::calling, traits::changes(p), traits::index(p), t, order_++};
    if (record* r = in_flight_.find(&p)) {
      broken(rule::payload_reused, t, r->state == stage::lent ? "what it lent was not given back" : "it is not answered");
      *r = fresh;
    } else {
      in_flight_.insert(&p, fresh);
    }
    requested(p, t);
  }

  void answer(const P& p, record& r, ps t) {
    if (t < r.since) broken(rule::time_backwards, t, "answered before it was requested");
    if (r.changes) changed(p, r.index, t);
    if (traits::lends(p)) {
      r.state = stage::lent;
      r.since = t;
      lent(p, r.index);
    } else {
      in_flight_.erase(&p);
    }
  }

  void release(const P& p, ps t) {
    const record* r = in_flight_.find(&p);
    if (!r || r->state != stage::lent) return broken(rule::release_without_loan, t, "END_RESP");
    if (t < r->since) broken(rule::time_backwards, t, "given back before it was lent");
    released(p, r->index, t);
    in_flight_.erase(&p);
  }

  void report_old(ps limit, stage which, rule r, const char* text) {
    std::vector<record> old;
    in_flight_.for_each([&](const record& x) {
      if (x.state == which && now() - x.since > limit) old.push_back(x);
    });
    std::sort(old.begin(), old.end(), [](const record& a, const record& b) { return a.order < b.order; });
    for (const record& x : old) broken(r, now(), text + std::to_string(x.since.count()) + " ps");
  }

  socket_observer<P>* next_;
  pointer_map<record> in_flight_;
  std::uint64_t order_ = 0;
};

}  // namespace hcasim
