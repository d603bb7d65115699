#include "testbenches/coverification/lockstep/context_cache/context_cache_twins.h"

#include <algorithm>
#include <array>

namespace hcasim::lockstep {

std::uint32_t context_twins::fresh(random_stream& r, std::uint32_t set) const {
  std::uint32_t index = 0;
  do index = static_cast<std::uint32_t>(r.next()) / 64 * 64 + set;
  while (index >= least_entries || number_at(index) < area);
  return index;
}

// Draws a pair. Both indices are entries of any large area.
void context_twins::draw(random_stream& r, unsigned bit) {
  constexpr std::uint32_t last_set = (1U << set_bits) - 1;
  do {
    const auto set = static_cast<std::uint32_t>(sets_from_ + r.below(1U << set_bits) % (last_set + 1 - sets_from_));
    index_ = fresh(r, sets_from_ > 0 && bit == set_bits - 1 ? last_set : set);
    twin_ = index_ ^ 1U << bit;
  } while (twin_ >= least_entries || number_at(twin_) < area);
}

void context_twins::add(std::uint64_t at, context_item kind, std::uint32_t index, unsigned hold) {
  script_.push_back({at, make_item(kind, 0, hold, index, ++value_ * 0x9e3779b97f4a7c15U)});
  sets_.push_back(index & 63);
}

// Appends the items in the order of their times, at most one a cycle.
void context_twins::push(std::deque<item>& to) {
  std::stable_sort(script_.begin(), script_.end(), [](const timed& a, const timed& b) { return a.at < b.at; });
  std::uint64_t last = script_.front().at;
  first_ = last;
  for (timed& t : script_) {
    const std::uint64_t at = &t == &script_.front() ? last : std::max(t.at, last + 1);
    const std::uint64_t gap = &t == &script_.front() ? 0 : at - last - 1;
    t.what[0] |= gap << 8;
    to.push_back(t.what);
    last = at;
  }
  now_ = last;
}

void context_twins::next(std::deque<item>& to, random_stream& r) {
  // One bit of every meeting comes before the next bit of any, so that short streams have all meetings.
  const auto m = static_cast<meeting>(turn_ % meetings);
  const auto round = static_cast<unsigned>(turn_ / meetings);
  ++turn_;
  const bool of_sets =
      m == meeting::both_held_and_dropped || m == meeting::no_room || m == meeting::ages || m == meeting::taken;
  draw(r, of_sets ? round % set_bits : round * 13 % index_bits);
  script_.clear();
  sets_.clear();
  play(m, r);
  push(to);
}

void context_twins::play(meeting m, random_stream& r) {
  constexpr std::uint64_t later = 40;
  const auto soon = [&r](std::uint64_t most) { return 1 + r.below(most); };
  switch (m) {
    case meeting::cached:
      add(0, context_item::fetch, index_);
      add(later, context_item::fetch, twin_);
      add(2 * later, context_item::fetch, index_);
      add(2 * later + 4, context_item::fetch, twin_);
      break;
    case meeting::dropped:
      add(0, context_item::fetch, index_);
      add(later, context_item::drop, twin_);
      add(2 * later, context_item::fetch, index_);
      // Its last holder gives it back in the cycle after the lookup of its drop, or a little later.
      add(3 * later, context_item::fetch, index_, 20);
      add(3 * later + hit + 20 - 2 - turn_ / meetings % 3, context_item::drop, index_);
      break;
    case meeting::on_its_way:
      add(0, context_item::fetch, index_);
      add(soon(miss - 6), context_item::fetch, twin_);
      add(later, context_item::fetch, index_);
      add(later + 4, context_item::fetch, twin_);
      break;
    case meeting::comes:  // in the cycle of the other entry's lookup
      add(0, context_item::fetch, twin_);
      add(later, context_item::fetch, index_);
      add(later + miss, context_item::fetch, twin_);
      break;
    case meeting::held_and_dropped:
      add(0, context_item::fetch, index_, later + 10);
      add(miss + 4, context_item::drop, index_);
      add(miss + 8 + r.below(8), context_item::fetch, twin_);
      add(2 * later, context_item::fetch, twin_);
      break;
    case meeting::given_up: {  // in the cycle of the other entry's lookup
      const std::uint64_t given = later + miss + 30;
      add(0, context_item::fetch, twin_);
      add(later, context_item::fetch, index_, 30);
      add(later + miss + 4, context_item::drop, index_);
      add(given, context_item::fetch, twin_);
      break;
    }
    case meeting::both_held_and_dropped:
      add(0, context_item::fetch, index_, later);
      add(4, context_item::fetch, twin_, later + 20);
      add(miss + 8, context_item::drop, index_);
      add(miss + 12, context_item::drop, twin_);
      add(3 * later, context_item::fetch, twin_);
      break;
    case meeting::no_room:
      meet_without_room(r);
      break;
    case meeting::ages:
      meet_ages(r);
      break;
    case meeting::taken:
      meet_releases(r);
      break;
    case meeting::waits_for_a_write:
      meet_a_waiting_one(r);
      break;
    default:
      meet_writes(m, r);
  }
}

// An entry waits until its full set gets room by a release, for any release or drop in the twin's set. Each time, a hit has its
// lookup in the next cycle.
void context_twins::meet_without_room(random_stream& r) {
  constexpr unsigned long_time = 150;
  for (unsigned w = 0; w < ways; ++w) add(4 * w, context_item::fetch, w == 0 ? index_ : fresh(r, index_ & 63), long_time);
  const std::uint32_t there = fresh(r, twin_ & 63);
  add(4 * ways, context_item::fetch, there);
  add(4 * ways + 4, context_item::write, twin_);
  add(60, context_item::fetch, fresh(r, index_ & 63));
  constexpr std::uint64_t landed = 64 + miss;
  add(64, context_item::drop, twin_);
  add(landed + 1, context_item::fetch, there);
  constexpr std::uint64_t given = landed + 1 + hit + 2;
  add(given + 1, context_item::fetch, there);
  add(long_time + 90, context_item::fetch, there);
}

// An entry of the twin's set is used in the cycle in which the other entry comes. Then the entry used longest ago leaves.
void context_twins::meet_ages(random_stream& r) {
  std::array<std::uint32_t, ways> there{twin_};
  for (unsigned w = 0; w < ways; ++w) {
    if (w > 0) there[w] = fresh(r, twin_ & 63);
    add(4 * w, context_item::fetch, there[w]);
  }
  add(50, context_item::fetch, index_);
  add(50 + miss, context_item::fetch, there[1 + r.below(ways - 1)]);
  add(90, context_item::fetch, fresh(r, twin_ & 63));
  for (unsigned w = 1; w < ways; ++w) add(120 + 4 * w, context_item::fetch, there[w]);
}

// The twin is fetched in the cycles in which the entries of the other set, of each way, are given back.
void context_twins::meet_releases(random_stream& r) {
  constexpr std::uint64_t given = 72;
  std::array<std::uint32_t, ways> there{index_};
  for (unsigned w = 0; w < ways; ++w) {
    if (w > 0) there[w] = fresh(r, index_ & 63);
    add(4 * w, context_item::fetch, there[w]);
    add(50 + w, context_item::fetch, there[w], static_cast<unsigned>(given + 4 * w - (50 + w + hit)));
    add(given + 4 * w, context_item::fetch, twin_, 1);
  }
  add(4 * ways, context_item::fetch, twin_);
  add(given + 4 * ways + 12, context_item::drop, twin_);
}

// A fetch of an entry that is being written waits for this write alone. The RTL tries again in the next cycle. A hit has its
// lookup in the cycle in which the twin's write might cause a try.
void context_twins::meet_a_waiting_one(random_stream& r) {
  const std::uint32_t there = fresh(r, sets_from_ + (index_ + 21) % 32);
  add(0, context_item::fetch, there);
  add(4, context_item::write, twin_);
  add(8, context_item::write, index_);
  const bool one_set = (index_ & 63) == (twin_ & 63);
  std::uint64_t at = 30;
  for (unsigned w = 1; w < (one_set ? ways - 1 : ways); ++w, at += 30) {
    add(at, context_item::fetch, fresh(r, index_ & 63));
    if (!one_set) add(at + 4, context_item::fetch, fresh(r, twin_ & 63));
  }
  at += 30;
  add(at, context_item::fetch, fresh(r, twin_ & 63));
  add(at + 8, context_item::fetch, fresh(r, index_ & 63));
  add(at + 16, context_item::fetch, index_);
  script_.back().what[0] |= tries_again;
  add(at + miss + 1, context_item::fetch, there);
}

// Fills the set of an entry, whose turn to leave is next. Returns the cycle of the next entry.
std::uint64_t context_twins::age(std::uint64_t at, std::uint32_t index, random_stream& r) {
  add(at, context_item::write, index);
  for (unsigned w = 1; w < ways; ++w) add(at += 30, context_item::fetch, fresh(r, index & 63));
  return at + 30;
}

void context_twins::meet_writes(meeting m, random_stream& r) {
  const auto asks = [&r] { return r.chance(0.7) ? context_item::fetch : context_item::drop; };
  if (m == meeting::drop_lands) {
    add(0, context_item::fetch, twin_);
    add(30, context_item::write, index_);
    add(60, context_item::drop, index_);
    add(60 + miss, context_item::fetch, twin_);
    return;
  }
  // Dirty entries leave at once, each of a set of its own.
  const unsigned leaving = m == meeting::waits_for_a_buffer ? 5 : 1;
  std::vector<std::uint32_t> leave;
  for (std::uint32_t set = index_ + 1; leave.size() + 1 < leaving; ++set) {
    const std::uint32_t other = sets_from_ + set % (64 - sets_from_);
    if (other != (index_ & 63) && other != (twin_ & 63)) leave.push_back(fresh(r, other));
  }
  leave.push_back(index_);
  std::uint64_t at = 0;
  for (const std::uint32_t index : leave) at = age(at, index, r);
  for (const std::uint32_t index : leave) add(at++, context_item::fetch, fresh(r, index & 63));
  if (m == meeting::lands) {
    add(at - 1 + miss, asks(), twin_);
  } else {
    add(at + r.below(miss - hit - 6), asks(), twin_);
  }
  // An entry on its way to memory, or waiting for a buffer, is asked for itself. The request must wait.
  const bool exact = sets_from_ > 0;
  if (m == meeting::waits_for_a_buffer && !exact) {
    add(at + 4 + r.below(8), asks(), index_);
    add(at + 16 + r.below(2 * miss), context_item::fetch, index_);
    // A read begins in nearly every cycle in which the waiting one may go.
    for (std::uint64_t i = 0; i < 12; ++i) add(at + 28 + 2 * i, context_item::fetch, fresh(r, (index_ + 1 + i) & 63));
  }
}

}  // namespace hcasim::lockstep
