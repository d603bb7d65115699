#include "testbenches/coverification/lockstep/page_walker/page_walker_stimulus.h"

#include <algorithm>
#include <deque>
#include <vector>

#include "testbenches/coverification/lockstep/page_walker/page_walker_tables.h"
#include "testbenches/coverification/lockstep/page_walker/page_walker_twins.h"
#include "tlm/base/random.h"

namespace hcasim::lockstep {
namespace {

class walk_generator {
 public:
  explicit walk_generator(const options& o) : o_(o), r_(o.seed, o.storms ? "floods of walks" : "walks"), tables_(o.seed) {
    for (unsigned i = 0; i < maps; ++i) maps_.push_back(map_of(i, o.seed));
  }
  item_stream all() {
    item_stream s;
    s.reserve(o_.requests);
    if (o_.how == mode::full) warm(s);
    while (s.size() < o_.requests) s.push_back(o_.how == mode::full ? from_warm(s) : next());
    s.resize(o_.requests);
    return s;
  }

 private:
  static constexpr unsigned warm_lines = 64;
  static constexpr unsigned look_up_cycles = 4;

  item walk(unsigned map, unsigned cluster, std::uint64_t page_in_cluster, unsigned gap) {
    const translation& m = maps_[map];
    const std::uint64_t page = page_of(m, cluster, page_in_cluster);
    const unsigned shift = m.page_shift & 63U;
    const std::uint64_t size = std::uint64_t{1} << shift;
    const double x = r_.unit();
    const std::uint64_t offset = x < 0.3 ? 0 : x < 0.4 ? size - 1 : r_.below(size);
    const std::uint64_t va = m.table_va + (page << shift) + offset;
    const std::uint64_t length = r_.chance(0.7) ? 1 + r_.below(4096) : std::max<std::uint64_t>(r_.next() >> r_.below(64), 1);
    item i = walk_at(map, m, va, length, r_.chance(0.3), gap);
    i[2] = r_.next();  // of no meaning
    return i;
  }
  // Brings in lines one after the other, so that all later requests hit.
  void warm(item_stream& s) {
    for (unsigned n = 0; n < warm_lines; ++n) {
      warmed_.push_back({static_cast<unsigned>(r_.below(maps)), static_cast<unsigned>(r_.below(4)), r_.below(4) * 8});
      s.push_back(walk(warmed_.back().map, warmed_.back().cluster, warmed_.back().page, 200));
    }
  }
  item from_warm(const item_stream& s) {
    const bool first = s.size() == warm_lines;
    for (;;) {
      const place& p = warmed_[r_.below(warm_lines)];
      const translation& m = maps_[p.map];
      // Entries that are not present are read again each time: only maps without a table are sure to hit.
      if (m.levels == 0 || m.null || !sane(m) || tables_.present(m, page_of(m, p.cluster, p.page)))
        return walk(p.map, p.cluster, p.page, first ? 300 : 0);
    }
  }
  struct place {
    unsigned map;
    unsigned cluster;
    std::uint64_t page;
  };
  item next() {
    if (!met_.empty()) {
      const item i = met_.front();
      met_.pop_front();
      return i;
    }
    if (o_.how == mode::single) {
      meet();
    } else if (r_.chance(0.004)) {
      twins_.next(met_, r_);
    }
    const unsigned gap =
        o_.how == mode::random && r_.chance(0.5) ? static_cast<unsigned>(r_.below(r_.chance(0.1) ? 80 : 6)) : 0;
    const auto map = static_cast<unsigned>(r_.chance(0.6) ? r_.below(6) : r_.below(maps));
    const auto cluster = static_cast<unsigned>(r_.chance(0.6) ? r_.below(2) : r_.below(clusters));
    const std::uint64_t page = r_.chance(0.7) ? r_.below(24) : r_.below(cluster_pages);
    const translation& m = maps_[map];
    // Many requests for one line.
    if (o_.storms && crowd_ == 0 && r_.chance(0.01)) {
      crowd_ = 8 + static_cast<unsigned>(r_.below(40));
      crowded_ = {map, cluster, r_.below(cluster_pages) & ~std::uint64_t{7}};
    }
    if (crowd_ > 0 && r_.chance(0.7)) {
      --crowd_;
      return walk(crowded_.map, crowded_.cluster, crowded_.page + r_.below(8), 0);
    }
    if (o_.how == mode::random && !o_.storms && tabled(m) && !shares_its_table(map) && r_.chance(0.01)) {
      const std::uint64_t at = r_.below(cluster_pages);
      return again(map, cluster, at, change(map, page_of(m, cluster, at), 0), gap);
    }
    const double what = r_.unit();
    // More lines of one set than its ways, from tables with one tag and with tags of one set.
    if (o_.how == mode::single && what > 0.6 && what < 0.8)
      return walk(map % 6, 4 * static_cast<unsigned>(r_.below(4)), page & 7, gap);
    if (what > (o_.storms || o_.how == mode::single ? 0.05 : 0.02) || !sane(m)) return walk(map, cluster, page, gap);
    if (m.levels > 1 && !shares_its_table(map) && r_.chance(0.1))
      return again(map, cluster, page, remap_node(map, page_of(m, cluster, page), gap), gap);
    if (r_.chance(0.3)) return again(map, cluster, page, drop_beside(map, cluster, page, gap), gap);
    // A drop of some pages; half of them have changed.
    const std::uint64_t first = page_of(m, cluster, page);
    const std::uint64_t last =
        page_of(m, cluster, std::min<std::uint64_t>(page + r_.below(r_.chance(0.5) ? 3 : 60), cluster_pages - 1));
    const bool remap = !shares_its_table(map) && r_.chance(0.6);
    item i{};
    i[0] = static_cast<std::uint64_t>(remap ? walk_item::remap : walk_item::drop) | std::uint64_t{gap} << 8 |
           std::uint64_t{remap && r_.chance(0.25)} << 25 | std::uint64_t{map} << 32;
    i[1] = m.table_va + (first << m.page_shift) + (remap ? 0 : r_.below(std::uint64_t{1} << m.page_shift));
    i[2] = m.table_va + (last << m.page_shift) + ((std::uint64_t{1} << m.page_shift) - 1);
    i[7] = ++version_;
    put_map(i, m);
    return again(map, cluster, page, i, gap);
  }

  // In half of the cases, asks for the line right before the drop, and again at once, or after all of this.
  item again(unsigned map, unsigned cluster, std::uint64_t page, item drop, unsigned gap) {
    if (o_.how != mode::random || r_.chance(0.5)) return drop;
    const bool at_once = r_.chance(0.5);
    const bool changes = static_cast<walk_item>(drop[0] & 0xff) == walk_item::remap;
    const auto within = static_cast<unsigned>(r_.below(r_.chance(0.5) ? 30 : 120));
    drop[0] = (drop[0] & ~(std::uint64_t{0xffff} << 8)) | std::uint64_t{within} << 8 | std::uint64_t{changes} << 25;
    met_.push_back(drop);
    met_.push_back(walk(map, cluster, page, at_once ? 0 : 400));
    const std::uint64_t before = beside_in_line(page);
    const std::uint64_t after = beside_in_line(page);
    if (at_once) met_.push_back(walk(map, cluster, after, within % 8));
    // A walk that queues behind others would begin long after the drop.
    return walk(map, cluster, before, at_once && r_.chance(0.5) ? 600 : gap);
  }
  std::uint64_t beside_in_line(std::uint64_t page) { return (page & ~std::uint64_t{7}) + r_.below(8); }
  // Changes a page, even during requests for this page.
  item change(unsigned map, std::uint64_t page, unsigned gap) {
    const translation& m = maps_[map];
    item i{};
    i[0] = static_cast<std::uint64_t>(walk_item::remap) | std::uint64_t{gap} << 8 | std::uint64_t{1} << 25 |
           std::uint64_t{map} << 32;
    i[1] = m.table_va + (page << m.page_shift);
    i[2] = i[1] + ((std::uint64_t{1} << m.page_shift) - 1);
    i[7] = ++version_;
    put_map(i, m);
    return i;
  }

  void meet() {
    const double what = r_.unit();
    if (what < 0.35) return meet_on_the_way();
    if (what < 0.6) return twins_.next(met_, r_);
    if (what < 0.64) twins_.crowd(met_, r_, 5 + static_cast<unsigned>(r_.below(4)));
  }
  // Makes events during a walk, at any distance from its end, and then a walk that shows their effect.
  void meet_on_the_way() {
    const auto map = static_cast<unsigned>(r_.below(6));
    const translation& m = maps_[map];
    if (!tabled(m)) return;
    const auto cluster = static_cast<unsigned>(r_.below(clusters));
    const std::uint64_t page = r_.below(cluster_pages);
    met_.push_back(walk(map, cluster, page, 0));
    // A request for a line in the last cycle of its walk joins the walk or finds the line. The answer is the same, unless the
    // line has to be read again.
    const bool joins = shares_its_table(map) && tables_.present(m, page_of(m, cluster, page));
    // A drop in the cycles of a lookup comes before or after its look at the upper caches: either order is right.
    const auto within = [&] {
      const unsigned reads = r_.chance(0.6) ? 1 : 1 + static_cast<unsigned>(r_.below(m.levels));
      const auto about_the_end = 20 * reads + static_cast<unsigned>(r_.below(6 * reads));
      return r_.chance(0.7) ? about_the_end : look_up_cycles + static_cast<unsigned>(r_.below(4 + 26U * m.levels));
    };
    const double what = r_.unit();
    if (what < 0.1 && map % 4 == 0) {
      // A drop of another tag at the same addresses, before any read has ended.
      met_.push_back(beside(drop_beside(map ^ 4, cluster, page, look_up_cycles + static_cast<unsigned>(r_.below(12)))));
    } else if (what < 0.55) {
      met_.push_back(beside(drop_beside(map, cluster, page, within())));
    } else if (what < 0.75 && !shares_its_table(map)) {
      met_.push_back(beside(change(map, page_of(m, cluster, page), within())));
      if (r_.chance(0.5)) met_.push_back(beside(walk(map, cluster, page, 0)));  // at once, while the older walk is under way
    } else if (joins) {
      met_.push_back(beside(walk(map, cluster, page, within())));
    }
    met_.push_back(walk(map, cluster, page, 0));
  }
  static bool tabled(const translation& m) { return sane(m) && m.levels > 0 && !m.null; }

  // A drop at the edge of the bytes of a line or node. The drop ends with the first byte or right before, or begins with the
  // last byte or right after.
  item drop_beside(unsigned map, unsigned cluster, std::uint64_t page, unsigned gap) {
    const translation& m = maps_[map];
    const unsigned level = m.levels > 1 && r_.chance(0.4) ? static_cast<unsigned>(1 + r_.below(m.levels - 1U)) : 0;
    const unsigned covers = std::min(level == 0 ? 3U : 9 * level, 64U - m.page_shift);
    const bool all = covers + m.page_shift == 64;
    const std::uint64_t first = all ? 0 : page_of(m, cluster, page) >> covers << covers;
    const std::uint64_t begin = m.table_va + (first << m.page_shift);
    const std::uint64_t end = begin + ((all ? 0 : std::uint64_t{1} << covers << m.page_shift) - 1);
    const std::uint64_t bytes = r_.chance(0.5) ? 0 : r_.below(std::uint64_t{1} << m.page_shift);
    const std::uint64_t last = r_.chance(0.5) ? begin - r_.below(2) : end + r_.below(2) + bytes;
    return drop_at(map, m, last - bytes, last, gap);
  }

  // Changes an entry above the last level, and so all pages below.
  item remap_node(unsigned map, std::uint64_t page, unsigned gap) {
    const translation& m = maps_[map];
    const auto level = static_cast<unsigned>(1 + r_.below(m.levels - 1U));
    const unsigned below = 9 * level;
    const std::uint64_t last_page = ~std::uint64_t{0} >> m.page_shift;
    const std::uint64_t first = page >> below << below;
    const std::uint64_t last = std::min(first | ((std::uint64_t{1} << below) - 1), last_page);
    item i{};
    i[0] = static_cast<std::uint64_t>(walk_item::remap) | std::uint64_t{gap} << 8 | std::uint64_t{r_.chance(0.25)} << 25 |
           std::uint64_t{map} << 32;
    i[1] = m.table_va + (first << m.page_shift);
    i[2] = m.table_va + (last << m.page_shift) + ((std::uint64_t{1} << m.page_shift) - 1);
    i[7] = ++version_ | std::uint64_t{level} << 32;
    put_map(i, m);
    return i;
  }

  const options& o_;
  random_stream r_;
  const page_tables tables_;
  std::vector<translation> maps_;
  std::vector<place> warmed_;
  std::deque<item> met_;
  walk_twins twins_{tables_};
  unsigned crowd_ = 0;
  place crowded_{};
  std::uint32_t version_ = 0;
};

}  // namespace

item_stream walk_items(const options& o) {
  return walk_generator(o).all();
}

}  // namespace hcasim::lockstep
