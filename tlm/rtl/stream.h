// One valid/ready stream between a shell and RTL, and the check that both sides keep to the protocol: what is valid stays valid
// with the same payload until it is taken.
//
// A stream by the rules of a FIFO (bundle::fifo) is high on our side only in a cycle in which the other side is: the RTL is
// looked at first and evaluated once more. What comes from a FIFO may follow a cycle later (bundle::late).
//
// A stream by credits has no ready: whoever sends may send one for every credit. Into the RTL a gate stalls what is sent, out
// of it the credits that go back. Checked: nothing is sent without a credit, and no more credits come back than there are.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>

#include "tlm/base/units.h"
#include "tlm/rtl/design.h"
#include "tlm/rtl/gate.h"
#include "tlm/rtl/payload.h"

namespace hcasim::rtl {

class stream {
 public:
  stream(const bundle& b, gate g)
      : bundle_(b),
        valid_(static_cast<const std::uint8_t*>(b.valid->at) + b.valid->low / 8),
        valid_bit_(b.valid->low % 8),
        gate_(g),
        delay_(g.delay(0)),
        credits_(b.credits) {}

  [[nodiscard]] const std::string& name() const { return bundle_.name; }
  [[nodiscard]] bool into() const { return bundle_.into; }
  // The pin by which the RTL answers for this stream: ready or credit, or valid.
  [[nodiscard]] std::string control() const {
    const pin* const p = !bundle_.into ? bundle_.valid : bundle_.credit ? bundle_.credit : bundle_.ready;
    return p ? p->name : std::string();
  }
  [[nodiscard]] bool inverted() const { return bundle_.inverted; }
  [[nodiscard]] bool by_credits() const { return bundle_.credit != nullptr; }
  [[nodiscard]] unsigned bits() const { return bundle_.bits; }
  [[nodiscard]] unsigned clock() const { return bundle_.clock; }
  // Where a field of an endpoint's channel lies in the payload.
  [[nodiscard]] field find(const std::string& field_name) const { return bundle_.find(field_name); }
  [[nodiscard]] std::uint64_t transfers() const { return transfers_; }
  [[nodiscard]] std::uint64_t stalled_cycles() const { return stalled_; }

  // Into the RTL: offers it from `t` on. Items of one time go in the order they were pushed.
  void push(const payload& p, ps t, std::uint64_t cookie = 0);
  [[nodiscard]] bool empty() const { return items_.empty(); }
  [[nodiscard]] ps front_time() const { return items_.front().t; }
  [[nodiscard]] std::uint64_t pushed() const { return pushed_; }
  // Called when the RTL has taken it (payload, cookie), or for a stream out of the RTL when it was taken from there.
  std::function<void(const payload&, std::uint64_t cookie, ps t)> on_transfer;

  // The steps of a cycle, by the shell: drive the pins; look at them once everything has settled; pass on what has moved.
  // `drive` returns whether this cycle is different from one in which nothing happens.
  bool drive(ps t) {
    turned_ = false;
    return !rests() && drive_pins(t);
  }
  // Whether that has changed a pin.
  [[nodiscard]] bool turned() const { return turned_; }
  // By the rules of a FIFO: our side follows the other; whether a pin has changed.
  bool follow();
  // False: `wrong` says what broke the protocol.
  bool sample() {
    if (bundle_.into ? !offered_ && !bundle_.credit : !offered_ && !bundle_.late && !is_valid()) {
      fired_ = false;
      return true;
    }
    wrong_ = look();
    return wrong_.empty();
  }
  [[nodiscard]] const std::string& wrong() const { return wrong_; }
  [[nodiscard]] bool fired() const { return fired_; }
  // Out of the RTL: something waits for us.
  [[nodiscard]] bool held_back() const { return !bundle_.into && offered_; }
  // Out of a FIFO: taken, and its data comes in the next cycle.
  [[nodiscard]] bool awaits_data() const { return data_due_; }
  void deliver(ps t);
  [[nodiscard]] std::uint64_t waiting_cycles() const { return waiting_; }
  // The RTL is in reset: what is on its way into it is dropped. Returns how much that was.
  std::uint64_t reset();

 private:
  struct item {
    item(const payload& p, ps at, std::uint64_t of_user) : data(p), t(at), cookie(of_user) {}
    payload data;
    ps t;
    std::uint64_t cookie;
  };
  // The pins on our side are as they have to be, and nothing is on its way.
  [[nodiscard]] bool rests() const {
    if (bundle_.into) return items_.empty() && !shown_;
    return ready_ && delay_ == 0 && !bundle_.fifo && !bundle_.credit;
  }
  bool drive_pins(ps t);
  std::string look();
  bool return_credits();
  std::string take_credit();
  void turn(const pin& p, bool v) { turned_ |= p.turn(v); }
  [[nodiscard]] bool other_is_ready() const { return !bundle_.ready || bundle_.ready->get() != bundle_.busy; }
  [[nodiscard]] bool is_valid() const { return (*valid_ >> valid_bit_ & 1) != bundle_.inverted; }
  void set_valid(bool v) {
    shown_ = v;
    turn(*bundle_.valid, v != bundle_.inverted);
  }
  void put_on_pins(const payload& p) const;
  void take_from_pins(payload& p) const;

  const bundle& bundle_;
  const std::uint8_t* const valid_;  // where its pin lies, looked at in every cycle
  const unsigned valid_bit_;
  gate gate_;
  std::deque<item> items_;
  payload sampled_;
  unsigned delay_;     // cycles that the next transfer is still held back
  unsigned credits_;   // of the side that sends
  unsigned owed_ = 0;  // credits that go back to the RTL
  std::uint64_t returned_ = 0;
  bool shown_ = false;     // into the RTL: the pin says valid
  bool offered_ = false;   // valid, and not taken yet
  bool data_due_ = false;  // of what was taken in the cycle before
  bool ready_ = false;
  bool fired_ = false;
  bool turned_ = false;
  std::string wrong_;
  std::uint64_t pushed_ = 0;
  std::uint64_t transfers_ = 0;
  std::uint64_t stalled_ = 0;
  std::uint64_t waiting_ = 0;  // cycles that the one offered has waited
};

}  // namespace hcasim::rtl
