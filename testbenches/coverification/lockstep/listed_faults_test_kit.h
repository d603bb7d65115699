// The faults of models/adapter/<unit>/rtl/mutations.txt, for tests.
#pragma once

#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "testbenches/coverification/lockstep/lockstep.h"
#include "testbenches/program/places/places.h"

namespace hcasim::lockstep {

struct listed {
  std::string right;
  std::string wrong;
  bool first = false;  // of its right expression
};
// Returns the faults of a unit in the order of their numbers, which begin with 1.
inline std::vector<listed> list_of(const std::string& unit) {
  std::ifstream list(std::string(places::source) + "/models/adapter/" + rtl_of(unit) + "/rtl/mutations.txt");
  std::vector<listed> all;
  bool first = false;
  std::string right;
  for (std::string line; std::getline(list, line);) {
    if (line.starts_with("- ")) {
      first = true;
      right = line.substr(2);
    }
    if (line.starts_with("+ ")) all.push_back({right, line.substr(2), std::exchange(first, false)});
  }
  return all;
}

// Compares the RTL with a fault in it.
inline report compare(const std::string& unit, unsigned fault, options o, const item_stream& s) {
  o.instrumented = true;
  o.fault = fault;
  return run_isolated(unit, s, o);
}

}  // namespace hcasim::lockstep
