#include "testbenches/coverification/lockstep/key_check/key_check_stimulus.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <utility>
#include <vector>

#include "testbenches/coverification/lockstep/key_check/key_check_objects.h"
#include "testbenches/coverification/lockstep/key_check/key_check_twins.h"
#include "tlm/base/random.h"

namespace hcasim::lockstep {

item pack(const key_fields& f) {
  item i{};
  i[0] = static_cast<std::uint64_t>(f.kind) | std::uint64_t{f.gap} << 8 | std::uint64_t{f.hold} << 24 |
         std::uint64_t{f.remote} << 48 | std::uint64_t{f.privileged} << 49 | std::uint64_t{f.aimed} << 50;
  i[1] = f.key | std::uint64_t{f.rights} << 32;
  i[2] = f.pd | std::uint64_t{f.qpn} << 32;
  i[3] = f.generation | std::uint64_t{f.function} << 32;
  i[4] = f.va;
  i[5] = f.length;
  return i;
}

key_fields unpack(const item& i) {
  key_fields f;
  f.kind = static_cast<key_item>(i[0] & 0xff);
  f.gap = static_cast<std::uint16_t>(i[0] >> 8);
  f.hold = static_cast<std::uint16_t>(i[0] >> 24);
  f.remote = i[0] >> 48 & 1;
  f.privileged = i[0] >> 49 & 1;
  f.aimed = i[0] >> 50 & 1;
  f.key = static_cast<std::uint32_t>(i[1]);
  f.rights = static_cast<std::uint32_t>(i[1] >> 32);
  f.pd = static_cast<std::uint32_t>(i[2]);
  f.qpn = static_cast<std::uint32_t>(i[2] >> 32);
  f.generation = static_cast<std::uint32_t>(i[3]);
  f.function = static_cast<std::uint16_t>(i[3] >> 32);
  f.va = i[4];
  f.length = i[5];
  return f;
}

item pack_context(key_item kind, std::uint32_t index, bool failed, std::uint32_t entries, const std::byte* bytes) {
  item i{};
  i[0] = static_cast<std::uint64_t>(kind) | std::uint64_t{failed} << 48;
  i[1] = index | std::uint64_t{entries} << 32;
  if (bytes) std::memcpy(&i[2], bytes, 64);
  return i;
}

namespace {

class generator {
 public:
  explicit generator(const options& o) : o_(o), r_(o.seed, "keys"), seeds_(key_indices, o.seed) {
    for (std::uint32_t i = 0; i < key_indices; ++i) objects_.push_back(make_object(i, o.seed));
  }

  item next() {
    const bool plain = o_.how == mode::full;
    key_fields f;
    ++made_;
    if (o_.how == mode::random && !o_.storms && o_.requests >= crowd_apart / 2 && made_ % crowd_apart == crowd_apart / 4)
      crowd_ = crowd_size;
    if (crowd_ > 0) return of_a_crowd(f);
    if (aimed_ > 0) return of_a_drain_at_a_grant();
    if (std::exchange(again_, false)) return pack(good_);
    if (met_.empty() && !plain) meet();
    if (!met_.empty()) {
      const item i = met_.front();
      met_.pop_front();
      return i;
    }
    if (o_.how == mode::random) {
      f.gap = static_cast<std::uint16_t>(r_.chance(0.6) ? 0 : r_.below(r_.chance(0.1) ? 60 : 4));
      f.hold = static_cast<std::uint16_t>(r_.chance(0.05) ? r_.below(400) : r_.below(30));
      if (o_.storms && r_.chance(0.4)) f.hold = static_cast<std::uint16_t>(r_.below(4000));
      if (o_.storms && drains_ == 0 && r_.chance(0.005)) drains_ = 12;
    } else {
      f.hold = static_cast<std::uint16_t>(r_.below(20));
    }
    const double what = r_.unit();
    if (!plain && what < 0.01) return change(f);
    if (drains_ > 0 || (!plain && what < 0.04)) {
      if (drains_ > 0) --drains_;
      // Drains are mostly of keys in use, and often repeat while the drain before waits.
      f.kind = key_item::drain;
      f.aimed = o_.how == mode::random && r_.chance(0.5);
      if (o_.how == mode::random && good_.key != 0 && r_.chance(0.4)) {
        aimed_ = 3;
        return of_a_drain_at_a_grant();
      }
      if (!r_.chance(o_.storms ? 0.1 : 0.35))
        drained_ = r_.chance(0.85)  ? one_of_its_keys(recent_[r_.below(std::size(recent_))])
                   : r_.chance(0.5) ? index_of(index()) << 8
                                    : static_cast<std::uint32_t>(r_.below(1 << 24) << 8);
      f.key = drained_;
      use_at_once(f.key);
      return pack(f);
    }
    f.kind = !plain && what < 0.12 ? key_item::element : key_item::check;
    std::uint32_t at = index();
    const double kind = plain ? 0.5 : r_.unit();
    const bool window = kind < 0.25;
    const bool tree = kind > 0.85;
    for (unsigned tries = 0; tries < 64; ++tries) {
      const hca_mrc& m = objects_[at].mrc;
      const bool wanted = plain ? m.kind != HCA_MRC_ADDRESS_SPACE || m.extent_count == 0
                          : f.kind == key_item::element
                              ? m.kind == HCA_MRC_INDIRECT || r_.chance(0.02)
                              : (!window || is_window(m)) && (!tree || m.kind == HCA_MRC_ADDRESS_SPACE);
      if (wanted) break;
      at = index();
    }
    conform(f, at);
    recent_[recent_at_++ % std::size(recent_)] = f.key;
    const bool spoiled = r_.chance(0.4);
    if (spoiled) spoil(f);
    if (!spoiled && f.kind == key_item::check) good_ = f;
    return pack(f);
  }

 private:
  // A held key is granted once more, and drained in about the cycle in which the new reference is counted. If the context comes
  // at once, this is three cycles after the offer.
  item of_a_drain_at_a_grant() {
    key_fields f = good_;
    f.hold = 100;
    f.gap = static_cast<std::uint16_t>(r_.below(3));
    if (--aimed_ > 0) return pack(f);
    f.kind = key_item::drain;
    f.gap = static_cast<std::uint16_t>(r_.chance(0.6) ? 2 : r_.below(9));
    f.key = one_of_its_keys(good_.key);
    if (f.key != good_.key) f.gap = static_cast<std::uint16_t>(f.gap + r_.below(5));  // its context comes after the window's
    use_at_once(f.key);
    return pack(f);
  }
  // Half of the drained keys are used again while older accesses are under way.
  void use_at_once(std::uint32_t key) {
    const std::uint32_t number = number_of(hca_key_index(key));
    if (o_.how != mode::random || number >= key_indices || !r_.chance(0.5)) return;
    met_.push_back(check_of(number, r_.below(3), r_.below(60)));
  }
  item check_of(std::uint32_t number, std::uint64_t gap, std::uint64_t hold) {
    key_fields f;
    conform(f, number);
    f.gap = static_cast<std::uint16_t>(gap);
    f.hold = static_cast<std::uint16_t>(hold);
    return pack(f);
  }
  item drain_of(std::uint32_t number, std::uint64_t gap) {
    key_fields f;
    f.kind = key_item::drain;
    f.key = index_of(number) << 8;
    f.gap = static_cast<std::uint16_t>(gap);
    return pack(f);
  }
  void meet() {
    const double what = r_.unit();
    if (o_.how == mode::single) {
      if (what < 0.14) twins_.next(met_, r_);
    } else if (what < 0.022) {
      twins_.next(met_, r_);
    } else if (!o_.storms && what < 0.026) {
      meet_a_drain();
    } else if (!o_.storms && what < 0.0273) {
      twins_.next_of_epochs(met_, r_);
    }
  }
  // Events of one key in about the same cycle. The key changes and is used at once, or is drained when its first reference is
  // counted. Or one reference is released when another is counted.
  void meet_a_drain() {
    const std::uint32_t at = plain_grant(static_cast<std::uint32_t>(r_.below(key_indices)));
    const double what = r_.unit();
    if (what < 0.3) {
      met_.push_back(check_of(at, r_.below(3), 60 + r_.below(200)));
      key_fields f;
      met_.push_back(change_of(f, at));
      met_.push_back(drain_of(at, 0));
      met_.push_back(check_of(at, 0, 20 + r_.below(100)));
      if (r_.chance(0.5)) met_.push_back(drain_of(at, r_.below(20)));
    } else if (what < 0.6) {
      met_.push_back(check_of(at, r_.below(3), 100));
      met_.push_back(drain_of(at, r_.chance(0.6) ? 2 : r_.below(9)));
    } else {
      const std::uint64_t hold = r_.below(30);
      met_.push_back(check_of(at, r_.below(3), hold));
      met_.push_back(check_of(at, hold + 3 + r_.below(6), 100));
      met_.push_back(drain_of(at, 12 + r_.below(4)));
    }
  }
  // Accesses through a window may belong to its region's key as well.
  std::uint32_t one_of_its_keys(std::uint32_t key) {
    const std::uint32_t number = number_of(hca_key_index(key));
    const bool window = number < key_indices && is_window(objects_[number].mrc);
    return window && r_.chance(0.3) ? objects_[number].mrc.parent : key;
  }

  // Now and then more keys are held than the RTL has places for. The RTL then waits for the first release, and the model does
  // not.
  static constexpr std::uint64_t crowd_apart = 10'000;
  static constexpr unsigned crowd_size = 72;

  item of_a_crowd(key_fields& f) {
    --crowd_;
    crowd_at_ = plain_grant(crowd_at_ + 1);
    f.hold = 250;
    conform(f, crowd_at_);
    recent_[recent_at_++ % std::size(recent_)] = f.key;
    return pack(f);
  }
  // Returns the next object that is a region without extents and grants, from this number on.
  std::uint32_t plain_grant(std::uint32_t number) {
    for (;; ++number) {
      number %= key_indices;
      const hca_mrc& m = objects_[number].mrc;
      if (m.kind >= HCA_MRC_REGION && m.kind < HCA_MRC_ADDRESS_SPACE && m.kind != HCA_MRC_NULL && m.state == HCA_MRC_VALID &&
          number != 0 && !mrc_fails(number))
        return number;
    }
  }
  std::uint32_t index() { return static_cast<std::uint32_t>(r_.chance(0.5) ? 1 + r_.below(24) : r_.below(key_indices)); }

  // Often changes the region of the window used last, which is then used again.
  item change(key_fields& f) {
    std::uint32_t at = index();
    const std::uint32_t used = number_of(hca_key_index(good_.key));
    if (r_.chance(0.5) && used < key_indices && is_window(objects_[used].mrc)) {
      const std::uint32_t region = number_of(hca_key_index(objects_[used].mrc.parent));
      if (region < key_indices) at = region;
      again_ = region < key_indices;
    }
    return change_of(f, at);
  }
  item change_of(key_fields& f, std::uint32_t at) {
    f.kind = key_item::change;
    f.key = index_of(at) << 8;
    f.va = seeds_[at] = r_.next();
    objects_[at] = make_object(at, f.va);
    return pack(f);
  }

  // Makes a request that the object grants, if the object grants any.
  void conform(key_fields& f, std::uint32_t at) {
    const key_object& o = objects_[at];
    const hca_mrc& m = o.mrc;
    f.key = index_of(at) << 8 | m.key_byte;
    const bool window = is_window(m);
    f.remote = window || r_.chance(0.5);
    f.privileged = (m.flags & HCA_MRC_PRIVILEGED) || r_.chance(0.3);
    if (m.flags & HCA_MRC_PRIVILEGED) f.remote = f.remote && r_.chance(0.3);
    f.rights = m.access & static_cast<std::uint32_t>(r_.next()) & 0xf;
    if (f.remote && f.rights == 0) f.rights = m.access & 0xe;
    f.pd = m.pd;
    f.qpn = m.qpn == HCA_QPN_ANY ? static_cast<std::uint32_t>(r_.below(key_qpns)) : m.qpn;
    f.generation = m.kind == HCA_MRC_WINDOW_2 ? m.extent : static_cast<std::uint32_t>(r_.below(key_generations));
    f.function = m.function;
    const bool zero_based = window && (m.access & HCA_ACCESS_ZERO_BASED);
    const std::uint64_t base = zero_based ? 0 : m.start;
    std::uint64_t first = 0;
    std::uint64_t bytes = m.length;
    if (m.kind == HCA_MRC_ADDRESS_SPACE && m.extent_count != 0) {
      const hca_extent& e = o.extents[r_.below(o.extents.size())];
      first = e.start - o.extents.front().start;
      bytes = e.length;
      if (r_.chance(0.2)) {  // in the hole behind it, or across its end
        first += r_.chance(0.5) ? bytes : bytes - 1;
        bytes = 2;
      }
    }
    if (m.kind == HCA_MRC_INDIRECT && m.extent_count > 0 && r_.chance(0.5)) {  // one of its elements
      const auto n = static_cast<std::uint32_t>(r_.below(std::min(m.extent_count, key_elements)));
      for (std::uint32_t i = 0; i <= n; ++i) {
        const hca_element e = element_at(o, i);
        if (i < n) first += e.length;
        bytes = e.length;
      }
    }
    const std::uint64_t from = bytes ? edge(bytes) : 0;
    f.va = base + first + from;
    f.length = bytes > from ? edge(std::max(bytes - from + 1, bytes - from)) : 0;
  }
  // Often one of the ends of [0, n).
  std::uint64_t edge(std::uint64_t n) {
    const double x = r_.unit();
    return x < 0.2 ? 0 : x < 0.4 ? n - 1 : r_.below(n);
  }

  void spoil(key_fields& f) {
    switch (r_.below(14)) {
      case 0:
        f.key ^= 1U << r_.below(8);
        break;
      case 1:
        f.key = index_of(static_cast<std::uint32_t>(key_indices + r_.below((1 << 24) - key_indices))) << 8;
        break;
      case 2:
        f.pd = static_cast<std::uint32_t>(r_.below(key_pds));
        break;
      case 3:
        f.qpn = static_cast<std::uint32_t>(r_.below(key_qpns));
        break;
      case 4:
        f.generation = static_cast<std::uint32_t>(r_.below(key_generations));
        break;
      case 5:
        f.function = static_cast<std::uint16_t>(r_.below(key_functions));
        break;
      case 6:
        f.remote = !f.remote;
        break;
      case 7:
        f.privileged = !f.privileged;
        break;
      case 8:
        f.rights ^= 1U << r_.below(5);
        break;
      case 9:
        f.rights = 0;
        break;
      case 10:
        f.length += 1;
        break;
      case 11:
        f.va -= 1;
        break;
      case 12:
        f.va = r_.next();
        f.length = r_.chance(0.5) ? r_.next() : f.length;
        break;
      default:
        f.length = r_.chance(0.5) ? ~std::uint64_t{0} - r_.below(3) : 0;
        break;
    }
  }

  const options& o_;
  std::uint32_t recent_[12] = {};
  std::size_t recent_at_ = 0;
  key_fields good_;  // the last check without a planted error
  unsigned aimed_ = 0;
  bool again_ = false;  // `good_`, whose region has changed
  std::deque<item> met_;
  key_twins twins_{o_.requests};
  std::uint32_t drained_ = 0;
  unsigned drains_ = 0;  // drains in a row to come
  std::uint64_t made_ = 0;
  unsigned crowd_ = 0;
  std::uint32_t crowd_at_ = 0;
  random_stream r_;
  std::vector<key_object> objects_;
  std::vector<std::uint64_t> seeds_;
};

}  // namespace

item_stream generate_keys(const options& o) {
  generator g(o);
  item_stream s;
  s.reserve(o.requests);
  while (s.size() < o.requests) s.push_back(g.next());
  return s;
}

}  // namespace hcasim::lockstep
