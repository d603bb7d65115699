// Times of the C library, in ps.
#pragma once

#include <algorithm>
#include <cstdint>
#include <ctime>

namespace hcasim::preload {

inline constexpr std::int64_t ns_per_s = 1'000'000'000;
inline constexpr std::uint64_t ps_per_ns = 1000;
inline constexpr std::int64_t longest_s = 1'000'000;  // longer times are cut to this

// Returns a time in clock ticks (sysconf(_SC_CLK_TCK)), 100 a second.
inline std::uint64_t ticks_of(std::uint64_t ps) {
  return ps / 10'000'000'000;
}
inline bool is_time(const timespec& t) {
  return t.tv_sec >= 0 && t.tv_nsec >= 0 && t.tv_nsec < ns_per_s;
}
inline std::uint64_t ps_of(const timespec& t) {
  return static_cast<std::uint64_t>(std::min<std::int64_t>(t.tv_sec, longest_s) * ns_per_s + t.tv_nsec) * ps_per_ns;
}
inline timespec time_of(std::uint64_t ps) {
  const auto ns = static_cast<std::int64_t>((ps + ps_per_ns - 1) / ps_per_ns);
  return {ns / ns_per_s, ns % ns_per_s};
}
// Returns the time from now until `t` on a clock; 1 = that time is over.
inline std::uint64_t ps_until(clockid_t clock, const timespec& t) {
  timespec n{};
  ::clock_gettime(clock, &n);
  if (t.tv_sec - n.tv_sec > longest_s) return ps_of({longest_s, 0});
  const std::int64_t left = (t.tv_sec - n.tv_sec) * ns_per_s + t.tv_nsec - n.tv_nsec;
  return left > 0 ? static_cast<std::uint64_t>(left) * ps_per_ns : 1;
}

}  // namespace hcasim::preload
