// The stall of each transfer of a stream. A model and RTL behind the same stall sources meet the same stalls, however different
// their other timing. A stall is a function of seed, stream, and either the transfer's number or its name. A name serves where
// one side may have an extra transfer, such as an address read once more: numbers would then change every later stall.
// `storms`: one transfer in 64 has a stall so long as to fill all queues before it. `stall_one_long`: one transfer in 4 000
// items of progress has such a stall, at a known place, around which a bench arranges its items.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>

namespace hcasim::rtl {

constexpr std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

// Returns a transfer's name, by which a shell and the bench in front of a model find the same stall; never 0.
constexpr std::uint64_t of_address(std::uint64_t address) {
  return address | 1;
}
constexpr std::uint64_t of_index(std::uint64_t index) {
  return index + 1;
}
constexpr std::uint64_t of_line(std::uint64_t first_bytes) {
  return mix(first_bytes) | 1;
}
constexpr std::uint64_t of_queue(std::uint64_t number, std::uint64_t kind) {
  return number << 3 | kind << 1 | 1;
}

// Tells repeated transfers of one name apart. Repetitions are counted anew with every `era` of progress. A side with an extra
// transfer thus differs from the other only until the era's end.
class recurrence {
 public:
  static constexpr std::uint64_t era = 64;
  // `progress` counts work done by both sides in the same order; null = one endless era.
  explicit recurrence(const std::uint64_t* progress = nullptr) : progress_(progress) {}
  // Returns a number for this repetition of the transfer.
  std::uint64_t next(std::uint64_t what) {
    const std::uint64_t now = progress_ ? *progress_ / era : 0;
    coming& c = last_[what];
    c = {now, c.era == now ? c.times + 1 : 0};
    return mix(mix(what + 0x9e3779b97f4a7c15U) + now) + c.times;
  }

 private:
  struct coming {
    std::uint64_t era = ~std::uint64_t{0};
    std::uint64_t times = 0;
  };
  const std::uint64_t* progress_;
  std::unordered_map<std::uint64_t, coming> last_;  // looked up only
};

class stall_source {
 public:
  stall_source() = default;
  stall_source(std::uint64_t seed, std::string_view channel, double stall, bool storms = false,
               const std::uint64_t* progress = nullptr)
      : limit_(static_cast<std::uint64_t>(stall * 0x1p32)), storms_(storms), progress_(progress), seen_(progress) {
    std::uint64_t h = seed + 0x9e3779b97f4a7c15U;
    for (const char c : channel) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
    key_ = mix(h);
  }
  static constexpr std::uint64_t long_period = 4'000;
  // Stalls for long the first transfer from count `place` on, of each `long_period` counts of progress. Progress begins with 0.
  void stall_one_long(std::uint64_t place) { place_ = place; }
  [[nodiscard]] bool open() const { return limit_ == 0 && !storms_ && place_ == 0; }
  // Returns the cycles by which the next transfer is stalled, each with the probability `stall`. `what`: the transfer's name; 0
  // = by its number.
  unsigned draw(std::uint64_t what = 0) {
    if (open()) return 0;
    const unsigned usual = delay(what ? seen_.next(what) : number_++);
    if (place_ == 0 || epoch() == epoch_) return usual;
    epoch_ = epoch();
    return storm;
  }
  [[nodiscard]] unsigned delay(std::uint64_t number) const {
    if (open()) return 0;
    if (storms_ && mix(~key_ ^ number) % 64 == 0) return storm;
    unsigned cycles = 0;
    while (cycles < longest && (mix(key_ ^ (number * longest + cycles)) >> 32) < limit_) ++cycles;
    return cycles;
  }

 private:
  static constexpr unsigned longest = 32;
  static constexpr unsigned storm = 160;

  [[nodiscard]] std::uint64_t epoch() const { return (*progress_ + long_period - place_) / long_period; }

  std::uint64_t key_ = 0;
  std::uint64_t limit_ = 0;
  bool storms_ = false;
  std::uint64_t number_ = 0;
  const std::uint64_t* progress_ = nullptr;
  std::uint64_t place_ = 0;  // of the long stalls; 0 = none
  std::uint64_t epoch_ = 0;
  recurrence seen_;
};

}  // namespace hcasim::rtl
