// The changes of a what-if: a knob of one kind in all nodes (or in those that were asked for) to twice the count, size or rate,
// or to half the interval, latency or time. Found in the tree of knobs, so a new knob takes part.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "testbenches/program/description/knob_tree.h"

namespace hcasim {

struct relief {
  struct setting {
    std::string path;
    std::string text;
  };
  std::string name;  // node*.hca.dma_engine.read_tags; of a whole unit: node*.hca.dma_engine
  std::string unit;  // node*.hca.dma_engine
  bool whole = false;
  bool halves = false;
  std::string from;  // as a description has it; empty = a whole unit, or the nodes differ
  std::string to;
  std::vector<setting> settings;
};

// The relieved value as text; nothing when the knob is no resource, is not limited (0), or is at its limit.
std::optional<std::string> relieved(const knob_tree::leaf& l);

// Every unit that has such knobs, each followed by the knobs. The testbench's parameters are no part of the machine.
std::vector<relief> all_reliefs(const knob_tree& tree);

// The knobs that `pattern` names: by path (with * and ?, or a part of it), or by a resource as --explain prints it
// ("node1.hca.page_walker walkers_busy"). Throws input_error when there is none, with what is nearest.
std::vector<relief> reliefs_for(const knob_tree& tree, const std::string& pattern);

}  // namespace hcasim
