// The way of single operations, out of the spans that a run has recorded (spans.json).
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "tlm/base/units.h"

namespace hcasim {

// A request of an operation in one unit, from its arrival to the response.
struct way_slice {
  std::string node;
  std::string unit;
  std::string what;
  std::string with;  // address, key, length
  ps begin{0};
  ps end{0};
};

struct recorded_operation {
  std::string number;  // 6.21: send queue and place in it
  std::string node;    // of its requester; empty = the slice of the requester was not recorded
  std::string what;    // opcode; empty, likewise
  ps begin{0};         // of its first slice
  ps end{0};           // of its last slice
  std::size_t slices = 0;
};

// Returns the operations of a file of spans, the slowest first. Throws input_error: no such file, or not a file of spans.
std::vector<recorded_operation> recorded_operations(const std::filesystem::path& spans);

// Returns the slices of operation `number` in the order of their begins; the whole of the requester comes first.
std::vector<way_slice> way_of_operation(const std::filesystem::path& spans, const std::string& number);

// The share of one unit of an operation's time. A moment belongs to the slice under way that began last.
struct way_share {
  std::string node;
  std::string unit;
  ps time{0};
};
// Returns the shares in the order in which units first have one; they add up to the operation's time. A moment in no slice has
// an empty unit: the operation is between units, on the link for instance. The requester's whole counts as no slice.
std::vector<way_share> shares_of(const std::vector<way_slice>& way);

}  // namespace hcasim
