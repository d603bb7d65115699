// The knobs of a workload with the values that a law tries.
#pragma once

#include <string>
#include <vector>

#include "testbenches/checks/system_laws/experiment.h"
#include "testbenches/checks/system_laws/knob_roles.h"

namespace hcasim::metamorphic {

struct knob_sweep {
  std::string knob;  // node*.hca.dma_engine.read_tags
  role what = role::none;
  std::vector<std::string> values;  // from the poorest to the richest
  std::string own;                  // value that changes nothing in the workload; empty = there is none
};

// Returns every directed knob with its value in the workload and others: a quarter and four times, or all powers of two in
// question.
std::vector<knob_sweep> knobs_of(const workload& w, bool all_values);
struct changed_knob {
  std::string knob;
  role what = role::none;
  std::string from;  // value in the workload
  std::string to;
};
std::vector<changed_knob> doubled_latencies(const workload& w, void (*adjust)(setup&));
// Intervals 128 times as long (of at least a cycle, or a nanosecond), rates a 64th, pools of as little as may be.
std::vector<changed_knob> scarcities(const workload& w, void (*adjust)(setup&));

// Sets every count high, and traffic to match, so that only intervals and rates bind.
void make_ample(setup& s);

// Caches that keep everything.
void make_roomy(setup& s);

// Returns whether a short run tries the knob on the workload: the workload exercises the knob's unit, or the knob has its turn.
bool has_its_turn(const std::string& knob, const workload& w);

bool full();  // HCASIM_FULL

}  // namespace hcasim::metamorphic
