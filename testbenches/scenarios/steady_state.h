// Judges, from one stretch of messages to the next, whether the caches of a machine are filled and the rate stays the same.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "tlm/base/units.h"

namespace hcasim::kit {

class steady_state {
 public:
  static constexpr double most_filling = 0.01;  // share of a cache's lookups that find an empty place
  static constexpr double ratio_step = 0.01;    // change of a hit ratio, beside the noise of sampling
  static constexpr double rate_step = 0.02;     // change of the rate, as a share
  static constexpr unsigned stretches = 2;      // in a row that must agree with the one before

  // Takes the rate of the stretch that has just ended, and reads the caches. True = steady.
  bool reached(double messages_per_second);

 private:
  // Growth of a cache's counters over one stretch.
  struct lookups {
    double hits = 0;
    double misses = 0;  // that read an entry
    double merged = 0;
    double evictions = 0;

    [[nodiscard]] double all() const { return hits + misses + merged; }
    [[nodiscard]] double ratio() const { return all() > 0 ? hits / all() : 0; }
  };
  static std::map<std::string, lookups> totals();
  [[nodiscard]] static bool same_ratio(const lookups& a, const lookups& b);

  std::map<std::string, lookups> total_;  // at the end of the stretch before
  std::map<std::string, lookups> last_;   // growth over the stretch before
  double rate_ = 0;
  unsigned agreed_ = 0;
};

}  // namespace hcasim::kit
