// Streams of key_check from a system run: every check, element and drain with the time since the one before it and how long a
// granted access held its reference, and every context and line of extents that key_check read, before the first item that
// needs it, whenever its bytes are others than before.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <set>
#include <stdexcept>
#include <vector>

#include "models/base/clock_domain.h"
#include "testbenches/lockstep/key_check_world.h"
#include "testbenches/runner/listen.h"
#include "testbenches/runner/stream_recorder.h"
#include "tlm/context.h"
#include "tlm/protection.h"

namespace hcasim::lockstep {
namespace {

class key_recorder final : public stream_recorder, public sc_core::sc_module {
 public:
  key_recorder(const std::string& unit, const std::string& file, const hca_config& config, std::uint64_t seed)
      : sc_module(sc_core::sc_module_name("stream_recorder")), unit_(unit), file_(file), clock_(config.clock) {
    // The bench takes the variants of the rules from its seed.
    options_.seed = seed * 4 + config.key_check.orphan_windows + 2 * (config.key_check.window_type2 == window_association::qp);
    options_.stall = 0;
  }

  void start_of_simulation() override {
    const std::string adapter = unit_.substr(0, unit_.rfind('.') + 1);
    for (initiator_socket<key_request>* s : sockets_of<key_request>()) {
      if (unit_of(*s).starts_with(adapter)) keys_.push_back(std::make_unique<key_tap>(*s, *this));
    }
    for (initiator_socket<context_request>* s : sockets_of<context_request>()) {
      if (unit_of(*s) != unit_) continue;
      found_ = true;
      contexts_.push_back(std::make_unique<context_tap>(
          *s, *this, std::string_view(s->basename()) == "mrc" ? key_item::set_mrc : key_item::set_line));
    }
  }

  std::uint64_t finish() override {
    if (!found_) throw std::runtime_error("--record-stream: there is no unit '" + unit_ + "'");
    item_stream all;
    for (entry& e : entries_) {
      for (const item& i : e.before) all.push_back(i);
      all.push_back(pack(e.fields));
    }
    write_stream(file_, "key_check", all, options_);
    return all.size();
  }

 private:
  struct entry {
    key_fields fields;
    std::vector<item> before;
    ps answered{0};
  };
  class key_tap final : public chained_observer<key_request> {
   public:
    key_tap(initiator_socket<key_request>& s, key_recorder& to) : chained_observer(s), to_(to) {}
    void forward(const key_request& p, tlm::tlm_phase phase, ps t) override {
      if (phase == tlm::BEGIN_REQ) to_.begins(p, t);
      if (phase == tlm::END_RESP) to_.gives_back(p, t);
      chained_observer::forward(p, phase, t);
    }
    void forward_done(const key_request& p, tlm::tlm_phase phase, tlm::tlm_sync_enum status, ps t) override {
      if (phase == tlm::BEGIN_REQ && status == tlm::TLM_COMPLETED) to_.answered(p, t);
      chained_observer::forward_done(p, phase, status, t);
    }
    void backward(const key_request& p, tlm::tlm_phase phase, ps t) override {
      to_.answered(p, t);
      chained_observer::backward(p, phase, t);
    }

   private:
    key_recorder& to_;
  };
  class context_tap final : public chained_observer<context_request> {
   public:
    context_tap(initiator_socket<context_request>& s, key_recorder& to, key_item kind)
        : chained_observer(s), to_(to), kind_(kind) {}
    void forward_done(const context_request& p, tlm::tlm_phase phase, tlm::tlm_sync_enum status, ps t) override {
      if (phase == tlm::BEGIN_REQ && status == tlm::TLM_COMPLETED) to_.read(kind_, p);
      chained_observer::forward_done(p, phase, status, t);
    }
    void backward(const context_request& p, tlm::tlm_phase phase, ps t) override {
      to_.read(kind_, p);
      chained_observer::backward(p, phase, t);
    }

   private:
    key_recorder& to_;
    const key_item kind_;
  };

  [[nodiscard]] std::uint16_t cycles(ps t) const {
    return static_cast<std::uint16_t>(std::clamp(std::floor(clock_.cycles_in(t)), 0.0, 65535.0));
  }
  void begins(const key_request& p, ps t) {
    entry e;
    key_fields& f = e.fields;
    f.kind = p.op == key_op::check ? key_item::check : p.op == key_op::element ? key_item::element : key_item::drain;
    f.gap = cycles(t - last_);
    f.remote = p.remote;
    f.privileged = p.privileged;
    f.key = p.key;
    f.rights = p.rights;
    f.pd = p.pd;
    f.qpn = p.qpn;
    f.generation = p.generation;
    f.function = p.function;
    f.va = p.va;
    f.length = p.length;
    last_ = std::max(last_, t);
    open_[&p] = entries_.size();
    asked_.insert(entries_.size());
    entries_.push_back(e);
  }
  void answered(const key_request& p, ps t) {
    const auto found = open_.find(&p);
    if (found == open_.end()) return;
    entries_[found->second].answered = t;
    asked_.erase(found->second);
    if (p.op != key_op::check || p.result != verdict::granted) open_.erase(found);
  }
  void gives_back(const key_request& p, ps t) {
    const auto found = open_.find(&p);
    if (found == open_.end()) return;
    entry& e = entries_[found->second];
    e.fields.hold = cycles(t - e.answered);
    open_.erase(found);
  }
  void read(key_item kind, const context_request& p) {
    const item now_there =
        pack_context(kind, p.index, p.failed, static_cast<std::uint32_t>(p.area_entries), p.failed ? nullptr : p.entry);
    item& known = known_[{kind, p.index}];
    if (known == now_there || asked_.empty()) return;
    known = now_there;
    entries_[*asked_.begin()].before.push_back(now_there);
  }

  const std::string unit_;
  const std::string file_;
  const clock_domain clock_;
  options options_;
  bool found_ = false;
  ps last_{0};
  std::vector<entry> entries_;
  std::map<const key_request*, std::size_t> open_;  // looked up only
  std::set<std::size_t> asked_;                     // not answered yet
  std::map<std::pair<key_item, std::uint32_t>, item> known_;
  std::vector<std::unique_ptr<key_tap>> keys_;
  std::vector<std::unique_ptr<context_tap>> contexts_;
};

std::unique_ptr<stream_recorder> make_recorder(const std::string& unit, const std::string& file, const system_config& config) {
  for (std::size_t i = 0; i < config.nodes.size(); ++i) {
    if (unit == "node" + std::to_string(i) + ".hca.key_check")
      return std::make_unique<key_recorder>(unit, file, config.nodes[i].hca, config.seed);
  }
  throw std::invalid_argument(
      "--record-stream: '" + unit + "' is no unit whose stream can be recorded; there is node0.hca.key_check" +
      (config.nodes.size() > 1 ? " to node" + std::to_string(config.nodes.size() - 1) + ".hca.key_check" : ""));
}

[[maybe_unused]] const bool registered = (program_stream_recorder() = make_recorder, true);

}  // namespace
}  // namespace hcasim::lockstep
