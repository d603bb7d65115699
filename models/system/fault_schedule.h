// Faults of a description: at a time, or again and again. They never keep a simulation going.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "tlm/base/event_queue.h"
#include "tlm/base/faults.h"
#include "tlm/base/random.h"

namespace hcasim {

struct fault_order {
  ps at{0};
  ps every{0};        // 0 = once; otherwise from `at` on, at random times this far apart on average
  std::string where;  // "node0.pcie"
  std::string what;
  std::uint64_t count = 1;
  ps length{0};
};

// A fault of a description, how often it has begun, and when last.
struct fault_account {
  const fault_order* order = nullptr;
  std::uint64_t times = 0;
  ps last = never;
  std::uint64_t to_come = 0;  // operations that faults of this place and kind still wait for
};

class fault_schedule {
 public:
  // `top`: the system, whose units are there. Throws std::invalid_argument: no such place, or no such fault there.
  fault_schedule(const sc_core::sc_object& top, const std::vector<fault_order>& orders, std::uint64_t seed);

  // Returns the faults in the order of the description.
  [[nodiscard]] std::vector<fault_account> accounts() const;

 private:
  struct entry {
    fault_schedule* self = nullptr;
    faulty* unit = nullptr;
    std::size_t kind = 0;
    fault_order order;
    random_stream random;
    fault_account account{};
  };
  void plan(entry& e, ps when);
  void fall_due(entry& e);
  void happen(entry& e);

  event_queue& queue_ = event_queue::instance();
  std::deque<entry> entries_;
};

}  // namespace hcasim
