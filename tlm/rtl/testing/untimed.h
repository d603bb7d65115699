// Violations without their time and cycle, which endings_test.cpp looks at.
#pragma once

#include <string>

namespace hcasim::rtl {

// Returns "unit (design), 50 ns, cycle 20: what" as "unit (design): what".
inline std::string untimed(const std::string& violation) {
  const std::size_t begin = violation.find("), ");
  const std::size_t end = violation.find(": ");
  return begin >= end ? violation : violation.substr(0, begin + 1) + violation.substr(end);
}

}  // namespace hcasim::rtl
