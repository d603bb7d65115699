// One valid/ready stream between a shell and RTL, and the check of the protocol on both sides. A valid item stays valid with
// the same payload until taken.
//
// In a stream by the rules of a FIFO (bundle::fifo) the shell's side is high only in cycles with the RTL's side high. The shell
// looks at the RTL first and evaluates it once more. Data from a FIFO may follow a cycle later (bundle::late).
//
// A stream by credits has no ready: the sender may send one item for every credit. Into the RTL a stall source stalls the
// items; out of the RTL, the returned credits. Checked: nothing is sent without a credit, and no more credits come back than
// there are.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <utility>

#include "tlm/base/units.h"
#include "tlm/rtl/design.h"
#include "tlm/rtl/payload.h"
#include "tlm/rtl/stall_source.h"

namespace hcasim::rtl {

class stream {
 public:
  stream(const bundle& b, stall_source g)
      : into_(b.into),
        plain_(!b.fifo && !b.credit && !b.late),
        falls_(b.falls && plain_),
        inverted_(b.inverted),
        valid_bit_(static_cast<std::uint8_t>(b.valid->low % 8)),
        valid_(static_cast<const std::uint8_t*>(b.valid->at) + b.valid->low / 8),
        bundle_(b),
        data_(b.data.size() == 1 && b.data.front()->whole ? b.data.front()->at : nullptr),
        data_bytes_(data_ ? b.data.front()->bytes() : 0),
        stalls_(std::move(g)),
        credits_(b.credits) {
    if (!into_) delay_ = stalls_.draw();
  }

  [[nodiscard]] const std::string& name() const { return bundle_.name; }
  [[nodiscard]] bool into() const { return into_; }
  // Returns the pin by which the RTL answers for this stream: ready or credit, or valid.
  [[nodiscard]] std::string control() const {
    const pin* const p = !bundle_.into ? bundle_.valid : bundle_.credit ? bundle_.credit : bundle_.ready;
    return p ? p->name : std::string();
  }
  [[nodiscard]] bool inverted() const { return inverted_; }
  [[nodiscard]] bool by_credits() const { return bundle_.credit != nullptr; }
  [[nodiscard]] unsigned bits() const { return bundle_.bits; }
  [[nodiscard]] unsigned clock() const { return bundle_.clock; }
  // Returns the place in the payload of a field of an endpoint's channel.
  [[nodiscard]] field find(const std::string& field_name) const { return bundle_.find(field_name); }
  [[nodiscard]] std::uint64_t transfers() const { return transfers_; }
  [[nodiscard]] std::uint64_t stalled_cycles() const { return stalled_; }
  // Returns the cycles with a transfer or a stalled item.
  [[nodiscard]] std::uint64_t busy_cycles() const { return transfers_ + stalled_; }

  // Offers an item to the RTL from `t` on. Items of one time go in the order of the calls. The second form returns a writer,
  // which must write all bits of the payload. `what`: name of its stall (tlm/rtl/stall_source.h); 0 = by its number.
  void push(const payload& p, ps t, std::uint64_t cookie = 0, std::uint64_t what = 0) { add(t, cookie, what) = p; }
  writer push(ps t, std::uint64_t cookie = 0, std::uint64_t what = 0) { return writer(add(t, cookie, what)); }
  // Stalls a stream out of the RTL, by valid and ready, by the offered item. Returns whether the stream must follow the RTL.
  bool stall_by(std::function<std::uint64_t(const payload&)> what);
  [[nodiscard]] bool empty() const { return !first_; }
  [[nodiscard]] ps front_time() const { return first_->t; }
  [[nodiscard]] std::uint64_t pushed() const { return pushed_; }
  // Called when the RTL has taken an item (payload, cookie), or when an item out of the RTL was taken.
  std::function<void(const payload&, std::uint64_t cookie, ps t)> on_transfer;

  // Drives the pins: the first step of a cycle, before the design settles; sample() and deliver() follow. Returns whether this
  // cycle differs from a cycle in which nothing happens.
  bool drive(ps t) {
    turned_ = false;
    return !rests() && drive_pins(t);
  }
  // Returns whether the shell's pins have their values of rest, and nothing is on its way.
  [[nodiscard]] bool rests() const {
    if (into_) return !first_ && !shown_;
    return ready_ && delay_ == 0 && plain_;
  }
  // Goes by valid and ready alone.
  [[nodiscard]] bool plain() const { return plain_; }
  // Returns whether the RTL offers an item.
  [[nodiscard]] bool is_valid() const { return (*valid_ >> valid_bit_ & 1) != inverted_; }
  // Returns whether the last step has changed a pin.
  [[nodiscard]] bool turned() const { return turned_; }
  // Makes the shell's side follow the RTL's: for a FIFO, or a stall by the offered item. Returns whether a pin changed.
  bool follow();
  // Samples the pins after settling. False = the protocol is broken; `wrong` tells how.
  bool sample() {
    if (!offered_ && plain_ && (into_ || !is_valid())) {
      fired_ = false;
      return true;
    }
    return look();
  }
  [[nodiscard]] const std::string& wrong() const { return wrong_; }
  [[nodiscard]] bool fired() const { return fired_; }
  // Returns whether an item out of the RTL waits for the shell.
  [[nodiscard]] bool held_back() const { return !into_ && offered_; }
  // Returns whether an item was taken from a FIFO and its data comes in the next cycle.
  [[nodiscard]] bool awaits_data() const { return data_due_; }
  // Lets `valid` of a moving transfer fall before the clocks rise: the RTL has settled with it (bundle::falls).
  void fall() {
    if (falls_) set_valid(false);
  }
  void deliver(ps t);
  // Takes a delivered item off the pins, unless more is to come. Returns whether a pin changed.
  bool withdraw() {
    turned_ = false;
    if (shown_ && !first_) set_valid(false);
    return turned_;
  }
  [[nodiscard]] std::uint64_t waiting_cycles() const { return waiting_; }
  // Returns true if a due item into the RTL was not taken in this cycle.
  [[nodiscard]] bool waits() const { return offered_ || (bundle_.credit && drawn_ && delay_ == 0); }
  // Returns true if the shell's side held an item back in this cycle.
  [[nodiscard]] bool holds() const { return into_ ? drawn_ && !waits() : offered_; }
  // Counts a cycle of waiting without a reason; returns their number.
  std::uint64_t wait_in_vain() { return ++in_vain_; }
  // Drops the items on their way into the RTL, which is in reset; returns their number.
  std::uint64_t reset();

 private:
  struct item {
    ps t{0};
    item* next = nullptr;
    item* before = nullptr;  // means nothing in the first one
    std::uint64_t cookie = 0;
    std::uint64_t what = 0;
    payload data;
  };
  payload& add(ps t, std::uint64_t cookie, std::uint64_t what);
  void give_back(item& i) {
    i.next = free_;
    free_ = &i;
  }
  bool drive_pins(ps t);
  bool look();  // false: `wrong_` says why
  bool return_credits();
  bool take_credit();
  void turn(const pin& p, bool v) { turned_ |= p.turn(v); }
  [[nodiscard]] bool other_is_ready() const { return !bundle_.ready || bundle_.ready->get() != bundle_.busy; }
  void set_valid(bool v) {
    shown_ = v;
    turn(*bundle_.valid, v != inverted_);
  }
  void put_on_pins(const payload& p) const;
  void take_from_pins(payload& p) const;
  // Pins of the payload that differ, in words of at most 64 bits.
  [[nodiscard]] std::string difference(const payload& was, const payload& is) const;

  // The members of every cycle come first.
  const bool into_;
  const bool plain_;
  const bool falls_;
  const bool inverted_;
  bool shown_ = false;     // into the RTL: the pin says valid
  bool offered_ = false;   // valid, and not taken yet
  bool data_due_ = false;  // the data of the item taken in the last cycle comes now
  bool ready_ = false;
  bool fired_ = false;
  bool turned_ = false;
  bool drawn_ = false;  // the stall of the next transfer was drawn
  const std::uint8_t valid_bit_;
  const std::uint8_t* const valid_;  // where its pin lies
  unsigned delay_ = 0;               // cycles that the next transfer is still held back
  item* first_ = nullptr;
  item* last_ = nullptr;

  const bundle& bundle_;
  void* const data_;  // the pin of the payload, if it is a whole one
  const unsigned data_bytes_;
  stall_source stalls_;
  payload sampled_;
  unsigned credits_;                                   // credits of the sender
  unsigned owed_ = 0;                                  // credits that go back to the RTL
  std::function<std::uint64_t(const payload&)> what_;  // stall_by
  std::string wrong_;
  std::uint64_t pushed_ = 0;
  std::uint64_t transfers_ = 0;
  std::uint64_t stalled_ = 0;
  std::uint64_t waiting_ = 0;  // cycles that the one offered has waited
  std::uint64_t in_vain_ = 0;  // of these, without a reason
  item* free_ = nullptr;
  std::deque<item> storage_;
};

}  // namespace hcasim::rtl
