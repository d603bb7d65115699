// Faults of RTL made mechanically, all in one source. Each stands behind `hca_mutant::number == N ? wrong : right` or `if
// (hca_mutant::number != N)`. The number tells the active fault; 0 = none.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace hcasim::mutation {

struct mutant {
  unsigned number = 0;
  std::string file;
  unsigned line = 0;
  std::string kind;   // operator, operand, condition, negation, constant, assignment, reset
  std::string right;  // the original text, on one line
  std::string wrong;
  std::string text;  // the fault's line
};

struct mutated {
  std::string source;
  std::vector<mutant> mutants;
  unsigned next = 1;  // number
};

// Makes all faults of a source; `first` is the number of the first one. Unwanted ones keep their numbers and are left out.
mutated mutate(
    const std::string& file, std::string_view source, unsigned first = 1,
    const std::function<bool(unsigned number)>& wanted = [](unsigned) { return true; });

}  // namespace hcasim::mutation
