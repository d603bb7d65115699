// How long each transfer of a stream is stalled: a function of seed, stream and the number of the transfer alone, so that a
// model and RTL behind the same gates meet the same stalls whatever else they do. With `storms` one transfer in 64 is stalled
// for so long that everything before it fills up.
#pragma once

#include <cstdint>
#include <string_view>

namespace hcasim::rtl {

class gate {
 public:
  gate() = default;
  gate(std::uint64_t seed, std::string_view channel, double stall, bool storms = false)
      : limit_(static_cast<std::uint64_t>(stall * 0x1p32)), storms_(storms) {
    std::uint64_t h = seed + 0x9e3779b97f4a7c15U;
    for (const char c : channel) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
    key_ = mix(h);
  }
  // Cycles that transfer `number` waits from when it could go; each with the probability `stall`.
  [[nodiscard]] unsigned delay(std::uint64_t number) const {
    if (limit_ == 0 && !storms_) return 0;
    if (storms_ && mix(~key_ ^ number) % 64 == 0) return storm;
    unsigned cycles = 0;
    while (cycles < longest && (mix(key_ ^ (number * longest + cycles)) >> 32) < limit_) ++cycles;
    return cycles;
  }

 private:
  static constexpr unsigned longest = 32;
  static constexpr unsigned storm = 160;
  static std::uint64_t mix(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
  }

  std::uint64_t key_ = 0;
  std::uint64_t limit_ = 0;
  bool storms_ = false;
};

}  // namespace hcasim::rtl
