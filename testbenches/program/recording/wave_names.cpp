#include "testbenches/program/recording/wave_names.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace hcasim {

void name_signal(wave_signal& s, std::string_view text) {
  const std::size_t blank = std::min(text.find(' '), text.size());
  s.name = text.substr(0, blank);
  s.range = text.substr(blank);
  std::erase(s.range, ' ');
  const std::size_t bracket = s.name.rfind('[');
  if (s.range.empty() && bracket != std::string::npos && bracket > 0 && s.name.find(':', bracket) != std::string::npos) {
    s.range = s.name.substr(bracket);
    s.name.erase(bracket);
  }
  if (s.width > 1 && s.range == fmt::format("[{}:0]", s.width - 1)) s.range.clear();
}

char four_state(char digit) {
  constexpr auto states = [] {
    std::array<char, 256> t{};
    for (const auto& [from, to] : {std::pair{'0', '0'},
                                   {'l', '0'},
                                   {'L', '0'},
                                   {'1', '1'},
                                   {'h', '1'},
                                   {'H', '1'},
                                   {'z', 'z'},
                                   {'Z', 'z'},
                                   {'x', 'x'},
                                   {'X', 'x'},
                                   {'u', 'x'},
                                   {'U', 'x'},
                                   {'w', 'x'},
                                   {'W', 'x'},
                                   {'-', 'x'}}) {
      t[static_cast<unsigned char>(from)] = to;
    }
    return t;
  }();
  return states[static_cast<unsigned char>(digit)];
}

std::string time_scale::objection(std::uint64_t time) const {
  const auto latest = static_cast<std::uint64_t>((never.count() - 1) / picoseconds);
  if (time > latest) return "is beyond 2^63 ps (106 days), the latest time that is read";
  if (time % static_cast<std::uint64_t>(parts) != 0)
    return "is not a whole number of picoseconds, the finest time that is read";
  return {};
}

bool time_scale::set(int exponent) {
  constexpr int finest = -15;
  constexpr int picosecond = -12;
  constexpr int coarsest = 2;
  if (exponent < finest || exponent > coarsest) return false;
  *this = {};
  for (int e = picosecond; e < exponent; ++e) picoseconds *= 10;
  for (int e = exponent; e < picosecond; ++e) parts *= 10;
  return true;
}

}  // namespace hcasim
