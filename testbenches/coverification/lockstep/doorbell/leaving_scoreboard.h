// Judges that each taken doorbell leaves the unit by itself, in the order of its queue. A doorbell may be dropped instead,
// merged with the one before it, or canceled by a record.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>

namespace hcasim::lockstep {

class leaving_scoreboard {
 public:
  enum class fate : std::uint8_t { dropped, merged, aside };

  // Notes software's write of item `number`. `late`: software has written a newer index before, which a record may hold.
  void written(std::uint64_t queue, std::uint64_t number, std::uint32_t value, bool late) {
    queues_[queue].open.push_back({number, value, late, false});
  }
  void decided(std::uint64_t queue, std::uint64_t number, fate what) {
    std::deque<doorbell>& open = queues_[queue].open;
    const auto found = std::find_if(open.rbegin(), open.rend(), [&](const doorbell& d) { return d.number == number; });
    if (found == open.rend()) return;  // the write was broken
    const auto at = std::prev(found.base());
    if (what == fate::aside) {
      at->aside = true;
      return;
    }
    if (what == fate::merged && at != open.begin()) {
      doorbell& into = *std::prev(at);
      if (ahead(at->value, into.value)) into.value = at->value;
    }
    open.erase(at);
  }
  // Notes that a record with this index is on its way, which cancels obsolete doorbells.
  void told(std::uint64_t queue, std::uint32_t index) {
    state& q = queues_[queue];
    for (doorbell& d : q.open) d.excused |= !ahead(d.value, index);
    q.told.push_back(index & 0xffff);
    if (q.told.size() > most_told) q.told.pop_front();
  }
  // Returns the problem; empty = none.
  std::string passed(std::uint64_t queue, std::uint32_t value) {
    state& q = queues_[queue];
    const auto at = std::find_if(q.open.begin(), q.open.end(), [&](const doorbell& d) { return d.value == value; });
    const bool of_record = std::find(q.told.begin(), q.told.end(), value) != q.told.end();
    if (of_record && at != q.open.end()) at->excused = true;  // the record's, or its own
    if (of_record) return {};
    if (at == q.open.end()) return "which no write and no record has left there";
    // Newer doorbells replace one that waits aside.
    const auto aside = std::find_if(q.open.begin(), at, [](const doorbell& d) { return d.aside; });
    const auto lost = std::find_if(q.open.begin(), aside, [](const doorbell& d) { return !d.excused; });
    const std::string problem = lost == aside ? "" : std::to_string(lost->value) + " is lost";
    q.open.erase(q.open.begin(), std::next(at));
    return problem;
  }

 private:
  struct doorbell {
    std::uint64_t number;  // item
    std::uint32_t value;
    bool excused;  // may be missing
    bool aside;
  };
  struct state {
    std::deque<doorbell> open;  // oldest first
    std::deque<std::uint32_t> told;
  };
  static constexpr std::size_t most_told = 16;  // more than are on their way

  static bool ahead(std::uint32_t a, std::uint32_t b) {
    return static_cast<std::int16_t>(static_cast<std::uint16_t>(a - b)) > 0;
  }

  std::unordered_map<std::uint64_t, state> queues_;  // looked up only
};

}  // namespace hcasim::lockstep
