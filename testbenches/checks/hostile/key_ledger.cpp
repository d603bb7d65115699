#include "testbenches/checks/hostile/key_ledger.h"

#include <algorithm>

namespace hcasim::kit {

void key_ledger::give(const grant& g, ps from, ps done) {
  const auto gone = std::find_if(entries_.begin(), entries_.end(), [](const entry& e) { return e.until != never; });
  if (entries_.size() >= remembered && gone != entries_.end()) entries_.erase(gone);
  entries_.push_back({g, from, done, never, false});
  std::erase_if(doubts_, [this](const doubt& d) { return allowed(d.any); });
}

void key_ledger::take(std::uint32_t key, ps until) {
  for (entry& e : entries_) {
    if (e.given.key == key && e.until == never) e.until = until;
  }
}

bool key_ledger::holds(std::uint32_t key, ps at) const {
  return std::any_of(entries_.begin(), entries_.end(),
                     [&](const entry& e) { return e.given.key == key && e.done <= at && e.until == never && !e.gone; });
}

void key_ledger::invalidated(std::uint32_t key, ps at) {
  for (entry& e : entries_) e.gone |= e.given.key == key && e.from <= at;
}

bool key_ledger::may_go(std::uint32_t key, ps at) const {
  bool may = true;
  for (const entry& e : entries_) {
    if (e.given.key >> 8 != key >> 8) continue;
    if (e.given.key == key) may = e.given.may_go;
    if (e.given.key != key && e.done <= at) may = false;
  }
  return may;
}

bool key_ledger::allowed(const std::vector<use>& any) const {
  return std::any_of(any.begin(), any.end(), [this](const use& u) {
    return std::any_of(entries_.rbegin(), entries_.rend(), [&](const entry& e) { return e.allows(u); });
  });
}

void key_ledger::note(const std::vector<use>& any, std::uint64_t bytes) {
  if (!allowed(any)) doubts_.push_back({any, bytes});
}

std::uint64_t key_ledger::misused() const {
  std::uint64_t bytes = 0;
  for (const doubt& d : doubts_) bytes += d.bytes;
  return bytes;
}

}  // namespace hcasim::kit
