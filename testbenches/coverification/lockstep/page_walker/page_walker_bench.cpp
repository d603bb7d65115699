#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <unordered_map>

#include "models/adapter/page_walker/page_walker.h"
#include "models/adapter/page_walker/rtl/page_walker_rtl.h"
#include "rtl/page_walker_covered.h"
#include "rtl/page_walker_design.h"
#include "rtl/page_walker_faulty.h"
#include "testbenches/coverification/lockstep/bench_of.h"
#include "testbenches/coverification/lockstep/issuer.h"
#include "testbenches/coverification/lockstep/page_walker/page_walker_reads.h"
#include "testbenches/coverification/lockstep/page_walker/page_walker_stimulus.h"
#include "testbenches/coverification/lockstep/page_walker/page_walker_tables.h"
#include "testbenches/coverification/lockstep/stall_adaptor.h"
#include "tlm/base/pool.h"
#include "tlm/rtl/text.h"

namespace hcasim::lockstep {
namespace {

const char* name_of(translate_status s) {
  constexpr const char* names[] = {"ok", "not_present", "table_error", "?"};
  return names[std::min(static_cast<std::size_t>(s), std::size(names) - 1)];
}

class walk_issuer final : public issuer {
 public:
  initiator_socket<translate_request> out{"out"};
  table_memory memory;

  walk_issuer(const sc_core::sc_module_name& name, const item_stream& stream, const options& o, const clock_domain& clock,
              comparison& c, side s)
      : issuer(name, stream,
               o.how == mode::single ? 8
               : o.storms            ? page_walker_tags + 1
                                     : 24,
               clock, c, s),
        memory("memory", o, clock),
        one_at_a_time_(o.how == mode::single),
        reads_(stream) {
    memory.on_access = [this, &c, s](const dma_request& r) {
      count_access(c, s, r);
      if (const std::string wrong = reads_.begins(r); !wrong.empty())
        c.problem(std::string(is_rtl() ? "rtl" : "model") + ": " + wrong, r.operation - 1);
    };
    memory.on_answer = [this](const dma_request& r) { reads_.ends(r); };
  }
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
    unsigned meets = 0;  // other requests under way, mode single
    bool joins = false;  // joins the walk of its line, in a cycle that is not defined
    std::uint64_t page = 0;
    std::vector<walked> allowed;  // answers by the tables at its offer, and by their changes since
  };
  struct range {
    bool changing = false;
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    [[nodiscard]] bool holds(std::uint64_t p) const { return changing && first <= p && p <= last; }
  };
  static bool races(const item& i) { return i[0] >> 25 & 1; }
  static bool beside(const item& i) { return i[0] >> 26 & 1; }
  static walk_item kind_of(const item& i) { return static_cast<walk_item>(i[0] & 0xff); }
  static unsigned map_in(const item& i) { return static_cast<unsigned>(i[0] >> 32) % maps; }
  static std::uint64_t page_at(const item& i, std::uint64_t va) { return (va - i[6]) >> (i[4] >> 40 & 63); }

  [[nodiscard]] unsigned gap_of(const item& i) const override { return i[0] >> 8 & 0xffff; }
  // A request for a changed page waits until the drop of its cached entries is done. Pages beside it in the same line need not
  // wait. A request before the change that has no answer yet may get the old or the new entry: a race. Most pages change while
  // no request for them is under way.
  [[nodiscard]] bool may_go(const item& i) const override {
    if (kind_of(i) == walk_item::set_read || (one_at_a_time_ && !beside(i))) return under_way_.empty();
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
    return one_at_a_time_ || kind_of(i) == walk_item::remap || kind_of(i) == walk_item::set_read ||
           lifted_at_[map_in(i)] == now();
  }
  bool go(std::uint64_t number, const item& i) override {
    if (kind_of(i) == walk_item::set_read) {
      recorded_ = true;
      memory.tables.set(i);
      return false;
    }
    flight* const r = &flights_.get();
    r->self = this;
    r->number = number;
    r->operation = number + 1;
    reads_.asked(number, now());
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
        memory.tables.change(r->map, first, last, version);
      } else {
        memory.tables.change_node(r->map, first, level, version);
      }
      changing_[r->map_number] = {true, first, last};
      for (flight* f : under_way_) {
        if (f->map_number == r->map_number && f->op == translate_op::walk && first <= f->page && f->page <= last)
          f->allowed.push_back(now_right(*f));
      }
    }
    if (r->op == translate_op::drop) reads_.dropped(r->map.index, now());
    r->page = page_at(i, i[1]);
    r->joins = one_at_a_time_ && std::any_of(under_way_.begin(), under_way_.end(), [&](const flight* f) {
                 return f->op == translate_op::walk && f->map.index == r->map.index && f->map.table == r->map.table &&
                        f->page / 8 == r->page / 8;
               });
    r->meets = one_at_a_time_ ? static_cast<unsigned>(under_way_.size()) : 0;
    for (flight* f : under_way_) f->meets += one_at_a_time_;
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
    if (r.op == translate_op::drop) reads_.dropped(r.map.index, now());
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
    const bool race = r.allowed.size() > 1 || r.joins;
    raced_ += race;
    // In a system run memory changes without a drop.
    if (!recorded_ && r.op == translate_op::walk) check(r, {r.status, a[1], a[2]});
    flights_.put(r);
    answered(r.number, a, race, r.meets);
  }

  [[nodiscard]] walked now_right(const flight& f) const { return memory.tables.walk(f.map, f.va, f.length, f.write); }
  void check(const flight& f, const walked& got) {
    if (std::find(f.allowed.begin(), f.allowed.end(), got) != f.allowed.end()) return;
    const auto words = [](const walked& w) {
      return name_of(w.status) + (", physical " + std::to_string(w.physical)) + ", bytes " + std::to_string(w.bytes);
    };
    std::string text = std::string(is_rtl() ? "rtl" : "model") + ": " + words(got) + " is not what the tables say:";
    for (const walked& w : f.allowed) text += (&w == &f.allowed.front() ? " " : "; or ") + words(w);
    shared().problem(text, f.number);
  }

  const bool one_at_a_time_;
  line_reads reads_;
  bool recorded_ = false;
  std::uint64_t raced_ = 0;
  pool<flight> flights_;
  std::vector<flight*> under_way_;
  range changing_[maps];
  ps lifted_at_[maps] = {};
  std::uint64_t ended_[3] = {}, null_ = 0, physical_ = 0, drops_ = 0, page_end_ = 0, read_only_ = 0, beyond_tags_ = 0;
  std::uint64_t changed_[4] = {};
};

class page_walker_bench final : public bench_of<page_walker, page_walker_rtl, walk_issuer> {
 public:
  page_walker_bench()
      : bench_of("page_walker", rtl::make_page_walker_design, rtl::make_page_walker_faulty, rtl::make_page_walker_covered) {}
  [[nodiscard]] item_stream generate(const options& o) const override { return walk_items(o); }
  // The sides may evict different lines. Then walks and the requests behind them go on at other times, as often earlier as
  // later. A walk that finds its line on one side only waits for up to four reads on the other.
  [[nodiscard]] bounds limits() const override { return {.mean = 2, .p99 = 48, .event = 2000}; }
  void declare(coverage& c) const override {
    for (const char* p :
         {"ok", "not_present", "table_error", "null", "physical", "drop", "page_end", "write_not_present", "raced"})
      c[p] = 0;
    for (unsigned l = 0; l < 4; ++l) c["read_level_" + std::to_string(l)] = c["change_level_" + std::to_string(l)] = 0;
  }
  void finish(const options& o, report& r) override {
    for (unsigned l = 0; rtl_unit() && l < 4; ++l)
      r.covered["read_level_" + std::to_string(l)] += rtl_unit()->reads_of_level(l);
    bench_of::finish(o, r);
  }

 private:
  void describe(const item_stream&, comparison& c) override {
    c.describe = [](std::uint64_t, const comparison::answer& a) {
      return std::vector<comparison::field>{{"status", name_of(static_cast<translate_status>(a[0]))},
                                            {"physical", rtl::hexadecimal(a[1])},
                                            {"bytes", std::to_string(a[2])}};
    };
  }
  std::unique_ptr<page_walker> make_model(const char* name, const options&) override {
    return std::make_unique<page_walker>(name, page_walker_config(), clock(), 1);
  }
  std::unique_ptr<page_walker_rtl> make_rtl(const char* name, const options&, rtl::design_factory design,
                                            const rtl::shell_options& shell) override {
    return std::make_unique<page_walker_rtl>(name, page_walker_config(), clock(), 1, design, shell);
  }
  void join_by_stalls(walk_issuer& i, page_walker& m, const rtl::shell_options& shell) override {
    requests_ = std::make_unique<stall_adaptor<translate_request>>("requests", 1, clock(), shell, "req", "rsp", "");
    reads_ = std::make_unique<stall_adaptor<dma_request>>("reads", 1, clock(), shell, "mem_req", "mem_rsp", "",
                                                          [](const dma_request& r) { return rtl::of_address(r.address); });
    i.out.bind(requests_->in[0]);
    requests_->out[0].bind(m.in[0]);
    m.dma.bind(reads_->in[0]);
    reads_->out[0].bind(i.memory.in);
  }
  void join(walk_issuer& i, page_walker_rtl& r) override {
    i.out.bind(r.in[0]);
    r.dma.bind(i.memory.in);
  }

  std::unique_ptr<stall_adaptor<translate_request>> requests_;
  std::unique_ptr<stall_adaptor<dma_request>> reads_;
};

}  // namespace

std::unique_ptr<bench> make_page_walker_bench() {
  return std::make_unique<page_walker_bench>();
}

}  // namespace hcasim::lockstep
