// Seeded random streams (xoshiro256**, seeded through splitmix64). Each user takes a stream of its own by name, so that one
// more user does not disturb the numbers of the others.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace hcasim {

class random_stream {
 public:
  random_stream(std::uint64_t seed, std::string_view name);

  std::uint64_t next();
  // Returns a number uniform in [0, bound); bound must not be 0.
  std::uint64_t below(std::uint64_t bound);
  // Returns a number uniform in [0, 1).
  double unit() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }
  bool chance(double probability) { return probability > 0 && unit() < probability; }

 private:
  std::array<std::uint64_t, 4> s_{};
};

}  // namespace hcasim
