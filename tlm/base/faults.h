// Faults on request. A unit that can fail lists how, by name, and makes one of them happen when it is asked to. A fault that is
// not requested costs nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "tlm/base/units.h"

namespace hcasim {

struct fault_kind {
  std::string_view name;
  std::string_view text;  // what happens, and what `count` and `length` mean for it
};

// A place that can fail: "node*.hca.dma_engine".
struct fault_place {
  std::string_view where;
  std::span<const fault_kind> kinds;
};

struct fault_request {
  std::uint64_t count = 1;  // of what it happens to
  ps length{0};             // how long it lasts; 0 = the unit's own time
  std::uint64_t draw = 0;   // random: which entry, which bit
};

class faulty {
 public:
  virtual ~faulty() = default;
  [[nodiscard]] virtual std::span<const fault_kind> fault_kinds() const = 0;
  // Kind number `kind` of that list begins now, or with the next thing that it can happen to.
  virtual void inject(std::size_t kind, const fault_request& r) = 0;
  // Withdraws requested faults that have not happened yet.
  virtual void withdraw() {}
};

}  // namespace hcasim
