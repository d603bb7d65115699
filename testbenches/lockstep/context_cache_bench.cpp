#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <functional>
#include <string>
#include <unordered_map>

#include "models/context_cache/context_cache.h"
#include "models/context_cache/rtl/context_cache_rtl.h"
#include "rtl/context_cache_design.h"
#include "rtl/context_cache_faulty.h"
#include "testbenches/lockstep/benches.h"
#include "testbenches/lockstep/context_cache_world.h"
#include "testbenches/lockstep/issuer.h"
#include "testbenches/lockstep/shim.h"
#include "tlm/base/pool.h"

namespace hcasim::lockstep {
namespace {

constexpr std::uint32_t entry_bytes = context_cache_rtl::entry_bytes;

// Memory of one side: the bytes of two areas, wherever they lie.
class context_memory : public unit {
 public:
  target_socket<dma_request> in{"in"};
  std::uint64_t reads = 0;
  std::uint64_t writes = 0;

  context_memory(const sc_core::sc_module_name& name, const options& o, const clock_domain& clock)
      : unit(name), random_(o.how == mode::random), clock_(clock), bytes_(2 * area * entry_bytes) {
    for (std::uint32_t i = 0; i < 2 * area; ++i) change(i, i);
    in.on<&context_memory::handle>(this);
  }
  // An entry is its number and what was written last, over and over.
  static std::uint64_t pattern(std::uint32_t entry, std::uint64_t value) {
    return std::uint64_t{entry} << 40 ^ value * 0x9e3779b97f4a7c15U;
  }
  void move(std::uint64_t base, std::uint32_t half) {
    areas_[1] = areas_[0];
    areas_[0] = {base, half};
  }
  void begin_anew() { others_.clear(); }
  // Reads and writes that have not ended, and who wants to know when there is none.
  [[nodiscard]] unsigned under_way() const { return under_way_; }
  std::function<void(const dma_request&)> on_access;
  std::function<void()> on_quiet;
  void set(const item& i) {
    recorded& r = recorded_[i[1]];
    r.failed = i[0] >> 48 & 1;
    std::memcpy(r.bytes.data(), &i[2], r.bytes.size());
  }
  void change(std::uint32_t entry, std::uint64_t value) {
    fill(&bytes_[std::size_t{entry} * entry_bytes], pattern(entry, value));
  }
  static void fill(std::byte* to, std::uint64_t v) {
    for (unsigned i = 0; i < entry_bytes; i += 8, v = v * 6364136223846793005U + 1) std::memcpy(to + i, &v, 8);
  }

 private:
  struct job {
    context_memory* self;
    dma_request* request;
  };
  struct recorded {
    bool failed = false;
    std::array<std::byte, entry_bytes> bytes{};
  };
  struct place {
    std::uint64_t base = 0;
    std::uint32_t half = 0;
  };
  // The bytes at an address, of the area that is or of the one before, whose last writes may still be on their way.
  std::byte* find(std::uint64_t address, bool write, bool& failed) {
    if (!recorded_.empty()) {
      recorded& r = recorded_[address];
      failed = !write && r.failed;
      return r.bytes.data();
    }
    for (const place& a : areas_) {
      const std::uint64_t offset = address - a.base;
      if (offset % entry_bytes != 0 || offset / entry_bytes > ~std::uint32_t{0}) continue;
      const std::uint32_t number = number_at(static_cast<std::uint32_t>(offset / entry_bytes));
      if (number >= area) continue;
      failed = !write && read_fails(number);
      return &bytes_[(std::size_t{a.half} * area + number) * entry_bytes];
    }
    // What lies between.
    const auto [other, made] = others_.try_emplace(address);
    if (made) fill(other->second.data(), address * 0x9e3779b97f4a7c15U);
    return other->second.data();
  }
  tlm::tlm_sync_enum handle(dma_request& r, tlm::tlm_phase phase, ps& t) {
    if (phase == tlm::END_RESP) return tlm::TLM_COMPLETED;
    if (on_access) on_access(r);
    const auto h = static_cast<std::uint32_t>((r.address >> 6) * 0x9e3779b97f4a7c15U >> 48);
    const unsigned cycles = !random_ ? 20 : h % 4 == 0 ? 80 + h % 200 : h % 16 == 1 ? 3 + h % 7 : 30 + h % 20;
    bool failed = false;
    std::byte* const at = find(r.address, r.op == dma_op::write, failed);
    r.failed = failed || r.bytes != entry_bytes;
    if (r.op == dma_op::write) {
      ++writes;
    } else {
      ++reads;
      if (!r.failed) std::memcpy(r.data, at, entry_bytes);
    }
    ++under_way_;
    job& j = jobs_.get();
    j = {this, &r};
    queue_.at(t + clock_.cycles(cycles), {[](void* context) {
                                            job& done = *static_cast<job*>(context);
                                            dma_request& answered = *done.request;
                                            context_memory& self = *done.self;
                                            self.jobs_.put(done);
                                            if (answered.op == dma_op::write && !answered.failed) {
                                              bool none = false;
                                              std::memcpy(self.find(answered.address, true, none), answered.data,
                                                          entry_bytes);  // lands at its end
                                            }
                                            --self.under_way_;
                                            target_socket<dma_request>::respond(answered, now());
                                            if (self.under_way_ == 0 && self.on_quiet) self.on_quiet();
                                          },
                                          &j});
    return tlm::TLM_ACCEPTED;
  }

  const bool random_;
  const clock_domain clock_;
  unsigned under_way_ = 0;
  std::vector<std::byte> bytes_;
  place areas_[2];
  std::unordered_map<std::uint64_t, recorded> recorded_;  // looked up only, as is the next
  std::unordered_map<std::uint64_t, std::array<std::byte, entry_bytes>> others_;
  pool<job> jobs_;
};

class context_issuer final : public issuer {
 public:
  initiator_socket<context_request> out{"out"};

  context_issuer(const sc_core::sc_module_name& name, const item_stream& stream, const options& o, const clock_domain& clock,
                 comparison& c, side s, context_memory& memory)
      : issuer(name, stream,
               o.how == mode::single ? 1
               : o.storms            ? tags + 1
                                     : 20,
               clock, c, s),
        memory_(memory),
        single_(o.how == mode::single),
        random_(o.how == mode::random) {
    // One at a time: what was evicted before has been written, what was given back has arrived.
    if (single_) memory_.on_quiet = [this] { poke(); };
  }
  void publish(coverage& c) const {
    for (std::size_t i = 0; i < std::size(names); ++i) c[names[i]] += done_[i];
    c["failed_beyond"] += beyond_;
    c["failed_read"] += failed_;
    c["reads"] += memory_.reads;
    c["writes"] += memory_.writes;
    c["drop_that_waited"] += waited_;
    if (random_) c["drop_races_with_a_release"] += races_;
    if (beyond_tags_ > 0) c["beyond_tags"] += beyond_tags_;  // storms
  }
  static constexpr const char* names[] = {"fetch", "write", "drop", "replace", "set_area"};

 private:
  struct flight : context_request {
    context_issuer* self = nullptr;
    std::uint64_t number = 0;
    std::uint32_t hold = 0;
    context_item kind = context_item::fetch;
    std::uint64_t value = 0;
    std::array<std::byte, entry_bytes> bytes{};  // of a put
    ps let_go_at{0};
    bool race = false;
    std::uint64_t after = 0;  // as many have given the entry back, of those that hold it
  };
  static context_item kind_of(const item& i) { return static_cast<context_item>(i[0] & 0xff); }
  static bool alone(context_item k) { return k == context_item::write || k == context_item::put || k == context_item::replace; }
  static std::uint32_t index_of(const item& i) { return static_cast<std::uint32_t>(i[1]); }
  static std::size_t slot(std::uint32_t index) {
    const std::uint32_t number = number_at(index);
    return number < area ? number : index % area;
  }

  [[nodiscard]] unsigned gap_of(const item& i) const override { return i[0] >> 8 & 0xffff; }
  // An entry changes while nobody else has or wants it.
  [[nodiscard]] bool may_go(const item& i) const override {
    if (exclusive_all_ || (single_ && (memory_.under_way() > 0 || now() < quiet_from_))) return false;
    const use& u = uses_[slot(index_of(i))];
    switch (kind_of(i)) {
      case context_item::set_area:  // it waits for those that hold an entry, and for the drops that wait for them
        return !single_ || (busy_ == 0 && held_ == 0);
      case context_item::set_read:
        return busy_ == 0;
      case context_item::put:
      case context_item::write:
      case context_item::replace:
        return u.asked == 0 && u.held == 0;
      case context_item::drop:  // in random streams it may race with a release of its entry
        return random_ || !u.races(now());
      default:
        // One at a time: what was given back and written before is over, and little is held.
        return !u.exclusive && (!single_ || held_ < 3);
    }
  }
  [[nodiscard]] bool picky(const item& i) const override {
    const context_item k = kind_of(i);
    return single_ || (k != context_item::fetch && k != context_item::drop) || lifted_at_ == now() ||
           uses_[slot(index_of(i))].lifted_at == now();
  }

  bool go(std::uint64_t number, const item& i) override {
    if (kind_of(i) == context_item::set_read) {
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
    r->kind = kind_of(i);
    r->hold = static_cast<std::uint32_t>(i[0] >> 24 & 0xffff);
    r->value = i[2];
    if (r->kind == context_item::put) std::memcpy(r->bytes.data(), &i[2], r->bytes.size());
    r->op = r->kind == context_item::set_area                                   ? context_op::set_area
            : r->kind == context_item::drop || r->kind == context_item::replace ? context_op::drop
                                                                                : context_op::fetch;
    r->index = index_of(i);
    r->failed = r->dirty = false;
    r->entry = nullptr;
    if (r->kind == context_item::set_area) {
      half_ = static_cast<std::uint32_t>(i[2] & 1);
      r->area_base = i[3];
      r->area_entries = entries_ = i[1];
      memory_.move(i[3], half_);
      exclusive_all_ = true;
    } else {
      r->area_entries = 0;
    }
    r->waiter = {};
    r->context = r;
    r->on_response = [](void* context, transaction&, ps t) {
      flight& done = *static_cast<flight*>(context);
      done.self->came(done, t);
    };
    use& u = uses_[slot(r->index)];
    r->race = r->kind == context_item::drop && u.races(now());
    r->after = u.given_back + u.held;
    ++u.asked;
    u.exclusive |= alone(r->kind);
    ++busy_;
    beyond_tags_ += busy_ > tags;
    ps t = now();
    if (out.send(*r, t) == tlm::TLM_COMPLETED) came(*r, t);
    return true;
  }
  void came(flight& r, ps t) {
    use& u = uses_[slot(r.index)];
    --u.asked;
    --busy_;
    ++done_[static_cast<std::size_t>(r.kind == context_item::put ? context_item::write : r.kind)];
    // What waits until an entry, or all of them, have been given back. An index that is no entry's shares its counts with one
    // that is.
    const bool counted = r.op == context_op::drop && number_at(r.index) < area;
    if (r.kind == context_item::set_area ? held_ > 0 || busy_ > 0 : counted && u.given_back < r.after)
      shared().problem(std::string(is_rtl() ? "rtl" : "model") + ": answered while somebody holds what it waits for", r.number);
    comparison::answer a{};
    a[0] = r.failed;
    const bool got = r.op == context_op::fetch && !r.failed;
    if (got) {
      for (unsigned w = 0; w < entry_bytes / 8; ++w) {
        std::uint64_t v = 0;
        std::memcpy(&v, r.entry + 8 * w, 8);
        a[1 + w % 7] = a[1 + w % 7] * 31 + v;
      }
    } else if (r.op == context_op::fetch) {
      a[1] = r.area_entries;
      ++(r.index >= entries_ ? beyond_ : failed_);
    }
    races_ += r.race;
    if (r.op == context_op::drop) waited_ += t - offered(r.number) > clock().cycles(2);
    if (const std::uint32_t n = number_at(r.index); r.kind == context_item::replace && n < area)
      memory_.change(half_ * area + n, r.value);
    if (r.kind == context_item::set_area) {
      // Dirty entries of the area before are lost, and which they were depends on what had been evicted: the new one begins
      // anew.
      for (std::uint32_t n = 0; n < area; ++n) memory_.change(half_ * area + n, r.value);
      memory_.begin_anew();
      exclusive_all_ = false;
      lifted_at_ = now();
    }
    if (got) {
      ++u.held;
      u.leaving.push_back(t + clock().cycles(r.hold));
      ++held_;
      r.let_go_at = t + clock().cycles(r.hold);
      queue_.at(r.let_go_at,
                {[](void* context) { static_cast<flight*>(context)->self->let_go(*static_cast<flight*>(context)); }, &r});
    } else {
      if (alone(r.kind)) lift(u);
      retire(r, t);
    }
    answered(r.number, a, r.race);
  }
  void let_go(flight& r) {
    use& u = uses_[slot(r.index)];
    if (alone(r.kind)) {
      if (r.kind == context_item::put) {
        std::memcpy(r.entry, r.bytes.data(), r.bytes.size());
      } else {
        context_memory::fill(r.entry, context_memory::pattern(r.index, r.value));
      }
      r.dirty = true;
      lift(u);
    }
    --u.held;
    ++u.given_back;
    u.last_given = now();
    u.leaving.erase(std::find(u.leaving.begin(), u.leaving.end(), r.let_go_at));
    --held_;
    out.release(r);
    retire(r, now());
    if (single_) {  // what is given back has arrived
      quiet_from_ = now() + clock().cycles(2);
      queue_.at(quiet_from_, {[](void* self) { static_cast<context_issuer*>(self)->poke(); }, this});
    }
    poke();
  }
  // The payload may still be on its way through a stalled stream.
  void retire(flight& r, ps) {
    resting_.push_back(&r);
    if (resting_.size() > 256) {
      free_.push_back(resting_.front());
      resting_.pop_front();
    }
  }

  struct use {
    std::uint32_t asked = 0;
    std::uint32_t held = 0;
    std::uint64_t given_back = 0;
    bool exclusive = false;
    ps lifted_at{-1};
    ps last_given{-1};
    std::vector<ps> leaving;  // when those that hold it give it back
    [[nodiscard]] bool races(ps t) const {
      return last_given == t || std::find(leaving.begin(), leaving.end(), t) != leaving.end();
    }
  };
  static void lift(use& u) {
    if (u.exclusive) u.lifted_at = now();
    u.exclusive = false;
  }
  context_memory& memory_;
  static constexpr unsigned tags = 32;  // of the RTL
  const bool single_;
  const bool random_;
  std::uint64_t races_ = 0, beyond_tags_ = 0;
  std::deque<flight> flights_;
  std::vector<flight*> free_;
  std::deque<flight*> resting_;
  std::vector<use> uses_ = std::vector<use>(area);
  std::uint32_t busy_ = 0;
  std::uint32_t held_ = 0;
  std::uint32_t half_ = 0;
  std::uint64_t entries_ = 0;
  bool exclusive_all_ = false;
  ps quiet_from_{0};
  ps lifted_at_{-1};
  std::uint64_t done_[5] = {}, beyond_ = 0, failed_ = 0, waited_ = 0;
};

class context_cache_bench final : public bench {
 public:
  [[nodiscard]] const char* name() const override { return "context_cache"; }
  [[nodiscard]] item_stream generate(const options& o) const override { return generate_contexts(o); }
  [[nodiscard]] unsigned faults() const override { return rtl::make_context_cache_faulty(0)->mutants(); }
  void declare(coverage& c) const override {
    for (const char* p : context_issuer::names) c[p] = 0;
    for (const char* p : {"failed_beyond", "failed_read", "reads", "writes", "drop_that_waited"}) c[p] = 0;
  }
  void elaborate(const item_stream& stream, const options& o, comparison& c) override {
    const clock_domain clock(frequency{400e6});
    const context_cache_config config;
    c.describe = [](std::uint64_t, const comparison::answer& a) {
      std::string s = a[0] ? "failed" : "entry";
      for (std::size_t i = 1; i < a.size(); ++i) s.append(" ").append(std::to_string(a[i]));
      return s;
    };
    const rtl::shell_options shell = shell_of(o);
    if (o.model) {
      model_memory_ = std::make_unique<context_memory>("model_memory", o, clock);
      model_memory_->on_access = [&c](const dma_request& r) { count_access(c, model_side, r); };
      model_issuer_ = std::make_unique<context_issuer>("model_issuer", stream, o, clock, c, model_side, *model_memory_);
      model_ = std::make_unique<context_cache>("model", config, clock, entry_bytes, 1);
      requests_ = std::make_unique<stall_shim<context_request>>("requests", 1, clock, shell, "req", "rsp", "rel");
      transfers_ = std::make_unique<stall_shim<dma_request>>("transfers", 1, clock, shell, "rd_req", "rd_rsp", "");
      transfers_->split("wr_req", "wr_rsp", shell, [](const dma_request& d) { return d.op == dma_op::write; });
      model_issuer_->out.bind(requests_->in[0]);
      requests_->out[0].bind(model_->in[0]);
      model_->dma.bind(transfers_->in[0]);
      transfers_->out[0].bind(model_memory_->in);
    }
    if (o.rtl) {
      rtl_memory_ = std::make_unique<context_memory>("rtl_memory", o, clock);
      rtl_memory_->on_access = [&c](const dma_request& r) { count_access(c, rtl_side, r); };
      rtl_issuer_ = std::make_unique<context_issuer>("rtl_issuer", stream, o, clock, c, rtl_side, *rtl_memory_);
      rtl_ = std::make_unique<context_cache_rtl>(
          "rtl", config, clock, 1, design_of(o, rtl::make_context_cache_design, rtl::make_context_cache_faulty), shell);
      set_fault(*rtl_, o);
      rtl_->on_violation = [&c](const std::string& what) { c.broke(what); };
      rtl_issuer_->out.bind(rtl_->in[0]);
      rtl_->dma.bind(rtl_memory_->in);
    }
  }
  [[nodiscard]] std::array<const unit*, sides> units() const override { return {model_.get(), rtl_.get()}; }
  void finish(const options& o, report& r) override {
    if (rtl_issuer_) rtl_issuer_->publish(r.covered);
    finish_rtl(rtl_.get(), o, r);
  }

 private:
  std::unique_ptr<context_memory> model_memory_, rtl_memory_;
  std::unique_ptr<context_issuer> model_issuer_, rtl_issuer_;
  std::unique_ptr<context_cache> model_;
  std::unique_ptr<context_cache_rtl> rtl_;
  std::unique_ptr<stall_shim<context_request>> requests_;
  std::unique_ptr<stall_shim<dma_request>> transfers_;
};

}  // namespace

std::unique_ptr<bench> make_context_cache_bench() {
  return std::make_unique<context_cache_bench>();
}

}  // namespace hcasim::lockstep
