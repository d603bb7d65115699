#include "testbenches/lockstep/context_cache_world.h"

#include "tlm/base/random.h"

namespace hcasim::lockstep {
namespace {

class context_generator {
 public:
  explicit context_generator(const options& o) : o_(o), r_(o.seed, "contexts") {}
  item_stream all() {
    item_stream s;
    s.reserve(o_.requests);
    s.push_back(another_area(0));
    if (o_.how == mode::full) warm_up(s);
    while (s.size() < o_.requests) {
      s.push_back(o_.how == mode::full ? from_warm(s) : besieged(s.size()) ? siege() : next());
    }
    s.resize(o_.requests);
    return s;
  }

 private:
  // Full pipelines hit: a few entries, brought in one after the other.
  static constexpr std::uint32_t warm = 128;
  static constexpr std::uint32_t warmed(std::uint64_t n) { return static_cast<std::uint32_t>(200 + n); }

  void warm_up(item_stream& s) {
    for (std::uint32_t n = 0; n < warm; ++n) {
      if (!read_fails(warmed(n))) s.push_back(make_item(context_item::fetch, 60, 4, index_at(warmed(n)), 0));
    }
  }
  item from_warm(const item_stream& s) {
    std::uint32_t number = warmed(r_.below(warm));
    while (read_fails(number)) number = warmed(r_.below(warm));
    return make_item(context_item::fetch, s.size() <= warm ? 100 : 0, 2, index_at(number), 0);
  }
  item another_area(unsigned gap) {
    const std::uint64_t value = r_.next();
    const bool large = !o_.storms || !started_ || r_.chance(0.8);
    started_ = true;
    entries_ = static_cast<std::uint32_t>(large ? 0xfc000000 | r_.next() >> 38 : r_.next() >> (32 + r_.below(24)));
    return make_item(context_item::set_area, gap, 0, entries_, value, r_.next());
  }
  // With storms, at the end: thousands of holders of a few entries.
  [[nodiscard]] bool besieged(std::size_t at) const { return o_.storms && o_.requests >= 20'000 && at >= o_.requests - 9'000; }
  item siege() {
    if (!sieged_) {
      sieged_ = true;
      return make_item(context_item::set_area, 0, 0, ~std::uint32_t{0}, 0, r_.next());
    }
    std::uint32_t number = besieger_++ % 200;
    while (read_fails(number)) number = besieger_++ % 200;
    return make_item(context_item::fetch, 0, 60'000, index_at(number), 0);
  }
  item next() {
    const unsigned gap =
        o_.how == mode::random && r_.chance(0.4) ? static_cast<unsigned>(r_.below(r_.chance(0.1) ? 100 : 6)) : 0;
    const auto hold = static_cast<unsigned>(r_.chance(0.05) ? r_.below(200) : r_.below(12));
    // Some sets are crowded, so that there is no room; now and then everybody wants the same two.
    if (narrow_ > 0) --narrow_;
    if (o_.how == mode::random && narrow_ == 0 && r_.chance(o_.storms ? 0.004 : 0.0008)) {
      narrow_ = 20 + static_cast<unsigned>(r_.below(80));
      narrow_set_ = static_cast<std::uint32_t>(r_.below(64));
    }
    const double where = r_.unit();
    auto number = static_cast<std::uint32_t>(narrow_ > 0    ? r_.below(14) * 64 + (narrow_set_ + r_.below(2)) % 64
                                             : where < 0.45 ? r_.below(160)
                                             : where < 0.48 ? r_.below(14) * 64 + r_.below(2)
                                                            : r_.below(area));
    // Many want one entry, at once or one after the other while it is read.
    if (o_.how == mode::random && crowd_ == 0 && r_.chance(o_.storms ? 0.004 : 0.0015)) {
      crowd_ = 8 + static_cast<unsigned>(r_.below(o_.storms ? 40 : 12));
      crowd_gap_ = r_.chance(0.5) ? 0 : static_cast<unsigned>(r_.below(10));
      crowded_ = number;
    }
    if (crowd_ > 0) {
      --crowd_;
      return make_item(r_.chance(0.1) ? context_item::drop : context_item::fetch, crowd_gap_, hold, index_at(crowded_), 0);
    }
    std::uint32_t index = index_at(number);
    if (r_.chance(0.01)) {  // any, often one of the last or the first that is not there
      const auto any = static_cast<std::uint32_t>(r_.next() >> (32 + r_.below(16)));
      index = r_.chance(0.3) ? entries_ - static_cast<std::uint32_t>(r_.below(2)) : r_.chance(0.5) ? ~any : any;
    }
    const double what = r_.unit() * (o_.storms ? 0.5 : 1);
    if (what < 0.002) return another_area(gap);
    const context_item kind = what < 0.04   ? context_item::drop
                              : what < 0.06 ? context_item::replace
                              : what < 0.25 ? context_item::write
                                            : context_item::fetch;
    // What somebody holds, reads, drops or gives back just now is asked for again, dropped most of all.
    const bool again = kind == context_item::drop ? r_.chance(0.7) : kind == context_item::fetch && r_.chance(0.1);
    std::uint32_t& kept = recent_[r_.below(std::size(recent_))];
    if (again) {
      index = kept;
    } else {
      kept = index;
    }
    return make_item(kind, again ? 0 : gap, hold, index, r_.next());
  }

  const options& o_;
  random_stream r_;
  std::uint32_t entries_ = 0;
  bool started_ = false;
  bool sieged_ = false;
  std::uint32_t besieger_ = 0;
  unsigned crowd_ = 0;
  unsigned crowd_gap_ = 0;
  unsigned narrow_ = 0;
  std::uint32_t narrow_set_ = 0;
  std::uint32_t crowded_ = 0;
  std::uint32_t recent_[12] = {};
};

}  // namespace

item_stream generate_contexts(const options& o) {
  return context_generator(o).all();
}

}  // namespace hcasim::lockstep
