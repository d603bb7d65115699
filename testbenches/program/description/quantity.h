// Quantities as text: "200 ns", "64 KiB", "100 Gb/s", "6 cycles", "350 MHz". Every quantity carries its unit; counts and
// ratios are numbers alone. What format_quantity writes, parse_quantity reads back to the same value.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "tlm/base/knobs.h"

namespace hcasim {

// An error whose text tells the fault and the mend.
class quantity_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Kinds count, cycles, time, bytes, rate, clock and ratio; the value is in the kind's base unit (1, cycles, ps, B, b/s, Hz, 1).
// Counts and bytes are whole numbers, times whole picoseconds. long double holds any 64-bit integer exactly.
long double parse_quantity(knob_kind kind, std::string_view text);
std::string format_quantity(knob_kind kind, long double value);
std::string time_text(ps t);

bool parse_flag(std::string_view text);

// Returns "a time", "a size", ... and the units of a kind: "ps, ns, us, ms or s".
std::string_view kind_name(knob_kind kind);
std::string unit_list(knob_kind kind);

}  // namespace hcasim
