#include <array>
#include <deque>
#include <string>

#include "models/adapter/key_check/key_check.h"
#include "models/adapter/key_check/rtl/key_check_rtl.h"
#include "rtl/key_check_covered.h"
#include "rtl/key_check_design.h"
#include "rtl/key_check_faulty.h"
#include "testbenches/coverification/lockstep/bench_of.h"
#include "testbenches/coverification/lockstep/issuer.h"
#include "testbenches/coverification/lockstep/key_check/key_check_memory.h"
#include "testbenches/coverification/lockstep/key_check/key_check_objects.h"
#include "testbenches/coverification/lockstep/key_check/key_check_stimulus.h"
#include "testbenches/coverification/lockstep/stall_adaptor.h"
#include "tlm/rtl/text.h"

namespace hcasim::lockstep {
namespace {

key_check_config config_of(const options& o) {
  key_check_config c;
  c.orphan_windows = o.how != mode::full && (o.seed & 1);
  c.window_type2 = o.seed & 2 ? window_association::qp : window_association::qp_and_pd;
  return c;
}

class key_issuer final : public issuer {
 public:
  initiator_socket<key_request> local{"local"};
  initiator_socket<key_request> remote{"remote"};
  initiator_socket<key_request> control{"control"};
  initiator_socket<key_request> windows{"windows"};
  key_memory memory;

  key_issuer(const sc_core::sc_module_name& name, const item_stream& stream, const options& o, const clock_domain& clock,
             comparison& c, side s)
      : issuer(name, stream,
               o.how == mode::single ? 1
               : o.storms            ? slots + 1
                                     : 24,
               clock, c, s),
        memory("memory", o, clock),
        random_(o.how == mode::random),
        orphans_(config_of(o).orphan_windows),
        busy_(1 << 16),
        held_(1 << 16),
        let_go_(1 << 16, ps(-1)) {
    memory.on_access = [&c, s](std::uint64_t line) { c.moved(s, line, false); };
  }

  void publish(coverage& c) const {
    for (std::size_t k = 0; k < 3; ++k) {
      for (std::size_t v = 0; v < verdicts; ++v) {
        if (const auto found = c.find(std::string(kinds[k]) + verdict_names[v]); found != c.end())
          found->second += tally_[k][v];
      }
    }
    c["drain_at_once"] += drains_[0];
    c["drain_that_waited"] += drains_[1];
    if (random_) c["drain_races_with_a_release"] += races_;
    // Storms offer more requests than the RTL has room for.
    for (const auto& [name, n] :
         {std::pair("beyond_slots", beyond_slots_), {"beyond_drains", beyond_drains_}, {"beyond_keys", beyond_keys_}}) {
      if (n > 0) c[name] += n;
    }
  }

 private:
  struct flight;
  // An access's reference to a key that granted the access.
  struct reference {
    flight* of = nullptr;
    std::uint32_t key = 0;
    ps let_go_at{0};
    reference* next = nullptr;
  };
  // A request in flight, and after a grant the access with its references: to its key, and to a window's region.
  struct flight : key_request {
    key_issuer* self = nullptr;
    std::uint64_t number = 0;
    std::uint32_t hold = 0;
    bool race = false;
    ps answered_when{0};
    std::array<reference, 2> held;
  };

  static bool changes(key_item k) { return k == key_item::change || k == key_item::set_mrc || k == key_item::set_line; }
  [[nodiscard]] unsigned gap_of(const item& i) const override { return unpack(i).gap; }
  // An object changes when no check uses the object.
  [[nodiscard]] bool may_go(const item& i) const override {
    const key_fields f = unpack(i);
    if (changes(f.kind)) return all_busy_ == 0;
    if (f.aimed && held_[slot(f.key)]) return races(f.key);
    // In random streams a drain may race with a release of its key: which of the two comes first is not defined.
    return f.kind != key_item::drain || random_ || !races(f.key);
  }
  [[nodiscard]] ps when(const item& i) const override {
    const key_fields f = unpack(i);
    ps first = never;
    for (const reference* r = f.aimed ? held_[slot(f.key)] : nullptr; r; r = r->next) first = std::min(first, r->let_go_at);
    return first;
  }
  [[nodiscard]] bool races(std::uint32_t key) const {
    bool now_let_go = let_go_[slot(key)] == now();
    for (const reference* r = held_[slot(key)]; r; r = r->next) now_let_go |= r->let_go_at == now();
    return now_let_go;
  }
  [[nodiscard]] bool picky(const item& i) const override {
    const key_item kind = unpack(i).kind;
    return changes(kind) || (kind == key_item::drain && !random_);
  }
  bool go(std::uint64_t number, const item& i) override {
    const key_fields f = unpack(i);
    if (f.kind == key_item::change) {
      memory.change(number_of(hca_key_index(f.key)), f.va);
      return false;
    }
    if (changes(f.kind)) {
      memory.set(i);
      return false;
    }
    flight* free = nullptr;
    if (flights_.size() >= 4096 && !free_.empty()) {  // reused only long after its reference was released
      free = free_.front();
      free_.pop_front();
    }
    flight& r = free ? *free : flights_.emplace_back();
    r.self = this;
    r.number = number;
    r.hold = f.hold;
    r.op = f.kind == key_item::check ? key_op::check : f.kind == key_item::element ? key_op::element : key_op::drain;
    r.remote = f.remote;
    r.privileged = f.privileged;
    r.key = f.key;
    r.rights = f.rights;
    r.pd = f.pd;
    r.qpn = f.qpn;
    r.generation = f.generation;
    r.function = f.function;
    r.va = f.va;
    r.length = f.length;
    r.race = r.op == key_op::drain && races(f.key);
    r.epoch = r.parent_epoch = 0;
    r.map = {};
    r.va_offset = 0;
    r.piece = {};
    r.waiter = {};
    r.on_response = [](void* context, transaction&, ps t) {
      flight& done = *static_cast<flight*>(context);
      done.self->came(done, t);
    };
    r.context = &r;
    ++busy_[slot(r.key)];
    ++all_busy_;
    draining_ += r.op == key_op::drain;
    beyond_slots_ += all_busy_ - draining_ > slots;
    beyond_drains_ += draining_ > drains;
    beyond_keys_ += keys_held_ > keys;
    ps t = now();
    initiator_socket<key_request>& out = r.op == key_op::drain ? (number & 1 ? windows : control) : r.remote ? remote : local;
    if (out.send(r, t) == tlm::TLM_COMPLETED) came(r, t);
    return true;
  }

  void came(flight& r, ps t) {
    --busy_[slot(r.key)];
    --all_busy_;
    comparison::answer a{};
    a[0] = static_cast<std::uint64_t>(r.result);
    if (r.op == key_op::drain) {
      --draining_;
      races_ += r.race;
      ++drains_[check_drain(r)];
    } else {
      ++tally_[r.op == key_op::element ? 2 : r.remote][static_cast<std::size_t>(r.result) % verdicts];
    }
    const bool granted = r.op != key_op::drain && r.result == verdict::granted;
    if (granted && r.op == key_op::element) {
      a[1] = r.piece.va;
      a[2] = r.piece.key | std::uint64_t{r.piece.length} << 32;
    } else if (granted) {
      a[1] = r.map.index | std::uint64_t{r.map.levels} << 32 | std::uint64_t{r.map.page_shift} << 40 |
             std::uint64_t{r.map.null} << 48 | std::uint64_t{r.map.indirect} << 49 | std::uint64_t{r.epoch != 0} << 50 |
             std::uint64_t{r.map.on_demand} << 51 | std::uint64_t{r.parent_epoch != 0} << 52;
      a[2] = r.map.table;
      a[3] = r.map.table_va;
      a[4] = r.va_offset;
    } else if (r.op == key_op::check && r.epoch != 0) {
      a[5] = 1;  // a refused access must not hold a reference
    }
    if (granted && r.op == key_op::check) {
      r.answered_when = t;
      const ps end = t + clock().cycles(r.hold);
      hold(r, 0, r.key, end);
      // One reference is given back a cycle.
      if (orphans_ && r.region() != hca_key_index(r.key)) hold(r, 1, hca_key_make(r.region(), 0), end + clock().period());
    } else {
      free_.push_back(&r);
    }
    answered(r.number, a, r.race);
  }
  void hold(flight& of, std::size_t number, std::uint32_t key, ps until) {
    reference*& first = held_[slot(key)];
    keys_held_ += first == nullptr;
    reference& r = of.held[number];
    r = {&of, key, until, first};
    first = &r;
    queue_.at(until, {[](void* x) { static_cast<reference*>(x)->of->self->let_go(*static_cast<reference*>(x)); }, &r});
  }
  void let_go(reference& r) {
    for (reference** at = &held_[slot(r.key)]; *at; at = &(*at)->next) {
      if (*at == &r) {
        *at = r.next;
        break;
      }
    }
    keys_held_ -= held_[slot(r.key)] == nullptr;
    let_go_[slot(r.key)] = now();
    flight& f = *r.of;
    if (&r == &f.held[0]) {
      (f.remote ? remote : local).release(f);
      free_.push_back(&f);
    }
    poke();
  }
  // Checks that a drain is answered only when all references granted before its begin are released [S11].
  bool check_drain(const flight& d) {
    for (const reference* r = held_[slot(d.key)]; r; r = r->next) {
      if (hca_key_index(r->key) == hca_key_index(d.key) && r->of->answered_when < offered(d.number)) {
        shared().problem(std::string(is_rtl() ? "rtl" : "model") + " answers the drain of key index " +
                             std::to_string(hca_key_index(d.key)) + " while item " + std::to_string(r->of->number) +
                             " holds a reference",
                         d.number);
      }
    }
    return now() - offered(d.number) > clock().cycles(6);
  }
  // Returns the slot of a key: indices that differ in one bit have slots of their own.
  static std::size_t slot(std::uint32_t key) { return hca_key_index(key) * 0x9e3779b1U >> 16; }

  static constexpr const char* kinds[] = {"local_", "remote_", "element_"};

  // The tags of the RTL.
  static constexpr unsigned slots = 32;
  static constexpr unsigned drains = 8;
  static constexpr unsigned keys = 64;

  const bool random_;
  const bool orphans_;
  std::uint64_t races_ = 0, beyond_slots_ = 0, beyond_drains_ = 0, beyond_keys_ = 0;
  std::uint32_t draining_ = 0, keys_held_ = 0;
  std::uint64_t tally_[3][verdicts] = {};
  std::uint64_t drains_[2] = {};
  std::deque<flight> flights_;
  std::deque<flight*> free_;
  std::vector<std::uint32_t> busy_;
  std::uint32_t all_busy_ = 0;
  std::vector<reference*> held_;
  std::vector<ps> let_go_;  // the last one, by key
};

class key_check_bench final : public bench_of<key_check, key_check_rtl, key_issuer> {
 public:
  key_check_bench()
      : bench_of("key_check", rtl::make_key_check_design, rtl::make_key_check_faulty, rtl::make_key_check_covered) {}
  [[nodiscard]] item_stream generate(const options& o) const override { return generate_keys(o); }

  void declare(coverage& c) const override {
    for (const char* v : verdict_names) c[std::string("local_") + v] = c[std::string("remote_") + v] = 0;
    for (const verdict v : {verdict::granted, verdict::bad_index, verdict::bad_bounds, verdict::table_error}) {
      c[std::string("element_") + verdict_names[static_cast<std::size_t>(v)]] = 0;
    }
    c["drain_at_once"] = c["drain_that_waited"] = 0;
  }

 private:
  void describe(const item_stream& stream, comparison& c) override {
    c.describe = [&stream](std::uint64_t number, const comparison::answer& a) {
      return unpack(stream[number]).kind == key_item::element ? describe_element(a) : describe_check(a);
    };
  }
  static std::vector<comparison::field> describe_element(const comparison::answer& a) {
    return {verdict_of(a),
            {"piece va", rtl::hexadecimal(a[1])},
            {"piece key", rtl::hexadecimal(a[2] & 0xffffffff)},
            {"piece length", std::to_string(a[2] >> 32)}};
  }
  static std::vector<comparison::field> describe_check(const comparison::answer& a) {
    const auto bit = [&a](unsigned n) { return std::to_string(a[1] >> n & 1); };
    return {verdict_of(a),
            {"index", rtl::hexadecimal(a[1] & 0xffffffff)},
            {"levels", std::to_string(a[1] >> 32 & 0xff)},
            {"page_shift", std::to_string(a[1] >> 40 & 0xff)},
            {"null", bit(48)},
            {"indirect", bit(49)},
            {"holds a reference", bit(50)},
            {"on_demand", bit(51)},
            {"table", rtl::hexadecimal(a[2])},
            {"table_va", rtl::hexadecimal(a[3])},
            {"va_offset", rtl::hexadecimal(a[4])},
            {"reference of a refused access", std::to_string(a[5])}};
  }
  static comparison::field verdict_of(const comparison::answer& a) {
    return {"verdict", a[0] < verdicts ? verdict_names[a[0]] : "?"};
  }

  std::unique_ptr<key_check> make_model(const char* name, const options& o) override {
    return std::make_unique<key_check>(name, config_of(o), clock());
  }
  std::unique_ptr<key_check_rtl> make_rtl(const char* name, const options& o, rtl::design_factory design,
                                          const rtl::shell_options& shell) override {
    return std::make_unique<key_check_rtl>(name, config_of(o), clock(), design, shell);
  }
  void join_by_stalls(key_issuer& i, key_check& m, const rtl::shell_options& shell) override {
    const auto index = [](const context_request& r) { return rtl::of_index(r.index); };
    checks_ = std::make_unique<stall_adaptor<key_request>>("checks", 2, clock(), shell, "req", "rsp", "rel");
    drains_ = std::make_unique<stall_adaptor<key_request>>("drains", 2, clock(), shell, "drn", "drn_rsp", "");
    mrcs_ = std::make_unique<stall_adaptor<context_request>>("mrcs", 1, clock(), shell, "mrc_req", "mrc_rsp", "", index);
    extents_ = std::make_unique<stall_adaptor<context_request>>("extents", 1, clock(), shell, "ext_req", "ext_rsp", "", index);
    i.local.bind(checks_->in[0]);
    i.remote.bind(checks_->in[1]);
    i.control.bind(drains_->in[0]);
    i.windows.bind(drains_->in[1]);
    checks_->out[0].bind(m.local);
    checks_->out[1].bind(m.remote);
    drains_->out[0].bind(m.control);
    drains_->out[1].bind(m.windows);
    m.mrc.bind(mrcs_->in[0]);
    m.extent.bind(extents_->in[0]);
    mrcs_->out[0].bind(i.memory.mrc);
    extents_->out[0].bind(i.memory.extent);
  }
  void join(key_issuer& i, key_check_rtl& r) override {
    i.local.bind(r.local);
    i.remote.bind(r.remote);
    i.control.bind(r.control);
    i.windows.bind(r.windows);
    r.mrc.bind(i.memory.mrc);
    r.extent.bind(i.memory.extent);
  }
  std::string leak_check(key_issuer& i, side s) override {
    if (i.memory.lent() == 0) return {};
    return std::string(s == rtl_side ? "the rtl" : "the model") + " has not given back " + std::to_string(i.memory.lent()) +
           " contexts";
  }

  std::unique_ptr<stall_adaptor<key_request>> checks_, drains_;
  std::unique_ptr<stall_adaptor<context_request>> mrcs_, extents_;
};

}  // namespace

std::unique_ptr<bench> make_key_check_bench() {
  return std::make_unique<key_check_bench>();
}

}  // namespace hcasim::lockstep
