// Faults on request. A unit that can fail lists its kinds of fault by name, and injects one when requested. A fault that is not
// requested costs nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "tlm/base/units.h"

namespace hcasim {

struct fault_kind {
  std::string_view name;
  std::string_view text;  // the effect, and the meaning of `count` and `length`
};

// A place that can fail: "node*.hca.dma_engine".
struct fault_place {
  std::string_view where;
  std::span<const fault_kind> kinds;
};

struct fault_request {
  std::uint64_t count = 1;  // of affected operations, words or entries
  ps length{0};             // how long it lasts; 0 = the unit's own time
  std::uint64_t draw = 0;   // random: which entry, which bit
};

class faulty {
 public:
  virtual ~faulty() = default;
  [[nodiscard]] virtual std::span<const fault_kind> fault_kinds() const = 0;
  // Injects fault kind number `kind` of fault_kinds(): now, or into the next operation that can fail this way.
  virtual void inject(std::size_t kind, const fault_request& r) = 0;
  // Returns how many affected operations of the kind are still to come; 0 for a fault that begins at once.
  [[nodiscard]] virtual std::uint64_t to_come(std::size_t /*kind*/) const { return 0; }
  // Withdraws requested faults that have not happened yet.
  virtual void withdraw() {}
};

}  // namespace hcasim
