// Faults of RTL made mechanically, all of them in one source: each stands behind `hca_mutant::number == N ? wrong : right` or
// `if (hca_mutant::number != N)`, and a number says which one is active (0: none).
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
  std::string right;  // what stands there, on one line
  std::string wrong;
  std::string text;  // the line that it is in
};

struct mutated {
  std::string source;
  std::vector<mutant> mutants;
  unsigned next = 1;  // number
};

// `first` is the number of the first one; those that are not wanted have a number too, and are left out.
mutated mutate(
    const std::string& file, std::string_view source, unsigned first = 1,
    const std::function<bool(unsigned number)>& wanted = [](unsigned) { return true; });

}  // namespace hcasim::mutation
