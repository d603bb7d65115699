// A state table taken apart: which states can be at all, and how a page shows it.
#pragma once

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "tlm/base/state_table.h"

namespace hcasim::testing {

// All that the events of the table make of `first`, in the order found.
template <class Table>
std::vector<typename Table::state> reachable(const Table& table, typename Table::state first = {}) {
  std::vector<typename Table::state> found{first};
  for (std::size_t i = 0; i < found.size(); ++i) {
    for (std::size_t e = 0; e < table.names().events.size(); ++e) {
      const auto event = static_cast<typename Table::event>(e);
      if (!table.possible(found[i], event)) continue;
      const auto next = table.step(found[i], event);
      if (std::find(found.begin(), found.end(), next) == found.end()) found.push_back(next);
    }
  }
  return found;
}

// Returns the state that the rows, read one after the other, lead to.
template <class Table>
std::optional<typename Table::state> by_rows(const Table& table, typename Table::state s, typename Table::event e) {
  for (const auto& r : table.rows()) {
    const unsigned marks = s.marks.bits();
    if (r.event != e || !r.in.has(s.life) || (marks & r.needs.bits()) != r.needs.bits() || s.any(r.without)) continue;
    return typename Table::state{r.becomes.value_or(s.life),
                                 decltype(s.marks)::of((marks & ~static_cast<unsigned>(r.clears.bits())) | r.sets.bits())};
  }
  return std::nullopt;
}

// Every life, mark and row happens; whatever has no row throws, in every state there could be.
template <class Table>
std::string faults_of(const Table& table) {
  std::string text;
  const auto& n = table.names();
  const auto states = reachable(table);
  const auto none = [&](auto holds) { return std::none_of(states.begin(), states.end(), holds); };
  for (std::size_t l = 0; l < n.lives.size(); ++l) {
    if (none([&](auto s) { return static_cast<std::size_t>(s.life) == l; })) text += "no " + std::string(n.lives[l]) + "\n";
  }
  for (std::size_t m = 0; m < n.marks.size(); ++m) {
    if (none([&](auto s) { return (s.marks.bits() >> m & 1U) != 0; })) text += "no " + std::string(n.marks[m]) + "\n";
  }
  for (const auto& r : table.rows()) {
    for (std::size_t l = 0; l < n.lives.size(); ++l) {
      const auto happens = [&](auto s) { return static_cast<std::size_t>(s.life) == l && table.possible(s, r.event); };
      if ((r.in.bits() >> l & 1U) != 0 && none(happens))
        text += std::string(table.name(r.event)) + " never in " + std::string(n.lives[l]) + "\n";
    }
  }
  for (std::size_t bits = 0; bits < n.lives.size() << n.marks.size(); ++bits) {
    auto s = states.front();
    s.life = static_cast<decltype(s.life)>(bits >> n.marks.size());
    s.marks = decltype(s.marks)::of(static_cast<unsigned>(bits & ((std::size_t{1} << n.marks.size()) - 1)));
    for (std::size_t e = 0; e < n.events.size(); ++e) {
      const auto event = static_cast<typename Table::event>(e);
      std::optional<typename Table::state> found;
      try {
        found = table.step(s, event);
      } catch (const std::logic_error&) {
      }
      if (found != by_rows(table, s, event)) text += std::string(n.events[e]) + " is not what its row says\n";
      if (found.has_value() != table.possible(s, event)) text += std::string(n.events[e]) + " and its check differ\n";
    }
  }
  return text;
}

namespace states {

template <std::size_t N, class Set>
std::string list(const std::array<std::string_view, N>& names, Set s, const char* between = ", ") {
  std::string text;
  for (std::size_t i = 0; i < N; ++i) {
    if ((s.bits() >> i & 1U) == 0) continue;
    if (!text.empty()) text += between;
    text += names[i];
  }
  return text;
}

inline std::string column(const std::string& text) {
  return text.empty() ? " |" : " " + text + " |";
}

}  // namespace states

// Returns the diagram of the lives, the table of the events, and the combinations that never occur.
template <class Table>
std::string states_markdown(const Table& table) {
  using namespace states;
  const auto& n = table.names();
  const std::string record(n.record);
  const auto states = reachable(table);
  std::string text = "### States of a " + record + "\n\n";
  if (n.lives.size() > 1) {
    text += "```mermaid\nstateDiagram-v2\n  [*] --> " + std::string(n.lives[0]) + "\n";
    for (std::size_t from = 0; from < n.lives.size(); ++from) {
      for (std::size_t to = 0; to < n.lives.size(); ++to) {
        std::string label;
        for (const auto& r : table.rows()) {
          if (from == to || !r.becomes || static_cast<std::size_t>(*r.becomes) != to || (r.in.bits() >> from & 1U) == 0)
            continue;
          label += (label.empty() ? "" : ", ") + std::string(table.name(r.event));
          if (!r.needs.empty()) label += " [" + list(n.marks, r.needs) + "]";
        }
        if (!label.empty())
          text += "  " + std::string(n.lives[from]) + " --> " + std::string(n.lives[to]) + " : " + label + "\n";
      }
    }
    text += "```\n\n";
  }
  text += "| event | in | only with | not with | becomes | sets | clears |\n|---|---|---|---|---|---|---|\n";
  const unsigned all = (1U << n.lives.size()) - 1;
  for (const auto& r : table.rows()) {
    text += "| " + std::string(table.name(r.event)) + " |" + column(r.in.bits() == all ? "any" : list(n.lives, r.in));
    text += column(list(n.marks, r.needs)) + column(list(n.marks, r.without));
    text += column(r.becomes ? std::string(table.name(*r.becomes)) : "") + column(list(n.marks, r.sets)) +
            column(list(n.marks, r.clears)) + "\n";
  }
  text += "\n" + std::to_string(states.size()) + " of " + std::to_string(n.lives.size() << n.marks.size()) +
          " combinations of states and marks are reachable. Never together:\n\n| | never with |\n|---|---|\n";
  const auto never = [&](auto one, std::size_t m) {
    return std::none_of(states.begin(), states.end(), [&](auto s) { return one(s) && (s.marks.bits() >> m & 1U) != 0; });
  };
  const auto line = [&](std::string_view name, std::size_t from, auto one) {
    std::string others;
    for (std::size_t m = from; m < n.marks.size(); ++m) {
      if (never(one, m)) others += (others.empty() ? "" : ", ") + std::string(n.marks[m]);
    }
    if (!others.empty()) text += "| " + std::string(name) + " | " + others + " |\n";
  };
  for (std::size_t l = 0; l < n.lives.size(); ++l) {
    line(n.lives[l], 0, [l](auto s) { return static_cast<std::size_t>(s.life) == l; });
  }
  for (std::size_t m = 0; m < n.marks.size(); ++m) {
    line(n.marks[m], m + 1, [m](auto s) { return (s.marks.bits() >> m & 1U) != 0; });
  }
  return text;
}

}  // namespace hcasim::testing
