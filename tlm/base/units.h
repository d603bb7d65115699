// Quantities. Time is an integer count of picoseconds everywhere; rates and frequencies carry their unit in the type.
#pragma once

#include <chrono>
#include <cstdint>

namespace hcasim {

using ps = std::chrono::duration<std::int64_t, std::pico>;

inline constexpr ps never = ps::max();

constexpr ps operator""_ps(unsigned long long n) {
  return ps(static_cast<std::int64_t>(n));
}
constexpr ps operator""_ns(unsigned long long n) {
  return ps(static_cast<std::int64_t>(n) * 1000);
}
constexpr ps operator""_us(unsigned long long n) {
  return ps(static_cast<std::int64_t>(n) * 1'000'000);
}
constexpr ps operator""_ms(unsigned long long n) {
  return ps(static_cast<std::int64_t>(n) * 1'000'000'000);
}
constexpr std::uint64_t operator""_KiB(unsigned long long n) {
  return n << 10;
}
constexpr std::uint64_t operator""_MiB(unsigned long long n) {
  return n << 20;
}
constexpr std::uint64_t operator""_GiB(unsigned long long n) {
  return n << 30;
}
constexpr std::uint64_t operator""_TiB(unsigned long long n) {
  return n << 40;
}

inline double to_ns(ps t) {
  return static_cast<double>(t.count()) / 1e3;
}
inline double to_us(ps t) {
  return static_cast<double>(t.count()) / 1e6;
}
inline double to_seconds(ps t) {
  return static_cast<double>(t.count()) / 1e12;
}

// Bits per second. Rounds a transfer time up to the next picosecond, so a link is never faster than it says.
struct bit_rate {
  double bits_per_second = 0;

  [[nodiscard]] ps time_for(std::uint64_t bytes) const {
    const double exact = static_cast<double>(bytes) * (8e12 / bits_per_second) - 1e-6;
    const auto whole = static_cast<std::int64_t>(exact);
    return ps(whole + (exact > static_cast<double>(whole) ? 1 : 0));
  }
  [[nodiscard]] double gbps() const { return bits_per_second / 1e9; }
  constexpr auto operator<=>(const bit_rate&) const = default;
};

struct frequency {
  double hertz = 0;

  [[nodiscard]] double mhz() const { return hertz / 1e6; }
  constexpr auto operator<=>(const frequency&) const = default;
};

constexpr std::uint64_t align_down(std::uint64_t v, std::uint64_t power_of_two) {
  return v & ~(power_of_two - 1);
}
constexpr std::uint64_t align_up(std::uint64_t v, std::uint64_t power_of_two) {
  return align_down(v + power_of_two - 1, power_of_two);
}
constexpr std::uint64_t ceil_div(std::uint64_t a, std::uint64_t b) {
  return (a + b - 1) / b;
}

}  // namespace hcasim
