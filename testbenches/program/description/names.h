// Finding what the user may have meant, and matching names against patterns.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hcasim {

// Edits (insert, delete, replace, swap of neighbours) that turn `a` into `b`; upper and lower case count as equal.
std::size_t edit_distance(std::string_view a, std::string_view b);

// "did you mean 'x'?", or when nothing is near "known are: a, b, c". `what` names the kind of thing: "keys here".
std::string suggestion(std::string_view wrong, std::span<const std::string> valid, std::string_view what);

// `*` matches any run of characters, `?` one.
bool glob_match(std::string_view pattern, std::string_view name);
inline bool has_wildcard(std::string_view s) {
  return s.find_first_of("*?") != std::string_view::npos;
}

// node0.x, node1.x, ... are all node*.x; what is no node's stays as it is.
std::string for_all_nodes(std::string_view path);

std::vector<std::string> split(std::string_view text, char separator);

}  // namespace hcasim
