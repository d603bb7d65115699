// Figures and tables of a traffic, from the records of its flows.
#pragma once

#include <iosfwd>

#include "testbenches/program/results/result.h"
#include "testbenches/traffic/flow_record.h"
#include "testbenches/traffic/plan.h"
#include "testbenches/traffic/steadiness.h"

namespace hcasim::traffic {

struct measured_traffic {
  const plan& planned;
  const std::vector<flow_record>& records;
  ps begin;
  ps end;
  const std::vector<ps>& phase_begins;  // of the first phase too
  const steadiness* known = nullptr;    // with until: steady
};

void report(const measured_traffic& m, result& to);
// Writes the flows' rates over time as CSV: flow, begin_ns, end_ns, rate_gbps.
void write_rates(const measured_traffic& m, std::ostream& to);

}  // namespace hcasim::traffic
