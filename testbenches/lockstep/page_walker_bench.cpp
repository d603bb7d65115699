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
#include "testbenches/lockstep/page_walker_world.h"
#include "testbenches/lockstep/shim.h"
#include "tlm/base/pool.h"

namespace hcasim::lockstep {
namespace {

constexpr unsigned maps = 32;
constexpr unsigned clusters = 16;
constexpr std::uint64_t cluster_pages = 512;

std::uint64_t mixed(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

bool sane(const translation& m) {
  return m.levels <= 4 && m.page_shift >= 12 && m.page_shift <= 52;
}

translation map_of(unsigned number, std::uint64_t seed) {
  random_stream r(seed * 977 + number, "map");
  translation m;
  m.index = static_cast<std::uint32_t>(mixed(seed * 977 + number / 2));  // two tables of one tag: of an older and a newer epoch
  m.levels = static_cast<std::uint8_t>(r.chance(0.08) ? 0 : 1 + r.below(4));
  constexpr std::uint8_t shifts[] = {12, 12, 16, 21, 30};
  m.page_shift = r.chance(0.2) ? static_cast<std::uint8_t>(12 + r.below(40)) : shifts[r.below(5)];
  if (m.levels > 0 && r.chance(0.1)) {
    if (r.chance(0.5)) {
      m.levels = static_cast<std::uint8_t>(5 + r.below(251));
    } else {
      m.page_shift = static_cast<std::uint8_t>(r.chance(0.3) ? r.below(12) : r.chance(0.3) ? 64 : 53 + r.below(203));
    }
  }
  m.null = number % 16 == 15 || r.chance(0.05);
  m.indirect = r.chance(0.5);
  m.on_demand = r.chance(0.5);
  m.table = r.next();
  m.table_va = r.chance(0.7) ? r.next() & ~std::uint64_t{0xfff} : r.next();
  return m;
}

// Pages of a map that are used: clusters, each somewhere in the whole address space.
std::uint64_t page_of(const translation& m, unsigned cluster, std::uint64_t page) {
  const unsigned shift = m.page_shift & 63U;
  const unsigned bits = sane(m) ? 64 - shift : 13;
  const std::uint64_t high =
      bits > 13 ? mixed(m.index * std::uint64_t{64} + cluster) & ((std::uint64_t{1} << (bits - 13)) - 1) : 0;
  return high << 13 | cluster * cluster_pages | page;
}

// What memory holds follows from the address alone: eight bytes of it are an entry of a node, a line of 64 is of the last
// level. Pages change by getting another version. Bytes of a system run are known by their address.
class table_memory : public unit {
 public:
  target_socket<dma_request> in{"in"};

  table_memory(const sc_core::sc_module_name& name, const options& o, const clock_domain& clock)
      : unit(name), seed_(o.seed), random_(o.how == mode::random), storms_(random_ && o.storms), clock_(clock) {
    in.on<&table_memory::handle>(this);
  }
  void change(const translation& m, std::uint64_t first, std::uint64_t last, std::uint32_t version) {
    for (std::uint64_t p = first; p <= last; ++p) {
      std::uint64_t line = 0;
      if (find_line(m, p, seed_, line)) versions_[line][p % 8] = version;
    }
  }
  std::function<void(const dma_request&)> on_access;
  void set(const item& i) {
    recorded& r = recorded_[i[1]];
    r.failed = i[0] >> 48 & 1;
    std::memcpy(r.bytes.data(), &i[2], r.bytes.size());
  }

  static bool read_fails(std::uint64_t address, std::uint64_t seed) { return mixed(address + seed) % 150 == 7; }
  // Where the line with the entry of a page lies; false: a node on the way is not present, or cannot be read.
  static bool find_line(const translation& m, std::uint64_t page, std::uint64_t seed, std::uint64_t& line) {
    if (!sane(m) || m.levels == 0) return false;
    std::uint64_t node = m.table;
    for (unsigned level = m.levels; level-- > 0;) {
      const std::uint64_t number = (level == 0 ? page & ~std::uint64_t{7} : page) >> (9 * level);
      const std::uint64_t address = node + 8 * (level + 1U < m.levels ? number % 512 : number);
      if (read_fails(address, seed)) return false;
      if (level == 0) {
        line = address;
        return true;
      }
      const std::uint64_t e = upper_entry(address, seed);
      if (!(e & 1)) return false;
      node = e & HCA_PTE_ADDRESS;
    }
    return false;
  }
  static std::uint64_t leaf_entry(std::uint64_t address, std::uint32_t version, std::uint64_t seed) {
    const std::uint64_t e = mixed(mixed(address * 31 + seed) + version);
    const std::uint64_t h = mixed(e);
    return (e & ~std::uint64_t{3}) | (h % 8 == 0 ? std::uint64_t{HCA_PTE_READ_ONLY} : 0) | (h % 30 != 0);
  }

 private:
  struct job {
    table_memory* self;
    dma_request* request;
  };
  struct recorded {
    bool failed = false;
    std::array<std::byte, 64> bytes{};
  };
  static std::uint64_t upper_entry(std::uint64_t address, std::uint64_t seed) {
    const std::uint64_t h = mixed(address * 31 + seed);
    return (mixed(h) & ~std::uint64_t{1}) | (h % 60 != 0);
  }
  void read(dma_request& r) const {
    if (const auto known = recorded_.find(r.address); known != recorded_.end()) {
      r.failed = known->second.failed;
      std::memcpy(r.data, known->second.bytes.data(), std::min<std::size_t>(r.bytes, 64));
      return;
    }
    r.failed = read_fails(r.address, seed_);
    const auto versions = r.bytes > 8 ? versions_.find(r.address) : versions_.end();
    for (std::uint32_t i = 0; i < r.bytes; i += 8) {
      const std::uint32_t v = versions == versions_.end() ? 0 : versions->second[i / 8 % 8];
      const std::uint64_t e = r.failed ? 0 : r.bytes == 8 ? upper_entry(r.address, seed_) : leaf_entry(r.address + i, v, seed_);
      std::memcpy(r.data + i, &e, 8);
    }
  }
  tlm::tlm_sync_enum handle(dma_request& r, tlm::tlm_phase phase, ps& t) {
    if (phase == tlm::END_RESP) return tlm::TLM_COMPLETED;
    if (on_access) on_access(r);
    const std::uint64_t h = mixed(r.address + seed_);
    const auto cycles = static_cast<double>(storms_     ? 1 + (h >> 10) % 4
                                            : !random_  ? 20
                                            : h & 0x300 ? 30 + (h >> 10) % 20
                                                        : 100 + (h >> 10) % 200);
    read(r);
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
  const bool random_, storms_;
  const clock_domain clock_;
  // Looked up only.
  std::unordered_map<std::uint64_t, std::array<std::uint32_t, 8>> versions_;
  std::unordered_map<std::uint64_t, recorded> recorded_;
  pool<job> jobs_;
};

class walk_issuer final : public issuer {
 public:
  initiator_socket<translate_request> out{"out"};

  walk_issuer(const sc_core::sc_module_name& name, const item_stream& stream, const options& o, const clock_domain& clock,
              comparison& c, side s, table_memory& memory)
      : issuer(name, stream,
               o.how == mode::single ? 1
               : o.storms            ? 32
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
  static std::uint64_t page_at(const item& i, std::uint64_t va) { return (va - i[6]) >> (i[4] >> 40 & 63); }

  [[nodiscard]] unsigned gap_of(const item& i) const override { return i[0] >> 8 & 0xffff; }
  // Pages change while nobody asks for them, and nobody asks before what is cached of them has been dropped. Their neighbours
  // in the same line may be asked for all the time.
  [[nodiscard]] bool may_go(const item& i) const override {
    if (kind_of(i) == walk_item::set_read) return under_way_.empty();
    const range& r = changing_[map_in(i)];
    if (kind_of(i) == walk_item::walk) return !r.holds(page_at(i, i[1]));
    if (kind_of(i) == walk_item::drop) return true;
    const std::uint64_t first = page_at(i, i[1]), last = page_at(i, i[2]);
    return !r.changing && std::none_of(under_way_.begin(), under_way_.end(), [&](const flight* f) {
      return f->map_number == map_in(i) && f->op == translate_op::walk && first <= f->page && f->page <= last;
    });
  }
  [[nodiscard]] bool picky(const item& i) const override {
    return kind_of(i) == walk_item::remap || kind_of(i) == walk_item::set_read || lifted_at_[map_in(i)] == now();
  }
  bool go(std::uint64_t number, const item& i) override {
    if (kind_of(i) == walk_item::set_read) {
      memory_.set(i);
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
      memory_.change(r->map, first, last, static_cast<std::uint32_t>(i[7]));
      changing_[r->map_number] = {true, first, last};
    }
    r->page = page_at(i, i[1]);
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
    free_.push_back(&r);
    answered(r.number, a);
  }

  table_memory& memory_;
  std::deque<flight> flights_;
  std::vector<flight*> free_;
  std::vector<flight*> under_way_;
  range changing_[maps];
  ps lifted_at_[maps] = {};
  std::uint64_t ended_[3] = {}, null_ = 0, physical_ = 0, drops_ = 0, page_end_ = 0, read_only_ = 0;
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
      if (m.levels == 0 || m.null || !sane(m) || present(p)) return walk(p.map, p.cluster, p.page, first ? 300 : 0);
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
    std::uint64_t line = 0;
    if (!table_memory::find_line(m, page, o_.seed, line)) return false;
    return (table_memory::leaf_entry(line + 8 * (page % 8), 0, o_.seed) & 3) == HCA_PTE_PRESENT;
  }
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
    const double what = r_.unit();
    if (what > (o_.storms ? 0.05 : 0.02) || !sane(m)) return walk(map, cluster, page, gap);
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
    i[7] = ++version_;
    put_map(i, m);
    return i;
  }

  const options& o_;
  random_stream r_;
  std::vector<translation> maps_;
  std::vector<place> warmed_;
  unsigned crowd_ = 0;
  place crowded_{};
  std::uint32_t version_ = 0;
};

class page_walker_bench final : public bench {
 public:
  [[nodiscard]] const char* name() const override { return "page_walker"; }
  [[nodiscard]] item_stream generate(const options& o) const override { return walk_generator(o).all(); }
  [[nodiscard]] unsigned faults() const override { return rtl::make_page_walker_faulty(0)->mutants(); }
  void declare(coverage& c) const override {
    for (const char* p : {"ok", "not_present", "table_error", "null", "physical", "drop", "page_end", "write_not_present"})
      c[p] = 0;
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
