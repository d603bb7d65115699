#include "models/adapter/window_unit/window_unit.h"

namespace hcasim {

void window_unit::describe() {
  static constexpr const char* ops[4] = {"binds", "invalidates", "fast_registers", "closes"};
  for (std::size_t i = 0; i < 4; ++i) {
    stats_.add(ops[i], "1", std::string(ops[i]) + " that took effect", done_[i]);
    stats_.add(std::string(ops[i]) + "_time", "ps", "from the request to the end of the last older access", time_[i]);
  }
  stats_.add("unbinds", "1", "binds that closed a type 1 window", unbinds_);
  stats_.add("remote_invalidates", "1", "invalidates by SEND_WITH_INV", remote_invalidates_);
  for (std::size_t i = 1; i < window_faults; ++i) {
    stats_.add(std::string("fault_") + window_fault_names[i], "1", std::string("changes refused with ") + window_fault_names[i],
               faults_[i]);
  }
  stats_.add("drain_wait", "ps", "wait of a change for the accesses that the older state admitted", drain_wait_);
  stats_.add("lock_waits", "1", "times a change waited for the command unit", lock_waits_);
  stats_.add("pending", "1", "changes under way", pending_);
  stats_.busy_time("pipe_busy", "time the unit took changes in", pipe_);
  signals_.add("valid", 1, valid_probe_);
  signals_.add("op", 3, op_probe_, {"bind", "invalidate", "fast_register", "close", "lock", "unlock", "unbind"});
  signals_.add("key", 32, key_probe_);
  signals_.add("fault", 5, fault_probe_, {window_fault_names, window_fault_names + window_faults});
  signals_.add("pending", 16, pending_probe_);
}

}  // namespace hcasim
