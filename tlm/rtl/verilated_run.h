// The run of a Verilated design, as Verilator's library sees it: its $time, and the reason for its end ($finish, $stop, $fatal,
// an assertion). One design is evaluated at a time.
#pragma once

#include <cstdint>
#include <string>

namespace hcasim::rtl {

struct verilated_run {
  std::string& why;           // the first reason is kept
  const std::uint64_t& time;  // ps
  int precision = -12;        // unit of $time, as a power of ten of seconds

  // The design that is evaluated.
  static verilated_run* current;
};

}  // namespace hcasim::rtl
