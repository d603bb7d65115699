#include "testbenches/hostile/key_ledger.h"

#include <algorithm>

namespace hcasim::kit {

void key_ledger::give(const grant& g, ps from) {
  const auto gone = std::find_if(entries_.begin(), entries_.end(), [](const entry& e) { return e.until != never; });
  if (entries_.size() >= remembered && gone != entries_.end()) entries_.erase(gone);
  entries_.push_back({g, from, never});
  std::erase_if(doubts_, [this](const doubt& d) { return allowed(d.any); });
}

void key_ledger::take(std::uint32_t key, ps until) {
  for (entry& e : entries_) {
    if (e.given.key == key && e.until == never) e.until = until;
  }
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
