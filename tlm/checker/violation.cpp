#include "tlm/checker/violation.h"

#include <algorithm>
#include <array>

namespace hcasim {

const char* name_of(rule r) {
  constexpr std::array<const char*, rule_count> names{
      "payload_reused",     "answered_twice",    "answered_in_call",     "bad_status",   "bad_phase",
      "time_before_now",    "time_backwards",    "release_without_loan", "not_released", "hang",
      "changed_while_lent", "packet_not_sealed", "packet_order"};
  return names[static_cast<std::size_t>(r)];
}

void violation_log::add(rule broken, const std::string& binding, ps at, std::string_view text) {
  all_.push_back({broken, binding, at, std::string(text)});
  if (action_ == action::collect) return;
  const std::string message =
      binding + ": " + name_of(broken) + " at " + std::to_string(at.count()) + " ps: " + std::string(text);
  SC_REPORT_ERROR("protocol", message.c_str());
}

std::size_t violation_log::count(rule r) const {
  return static_cast<std::size_t>(std::count_if(all_.begin(), all_.end(), [r](const violation& v) { return v.broken == r; }));
}

}  // namespace hcasim
