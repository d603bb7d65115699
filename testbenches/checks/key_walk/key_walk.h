// Runs a key script on two nodes, through the verbs API, beside the oracle: verdicts, keys, counts of windows, memory.
//
// One order after the other, or racing: then accesses are not waited for. An access that overlaps changes may see the state
// before or after any of them, and no other. In both, a monitor at the owner's memory sees that no byte outside a grant is
// touched.
#pragma once

#include <string>
#include <vector>

#include "models/system/system_config.h"
#include "testbenches/checks/key_walk/key_script.h"

namespace hcasim::testing {

struct walk_options {
  bool racing = false;
  std::uint64_t seed = 1;  // of the timing, when racing
};

struct walk_result {
  std::string problem;  // empty = the system and the oracle agree
  std::uint64_t granted = 0;
  std::uint64_t denied = 0;
  std::uint64_t changes = 0;  // that took effect
  std::uint64_t refused = 0;
  std::uint64_t responses = 0;  // packets of READs that the owner's adapter sent
  std::uint64_t touched = 0;    // bytes of the owner's memory, by DMA
};

// Elaborates a system: once in a process.
walk_result walk(const system_config& config, const std::vector<key_step>& script, const walk_options& o = {});
// The system of a walk: two nodes, and an answer to a SEND_WITH_INV that fails.
system_config walk_config();

}  // namespace hcasim::testing
