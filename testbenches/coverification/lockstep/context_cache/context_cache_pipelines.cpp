#include "testbenches/coverification/lockstep/context_cache/context_cache_pipelines.h"

#include <algorithm>

namespace hcasim::lockstep {

void context_pipelines::add(context_item kind, std::uint32_t number, unsigned gap, unsigned hold) {
  const auto asked = asked_at_.find(number);
  if (asked != asked_at_.end() && time_ + 1 + gap == asked->second + miss) ++gap;
  time_ += 1 + gap;
  asked_at_[number] = time_;
  to_->push_back(make_item(kind, gap, hold, index_at(number), r_.next()));
}

void context_pipelines::begin(unsigned gap) {
  time_ += 1 + gap;
  asked_at_.clear();
  given_at_.clear();
  answers_at_.clear();
  to_->push_back(make_item(context_item::fetch, gap, 2, index_at(quiet()), 0));
}

std::uint32_t context_pipelines::quiet() {
  for (;;) {
    const std::uint32_t number = number_of(r_.below(quiet_sets), r_.below(ways));
    if (!read_fails(number)) return number;
  }
}

void context_pipelines::hit(unsigned gap) {
  while (answers_at_.count(time_ + 1 + gap + 2) != 0) ++gap;
  add(context_item::fetch, quiet(), gap, held(time_ + 1 + gap + 2, static_cast<unsigned>(1 + r_.below(5))));
}

// Returns `hold`, or more until no other entry is given back in the same cycle: their order there is not defined.
unsigned context_pipelines::held(std::uint64_t from, unsigned hold) {
  while (!given_at_.insert(from + hold).second) ++hold;
  return hold;
}

void context_pipelines::hits(std::uint64_t cycles, unsigned most_gap) {
  for (const std::uint64_t end = time_ + cycles; time_ < end;) hit(static_cast<unsigned>(r_.below(most_gap + 1)));
}

// Returns a set whose four entries are known to be cached, the last used first.
std::uint32_t context_pipelines::busy_set() {
  const auto set = static_cast<std::uint32_t>(busy_sets + r_.below(busy_sets));
  renew(set);
  return set;
}

void context_pipelines::renew(std::uint32_t set) {
  for (unsigned w = 0; w < ways && !is_known_[set]; ++w) {
    const std::uint32_t number = absent(set);
    add(r_.chance(0.85) ? context_item::write : context_item::fetch, number, 30, 3);
    came(number);
  }
  if (!is_known_[set]) begin(60);
  is_known_[set] = true;
}

std::uint32_t context_pipelines::absent(std::uint32_t set) {
  const auto& there = there_[set];
  for (;;) {
    const std::uint32_t number = number_of(set, r_.below(area / 64));
    if (!read_fails(number) && index_at(number) < least_entries && std::find(there.begin(), there.end(), number) == there.end())
      return number;
  }
}

void context_pipelines::came(std::uint32_t number) {
  auto& there = there_[number % 64];
  const auto at = std::find(there.begin(), there.end(), number);
  if (at != there.end()) {
    there.erase(at);
  } else if (there.size() == 10) {
    there.pop_back();
  }
  there.insert(there.begin(), number);
}

void context_pipelines::warm_up(item_stream& s) {
  to_ = &s;
  for (std::uint32_t n = 0; n < quiet_sets * ways; ++n) {
    const std::uint32_t number = number_of(n % quiet_sets, n / quiet_sets);
    if (!read_fails(number)) add(context_item::fetch, number, 8, 4);
  }
  begin();
}

void context_pipelines::go_on(item_stream& s) {
  to_ = &s;
  void (context_pipelines::*const patterns[])() = {&context_pipelines::run_of_hits,     &context_pipelines::uses,
                                                   &context_pipelines::requests_of_one, &context_pipelines::full_set,
                                                   &context_pipelines::evictions,       &context_pipelines::drops};
  (this->*patterns[r_.below(std::size(patterns))])();
  begin();
  for (unsigned pairs = 0; with_twins_ && pairs < 3; ++pairs) pair_of_twins();
}

void context_pipelines::pair_of_twins() {
  constexpr unsigned gap = 30;
  std::deque<item> pair;
  twins_.next(pair, r_);
  pair.front()[0] |= std::uint64_t{gap} << 8;
  to_->insert(to_->end(), pair.begin(), pair.end());
  time_ += 1 + gap + twins_.cycles();
  for (const std::uint32_t set : twins_.sets()) is_known_[set] = false;
  begin(50);
}

void context_pipelines::run_of_hits() {
  for (std::uint64_t n = 20 + r_.below(40); n > 0; --n) add(context_item::fetch, quiet(), 0, 2);
}

// The entry used longest ago makes room, for any uses while another entry comes.
void context_pipelines::uses() {
  std::uint32_t set = busy_set();
  std::uint32_t beside = busy_set();
  for (unsigned round = 0; round < 4; ++round, std::swap(set, beside)) {
    const std::uint32_t number = absent(set);
    add(r_.chance(0.3) ? context_item::write : context_item::fetch, number, 60, 2);
    const std::vector<std::uint32_t> others = there_[set];  // the fourth one goes
    const std::uint64_t comes = time_ + miss;
    const std::uint64_t end = comes - 4 + r_.below(8);
    bool there = false;
    for (unsigned gap = 8; time_ < end; gap = static_cast<unsigned>(r_.below(3))) {
      const std::uint32_t used = set != beside && r_.chance(0.3) ? present(beside) : others[r_.below(ways - 1)];
      add(context_item::fetch, used, gap, 1);
      if (time_ >= comes && !there) came(number);
      there |= time_ >= comes;
      came(used);
    }
    if (!there) came(number);
  }
}

// Many requests want one entry, which comes or fails. Meanwhile a released entry of another set may be written.
void context_pipelines::requests_of_one() {
  std::uint32_t number = absent(busy_set());
  if (r_.chance(0.3)) number = failing();
  const std::uint32_t beside = busy_set();
  const bool writes = beside != number % 64 && r_.chance(0.4);
  if (writes) {
    const auto until_given = static_cast<unsigned>(30 + r_.below(8));
    const std::uint32_t written = present(beside);
    const std::uint64_t given = time_ + 63 + until_given;
    add(context_item::write, written, 60, until_given);
    given_at_.insert({given, given + miss - 2});
    add(context_item::drop, written, 3, 0);
    answers_at_.insert(given + miss - 2);
    is_known_[beside] = false;
  }
  const std::uint64_t comes = time_ + 1 + miss;
  const std::uint64_t last = comes - 1 - r_.below(8);
  // The requests are answered one a cycle, without any other answer meanwhile.
  std::uint64_t answered = comes;
  std::uint64_t given = comes;
  for (unsigned gap = 0; time_ + 1 + gap <= last; gap = static_cast<unsigned>(r_.below(5))) {
    const unsigned hold = held(answered, static_cast<unsigned>(1 + r_.below(20)));
    add(context_item::fetch, number, gap, hold);
    given = std::max(given, answered++ + hold);
  }
  answers_at_.insert(given);
  const bool early = r_.chance(0.5) && !writes;
  if (early && time_ < last) add(context_item::drop, number, static_cast<unsigned>(r_.below(last - time_)), 0);
  auto after = static_cast<unsigned>(answered + 4 - time_);
  while (answers_at_.count(time_ + 1 + after + 2) != 0) ++after;
  if (!early && !writes && r_.chance(0.6)) {
    add(context_item::drop, number, after, 0);
  } else {
    hit(after);
  }
  hits(30, 2);
  came(number);
  is_known_[number % 64] = false;
}

std::uint32_t context_pipelines::failing() {
  for (;;) {
    const auto number = static_cast<std::uint32_t>(13 + 101 * r_.below(10));
    if (number % 64 >= busy_sets && index_at(number) < least_entries) return number;
  }
}

// A set has no room until one of its entries is given back, fails to come, or has been written. The oldest waiting request gets
// the room. Events in other sets make no room.
void context_pipelines::full_set() {
  enum { written, held_too, fails, comes, ends };
  const auto fourth = r_.below(ends);
  const std::uint32_t fails_there = failing();
  const std::uint32_t other = busy_set();
  const std::uint32_t set = fourth == fails ? fails_there % 64 : busy_set();
  renew(set);
  const std::vector<std::uint32_t> there = there_[set];
  if (fourth == written) add(context_item::write, there[0], 30, 3);
  std::set<std::uint64_t> rooms;
  for (unsigned w = 1; w < ways; ++w) {
    const unsigned gap = w == 1 ? 60 : 4;
    const unsigned hold = held(time_ + 1 + gap + 2, static_cast<unsigned>(60 + 12 * w + r_.below(10)));
    add(context_item::fetch, there[w], gap, hold);
    rooms.insert(time_ + 2 + hold);
  }
  const auto gap = static_cast<unsigned>(r_.below(10));
  const std::uint64_t asked = time_ + 1 + gap;
  if (fourth == held_too) {
    const unsigned hold = held(asked + 2, static_cast<unsigned>(20 + r_.below(40)));
    add(context_item::fetch, there[0], gap, hold);
    rooms.insert(asked + 2 + hold);
  } else if (fourth == comes) {
    const std::uint32_t number = absent(set);
    add(context_item::fetch, number, gap, held(asked + miss, 90));
    came(number);
    answers_at_.insert(asked + miss);
  } else {
    add(fourth == written ? context_item::drop : context_item::fetch, fourth == written ? there[0] : fails_there, gap, 0);
    rooms.insert(asked + miss);
    answers_at_.insert(asked + miss);
  }
  const std::uint64_t n = 1 + r_.below(3);
  std::vector<std::uint32_t> late;
  for (std::uint64_t waiting = n; waiting > 0; --waiting) {
    do late.resize(n - waiting), late.push_back(absent(set));
    while (std::count(late.begin(), late.end(), late.back()) > 1);
    const std::uint64_t room = *rooms.begin();
    rooms.erase(rooms.begin());
    const unsigned hold = held(room + miss - 1, 3);
    add(context_item::fetch, late.back(), static_cast<unsigned>(r_.below(4)), hold);
    rooms.insert(room + miss - 1 + hold);
    answers_at_.insert(room + miss - 1);
    for (std::uint64_t i = 2; n > 1 && i <= waiting + 6; ++i) answers_at_.insert(room + i);  // other requests try in vain
  }
  elsewhere(set, other);
  hits(90, 2);
  begin();
  add(context_item::fetch, late.back(), 0, 2);
  for (const std::uint32_t number : late) came(number);
  is_known_[set] = false;
}

// In other sets an entry fails to come, and another is written or comes.
void context_pipelines::elsewhere(std::uint32_t set, std::uint32_t other) {
  const auto add_apart = [this](context_item kind, std::uint32_t number) {
    auto gap = static_cast<unsigned>(r_.below(4));
    while (answers_at_.count(time_ + 1 + gap + miss) != 0) ++gap;
    answers_at_.insert(time_ + 1 + gap + miss);
    add(kind, number, gap, held(time_ + 1 + gap + miss, 2));
    came(number);
    is_known_[number % 64] = false;
  };
  if (const std::uint32_t number = failing(); number % 64 != set && r_.chance(0.5)) add_apart(context_item::fetch, number);
  if (other == set || !is_known_[other]) return;
  add_apart(r_.chance(0.6) ? context_item::drop : context_item::fetch, r_.chance(0.6) ? present(other) : absent(other));
}

// Dirty entries make room, with too few write buffers for all of them.
void context_pipelines::evictions() {
  const std::uint64_t n = 5 + r_.below(5);
  std::uint32_t set = busy_set();
  for (std::uint64_t i = 1; i < n; ++i) renew(busy_sets + (set + i) % busy_sets);
  for (std::uint64_t i = 0; i < n; ++i) {
    const std::uint32_t number = absent(set);
    add(context_item::fetch, number, r_.chance(0.7) ? 0 : 1, 2);
    came(number);
    set = busy_sets + (set + 1) % busy_sets;
  }
  if (r_.chance(0.7)) hits(40, 2);
}

// A drop waits for holders of its entry, and for the write of its bytes. The drop may come just before a release.
void context_pipelines::drops() {
  const std::uint32_t set = busy_set();
  const bool there = r_.chance(0.5);
  const std::uint32_t number = there ? present(set) : absent(set);
  const bool writes = r_.chance(0.6);
  const std::uint64_t comes = time_ + 1 + (there ? 2 : miss);
  std::uint64_t given = comes + held(comes, static_cast<unsigned>(4 + r_.below(12)));
  add(writes ? context_item::write : context_item::fetch, number, 0, static_cast<unsigned>(given - comes));
  if (!writes && r_.chance(0.5) && given_at_.insert(given + 1).second) {
    ++given;
    add(context_item::fetch, number, 0, static_cast<unsigned>(given - comes - 1));
  }
  std::uint64_t asked = r_.chance(0.5) ? given - 1 - r_.below(3) : time_ + 1 + r_.below(30);
  if (asked == comes) ++asked;
  add(context_item::drop, number, static_cast<unsigned>(asked > time_ ? asked - time_ - 1 : 0), 0);
  answers_at_.insert({comes, comes + 1, given + miss - 2, time_ + miss});
  if (!writes) answers_at_.insert(given);
  hits(40, 1);
  came(number);
  is_known_[set] = false;
}

}  // namespace hcasim::lockstep
