// The role of every knob for the rate of a run: more never hurts, less never hurts, or the knob is no resource. Most roles
// follow from the kind: rates and clocks, times and cycles. A count or a size is a `size`, unless the table of listed knobs
// says otherwise. Every ratio is in this table.
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
  cost,        // less: bytes or time taken from a resource
  none         // no resource
};

struct listed_knob {
  const char* name;  // the last two parts of its path, `*` for any group
  role what;
  bool zero_is_all = false;  // zero: not limited
  const char* why = "";      // reason for role none
};
const std::vector<listed_knob>& listed_knobs();

// Returns the role; none = neither its kind nor the table tells.
std::optional<role> role_of(const knob_tree::leaf& l);
const listed_knob* listed(const knob_tree::leaf& l);

inline bool more_is_better(role r) {
  return r == role::pool || r == role::size || r == role::throughput;
}
inline bool less_is_better(role r) {
  return r == role::interval || r == role::latency || r == role::cost;
}

// Returns the path for all nodes: node*.hca.clock. Empty = a node represented by another one.
std::string general_path(const std::string& path);
double number_of(const knob_tree::leaf& l);

}  // namespace hcasim::metamorphic
