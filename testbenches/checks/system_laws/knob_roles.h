// The role of every knob of the program for the rate of a run: more of it never hurts, less of it never hurts, or it is no
// resource. Most tell by their kind: rates and clocks, times and cycles; a count or a size is a `size` unless one table says
// otherwise, where every ratio stands.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "testbenches/program/description/knob_tree.h"

namespace hcasim::metamorphic {

enum class role : std::uint8_t {
  pool,        // more: things of which each serves one at a time
  size,        // more: caches, widths, limits
  throughput,  // more: rates and clocks
  interval,    // less: from one to the next
  latency,     // less: from one's begin to its end
  cost,        // less: bytes or time that a thing takes from what it uses
  none         // no resource
};

struct listed_knob {
  const char* name;  // the last two parts of its path, `*` for any group
  role what;
  bool zero_is_all = false;  // zero: not limited
  const char* why = "";      // it is no resource
};
const std::vector<listed_knob>& listed_knobs();

// Nothing = its kind does not tell, and it is not listed.
std::optional<role> role_of(const knob_tree::leaf& l);
const listed_knob* listed(const knob_tree::leaf& l);

inline bool more_is_better(role r) {
  return r == role::pool || r == role::size || r == role::throughput;
}
inline bool less_is_better(role r) {
  return r == role::interval || r == role::latency || r == role::cost;
}

// The path for all nodes: node*.hca.clock. Empty = of a node that another one stands for.
std::string general_path(const std::string& path);
double number_of(const knob_tree::leaf& l);

}  // namespace hcasim::metamorphic
