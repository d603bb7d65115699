// Combinations of choices for tests of a product: few that hold each possible pair of values, or all with HCASIM_FULL=1.
#pragma once

#include <cstdlib>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace hcasim::testing {

using axis = std::vector<std::string>;         // the text of each value
using combination = std::vector<std::size_t>;  // a value of each axis

// Returns every combination that `allowed` admits.
inline std::vector<combination> product(const std::vector<axis>& axes, const std::function<bool(const combination&)>& allowed) {
  std::vector<combination> out;
  combination at(axes.size());
  for (;;) {
    if (allowed(at)) out.push_back(at);
    std::size_t i = 0;
    while (i < axes.size() && ++at[i] == axes[i].size()) at[i++] = 0;
    if (i == axes.size()) return out;
  }
}

// Chooses, again and again, the combination with the most pairs that no earlier one has.
inline std::vector<combination> pairwise(const std::vector<combination>& all) {
  using value = std::pair<std::size_t, std::size_t>;  // axis, place
  const auto pairs_of = [](const combination& c) {
    std::set<std::pair<value, value>> out;
    for (std::size_t i = 0; i < c.size(); ++i) {
      for (std::size_t j = i + 1; j < c.size(); ++j) out.insert({{i, c[i]}, {j, c[j]}});
    }
    return out;
  };
  std::set<std::pair<value, value>> missing;
  for (const combination& c : all) missing.merge(pairs_of(c));
  std::vector<combination> out;
  while (!missing.empty()) {
    const combination* best = nullptr;
    std::size_t most = 0;
    for (const combination& c : all) {
      std::size_t found = 0;
      for (const auto& p : pairs_of(c)) found += missing.count(p);
      if (found > most) best = &c, most = found;
    }
    out.push_back(*best);
    for (const auto& p : pairs_of(*best)) missing.erase(p);
  }
  return out;
}

inline std::vector<combination> combinations(const std::vector<axis>& axes,
                                             const std::function<bool(const combination&)>& allowed) {
  std::vector<combination> all = product(axes, allowed);
  return std::getenv("HCASIM_FULL") ? all : pairwise(all);
}

// Returns the texts of a combination with a space between them.
inline std::string text_of(const std::vector<axis>& axes, const combination& c) {
  std::string out;
  for (std::size_t i = 0; i < c.size(); ++i) out += axes[i][c[i]] + " ";
  return out;
}

}  // namespace hcasim::testing
