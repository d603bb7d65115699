// Offers a stream of items to one side, in order and at most one a cycle. An item goes when its gap is over, fewer than
// `window` items are unanswered, and `may_go` agrees. Derived classes know the meaning of an item.
#pragma once

#include <cmath>

#include "testbenches/coverification/lockstep/lockstep.h"
#include "tlm/base/unit.h"

namespace hcasim::lockstep {

class issuer : public unit {
 public:
  issuer(const sc_core::sc_module_name& name, const item_stream& stream, unsigned window, const clock_domain& clock,
         comparison& c, side s)
      : unit(name), stream_(stream), clock_(clock), window_(window), comparison_(c), side_(s), offered_(stream.size()) {}

  void start_of_simulation() override { arm(clock_.cycles(1)); }
  // Returns the number of items offered.
  [[nodiscard]] const std::uint64_t& progress() const { return next_; }

 protected:
  // Returns the gap in cycles to the item before.
  [[nodiscard]] virtual unsigned gap_of(const item& i) const = 0;
  [[nodiscard]] virtual bool may_go(const item& i) const = 0;
  // Returns the time at which an item may go, if known. Otherwise `may_go` is asked again after a change.
  [[nodiscard]] virtual ps when(const item&) const { return never; }
  // Tells whether the result of `may_go` depends on earlier answers.
  [[nodiscard]] virtual bool picky(const item&) const { return false; }
  // Sends an item. False = the item needs no answer and is done.
  virtual bool go(std::uint64_t number, const item& i) = 0;

  void answered(std::uint64_t number, const comparison::answer& a, bool race = false, unsigned meets = 0) {
    --outstanding_;
    comparison_.answered(side_, number, a, offered_[number], now(), race, meets);
    moved();
    ++answered_now_;
    arm(after());
  }
  // Looks at the next item again, after an event for which it may have waited.
  void poke() {
    moved();
    arm(after());
  }
  [[nodiscard]] const clock_domain& clock() const { return clock_; }
  [[nodiscard]] ps offered(std::uint64_t number) const { return offered_[number]; }
  [[nodiscard]] const item_stream& stream() const { return stream_; }
  [[nodiscard]] bool is_rtl() const { return side_ == rtl_side; }
  [[nodiscard]] comparison& shared() const { return comparison_; }

 private:
  void moved() {
    if (changed_at_ == now()) return;
    changed_at_ = now();
    answered_now_ = 0;
  }
  [[nodiscard]] ps after() const { return clock_.cycles(std::floor(clock_.cycles_in(now()) + 1.001)); }
  void arm(ps t) {
    if (next_ >= stream_.size() || t == never) return;
    t = std::max(t, earliest_);
    if (armed_ <= t) return;
    armed_ = t;
    queue_.at(t, {[](void* self) { static_cast<issuer*>(self)->step(); }, this});
  }
  void step() {
    if (now() < armed_) return;
    armed_ = never;
    if (next_ >= stream_.size() || now() < earliest_ || comparison_.failed()) return;
    const item& i = stream_[next_];
    // An answer of this cycle counts from the next cycle on, so that the kernel's order within a cycle does not matter.
    const bool late = changed_at_ == now();
    if (outstanding_ + (late ? answered_now_ : 0) >= window_ || !may_go(i) || (late && picky(i))) {
      arm(late ? after() : when(i));
      return;  // otherwise an answer arms the issuer again
    }
    const std::uint64_t number = next_++;
    earliest_ =
        clock_.cycles(std::floor(clock_.cycles_in(now()) + 0.001) + 1 + (next_ < stream_.size() ? gap_of(stream_[next_]) : 0));
    offered_[number] = now();
    comparison_.offered(side_, number);
    ++outstanding_;
    if (!go(number, i)) {
      --outstanding_;
      comparison_.answered(side_, number, {}, now(), now());
    }
    arm(earliest_);
  }

  const item_stream& stream_;
  const clock_domain clock_;
  const unsigned window_;
  comparison& comparison_;
  const side side_;
  std::vector<ps> offered_;
  std::uint64_t next_ = 0;
  unsigned outstanding_ = 0;
  unsigned answered_now_ = 0;  // at changed_at_
  ps changed_at_{-1};
  ps earliest_{0};
  ps armed_ = never;
};

}  // namespace hcasim::lockstep
