// A fault that a protocol checker finds.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tlm/base/kernel.h"

namespace hcasim {

enum class rule : std::uint8_t {
  payload_reused,        // BEGIN_REQ with a payload that is not answered, or not given back, yet
  answered_twice,        // BEGIN_RESP for a payload that was answered already, or never sent
  answered_in_call,      // BEGIN_RESP before the call with BEGIN_REQ has returned
  bad_status,            // neither TLM_COMPLETED nor TLM_ACCEPTED
  bad_phase,             // forward: neither BEGIN_REQ nor END_RESP; backward: not BEGIN_RESP
  time_before_now,       // a local time before the kernel's
  time_backwards,        // an answer before its request, a release before its answer
  release_without_loan,  // END_RESP without a loan
  not_released,          // lent for longer than the limit
  hang,                  // a request unanswered for longer than the limit
  changed_while_lent,    // a drop or drain answered before all loans were given back
  packet_not_sealed,     // a packet sent with a wrong ICRC or unreadable headers
  packet_order,          // PSN not ahead of the one before, on a binding said to lose nothing
};
inline constexpr std::size_t rule_count = 13;
const char* name_of(rule r);

struct violation {
  rule broken;
  std::string binding;
  ps at;
  std::string text;
};

class violation_log {
 public:
  enum class action : std::uint8_t {
    report,   // SC_REPORT_ERROR: fails the test or the run
    collect,  // only noted
  };
  explicit violation_log(action a = action::report) : action_(a) {}

  void add(rule broken, const std::string& binding, ps at, std::string_view text);
  [[nodiscard]] const std::vector<violation>& all() const { return all_; }
  [[nodiscard]] std::size_t count(rule r) const;

 private:
  action action_;
  std::vector<violation> all_;
};

}  // namespace hcasim
