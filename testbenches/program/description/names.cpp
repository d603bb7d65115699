#include "testbenches/program/description/names.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

namespace hcasim {
namespace {

char lower(char c) {
  return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
}

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  const std::size_t columns = b.size() + 1;
  std::vector<std::size_t> before(columns);
  std::vector<std::size_t> above(columns);
  std::vector<std::size_t> row(columns);
  for (std::size_t j = 0; j < columns; ++j) above[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j < columns; ++j) {
      const bool same = lower(a[i - 1]) == lower(b[j - 1]);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (same ? 0 : 1)});
      if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1])) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    std::swap(before, above);
    std::swap(above, row);
  }
  return above[b.size()];
}

std::string suggestion(std::string_view wrong, std::span<const std::string> valid, std::string_view what) {
  if (valid.empty()) return fmt::format("there are no {}", what);
  const std::string* best = nullptr;
  std::size_t least = std::max<std::size_t>(2, wrong.size() / 2) + 1;
  for (const std::string& v : valid) {
    const std::size_t d = edit_distance(wrong, v);
    if (d < least) {
      least = d;
      best = &v;
    }
  }
  if (best && least < best->size()) return fmt::format("did you mean '{}'?", *best);
  std::string list;
  for (std::size_t i = 0; i < valid.size() && i < 24; ++i) list += (i ? ", " : "") + valid[i];
  if (valid.size() > 24) list += ", ...";
  return fmt::format("{} are: {}", what, list);
}

bool glob_match(std::string_view pattern, std::string_view name) {
  std::size_t p = 0;
  std::size_t n = 0;
  std::size_t star = std::string_view::npos;
  std::size_t resume = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = n;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
      ++p;
      ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

std::string for_all_nodes(std::string_view path) {
  constexpr std::string_view stem = "node";
  if (!path.starts_with(stem)) return std::string(path);
  const std::size_t end = path.find_first_not_of("0123456789", stem.size());
  const bool numbered = end != std::string_view::npos && end > stem.size() && path[end] == '.';
  return numbered ? fmt::format("{}*{}", stem, path.substr(end)) : std::string(path);
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t from = 0;;) {
    const std::size_t to = text.find(separator, from);
    parts.emplace_back(text.substr(from, to == std::string_view::npos ? to : to - from));
    if (to == std::string_view::npos) return parts;
    from = to + 1;
  }
}

}  // namespace hcasim
