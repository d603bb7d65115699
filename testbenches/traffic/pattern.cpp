#include "testbenches/traffic/pattern.h"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

#include "models/system/limits.h"
#include "testbenches/program/description/names.h"
#include "testbenches/traffic/text.h"
#include "tlm/base/random.h"

namespace hcasim::traffic {
namespace {

constexpr std::array<const char*, 8> pattern_names{"pairs", "all_to_all",  "incast", "outcast",
                                                   "ring",  "permutation", "random", "hot_spot"};
constexpr int attempts = 1000;  // at a permutation without a host that sends to itself

std::size_t host_number(std::string_view text, std::string_view whole) {
  const std::string_view t = trimmed(text);
  std::size_t n = 0;
  const auto [end, error] = std::from_chars(t.data(), t.data() + t.size(), n);
  if (error != std::errc() || end != t.data() + t.size())
    throw pattern_error(fmt::format("'{}' is no list of hosts; write for example 0-7, or 0-3, 8", whole));
  if (n >= most_nodes) throw pattern_error(fmt::format("there is no host {}; hosts are 0 to {}", n, most_nodes - 1));
  return n;
}

std::vector<host_pair> all_pairs(const host_list& from, const host_list& to) {
  std::vector<host_pair> out;
  for (const std::size_t a : from) {
    for (const std::size_t b : to) {
      if (a != b) out.push_back({a, b});
    }
  }
  if (out.empty()) throw pattern_error("the only pair is a host and itself; name another group in `to`");
  return out;
}

std::vector<host_pair> side_by_side(const host_list& from, const host_list& to, std::string_view name) {
  if (from.size() != to.size()) {
    throw pattern_error(fmt::format(
        "{} needs as many targets as sources, and there are {} and {}; write pattern: all_to_all, incast or outcast", name,
        from.size(), to.size()));
  }
  std::vector<host_pair> out;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (from[i] == to[i])
      throw pattern_error(fmt::format("host {} would send to itself; write pattern: ring or permutation", from[i]));
    out.push_back({from[i], to[i]});
  }
  return out;
}

std::vector<host_pair> around(const host_list& from, const host_list& to) {
  if (from != to) throw pattern_error("a ring is within one group; write the same group in `from` and `to`");
  if (from.size() < 2) throw pattern_error("a ring needs two hosts or more");
  std::vector<host_pair> out;
  for (std::size_t i = 0; i < from.size(); ++i) out.push_back({from[i], from[(i + 1) % from.size()]});
  return out;
}

std::vector<host_pair> permuted(const host_list& from, host_list to, std::uint64_t seed) {
  if (from.size() != to.size()) return side_by_side(from, to, "a permutation");
  random_stream random(seed, "traffic.permutation");
  for (int attempt = 0; attempt < attempts; ++attempt) {
    for (std::size_t i = to.size(); i > 1; --i) std::swap(to[i - 1], to[random.below(i)]);
    bool apart = true;
    for (std::size_t i = 0; i < to.size(); ++i) apart = apart && from[i] != to[i];
    if (apart) return side_by_side(from, to, "a permutation");
  }
  throw pattern_error("no permutation keeps every host from sending to itself; add a host");
}

// The hot target takes its share of each source's messages; the others divide the rest.
std::vector<host_pair> heated(const pattern& p, const host_list& from, const host_list& to) {
  std::vector<host_pair> out = all_pairs(from, to);
  for (host_pair& pair : out) {
    const auto others =
        std::count_if(out.begin(), out.end(), [&](const host_pair& q) { return q.from == pair.from && q.to != to.front(); });
    if (pair.to == to.front()) {
      pair.weight = others == 0 ? 1 : p.hot_share;
    } else {
      pair.weight = (pair.from == to.front() ? 1 : 1 - p.hot_share) / static_cast<double>(others);
    }
  }
  std::erase_if(out, [](const host_pair& pair) { return pair.weight == 0; });
  return out;
}

}  // namespace

pattern pattern::parse(std::string_view text) {
  const std::string_view t = trimmed(text);
  const std::string_view word = t.substr(0, t.find(' '));
  const std::string_view rest = trimmed(t.substr(word.size()));
  const auto at = std::find(pattern_names.begin(), pattern_names.end(), word);
  if (at == pattern_names.end()) {
    const std::vector<std::string> known(pattern_names.begin(), pattern_names.end());
    throw pattern_error(fmt::format("'{}' is no pattern; {}", word, suggestion(std::string(word), known, "patterns")));
  }
  pattern p;
  p.kind = static_cast<pattern_kind>(at - pattern_names.begin());
  if (p.kind != pattern_kind::hot_spot) {
    if (!rest.empty()) throw pattern_error(fmt::format("'{}' has no number; remove '{}'", word, rest));
    return p;
  }
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), p.hot_share);
  if (error != std::errc() || end != rest.data() + rest.size() || !(p.hot_share >= 0 && p.hot_share <= 1))
    throw pattern_error(fmt::format("'{}' is no share of the messages, 0 to 1; write for example hot_spot 0.5", rest));
  return p;
}

host_list parse_hosts(std::string_view text) {
  host_list out;
  for (const std::string& part : split(std::string(text), ',')) {
    const std::size_t dash = part.find('-');
    const std::size_t first = host_number(std::string_view(part).substr(0, dash), text);
    const std::size_t last = dash == std::string::npos ? first : host_number(std::string_view(part).substr(dash + 1), text);
    if (last < first) throw pattern_error(fmt::format("'{}' ends before it begins; exchange the two hosts", trimmed(part)));
    for (std::size_t h = first; h <= last; ++h) {
      if (std::find(out.begin(), out.end(), h) != out.end())
        throw pattern_error(fmt::format("host {} is named twice; remove one of them", h));
      out.push_back(h);
    }
  }
  return out;
}

std::vector<host_pair> pairs_of(const pattern& p, const host_list& from, const host_list& to, std::uint64_t seed) {
  switch (p.kind) {
    case pattern_kind::pairs:
      return side_by_side(from, to, "pairs");
    case pattern_kind::ring:
      return around(from, to);
    case pattern_kind::permutation:
      return permuted(from, to, seed);
    case pattern_kind::hot_spot:
      return heated(p, from, to);
    case pattern_kind::incast:
      if (to.size() != 1)
        throw pattern_error(fmt::format("an incast has one target, and there are {}; write pattern: all_to_all", to.size()));
      return all_pairs(from, to);
    case pattern_kind::outcast:
      if (from.size() != 1)
        throw pattern_error(fmt::format("an outcast has one source, and there are {}; write pattern: all_to_all", from.size()));
      return all_pairs(from, to);
    case pattern_kind::all_to_all:
    case pattern_kind::random:
      return all_pairs(from, to);
  }
  return {};
}

}  // namespace hcasim::traffic
