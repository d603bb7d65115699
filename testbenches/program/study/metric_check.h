// Judges the statistics of a study's metrics when the machine is built, before simulated time begins.
#pragma once

#include <vector>

#include <systemc>

#include "testbenches/program/study/metrics.h"

namespace hcasim {

// A module without processes: SystemC calls it when every unit of machine and testbench exists.
class metric_check final : public sc_core::sc_module {
 public:
  explicit metric_check(const std::vector<metric>& metrics)
      : sc_module(sc_core::sc_module_name("metric_check")), metrics_(metrics) {}

 private:
  // Throws metric_error for a statistic that no unit has.
  void end_of_elaboration() override;

  const std::vector<metric>& metrics_;
};

}  // namespace hcasim
