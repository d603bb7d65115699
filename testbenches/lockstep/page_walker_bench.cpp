#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <string>
#include <unordered_map>

#include "models/page_walker/page_walker.h"
#include "models/page_walker/rtl/page_walker_rtl.h"
#include "rtl/page_walker_design.h"
#include "rtl/page_walker_faulty.h"
#include "testbenches/lockstep/benches.h"
#include "testbenches/lockstep/issuer.h"
#include "testbenches/lockstep/page_walker_tables.h"
#include "testbenches/lockstep/shim.h"
#include "tlm/base/random.h"

namespace hcasim::lockstep {
namespace {

class walk_issuer final : public issuer {
 public:
  initiator_socket<translate_request> out{"out"};

  walk_issuer(const sc_core::sc_module_name& name, const item_stream& stream, const options& o, const clock_domain& clock,
              comparison& c, side s, table_memory& memory)
      : issuer(name, stream,
               o.how == mode::single ? 1
               : o.storms            ? page_walker_tags + 1
                                     : 24,
               clock, c, s),
        memory_(memory) {}
  void publish(coverage& c) const {
    c["ok"] += ended_[0];
    c["not_present"] += ended_[1];
    c["table_error"] += ended_[2];
    c["null"] += null_;
    c["physical"] += physical_;
    c["drop"] += drops_;
    c["page_end"] += page_end_;
    c["write_not_present"] += read_only_;
    c["raced"] += raced_;
    if (beyond_tags_ > 0) c["beyond_tags"] += beyond_tags_;
    for (unsigned l = 0; l < std::size(changed_); ++l) c["change_level_" + std::to_string(l)] += changed_[l];
  }

 private:
  struct flight : translate_request {
    walk_issuer* self = nullptr;
    std::uint64_t number = 0;
    unsigned map_number = 0;
    bool remap = false;
    std::uint64_t page = 0;
    std::vector<walked> allowed;  // as its tables were when it was asked for, and became meanwhile
  };
  struct range {
    bool changing = false;
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    [[nodiscard]] bool holds(std::uint64_t p) const { return changing && first <= p && p <= last; }
  };
  static bool races(const item& i) { return i[0] >> 25 & 1; }
  static walk_item kind_of(const item& i) { return static_cast<walk_item>(i[0] & 0xff); }
  static unsigned map_in(const item& i) { return static_cast<unsigned>(i[0] >> 32) % maps; }
  static std::uint64_t page_at(const item& i, std::uint64_t va) { return (va - i[6]) >> (i[4] >> 40 & 63); }

  [[nodiscard]] unsigned gap_of(const item& i) const override { return i[0] >> 8 & 0xffff; }
  // Nobody asks for a page that has changed before what is cached of it has been dropped; its neighbours in the same line may
  // be asked for all the time. Who asked before and has no answer yet may get either: a race. Most pages change while nobody
  // asks.
  [[nodiscard]] bool may_go(const item& i) const override {
    if (kind_of(i) == walk_item::set_read) return under_way_.empty();
    const range& r = changing_[map_in(i)];
    if (kind_of(i) == walk_item::walk) return !r.holds(page_at(i, i[1]));
    if (kind_of(i) == walk_item::drop) return true;
    const std::uint64_t first = page_at(i, i[1]), last = page_at(i, i[2]);
    if (r.changing || races(i)) return !r.changing;
    return std::none_of(under_way_.begin(), under_way_.end(), [&](const flight* f) {
      return f->map_number == map_in(i) && f->op == translate_op::walk && first <= f->page && f->page <= last;
    });
  }
  [[nodiscard]] bool picky(const item& i) const override {
    return kind_of(i) == walk_item::remap || kind_of(i) == walk_item::set_read || lifted_at_[map_in(i)] == now();
  }
  bool go(std::uint64_t number, const item& i) override {
    if (kind_of(i) == walk_item::set_read) {
      recorded_ = true;
      memory_.tables.set(i);
      return false;
    }
    flight* r = nullptr;
    if (free_.empty()) {
      r = &flights_.emplace_back();
    } else {
      r = free_.back();
      free_.pop_back();
    }
    r->self = this;
    r->number = number;
    r->map_number = map_in(i);
    r->remap = kind_of(i) == walk_item::remap;
    r->op = kind_of(i) == walk_item::walk ? translate_op::walk : translate_op::drop;
    r->write = i[0] >> 24 & 1;
    r->map = map_in_words(i);
    r->va = i[1];
    r->last = i[2];
    r->length = i[3];
    r->physical = r->bytes = 0;
    r->waiter = {};
    r->context = r;
    r->on_response = [](void* context, transaction&, ps) {
      flight& done = *static_cast<flight*>(context);
      done.self->came(done);
    };
    if (r->remap) {
      const std::uint64_t first = page_at(i, i[1]), last = page_at(i, i[2]);
      const auto level = static_cast<unsigned>(i[7] >> 32 & 3);
      const auto version = static_cast<std::uint32_t>(i[7]);
      ++changed_[level];
      if (level == 0) {
        memory_.tables.change(r->map, first, last, version);
      } else {
        memory_.tables.change_node(r->map, first, level, version);
      }
      changing_[r->map_number] = {true, first, last};
      for (flight* f : under_way_) {
        if (f->map_number == r->map_number && f->op == translate_op::walk && first <= f->page && f->page <= last)
          f->allowed.push_back(now_right(*f));
      }
    }
    r->page = page_at(i, i[1]);
    r->allowed.clear();
    if (r->op == translate_op::walk) r->allowed.push_back(now_right(*r));
    under_way_.push_back(r);
    beyond_tags_ += under_way_.size() > page_walker_tags;
    ps t = now();
    if (out.send(*r, t) == tlm::TLM_COMPLETED) came(*r);
    return true;
  }
  void came(flight& r) {
    under_way_.erase(std::find(under_way_.begin(), under_way_.end(), &r));
    if (r.remap) {
      changing_[r.map_number].changing = false;
      lifted_at_[r.map_number] = now();
    }
    comparison::answer a{};
    a[0] = static_cast<std::uint64_t>(r.status);
    if (r.op == translate_op::walk) {
      ++ended_[a[0] % 3];
      null_ += r.map.null;
      read_only_ += r.write && r.status == translate_status::not_present;
      physical_ += !r.map.null && r.map.levels == 0;
      page_end_ += r.status == translate_status::ok && r.bytes < r.length;
      if (r.status == translate_status::ok) {
        a[1] = r.physical;
        a[2] = r.bytes;
      }
    } else {
      ++drops_;
    }
    const bool race = r.allowed.size() > 1;
    raced_ += race;
    // In a system run memory changes without a drop.
    if (!recorded_ && r.op == translate_op::walk) check(r, {r.status, a[1], a[2]});
    free_.push_back(&r);
    answered(r.number, a, race);
  }

  [[nodiscard]] walked now_right(const flight& f) const { return memory_.tables.walk(f.map, f.va, f.length, f.write); }
  void check(const flight& f, const walked& got) {
    if (std::find(f.allowed.begin(), f.allowed.end(), got) != f.allowed.end()) return;
    const auto words = [](const walked& w) {
      return std::to_string(static_cast<unsigned>(w.status)) + " " + std::to_string(w.physical) + " " + std::to_string(w.bytes);
    };
    std::string text = std::string(is_rtl() ? "rtl" : "model") + ": " + words(got) + " is not what the tables say:";
    for (const walked& w : f.allowed) text += " " + words(w);
    shared().problem(text, f.number);
  }

  table_memory& memory_;
  bool recorded_ = false;
  std::uint64_t raced_ = 0;
  std::deque<flight> flights_;
  std::vector<flight*> free_;
  std::vector<flight*> under_way_;
  range changing_[maps];
  ps lifted_at_[maps] = {};
  std::uint64_t ended_[3] = {}, null_ = 0, physical_ = 0, drops_ = 0, page_end_ = 0, read_only_ = 0, beyond_tags_ = 0;
  std::uint64_t changed_[4] = {};
};

class walk_generator {
 public:
  explicit walk_generator(const options& o) : o_(o), r_(o.seed, "walks"), tables_(o.seed) {
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

  item walk(unsigned map, unsigned cluster, std::uint64_t page_in_cluster, unsigned gap) {
    const translation& m = maps_[map];
    const std::uint64_t page = page_of(m, cluster, page_in_cluster);
    const unsigned shift = m.page_shift & 63U;
    const std::uint64_t size = std::uint64_t{1} << shift;
    const double x = r_.unit();
    const std::uint64_t offset = x < 0.3 ? 0 : x < 0.4 ? size - 1 : r_.below(size);
    item i{};
    i[0] = static_cast<std::uint64_t>(walk_item::walk) | std::uint64_t{gap} << 8 | std::uint64_t{r_.chance(0.3)} << 24 |
           std::uint64_t{map} << 32;
    i[1] = m.table_va + (page << shift) + offset;
    i[2] = r_.next();  // of no meaning
    i[3] = r_.chance(0.7) ? 1 + r_.below(4096) : std::max<std::uint64_t>(r_.next() >> r_.below(64), 1);
    put_map(i, m);
    return i;
  }
  // Lines that are brought in one after the other, so that everything after them hits.
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
    const unsigned gap =
        o_.how == mode::random && r_.chance(0.5) ? static_cast<unsigned>(r_.below(r_.chance(0.1) ? 80 : 6)) : 0;
    const auto map = static_cast<unsigned>(r_.chance(0.6) ? r_.below(6) : r_.below(maps));
    const auto cluster = static_cast<unsigned>(r_.chance(0.6) ? r_.below(2) : r_.below(clusters));
    const std::uint64_t page = r_.chance(0.7) ? r_.below(24) : r_.below(cluster_pages);
    const translation& m = maps_[map];
    // Many ask for one line.
    if (o_.storms && crowd_ == 0 && r_.chance(0.01)) {
      crowd_ = 8 + static_cast<unsigned>(r_.below(40));
      crowded_ = {map, cluster, r_.below(cluster_pages) & ~std::uint64_t{7}};
    }
    if (crowd_ > 0 && r_.chance(0.7)) {
      --crowd_;
      return walk(crowded_.map, crowded_.cluster, crowded_.page + r_.below(8), 0);
    }
    if (o_.how == mode::random && !o_.storms && haunted_ == 0 && sane(m) && m.levels > 0 && !m.null && r_.chance(0.01)) {
      haunted_ = haunting;
      crowded_ = {map, cluster, r_.below(cluster_pages)};
    }
    if (haunted_ > 0) return haunt();
    const double what = r_.unit();
    // Lines of one set, of two tables with one tag: more than it has ways.
    if (o_.how == mode::single && what > 0.6 && what < 0.8)
      return walk(map & 3, 4 * static_cast<unsigned>(r_.below(4)), page & 7, gap);
    if (what > (o_.storms || o_.how == mode::single ? 0.05 : 0.02) || !sane(m)) return walk(map, cluster, page, gap);
    if (m.levels > 1 && r_.chance(0.1)) return remap_node(map, page_of(m, cluster, page), gap);
    if (r_.chance(0.3)) return drop_beside(map, cluster, page, gap);
    // A drop of some pages; half of them have changed.
    const std::uint64_t first = page_of(m, cluster, page);
    const std::uint64_t last =
        page_of(m, cluster, std::min<std::uint64_t>(page + r_.below(r_.chance(0.5) ? 3 : 60), cluster_pages - 1));
    const bool remap = r_.chance(0.6);
    item i{};
    i[0] = static_cast<std::uint64_t>(remap ? walk_item::remap : walk_item::drop) | std::uint64_t{gap} << 8 |
           std::uint64_t{remap && r_.chance(0.25)} << 25 | std::uint64_t{map} << 32;
    i[1] = m.table_va + (first << m.page_shift) + (remap ? 0 : r_.below(std::uint64_t{1} << m.page_shift));
    i[2] = m.table_va + (last << m.page_shift) + ((std::uint64_t{1} << m.page_shift) - 1);
    i[7] = ++version_;
    put_map(i, m);
    return i;
  }

  // A page that changes while a walk of its line is under way, and is asked for again.
  static constexpr unsigned haunting = 4;
  item haunt() {
    --haunted_;
    const translation& m = maps_[crowded_.map];
    const std::uint64_t beside = (crowded_.page & ~std::uint64_t{7}) + r_.below(8);
    if (haunted_ != haunting - 2)
      return walk(crowded_.map, crowded_.cluster, haunted_ > 1 ? beside : crowded_.page, haunted_ == 1 ? 400 : 0);
    const std::uint64_t page = page_of(m, crowded_.cluster, crowded_.page);
    item i{};
    i[0] = static_cast<std::uint64_t>(walk_item::remap) | r_.below(120) << 8 | std::uint64_t{1} << 25 |
           std::uint64_t{crowded_.map} << 32;
    i[1] = m.table_va + (page << m.page_shift);
    i[2] = i[1] + ((std::uint64_t{1} << m.page_shift) - 1);
    i[7] = ++version_;
    put_map(i, m);
    return i;
  }

  // A drop that ends with the first byte of what a line or a node covers or right before it, or begins with the last or behind
  // it.
  item drop_beside(unsigned map, unsigned cluster, std::uint64_t page, unsigned gap) {
    const translation& m = maps_[map];
    const unsigned level = m.levels > 1 && r_.chance(0.4) ? static_cast<unsigned>(1 + r_.below(m.levels - 1U)) : 0;
    const unsigned covers = std::min(level == 0 ? 3U : 9 * level, 63U - m.page_shift);
    const std::uint64_t first = page_of(m, cluster, page) >> covers << covers;
    const std::uint64_t begin = m.table_va + (first << m.page_shift);
    const std::uint64_t end = begin + ((std::uint64_t{1} << covers << m.page_shift) - 1);
    const std::uint64_t bytes = r_.below(std::uint64_t{1} << m.page_shift);
    item i{};
    i[0] = static_cast<std::uint64_t>(walk_item::drop) | std::uint64_t{gap} << 8 | std::uint64_t{map} << 32;
    i[2] = r_.chance(0.5) ? begin - r_.below(2) : end + r_.below(2) + bytes;
    i[1] = i[2] - bytes;
    put_map(i, m);
    return i;
  }

  // An entry above the last level changes, and with it all pages below it.
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
  unsigned crowd_ = 0;
  unsigned haunted_ = 0;
  place crowded_{};
  std::uint32_t version_ = 0;
};

class page_walker_bench final : public bench {
 public:
  [[nodiscard]] const char* name() const override { return "page_walker"; }
  [[nodiscard]] item_stream generate(const options& o) const override { return walk_generator(o).all(); }
  [[nodiscard]] unsigned faults() const override { return rtl::make_page_walker_faulty(0)->mutants(); }
  void declare(coverage& c) const override {
    for (const char* p :
         {"ok", "not_present", "table_error", "null", "physical", "drop", "page_end", "write_not_present", "raced"})
      c[p] = 0;
    for (unsigned l = 0; l < 4; ++l) c["read_level_" + std::to_string(l)] = c["change_level_" + std::to_string(l)] = 0;
  }
  void elaborate(const item_stream& stream, const options& o, comparison& c) override {
    const clock_domain clock(frequency{400e6});
    const page_walker_config config;
    c.describe = [](std::uint64_t, const comparison::answer& a) {
      constexpr const char* names[] = {"ok", "not_present", "table_error", "?"};
      std::string s = names[std::min<std::uint64_t>(a[0], 3)];
      s.append(" physical ").append(std::to_string(a[1])).append(" bytes ").append(std::to_string(a[2]));
      return s;
    };
    const rtl::shell_options shell = shell_of(o);
    if (o.model) {
      model_memory_ = std::make_unique<table_memory>("model_memory", o, clock);
      model_memory_->on_access = [&c](const dma_request& r) { count_access(c, model_side, r); };
      model_issuer_ = std::make_unique<walk_issuer>("model_issuer", stream, o, clock, c, model_side, *model_memory_);
      model_ = std::make_unique<page_walker>("model", config, clock, 1);
      requests_ = std::make_unique<stall_shim<translate_request>>("requests", 1, clock, shell, "req", "rsp", "");
      reads_ = std::make_unique<stall_shim<dma_request>>("reads", 1, clock, shell, "mem_req", "mem_rsp", "");
      model_issuer_->out.bind(requests_->in[0]);
      requests_->out[0].bind(model_->in[0]);
      model_->dma.bind(reads_->in[0]);
      reads_->out[0].bind(model_memory_->in);
    }
    if (o.rtl) {
      rtl_memory_ = std::make_unique<table_memory>("rtl_memory", o, clock);
      rtl_memory_->on_access = [&c](const dma_request& r) { count_access(c, rtl_side, r); };
      rtl_issuer_ = std::make_unique<walk_issuer>("rtl_issuer", stream, o, clock, c, rtl_side, *rtl_memory_);
      rtl_ = std::make_unique<page_walker_rtl>("rtl", config, clock, 1,
                                               design_of(o, rtl::make_page_walker_design, rtl::make_page_walker_faulty), shell);
      set_fault(*rtl_, o);
      rtl_->on_violation = [&c](const std::string& what) { c.broke(what); };
      rtl_issuer_->out.bind(rtl_->in[0]);
      rtl_->dma.bind(rtl_memory_->in);
    }
  }
  [[nodiscard]] std::array<const unit*, sides> units() const override { return {model_.get(), rtl_.get()}; }
  void finish(const options& o, report& r) override {
    if (rtl_issuer_) rtl_issuer_->publish(r.covered);
    for (unsigned l = 0; rtl_ && l < 4; ++l) r.covered["read_level_" + std::to_string(l)] += rtl_->reads_of_level(l);
    finish_rtl(rtl_.get(), o, r);
  }

 private:
  std::unique_ptr<table_memory> model_memory_, rtl_memory_;
  std::unique_ptr<walk_issuer> model_issuer_, rtl_issuer_;
  std::unique_ptr<page_walker> model_;
  std::unique_ptr<page_walker_rtl> rtl_;
  std::unique_ptr<stall_shim<translate_request>> requests_;
  std::unique_ptr<stall_shim<dma_request>> reads_;
};

}  // namespace

std::unique_ptr<bench> make_page_walker_bench() {
  return std::make_unique<page_walker_bench>();
}

}  // namespace hcasim::lockstep
