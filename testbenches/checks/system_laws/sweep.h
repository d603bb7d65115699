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
};

// Every directed knob, at what it is in the workload and around it: at a quarter and at four times, or over all powers of two
// that may matter.
std::vector<knob_sweep> knobs_of(const workload& w, bool all_values);
struct changed_knob {
  std::string knob;
  role what = role::none;
  std::string from;  // what the workload has
  std::string to;
};
std::vector<changed_knob> doubled_latencies(const workload& w, void (*adjust)(setup&));
// Intervals 128 times as long (of at least a cycle, or a nanosecond), rates a 64th, pools of as little as may be.
std::vector<changed_knob> scarcities(const workload& w, void (*adjust)(setup&));

// Many of everything that there is a number of, and traffic to fill it: what binds then is an interval or a rate.
void make_ample(setup& s);

// Caches that keep everything.
void make_roomy(setup& s);

// Whether the knob is tried on the workload in a short run: the workload is one that its unit is exercised by, or it is its
// turn.
bool has_its_turn(const std::string& knob, const workload& w);

bool full();  // HCASIM_FULL

}  // namespace hcasim::metamorphic
