// A clock turns cycles into time. There is no toggling clock signal: units compute the next useful edge and sleep until then.
#pragma once

#include "tlm/base/units.h"

namespace hcasim {

class clock_domain {
 public:
  explicit clock_domain(frequency f) : period_ps_(1e12 / f.hertz) {}

  [[nodiscard]] ps cycles(double n) const { return ps(static_cast<std::int64_t>(n * period_ps_ + 0.5)); }
  [[nodiscard]] ps period() const { return cycles(1); }
  [[nodiscard]] double cycles_in(ps t) const { return static_cast<double>(t.count()) / period_ps_; }

 private:
  double period_ps_;
};

}  // namespace hcasim
