// Judges recovery. The unit asks for the context of each QP with a lost doorbell, in the order of the losses, and for no other
// context. It asks once until the QP loses a further doorbell.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "tlm/base/units.h"

namespace hcasim::lockstep {

class recovery_scoreboard {
 public:
  // Notes a lost doorbell. Returns a fault, as does `asks_for`; empty = none.
  std::string lost(std::uint32_t qpn, ps t) {
    if (at_once_) {
      const asked a = *at_once_;
      at_once_.reset();
      return a.qpn == qpn && a.t == t ? std::string() : without_cause(a.qpn);
    }
    if (std::find(lost_.begin(), lost_.end(), qpn) == lost_.end()) lost_.push_back(qpn);
    return {};
  }
  // Notes a request for a context. The request may come before its loss, at the same time.
  std::string asks_for(std::uint32_t qpn, ps t) {
    if (at_once_) return without_cause(at_once_->qpn);
    if (lost_.empty()) {
      at_once_ = {qpn, t};
      return {};
    }
    const std::uint32_t first = lost_.front();
    lost_.pop_front();
    if (first == qpn) return {};
    return "the context of QP " + std::to_string(qpn) + " is asked for out of turn; next is " + std::to_string(first);
  }
  // Returns, after the run, a loss without recovery; empty = none.
  [[nodiscard]] std::string left() const {
    if (at_once_) return without_cause(at_once_->qpn);
    return lost_.empty() ? std::string() : "a doorbell of QP " + std::to_string(lost_.front()) + " is never recovered";
  }

 private:
  struct asked {
    std::uint32_t qpn;
    ps t;
  };
  static std::string without_cause(std::uint32_t qpn) {
    return "the context of QP " + std::to_string(qpn) + " is asked for, but no doorbell of it was lost";
  }

  std::deque<std::uint32_t> lost_;
  std::optional<asked> at_once_;
};

}  // namespace hcasim::lockstep
