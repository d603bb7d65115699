// Every fault that the units of a system know, at random times under load, and what became of each. What was drawn for a fault
// does not depend on those after it: the same seed with fewer faults is the same run, up to there.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "testbenches/scenarios/faults/stream.h"
#include "tlm/base/random.h"

namespace hcasim::faults {

enum class outcome : std::uint8_t {
  masked,     // nothing was noticed, and every request ended well
  corrected,  // every request ended well, after a unit or software had mended something
  contained,  // requests ended with a defined status; the device went on
  recovered,  // a device failed, and came back
  lost,       // wrong bytes, a request that did not end, or something that was not given back
};
inline constexpr std::array outcome_names{"masked", "corrected", "contained", "recovered", "lost"};
inline constexpr std::size_t outcomes = outcome_names.size();

struct campaign_options {
  std::uint32_t faults = 200;
  std::uint64_t between = 40;  // requests that must have succeeded before the next one
  ps watched = 1_ms;           // and time that must have passed after one: more than a command takes to time out
  std::string where;           // only at places that begin so; empty = anywhere
  std::string what;            // only this kind; empty = any
  stream_options stream;
};

struct trial {
  std::string place;
  std::string what;
  faults::outcome became = outcome::masked;
  std::string how;  // it was lost
};

struct campaign_outcome {
  stream_state stream;
  std::vector<trial> trials;
  std::vector<std::string> left;
  std::string problem;

  // By fault, the place without its number.
  [[nodiscard]] std::map<std::string, std::array<std::uint32_t, outcomes>> by_fault() const;
};

// Damage that the code of some node does not find: it may be believed, and cost anything but bytes outside a grant. Devices
// begin anew after it, so that what it costs is told of the fault that made it.
bool may_be_believed(const system_config& c, std::string_view what);

// Throws std::invalid_argument: no such fault.
void start_campaign(hcasim::system& s, const campaign_options& o, std::uint64_t seed, campaign_outcome& out);

}  // namespace hcasim::faults
