#include "testbenches/schedules/schedule.h"

#include <algorithm>
#include <map>
#include <tuple>

#include <fmt/format.h>

namespace hcasim::schedules {
namespace {

// Sizes of the messages from one rank to another with one tag, and the line of each.
struct traffic {
  std::vector<std::pair<std::uint64_t, std::uint32_t>> sent;
  std::vector<std::pair<std::uint64_t, std::uint32_t>> received;
};

std::string at(const schedule& s, std::uint32_t line) {
  return line == 0 ? std::string("built-in schedule") : fmt::format("{}:{}", s.file, line);
}

using channel = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;  // source, target, tag

void compare(const schedule& s, const channel& c, const traffic& t) {
  const auto& [from, to, tag] = c;
  const std::size_t both = std::min(t.sent.size(), t.received.size());
  for (std::size_t i = 0; i < both; ++i) {
    if (t.sent[i].first == t.received[i].first) continue;
    throw schedule_error(fmt::format("{}: rank {} sends {} bytes to {} with tag {}, and line {} receives {}; make them equal",
                                     at(s, t.sent[i].second), from, t.sent[i].first, to, tag, t.received[i].second,
                                     t.received[i].first));
  }
  if (t.sent.size() > both) {
    throw schedule_error(
        fmt::format("{}: rank {} sends {} bytes to {} with tag {}, and rank {} has no receive for them; add one",
                    at(s, t.sent[both].second), from, t.sent[both].first, to, tag, to));
  }
  if (t.received.size() > both) {
    throw schedule_error(
        fmt::format("{}: rank {} receives {} bytes from {} with tag {}, and rank {} has no send for them; add one",
                    at(s, t.received[both].second), to, t.received[both].first, from, tag, from));
  }
}

void check_messages(const schedule& s) {
  std::map<channel, traffic> channels;
  for (std::uint32_t r = 0; r < s.ranks.size(); ++r) {
    for (const operation& o : s.ranks[r].operations) {
      if (o.what == action::send) channels[{r, o.peer, o.tag}].sent.emplace_back(o.bytes, o.line);
      if (o.what == action::receive) channels[{o.peer, r, o.tag}].received.emplace_back(o.bytes, o.line);
    }
  }
  for (const auto& [c, t] : channels) compare(s, c, t);
}

void check_order(const schedule& s, std::uint32_t rank) {
  const order o(s.ranks[rank]);
  std::vector<std::uint32_t> waits = o.waits();
  std::vector<std::uint32_t> ready;
  for (std::uint32_t i = 0; i < waits.size(); ++i) {
    if (waits[i] == 0) ready.push_back(i);
  }
  std::size_t reached = 0;
  while (!ready.empty()) {
    const std::uint32_t i = ready.back();
    ready.pop_back();
    ++reached;
    for (const order::follower& f : o.followers(i)) {
      if (--waits[f.operation] == 0) ready.push_back(f.operation);
    }
  }
  if (reached == waits.size()) return;
  const auto in_circle = std::find_if(waits.begin(), waits.end(), [](std::uint32_t w) { return w != 0; });
  const auto& first = s.ranks[rank].operations[static_cast<std::size_t>(in_circle - waits.begin())];
  throw schedule_error(
      fmt::format("{}: operations of rank {} require each other in a circle, of which this is one; remove a 'requires'",
                  at(s, first.line), rank));
}

}  // namespace

order::order(const rank_schedule& r)
    : first_(r.operations.size() + 1), followers_(r.dependencies.size()), waits_(r.operations.size()) {
  for (const dependency& d : r.dependencies) {
    ++first_[d.before + 1];
    ++waits_[d.after];
  }
  for (std::size_t i = 1; i < first_.size(); ++i) first_[i] += first_[i - 1];
  std::vector<std::uint32_t> next(first_.begin(), first_.end());
  for (const dependency& d : r.dependencies) followers_[next[d.before]++] = {d.after, d.begun};
  followers_.push_back({});  // so that an empty list has an address
}

void check(const schedule& s) {
  for (std::uint32_t r = 0; r < s.ranks.size(); ++r) check_order(s, r);
  check_messages(s);
}

std::string place_of(const schedule& s, std::uint32_t rank, std::uint32_t i) {
  const operation& o = s.ranks[rank].operations[i];
  const std::string place = o.line == 0 ? fmt::format("operation {}", i) : fmt::format("line {}", o.line);
  switch (o.what) {
    case action::send:
      return fmt::format("the end of a send of {} bytes to {} with tag {} ({})", o.bytes, o.peer, o.tag, place);
    case action::receive:
      return fmt::format("{} bytes from {} with tag {} ({})", o.bytes, o.peer, o.tag, place);
    default:
      return fmt::format("a calculation ({})", place);
  }
}

}  // namespace hcasim::schedules
