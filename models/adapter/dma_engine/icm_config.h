// Knobs of ICM.
#pragma once

#include "tlm/base/knobs.h"
#include "tlm/icm_code.h"

namespace hcasim {

struct icm_config {
  icm_check check = icm_check::none;
  double check_latency = 2;

  void knobs(knob_visitor& k) {
    k.choice("check", check, {"none", "parity", "secded"},
             "integrity code of the words of contexts and tables, in ICM and in caches");
    k.cycles("check_latency", check_latency, 0, 1000, "with a code, from the last byte of an entry to its verdict");
  }
};

}  // namespace hcasim
