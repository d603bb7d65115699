// Knobs of ICM.
#pragma once

#include "tlm/base/knobs.h"

namespace hcasim {

// The code that the adapter keeps with each 32-bit word that it writes to ICM: none, one parity bit for each byte, or one that
// tells which bit of the word is wrong and notices two (icm_code.h).
enum class icm_check : std::uint8_t { none, parity, secded };

struct icm_config {
  icm_check check = icm_check::none;
  double check_latency = 2;

  void knobs(knob_visitor& k) {
    k.choice("check", check, {"none", "parity", "secded"}, "integrity code of the words of contexts and tables");
    k.cycles("check_latency", check_latency, 0, 1000, "with a code, from the last byte of an entry to its verdict");
  }
};

}  // namespace hcasim
