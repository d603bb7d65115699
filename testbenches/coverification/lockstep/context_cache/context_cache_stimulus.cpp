#include "testbenches/coverification/lockstep/context_cache/context_cache_stimulus.h"

#include <deque>

#include "testbenches/coverification/lockstep/context_cache/context_cache_pipelines.h"
#include "testbenches/coverification/lockstep/context_cache/context_cache_twins.h"

namespace hcasim::lockstep {
namespace {

class context_generator {
 public:
  context_generator(const options& o, std::uint32_t entry_bytes) : o_(o), entry_bytes_(entry_bytes), r_(o.seed, "contexts") {}
  item_stream all() {
    item_stream s;
    s.reserve(o_.requests);
    before_any_area(s);
    s.push_back(another_area(20));
    if (o_.how == mode::full) pipelines_.warm_up(s);
    while (s.size() < o_.requests) {
      if (o_.how == mode::full) {
        pipelines_.go_on(s);
      } else {
        const bool all_held = holds_all(s.size());
        s.push_back(all_held ? hold() : next());
        if (o_.how != mode::random || all_held) continue;
        if (r_.chance(0.002)) rush(s);
        if (r_.chance(0.002)) burst_beside(s);
        if (r_.chance(0.001)) fail_beside(s);
        if (!o_.storms && r_.chance(0.005)) drop_as_it_is_given(s);
      }
    }
    s.resize(o_.requests);
    return s;
  }

 private:
  // Requests before the first area, while there are no entries.
  void before_any_area(item_stream& s) {
    for (const std::uint32_t index : {~std::uint32_t{0}, static_cast<std::uint32_t>(r_.next()), std::uint32_t{0}}) {
      s.push_back(make_item(context_item::drop, 20, 0, index, 0));
      s.push_back(make_item(context_item::fetch, 20, 0, index, 0));
    }
  }
  item another_area(unsigned gap) {
    const std::uint64_t value = r_.next();
    const bool large = !o_.storms || !started_ || r_.chance(0.8);
    started_ = true;
    entries_ = static_cast<std::uint32_t>(large ? least_entries | r_.next() >> 38 : r_.next() >> (32 + r_.below(24)));
    base_ = another_base();
    return make_item(context_item::set_area, gap, 0, entries_, value, base_);
  }
  // Returns a base. In half of the cases, sums with the base carry far up. No entry has an address of the old area.
  std::uint64_t another_base() {
    std::uint64_t base = 0;
    do base = r_.next() | (r_.chance(0.5) ? ~std::uint64_t{0xff} & ~std::uint64_t{0} >> r_.below(56) : 0);
    while (base % item_bytes == base_ % item_bytes);
    return base;
  }
  // Storms end with thousands of holders of a few entries.
  [[nodiscard]] bool holds_all(std::size_t at) const { return o_.storms && o_.requests >= 20'000 && at >= o_.requests - 9'000; }
  item hold() {
    if (!holding_) {
      holding_ = true;
      return make_item(context_item::set_area, 0, 0, ~std::uint32_t{0}, 0, r_.next());
    }
    std::uint32_t number = holder_++ % 200;
    while (read_fails(number)) number = holder_++ % 200;
    return make_item(context_item::fetch, 0, 60'000, index_at(number), 0);
  }
  // Many requests want an entry just when its write has ended, because memory is fast there. The entry is dropped, or makes
  // room.
  void rush(item_stream& s) {
    auto number = static_cast<std::uint32_t>(r_.below(area));
    const auto is_quick = [this](std::uint32_t n) {
      return !read_fails(n) && memory_cycles(base_ + std::uint64_t{index_at(n)} * entry_bytes_) < 10;
    };
    for (unsigned tries = 0; tries < 100 && !is_quick(number); ++tries) number = static_cast<std::uint32_t>(r_.below(area));
    s.push_back(make_item(context_item::write, 20, 0, index_at(number), r_.next()));
    if (r_.chance(0.5)) {
      s.push_back(make_item(context_item::drop, static_cast<unsigned>(r_.below(20)), 0, index_at(number), 0));
    } else {
      for (std::uint32_t n = 1; n <= 4; ++n) {
        s.push_back(make_item(context_item::fetch, n == 1 ? 20 : 0, 0, index_at((number + 64 * n) % area), 0));
      }
    }
    for (std::uint64_t n = 6 + r_.below(10); n > 0; --n) {
      s.push_back(make_item(r_.chance(0.9) ? context_item::fetch : context_item::drop, 0, static_cast<unsigned>(r_.below(4)),
                            index_at(number), 0));
    }
  }
  // Returns a set that differs in one bit.
  std::uint32_t twin_of(std::uint32_t set) { return set ^ 1U << twin_bit_++ % 6; }
  [[nodiscard]] unsigned cycles_to(std::uint32_t index) const {
    return memory_cycles(base_ + std::uint64_t{index} * entry_bytes_);
  }
  // Entries of each way come while many requests for one entry of the twin set are answered.
  void burst_beside(item_stream& s) {
    constexpr unsigned crowd = 12;
    const auto wanted = static_cast<std::uint32_t>(r_.next() >> 32);
    const std::uint32_t set = twin_of(wanted & 63);
    for (unsigned n = 0; n < crowd; ++n) s.push_back(make_item(context_item::fetch, n == 0 ? 60 : 0, 1, wanted, 0));
    const unsigned first = cycles_to(wanted);
    for (unsigned asked = crowd; asked < crowd + 4; ++asked) {
      std::uint32_t beside = 0;
      unsigned comes = 0;
      for (unsigned tries = 0; tries < 100 && (comes <= first || comes >= first + crowd); ++tries) {
        beside = static_cast<std::uint32_t>(r_.next() >> 32) / 64 * 64 + set;
        comes = asked + cycles_to(beside);
      }
      s.push_back(make_item(context_item::fetch, 0, 1, beside, 0));
    }
  }
  // A read of an entry fails while an entry of the twin set is held and dropped.
  void fail_beside(item_stream& s) {
    const auto fails = static_cast<std::uint32_t>(13 + 101 * r_.below(10));
    const std::uint32_t held = static_cast<std::uint32_t>(r_.next() >> 32) / 64 * 64 + twin_of(fails & 63);
    s.push_back(make_item(context_item::fetch, 20, 150, held, 0));
    s.push_back(make_item(context_item::fetch, cycles_to(held), 0, index_at(fails), 0));
    s.push_back(make_item(context_item::drop, 6, 0, held, 0));
  }
  // Drops an entry at about the cycle of its last release, and asks for it again at once.
  void drop_as_it_is_given(item_stream& s) {
    constexpr unsigned hit = 2;
    const auto index = static_cast<std::uint32_t>(r_.next() >> 32) % least_entries;
    const auto held = static_cast<unsigned>(8 + r_.below(8));
    s.push_back(make_item(context_item::fetch, 20, 1, index, 0));
    s.push_back(make_item(r_.chance(0.5) ? context_item::write : context_item::fetch, 320, held, index, r_.next()));
    s.push_back(make_item(context_item::drop, hit + held - 4 + static_cast<unsigned>(r_.below(6)), 0, index, 0));
    s.push_back(make_item(context_item::fetch, static_cast<unsigned>(r_.below(3)), 2, index, 0));
  }
  item next() {
    if (!met_.empty()) {
      const item i = met_.front();
      met_.pop_front();
      return i;
    }
    if (o_.how == mode::random && !o_.storms && r_.chance(0.01)) twins_.next(met_, r_);
    const unsigned gap =
        o_.how == mode::random && r_.chance(0.4) ? static_cast<unsigned>(r_.below(r_.chance(0.1) ? 100 : 6)) : 0;
    const auto hold = static_cast<unsigned>(r_.chance(0.05) ? r_.below(200) : r_.below(12));
    // Some sets are crowded and have no room. Now and then all requests go to the same two sets, or many changed entries make
    // room for one another.
    if (narrow_ > 0 && --narrow_ == 0 && (narrow_sets_ > 2 || r_.chance(0.8))) return another_area(0);
    if (o_.how == mode::random && narrow_ == 0 && r_.chance(o_.storms ? 0.004 : 0.003)) {
      narrow_sets_ = r_.chance(0.65) ? 2 : 6;
      narrow_ = narrow_sets_ == 2 ? 8 + static_cast<unsigned>(r_.below(14)) : 24 + static_cast<unsigned>(r_.below(24));
      narrow_set_ = static_cast<std::uint32_t>(r_.below(64));
    }
    const bool few = narrow_ > 0 && narrow_sets_ == 2;
    const double where = r_.unit();
    auto number = static_cast<std::uint32_t>(narrow_ > 0    ? r_.below(14) * 64 + (narrow_set_ + r_.below(narrow_sets_)) % 64
                                             : where < 0.45 ? r_.below(160)
                                             : where < 0.48 ? r_.below(14) * 64 + r_.below(2)
                                                            : r_.below(area));
    // Many want one entry, at once or one after the other while it is read.
    if (o_.how == mode::random && crowd_ == 0 && r_.chance(o_.storms ? 0.004 : 0.004)) {
      crowd_ = 8 + static_cast<unsigned>(r_.below(o_.storms ? 40 : 12));
      crowd_gap_ = r_.chance(0.5) ? 0 : static_cast<unsigned>(r_.below(10));
      crowd_changes_ = r_.chance(0.5);
      crowded_ = r_.chance(0.1) ? static_cast<std::uint32_t>(13 + 101 * r_.below(10)) : number;
    }
    if (crowd_ > 0) {
      if (--crowd_ == 0 && r_.chance(0.5)) return another_area(crowd_gap_);
      const double what = r_.unit();
      // A drop passes a fetch that waits for room. This may happen on one side only, where the drop comes a cycle earlier.
      // Requests behind the drop wait then.
      const context_item kind = what < 0.12 && crowd_ < 6      ? context_item::drop
                                : crowd_changes_ && what < 0.4 ? context_item::update
                                                               : context_item::fetch;
      return make_item(kind, crowd_gap_, hold, index_at(crowded_), r_.next());
    }
    // Readers of the entry get an answer at about the time of a changing release.
    if (readers_ > 0) {
      --readers_;
      return make_item(context_item::fetch, static_cast<unsigned>(r_.below(4)), static_cast<unsigned>(r_.below(3)),
                       index_at(read_), 0);
    }
    if (o_.how == mode::random && crowd_ == 0 && r_.chance(0.012)) {
      readers_ = 1 + static_cast<unsigned>(r_.below(3));
      read_ = number;
      return make_item(context_item::update, gap, static_cast<unsigned>(r_.below(8)), index_at(read_), r_.next());
    }
    std::uint32_t index = index_at(number);
    if (r_.chance(0.01)) {  // any index, often the last entry's or the first after the area
      const auto any = static_cast<std::uint32_t>(r_.next() >> (32 + r_.below(16)));
      index = r_.chance(0.3)   ? entries_ - static_cast<std::uint32_t>(r_.below(2))
              : r_.chance(0.3) ? beside_the_end()
              : r_.chance(0.5) ? ~any
                               : any;
    }
    const double what = r_.unit() * (o_.storms ? 0.5 : 1);
    if (what < 0.002) return another_area(gap);
    // Crowded sets get drops of entries that have just made room.
    const double drops = narrow_ > 0 ? 0.1 : 0.04;
    const context_item kind = what < drops         ? context_item::drop
                              : what < drops * 1.5 ? context_item::replace
                              : what < drops + 0.4 ? context_item::write
                                                   : context_item::fetch;
    // An entry just held, read, dropped or given back is asked for again, above all a dropped one.
    const double repeats = kind == context_item::drop ? 0.7 : kind == context_item::fetch ? 0.1 : 0;
    const bool again = !few && r_.chance(repeats);
    std::uint32_t& kept = recent_[r_.below(std::size(recent_))];
    if (again) {
      index = kept;
    } else {
      kept = index;
    }
    const item i = make_item(kind, again ? 0 : gap, hold, index, r_.next());
    const bool goes = kind == context_item::drop || kind == context_item::replace;
    return goes && o_.how == mode::random && r_.chance(0.5) ? asked_again(i) : i;
  }

  // Asks for an entry right before its drop, and again. The second request comes at once, during the older read or hold, or
  // when all is over. Half of these entries change in memory.
  item asked_again(item drop) {
    const unsigned gap = drop[0] >> 8 & 0xffff;
    auto index = static_cast<std::uint32_t>(drop[1]);
    if (r_.chance(0.5)) index = static_cast<std::uint32_t>(r_.next() >> 32);  // never used before
    const bool replaced = static_cast<context_item>(drop[0] & 0xff) == context_item::replace;
    const bool at_once = r_.chance(0.7);
    const auto hold = [this] { return static_cast<unsigned>(r_.below(r_.chance(0.2) ? 100 : 8)); };
    const auto within = static_cast<unsigned>(r_.below(r_.chance(0.5) ? 30 : 120));
    if (replaced) met_.push_back(make_item(context_item::fetch, static_cast<unsigned>(r_.below(8)), hold(), index, 0));
    met_.push_back(make_item(context_item::renew, within, 0, index, r_.next()));
    met_.push_back(make_item(context_item::fetch, at_once ? 0 : 400, hold(), index, 0));
    if (at_once) met_.push_back(make_item(context_item::fetch, within % 8, hold(), index, 0));
    return make_item(replaced ? context_item::replace : context_item::fetch, gap, replaced ? 0 : hold(), index, r_.next());
  }
  // Returns an index that differs in one bit from the area's end, or from its last index.
  std::uint32_t beside_the_end() {
    const std::uint32_t flip = std::uint32_t{1} << end_bit_++ % 32;
    return entries_ & flip ? entries_ ^ flip : (entries_ - 1) ^ flip;
  }

  const options& o_;
  const std::uint32_t entry_bytes_;
  random_stream r_;
  context_pipelines pipelines_{r_, o_.storms};
  std::uint32_t entries_ = 0;
  std::uint64_t base_ = 0;
  bool started_ = false;
  bool holding_ = false;
  std::uint32_t holder_ = 0;
  unsigned crowd_ = 0;
  unsigned crowd_gap_ = 0;
  bool crowd_changes_ = false;
  unsigned readers_ = 0;
  std::uint32_t read_ = 0;
  unsigned narrow_ = 0;
  std::uint32_t narrow_set_ = 0;
  std::uint32_t narrow_sets_ = 2;
  std::uint32_t crowded_ = 0;
  std::uint32_t recent_[12] = {};
  std::deque<item> met_;
  context_twins twins_;
  unsigned end_bit_ = 0;
  unsigned twin_bit_ = 0;
};

}  // namespace

item_stream generate_contexts(const options& o, std::uint32_t entry_bytes) {
  return context_generator(o, entry_bytes).all();
}

}  // namespace hcasim::lockstep
