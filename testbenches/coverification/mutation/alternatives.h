// Wrong expressions that may stand in the place of one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "expression.h"

namespace hcasim::mutation {

struct wrong {
  const char* kind;
  std::string text;
};

// Returns the faults of the expression itself, not of its parts. `constants`: a literal may be another one; `of_condition`: it
// decides alone.
std::vector<wrong> wrongs_of(const node& n, std::string_view source, bool constants, bool of_condition);

}  // namespace hcasim::mutation
