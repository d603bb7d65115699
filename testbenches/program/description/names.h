// Suggestions for misspelled names, and matching of names against patterns.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hcasim {

// Edits (insert, delete, replace, swap of neighbours) that turn `a` into `b`; upper and lower case count as equal.
std::size_t edit_distance(std::string_view a, std::string_view b);

// Returns "did you mean 'x'?", or without a near name "known are: a, b, c". `what` names the kind of thing: "keys here".
std::string suggestion(std::string_view wrong, std::span<const std::string> valid, std::string_view what);

// Matches a name: `*` is any run of characters, `?` one.
bool glob_match(std::string_view pattern, std::string_view name);
inline bool has_wildcard(std::string_view s) {
  return s.find_first_of("*?") != std::string_view::npos;
}

// Returns node*.x for node0.x, node1.x, ...; other paths stay the same.
std::string for_all_nodes(std::string_view path);

std::vector<std::string> split(std::string_view text, char separator);

}  // namespace hcasim
