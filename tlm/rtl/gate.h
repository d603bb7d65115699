// How long each transfer of a stream is stalled, so that a model and RTL behind the same gates meet the same stalls whatever
// else they do. It is a function of seed, stream, and the number of the transfer or what is transferred: where one of the two
// may have a transfer more than the other, as an address that it reads once more, a number would give all that follow another
// stall. With `storms` one transfer in 64 is stalled for so long that everything before it fills up.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>

namespace hcasim::rtl {

inline std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

// The name of a transfer, by which a shell and the bench in front of a model mean the same stall; never 0.
constexpr std::uint64_t of_address(std::uint64_t address) {
  return address | 1;
}
constexpr std::uint64_t of_index(std::uint64_t index) {
  return index + 1;
}
constexpr std::uint64_t of_queue(std::uint64_t number, std::uint64_t kind) {
  return number << 3 | kind << 1 | 1;
}

// Tells one coming of a thing from the next. They are counted anew with every `era` of progress, so that who has met one more
// than another differs from it until then and no longer.
class recurrence {
 public:
  static constexpr std::uint64_t era = 64;
  // `progress` counts what both do in the same order; null = it is all one era.
  explicit recurrence(const std::uint64_t* progress = nullptr) : progress_(progress) {}
  // A number for this coming of it.
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

class gate {
 public:
  gate() = default;
  gate(std::uint64_t seed, std::string_view channel, double stall, bool storms = false, const std::uint64_t* progress = nullptr)
      : limit_(static_cast<std::uint64_t>(stall * 0x1p32)), storms_(storms), seen_(progress) {
    std::uint64_t h = seed + 0x9e3779b97f4a7c15U;
    for (const char c : channel) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
    key_ = mix(h);
  }
  [[nodiscard]] bool open() const { return limit_ == 0 && !storms_; }
  // Cycles that the next transfer waits from when it could go; each with the probability `stall`. By what is transferred;
  // 0 = by its number.
  unsigned draw(std::uint64_t what = 0) { return open() ? 0 : delay(what ? seen_.next(what) : number_++); }
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

  std::uint64_t key_ = 0;
  std::uint64_t limit_ = 0;
  bool storms_ = false;
  std::uint64_t number_ = 0;
  recurrence seen_;
};

}  // namespace hcasim::rtl
