// Seen by the copies of sources in which a check can be left out: whether it is the one.
#pragma once

#include <type_traits>

namespace hcasim {

extern int left_out_check;  // its number in checks.txt; 0 = none

constexpr bool left_out(int number) {
  return !std::is_constant_evaluated() && left_out_check == number;
}

}  // namespace hcasim
