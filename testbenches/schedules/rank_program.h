// Runs one rank of a schedule on its node: one software thread for each cpu of the schedule. A thread begins what is ready in
// the order in which it became so, and handles completions when nothing is.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "models/system/system.h"
#include "testbenches/kit/measured_parts.h"
#include "testbenches/schedules/message_port.h"
#include "testbenches/schedules/schedule.h"

namespace hcasim::schedules {

struct run_options {
  port_options port{};
  std::uint32_t times = 1;  // the schedule is run so often, each time from a barrier
  bool warm_up = false;     // the first time is not measured
  bool keep_times = false;  // of each operation, in the last time
  kit::measured_parts parts{};
};

struct operation_time {
  ps begun{0};
  ps ended{0};
};

struct rank_result {
  ps time{0};  // from the barrier to the end of the rank's last operation, of all measured times
  ps calculated{0};
  ps asleep{0};  // its threads waited for completions
  port_counts port;
  buffer_counts buffers;
  std::vector<operation_time> times;  // empty unless they are kept
};

struct run_result {
  bool ok = false;
  ps time{0};   // from the barrier to the end of the last operation, of all measured times
  ps began{0};  // the last barrier
  std::uint32_t times = 0;
  std::vector<rank_result> ranks;
};

// Lists the operations of a rank that have begun, or may, and have not ended.
using waiting_operations = std::function<std::vector<std::uint32_t>(std::uint32_t rank)>;

// Starts the programs, rank i on node i. `result` is filled in by the end of the simulation; `ok` is false when ranks wait for
// ever. Schedule and result outlive the programs. A verb that fails, or a message with other bytes, throws std::runtime_error.
waiting_operations start_schedule(hcasim::system& s, const schedule& what, const run_options& o, run_result& result);

}  // namespace hcasim::schedules
