#include <algorithm>
#include <deque>
#include <string>
#include <unordered_map>

#include "models/base/pool.h"
#include "models/page_walker/page_walker.h"
#include "models/page_walker/rtl/page_walker_rtl.h"
#include "rtl/page_walker_design.h"
#include "rtl/page_walker_faulty.h"
#include "testbenches/lockstep/benches.h"
#include "testbenches/lockstep/issuer.h"
#include "testbenches/lockstep/shim.h"

namespace hcasim::lockstep {
namespace {

constexpr unsigned window = 24;
constexpr unsigned maps = 32;
constexpr unsigned clusters = 16;
constexpr std::uint64_t cluster_pages = 512;
constexpr unsigned version_slots = clusters * cluster_pages;

std::uint64_t mixed(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

// Where the tables of a map lie says what they hold: map << 40 | level << 36 | 8 * number of the entry in its level.
translation map_of(unsigned number, std::uint64_t seed) {
  random_stream r(seed * 977 + number, "map");
  translation m;
  m.index = 0x100 + number / 2;  // two tables of one tag: of an older and a newer epoch
  m.levels = static_cast<std::uint8_t>(r.chance(0.08) ? 0 : 1 + r.below(4));
  constexpr std::uint8_t shifts[] = {12, 12, 16, 21, 30};
  m.page_shift = shifts[r.below(5)];
  if (m.levels > 0 && r.chance(0.05))
    (r.chance(0.5) ? m.levels : m.page_shift) = static_cast<std::uint8_t>(r.chance(0.5) ? 5 : 60);
  m.null = r.chance(0.05);
  m.table = std::uint64_t{number + 1} << 40 | std::uint64_t{m.levels > 0 ? m.levels - 1U : 0U} << 36;
  m.table_va = r.chance(0.7) ? r.next() & ~std::uint64_t{0xfff} : r.next();
  return m;
}

// Pages of a map that are used: clusters, each with a place of its own among the versions.
std::uint64_t page_of(const translation& m, unsigned cluster, std::uint64_t page) {
  const unsigned bits = m.levels > 1 && m.levels <= 4 ? std::min(9U * m.levels, 33U) : 13;
  const std::uint64_t high = bits > 13 ? mixed(m.index * 64 + cluster) & ((std::uint64_t{1} << (bits - 13)) - 1) : 0;
  return high << 13 | cluster * cluster_pages | page;
}

class table_memory : public unit {
 public:
  target_socket<dma_request> in{"in"};
  std::uint64_t reads[4] = {};

  table_memory(const sc_core::sc_module_name& name, const options& o, const clock_domain& clock)
      : unit(name), seed_(o.seed), random_(o.how == mode::random), clock_(clock), versions_(std::size_t{maps} * version_slots) {
    in.on<&table_memory::handle>(this);
  }
  void change(unsigned map, std::uint64_t first, std::uint64_t last, std::uint32_t version) {
    for (std::uint64_t p = first; p <= last; ++p) versions_[map * version_slots + p % version_slots] = version;
  }

 private:
  struct job {
    table_memory* self;
    dma_request* request;
  };
  [[nodiscard]] std::uint64_t entry(std::uint64_t address) const {
    const std::uint64_t map = (address >> 40) - 1;
    const unsigned level = address >> 36 & 15;
    const std::uint64_t number = (address & ((std::uint64_t{1} << 36) - 1)) >> 3;
    const std::uint64_t h = mixed(address * 31 + seed_);
    if (level > 0) return h % 60 == 0 ? 0 : (((map + 1) << 40 | std::uint64_t{level - 1} << 36 | number << 12) | 1);
    const std::uint32_t v = versions_[map % maps * version_slots + number % version_slots];
    const std::uint64_t with_version = mixed(h + v);
    return (with_version & ~std::uint64_t{0xfff}) | (with_version % 30 != 0);
  }
  tlm::tlm_sync_enum handle(dma_request& r, tlm::tlm_phase phase, ps& t) {
    if (phase == tlm::END_RESP) return tlm::TLM_COMPLETED;
    ++reads[std::min<std::uint64_t>(r.address >> 36 & 15, 3)];
    const std::uint64_t h = mixed(r.address + seed_);
    r.failed = h % 150 == 7;
    const auto cycles = static_cast<double>(!random_ ? 20 : h & 0x300 ? 30 + (h >> 10) % 20 : 100 + (h >> 10) % 200);
    for (std::uint32_t i = 0; i < r.bytes; i += 8) {
      const std::uint64_t e = r.failed ? 0 : entry(r.address + i);
      std::memcpy(r.data + i, &e, 8);
    }
    job& j = jobs_.get();
    j = {this, &r};
    queue_.at(t + clock_.cycles(cycles), {[](void* context) {
                                            job& done = *static_cast<job*>(context);
                                            dma_request& answered = *done.request;
                                            done.self->jobs_.put(done);
                                            target_socket<dma_request>::respond(answered, now());
                                          },
                                          &j});
    return tlm::TLM_ACCEPTED;
  }

  const std::uint64_t seed_;
  const bool random_;
  const clock_domain clock_;
  std::vector<std::uint32_t> versions_;
  pool<job> jobs_;
};

// word 0: kind, gap << 8, map << 32   1: va   2: last (drop)   3: length   remap: 4: first page  5: last page  6: version
enum class walk_item : std::uint8_t { walk, drop, remap };

class walk_issuer final : public issuer {
 public:
  initiator_socket<translate_request> out{"out"};

  walk_issuer(const sc_core::sc_module_name& name, const item_stream& stream, const options& o, const clock_domain& clock,
              comparison& c, side s, table_memory& memory)
      : issuer(name, stream, o.how == mode::single ? 1 : window, clock, c, s), memory_(memory) {
    for (unsigned i = 0; i < maps; ++i) maps_.push_back(map_of(i, o.seed));
  }
  void publish(coverage& c) const {
    c["ok"] += ended_[0];
    c["not_present"] += ended_[1];
    c["table_error"] += ended_[2];
    c["null"] += null_;
    c["physical"] += physical_;
    c["drop"] += drops_;
    c["page_end"] += page_end_;
    for (unsigned l = 0; l < 4; ++l) c["read_level_" + std::to_string(l)] += memory_.reads[l];
  }

 private:
  struct flight : translate_request {
    walk_issuer* self = nullptr;
    std::uint64_t number = 0;
    unsigned map_number = 0;
    bool remap = false;
    std::uint64_t page = 0;
  };
  struct range {
    bool changing = false;
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    [[nodiscard]] bool holds(std::uint64_t p) const { return changing && first <= p && p <= last; }
  };
  static walk_item kind_of(const item& i) { return static_cast<walk_item>(i[0] & 0xff); }
  static unsigned map_in(const item& i) { return static_cast<unsigned>(i[0] >> 32) % maps; }
  [[nodiscard]] std::uint64_t page_in(const item& i) const {
    const translation& m = maps_[map_in(i)];
    return (i[1] - m.table_va) >> (m.page_shift & 63U);
  }

  [[nodiscard]] unsigned gap_of(const item& i) const override { return i[0] >> 8 & 0xffff; }
  // Pages change while nobody asks for them, and nobody asks before what is cached of them has been dropped. Their neighbours
  // in the same line may be asked for all the time.
  [[nodiscard]] bool may_go(const item& i) const override {
    const range& r = changing_[map_in(i)];
    if (kind_of(i) == walk_item::walk) return !r.holds(page_in(i));
    if (kind_of(i) == walk_item::drop) return true;
    return !r.changing && std::none_of(under_way_.begin(), under_way_.end(), [&](const flight* f) {
      return f->map_number == map_in(i) && f->op == translate_op::walk && i[4] <= f->page && f->page <= i[5];
    });
  }
  [[nodiscard]] bool picky(const item& i) const override {
    return kind_of(i) == walk_item::remap || lifted_at_[map_in(i)] == now();
  }
  bool go(std::uint64_t number, const item& i) override {
    flight* r = nullptr;
    if (free_.empty()) {
      r = &flights_.emplace_back();
    } else {
      r = free_.back();
      free_.pop_back();
    }
    r->self = this;
    r->number = number;
    r->map_number = static_cast<unsigned>(i[0] >> 32) % maps;
    r->remap = kind_of(i) == walk_item::remap;
    r->op = kind_of(i) == walk_item::walk ? translate_op::walk : translate_op::drop;
    r->map = maps_[r->map_number];
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
      memory_.change(r->map_number, i[4], i[5], static_cast<std::uint32_t>(i[6]));
      changing_[r->map_number] = {true, i[4], i[5]};
    }
    r->page = page_in(i);
    under_way_.push_back(r);
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
      physical_ += !r.map.null && r.map.levels == 0;
      page_end_ += r.status == translate_status::ok && r.bytes < r.length;
      if (r.status == translate_status::ok) {
        a[1] = r.physical;
        a[2] = r.bytes;
      }
    } else {
      ++drops_;
    }
    free_.push_back(&r);
    answered(r.number, a);
  }

  table_memory& memory_;
  std::vector<translation> maps_;
  std::deque<flight> flights_;
  std::vector<flight*> free_;
  std::vector<flight*> under_way_;
  range changing_[maps];
  ps lifted_at_[maps] = {};
  std::uint64_t ended_[3] = {}, null_ = 0, physical_ = 0, drops_ = 0, page_end_ = 0;
};

class walk_generator {
 public:
  explicit walk_generator(const options& o) : o_(o), r_(o.seed, "walks") {
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
    i[0] = static_cast<std::uint64_t>(walk_item::walk) | std::uint64_t{gap} << 8 | std::uint64_t{map} << 32;
    i[1] = m.table_va + (page << shift) + offset;
    i[3] = 1 + r_.below(r_.chance(0.3) ? 1 << 20 : 4096);
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
      if (m.levels == 0 || m.null || m.levels > 4 || m.page_shift > 52 || present(p))
        return walk(p.map, p.cluster, p.page, first ? 300 : 0);
    }
  }
  struct place {
    unsigned map;
    unsigned cluster;
    std::uint64_t page;
  };
  // What table_memory says of this page and of the way to it.
  [[nodiscard]] bool present(const place& p) const {
    const translation& m = maps_[p.map];
    const std::uint64_t page = page_of(m, p.cluster, p.page);
    for (unsigned level = m.levels; level-- > 0;) {
      std::uint64_t number = page >> (9 * level);
      const std::uint64_t address = std::uint64_t{p.map + 1} << 40 | std::uint64_t{level} << 36 | number << 3;
      const std::uint64_t read = level == 0 ? address & ~std::uint64_t{63} : address;
      if (mixed(read + o_.seed) % 150 == 7) return false;
      const std::uint64_t h = mixed(address * 31 + o_.seed);
      if (level > 0 ? h % 60 == 0 : mixed(h) % 30 == 0) return false;
    }
    return true;
  }
  item next() {
    const unsigned gap =
        o_.how == mode::random && r_.chance(0.5) ? static_cast<unsigned>(r_.below(r_.chance(0.1) ? 80 : 6)) : 0;
    const auto map = static_cast<unsigned>(r_.chance(0.6) ? r_.below(6) : r_.below(maps));
    const auto cluster = static_cast<unsigned>(r_.chance(0.6) ? r_.below(2) : r_.below(clusters));
    const std::uint64_t page = r_.chance(0.7) ? r_.below(24) : r_.below(cluster_pages);
    const translation& m = maps_[map];
    const double what = r_.unit();
    if (what > 0.02 || m.page_shift > 52) return walk(map, cluster, page, gap);
    // A drop of some pages; half of them have changed.
    const std::uint64_t first = page_of(m, cluster, page);
    const std::uint64_t last =
        page_of(m, cluster, std::min<std::uint64_t>(page + r_.below(r_.chance(0.5) ? 3 : 60), cluster_pages - 1));
    const bool remap = r_.chance(0.6);
    item i{};
    i[0] = static_cast<std::uint64_t>(remap ? walk_item::remap : walk_item::drop) | std::uint64_t{gap} << 8 |
           std::uint64_t{map} << 32;
    i[1] = m.table_va + (first << m.page_shift) + (remap ? 0 : r_.below(std::uint64_t{1} << m.page_shift));
    i[2] = m.table_va + (last << m.page_shift) + ((std::uint64_t{1} << m.page_shift) - 1);
    i[4] = first;
    i[5] = last;
    i[6] = ++version_;
    return i;
  }

  const options& o_;
  random_stream r_;
  std::vector<translation> maps_;
  std::vector<place> warmed_;
  std::uint32_t version_ = 0;
};

class page_walker_bench final : public bench {
 public:
  [[nodiscard]] const char* name() const override { return "page_walker"; }
  [[nodiscard]] item_stream generate(const options& o) const override { return walk_generator(o).all(); }
  [[nodiscard]] unsigned faults() const override { return rtl::make_page_walker_faulty(0)->mutants(); }
  void declare(coverage& c) const override {
    for (const char* p : {"ok", "not_present", "table_error", "null", "physical", "drop", "page_end"}) c[p] = 0;
    for (unsigned l = 0; l < 4; ++l) c["read_level_" + std::to_string(l)] = 0;
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
      rtl_issuer_ = std::make_unique<walk_issuer>("rtl_issuer", stream, o, clock, c, rtl_side, *rtl_memory_);
      rtl_ = std::make_unique<page_walker_rtl>("rtl", config, clock, 1,
                                               design_of(o, rtl::make_page_walker_design, rtl::make_page_walker_faulty), shell);
      set_fault(*rtl_, o);
      rtl_->on_violation = [&c](const std::string& what) { c.problem(what, 0); };
      rtl_issuer_->out.bind(rtl_->in[0]);
      rtl_->dma.bind(rtl_memory_->in);
    }
  }
  void finish(const options& o, report& r) override {
    if (rtl_issuer_) rtl_issuer_->publish(r.covered);
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
