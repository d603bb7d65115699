// The changes of a what-if. A knob of one kind, in all or the selected nodes, gets twice its count, size or rate. An interval,
// latency or time is halved. Found in the tree of knobs, so a new knob takes part.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "testbenches/program/description/knob_tree.h"

namespace hcasim {

// A resource can be bought: counts, sizes, rates, intervals, CPU time. A latency is a distance or a pipeline's depth.
enum class relief_kind : std::uint8_t { resource, latency };

struct what_if_change {
  struct setting {
    std::string path;
    std::string text;
  };
  std::string name;  // node*.hca.dma_engine.read_tags; of a whole unit: node*.hca.dma_engine
  std::string unit;  // node*.hca.dma_engine
  relief_kind kind = relief_kind::resource;
  bool whole = false;
  bool halves = false;
  std::string from;  // text as in a description; empty = a whole unit, or the nodes differ
  std::string to;
  std::vector<setting> settings;
};

// Returns the relieved value as text; none when the knob is no resource, is not limited (0), or is at its limit.
std::optional<std::string> relieved(const knob_tree::leaf& l);

// Returns the resources and the latencies of every unit with such knobs, each list followed by its knobs. The testbench's
// parameters are no part of the machine.
std::vector<what_if_change> all_changes(const knob_tree& tree);

// Returns the knobs of `pattern`: a path (with * and ?, or a part of it), or a resource as printed by --explain
// ("node1.hca.page_walker walkers_busy"). Throws input_error when there is none, with the nearest name.
std::vector<what_if_change> changes_for(const knob_tree& tree, const std::string& pattern);

}  // namespace hcasim
