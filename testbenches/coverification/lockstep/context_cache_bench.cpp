#include <algorithm>
#include <cstring>
#include <deque>
#include <string>

#include "models/adapter/context_cache/context_cache.h"
#include "models/adapter/context_cache/rtl/context_cache_rtl.h"
#include "rtl/context_cache_design.h"
#include "rtl/context_cache_faulty.h"
#include "rtl/qpc_cache_design.h"
#include "testbenches/coverification/lockstep/benches.h"
#include "testbenches/coverification/lockstep/context_cache_memory.h"
#include "testbenches/coverification/lockstep/context_cache_world.h"
#include "testbenches/coverification/lockstep/issuer.h"
#include "testbenches/coverification/lockstep/shim.h"
#include "tlm/rtl/text.h"

namespace hcasim::lockstep {
namespace {

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
    known_ = std::none_of(stream.begin(), stream.end(), [](const item& i) {
      return kind_of(i) == context_item::put || kind_of(i) == context_item::set_read;
    });
    for (std::uint32_t i = 0; i < 2 * area; ++i) newest_.push_back(context_memory::pattern(i, i));
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
    if (random_) c["fetch_races_with_an_update"] += update_races_;
    if (random_) c["update"] += done_[static_cast<std::size_t>(context_item::update)];
    if (random_) c["behind_another_area"] += behind_area_;
    if (beyond_tags_ > 0) c["beyond_tags"] += beyond_tags_;  // storms
  }
  static constexpr const char* names[] = {"fetch", "write", "drop", "replace", "set_area"};
  // Nothing goes to where no entry is.
  void accessed(const dma_request& d) {
    if (known_ && !area_changes_ && !memory_.in_area(d.address)) wrong("memory is accessed beyond the area", answered_last_);
  }

 private:
  struct flight : context_request {
    context_issuer* self = nullptr;
    std::uint64_t number = 0;
    std::uint32_t hold = 0;
    context_item kind = context_item::fetch;
    std::uint64_t value = 0;
    entry_data bytes{};  // of a put
    ps let_go_at{0};
    bool race = false;
    std::uint32_t half = 0;     // of the bytes of memory
    std::uint64_t entries = 0;  // of the area
    std::uint64_t after = 0;    // as many have given the entry back, of those that hold it
  };
  static context_item kind_of(const item& i) { return static_cast<context_item>(i[0] & 0xff); }
  static bool changes(context_item k) {
    return k == context_item::write || k == context_item::put || k == context_item::update;
  }
  static bool alone(context_item k) { return k == context_item::write || k == context_item::put || k == context_item::replace; }
  static std::uint32_t index_of(const item& i) { return static_cast<std::uint32_t>(i[1]); }
  static std::size_t slot(std::uint32_t index) {
    const std::uint32_t number = number_at(index);
    return number < area ? number : area + index % area;
  }

  [[nodiscard]] unsigned gap_of(const item& i) const override { return i[0] >> 8 & 0xffff; }
  // An entry changes while no other request has or wants it.
  [[nodiscard]] bool may_go(const item& i) const override {
    if (kind_of(i) == context_item::more) return true;
    if (area_changes_ && busy_ > ahead_ + most_behind_area) return false;
    if (single_ && (memory_.under_way() > 0 || now() < quiet_from_)) return false;
    const use& u = uses_[slot(index_of(i))];
    switch (kind_of(i)) {
      case context_item::set_area:  // it waits for those that hold an entry, and for the drops that wait for them
        return !area_changes_ && (!single_ || (busy_ == 0 && held_ == 0));
      case context_item::set_read:
        return busy_ == 0;
      case context_item::put:
      case context_item::write:
      case context_item::replace:
        return u.asked == 0 && u.held == 0;
      case context_item::update:  // so that what it leaves does not depend on who is faster
        return !u.exclusive && u.updating == 0;
      case context_item::drop:  // in random streams it may race with a release of its entry
        return random_ || !u.races(now());
      default:
        // One at a time: what was given back and written before is over, and little is held.
        return !u.exclusive && (!single_ || held_ < 3);
    }
  }
  [[nodiscard]] bool picky(const item& i) const override {
    const context_item k = kind_of(i);
    if (k == context_item::more) return false;
    if (single_ || area_changes_ || k == context_item::set_area || k == context_item::set_read) return true;
    // Only its own entry counts: events of others do not matter, and keep one side waiting where the other goes on.
    const use& u = uses_[slot(index_of(i))];
    return (k == context_item::fetch || k == context_item::drop ? u.lifted_at : u.changed_at) == now();
  }

  bool go(std::uint64_t number, const item& i) override {
    if (kind_of(i) == context_item::more) {
      const std::size_t line = i[0] >> 48 & 0xff;
      if (line < more_.size() / item_bytes) std::memcpy(&more_[line * item_bytes], &i[2], item_bytes);
      return false;
    }
    if (kind_of(i) == context_item::set_read) {
      memory_.set(i[1], i[0] >> 48 & 1, given_by(i));
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
    if (r->kind == context_item::put) r->bytes = given_by(i);
    r->op = r->kind == context_item::set_area                                   ? context_op::set_area
            : r->kind == context_item::drop || r->kind == context_item::replace ? context_op::drop
                                                                                : context_op::fetch;
    r->index = index_of(i);
    r->failed = r->dirty = false;
    r->entry = nullptr;
    if (r->kind == context_item::set_area) {
      r->area_base = i[3];
      r->area_entries = entries_ = i[1];
      begin_area(i[2], i[3]);
      area_number_ = number;
      area_changes_ = true;
      ahead_ = busy_;
    } else {
      r->area_entries = 0;
      behind_area_ += area_changes_;
    }
    r->half = half_;
    r->entries = entries_;
    r->waiter = {};
    r->context = r;
    r->on_response = [](void* context, transaction&, ps t) {
      flight& done = *static_cast<flight*>(context);
      done.self->came(done, t);
    };
    use& u = uses_[slot(r->index)];
    r->race = (r->kind == context_item::drop && u.races(now())) || (r->op == context_op::fetch && u.updating > 0);
    if (changes(r->kind)) u.changes_last = number;
    u.updating += r->kind == context_item::update;
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
    u.changed_at = now();
    --u.asked;
    --busy_;
    ++done_[static_cast<std::size_t>(r.kind == context_item::put ? context_item::write : r.kind)];
    answered_last_ = r.number;
    if (area_changes_ && r.number < area_number_) --ahead_;
    if (area_changes_ && r.number > area_number_) wrong("answered before the area of which it is", r.number);
    // These wait until an entry, or all of them, have been given back. Indices without an entry share their counts.
    const bool counted = r.op == context_op::drop && number_at(r.index) < area;
    if (r.kind == context_item::set_area ? held_ > 0 || ahead_ > 0 : counted && u.given_back < r.after)
      wrong("answered while the entry that it waits for is held", r.number);
    if (r.kind == context_item::set_area && memory_.any_of_another_area())
      wrong("another area while entries of the one before are on their way", r.number);
    judge(r);
    comparison::answer a{};
    a[0] = r.failed;
    const bool got = r.op == context_op::fetch && !r.failed;
    if (got) {
      for (unsigned w = 0; w < memory_.entry_bytes() / 8; ++w) {
        std::uint64_t v = 0;
        std::memcpy(&v, r.entry + 8 * w, 8);
        a[1 + w % 7] = a[1 + w % 7] * 31 + v;
      }
    } else if (r.op == context_op::fetch) {
      a[1] = r.area_entries;
      ++(r.index >= r.entries ? beyond_ : failed_);
    }
    r.race |= r.op == context_op::fetch &&
              (u.updating > (r.kind == context_item::update ? 1U : 0U) || u.updated_at >= offered(r.number));
    (r.op == context_op::fetch ? update_races_ : races_) += r.race;
    if (r.op == context_op::drop) waited_ += t - offered(r.number) > clock().cycles(2);
    if (const std::uint32_t n = number_at(r.index); r.kind == context_item::replace && n < area)
      change(r.half * area + n, r.value);
    if (r.kind == context_item::set_area) area_changes_ = false;
    if (got) {
      ++u.held;
      u.leaving.push_back(t + clock().cycles(r.hold));
      ++held_;
      r.let_go_at = t + clock().cycles(r.hold);
      queue_.at(r.let_go_at,
                {[](void* context) { static_cast<flight*>(context)->self->let_go(*static_cast<flight*>(context)); }, &r});
    } else {
      if (alone(r.kind)) lift(u);
      u.updating -= r.kind == context_item::update;
      retire(r, t);
    }
    answered(r.number, a, r.race);
  }
  // Returns the entry of a put or set_read.
  [[nodiscard]] entry_data given_by(const item& i) const {
    entry_data bytes = more_;
    std::memcpy(bytes.data(), &i[2], item_bytes);
    return bytes;
  }
  // Dirty entries of the area before are lost, and which they were depends on what had been evicted: the new one has other
  // bytes, which no request reads or writes before the area is there.
  void begin_area(std::uint64_t value, std::uint64_t base) {
    half_ ^= 1;
    memory_.move(base, entries_, half_);
    for (std::uint32_t n = 0; n < area; ++n) change(half_ * area + n, value);
  }
  void change(std::uint32_t entry, std::uint64_t value) {
    memory_.change(entry, value);
    newest_[entry] = context_memory::pattern(entry, value);
  }
  // An entry is as its last holder left it; when a drop of it is answered, in memory too.
  void judge(const flight& r) const {
    const std::uint32_t n = number_at(r.index);
    if (!known_ || n >= area || r.kind == context_item::set_area) return;
    const std::uint32_t entry = r.half * area + n;
    if (r.op == context_op::fetch && !r.failed && !memory_.is_filled(r.entry, newest_[entry]))
      wrong("an entry is not as it was left", r.number);
    if (r.op == context_op::drop && uses_[slot(r.index)].changes_last < r.number && r.index < r.entries &&
        !memory_.holds(entry, newest_[entry]))
      wrong("a drop is answered before its entry is in memory", r.number);
  }
  void wrong(const char* what, std::uint64_t number) const {
    shared().problem(std::string(is_rtl() ? "rtl: " : "model: ") + what, number);
  }
  void let_go(flight& r) {
    use& u = uses_[slot(r.index)];
    u.changed_at = now();
    if (changes(r.kind)) {
      const std::uint64_t pattern = context_memory::pattern(r.index, r.value);
      if (r.kind == context_item::put) {
        std::memcpy(r.entry, r.bytes.data(), memory_.entry_bytes());
      } else {
        memory_.fill(r.entry, pattern);
      }
      if (const std::uint32_t n = number_at(r.index); n < area) newest_[r.half * area + n] = pattern;
      r.dirty = true;
    }
    if (alone(r.kind)) lift(u);
    if (r.kind == context_item::update) {
      --u.updating;
      u.updated_at = now();
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
    std::uint32_t updating = 0;  // asked for or held
    ps updated_at{-1};
    std::uint64_t changes_last = 0;  // item that asked last of those that change it
    bool exclusive = false;
    ps lifted_at{-1};
    ps changed_at{-1};  // when a request or a loan of it ended
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
  static constexpr unsigned tags = 32;             // of the RTL
  static constexpr unsigned most_behind_area = 1;  // they wait as long as it does
  const bool single_;
  const bool random_;
  std::uint64_t races_ = 0, update_races_ = 0, beyond_tags_ = 0, behind_area_ = 0;
  bool known_ = false;                 // the bytes of entries are those of their values
  std::vector<std::uint64_t> newest_;  // of each entry of memory, what its bytes are filled with for those that hold it
  entry_data more_{};
  std::deque<flight> flights_;
  std::vector<flight*> free_;
  std::deque<flight*> resting_;
  std::vector<use> uses_ = std::vector<use>(2 * area);  // of each entry, and of indices that are no entry's
  std::uint32_t busy_ = 0;
  std::uint32_t held_ = 0;
  std::uint32_t half_ = 0;
  std::uint64_t entries_ = 0;
  bool area_changes_ = false;
  std::uint64_t area_number_ = 0;
  std::uint32_t ahead_ = 0;  // of it, and not answered
  std::uint64_t answered_last_ = 0;
  ps quiet_from_{0};
  std::uint64_t done_[8] = {}, beyond_ = 0, failed_ = 0, waited_ = 0;
};

// The RTL with entries of one size.
struct context_form {
  const char* name;
  std::uint32_t entry_bytes;
  rtl::design_factory plain;
  rtl::design_factory faulty;
};

class context_cache_bench final : public bench {
 public:
  explicit context_cache_bench(const context_form& form) : form_(form) {}
  [[nodiscard]] const char* name() const override { return form_.name; }
  [[nodiscard]] item_stream generate(const options& o) const override { return generate_contexts(o, form_.entry_bytes); }
  [[nodiscard]] unsigned faults() const override { return form_.faulty ? form_.faulty(0)->mutants() : 0; }
  void declare(coverage& c) const override {
    for (const char* p : context_issuer::names) c[p] = 0;
    for (const char* p : {"failed_beyond", "failed_read", "reads", "writes", "drop_that_waited"}) c[p] = 0;
  }
  void elaborate(const item_stream& stream, const options& o, comparison& c) override {
    const clock_domain clock(frequency{400e6});
    const context_cache_config config;
    c.describe = [](std::uint64_t, const comparison::answer& a) {
      std::vector<comparison::field> fields{{"result", a[0] ? "failed" : "an entry"}};
      if (a[0]) {
        fields.push_back({"entries of the area", std::to_string(a[1])});
      } else {
        for (std::size_t i = 1; i < a.size(); ++i)
          fields.push_back(
              {"8-byte words " + std::to_string(i - 1) + ", " + std::to_string(i + 6) + " and so on of the entry, mixed",
               rtl::hexadecimal(a[i])});
      }
      return fields;
    };
    rtl::shell_options shell = shell_of(o);
    if (o.model) {
      model_memory_ = std::make_unique<context_memory>("model_memory", o, clock, form_.entry_bytes);
      model_memory_->on_access = [&c, this](const dma_request& r) {
        count_access(c, model_side, r);
        model_issuer_->accessed(r);
      };
      model_issuer_ = std::make_unique<context_issuer>("model_issuer", stream, o, clock, c, model_side, *model_memory_);
      shell.progress = &model_issuer_->progress();
      model_ = std::make_unique<context_cache>("model", config, clock, form_.entry_bytes, 1);
      requests_ = std::make_unique<stall_shim<context_request>>("requests", 1, clock, shell, "req", "rsp", "rel");
      transfers_ = std::make_unique<stall_shim<dma_request>>("transfers", 1, clock, shell, "rd_req", "rd_rsp", "",
                                                             [](const dma_request& r) { return rtl::of_address(r.address); });
      transfers_->split("wr_req", "wr_rsp", shell, [](const dma_request& d) { return d.op == dma_op::write; });
      model_issuer_->out.bind(requests_->in[0]);
      requests_->out[0].bind(model_->in[0]);
      model_->dma.bind(transfers_->in[0]);
      transfers_->out[0].bind(model_memory_->in);
    }
    if (o.rtl) {
      rtl_memory_ = std::make_unique<context_memory>("rtl_memory", o, clock, form_.entry_bytes);
      rtl_memory_->on_access = [&c, this](const dma_request& r) {
        count_access(c, rtl_side, r);
        rtl_issuer_->accessed(r);
      };
      rtl_issuer_ = std::make_unique<context_issuer>("rtl_issuer", stream, o, clock, c, rtl_side, *rtl_memory_);
      shell.progress = &rtl_issuer_->progress();
      rtl_ = std::make_unique<context_cache_rtl>("rtl", config, clock, 1, design_of(o, form_.plain, form_.faulty), shell,
                                                 form_.entry_bytes);
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
  const context_form form_;
  std::unique_ptr<context_memory> model_memory_, rtl_memory_;
  std::unique_ptr<context_issuer> model_issuer_, rtl_issuer_;
  std::unique_ptr<context_cache> model_;
  std::unique_ptr<context_cache_rtl> rtl_;
  std::unique_ptr<stall_shim<context_request>> requests_;
  std::unique_ptr<stall_shim<dma_request>> transfers_;
};

}  // namespace

std::unique_ptr<bench> make_context_cache_bench() {
  return std::make_unique<context_cache_bench>(
      context_form{"context_cache", 64, rtl::make_context_cache_design, rtl::make_context_cache_faulty});
}
std::unique_ptr<bench> make_qpc_cache_bench() {
  return std::make_unique<context_cache_bench>(context_form{"qpc_cache", 256, rtl::make_qpc_cache_design, nullptr});
}

}  // namespace hcasim::lockstep
