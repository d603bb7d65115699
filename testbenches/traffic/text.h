// Text without the spaces around it.
#pragma once

#include <string_view>

namespace hcasim::traffic {

inline std::string_view trimmed(std::string_view s) {
  constexpr std::string_view spaces = " \t\r";
  const std::size_t begin = s.find_first_not_of(spaces);
  if (begin == std::string_view::npos) return {};
  return s.substr(begin, s.find_last_not_of(spaces) - begin + 1);
}

}  // namespace hcasim::traffic
