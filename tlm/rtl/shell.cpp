#include "tlm/rtl/shell.h"

#include <cmath>
#include <stdexcept>
#include <string>

namespace hcasim::rtl {
namespace {

constexpr unsigned reset_cycles = 4;
// A design that cannot say that it is idle is clocked this much longer than anything has moved.
constexpr std::uint64_t run_out = 64;

}  // namespace

shell::shell(const sc_core::sc_module_name& name, const clock_domain& clock, design_factory make, const shell_options& options)
    : unit(name), clock_(clock), options_(options), design_(make(0)) {
  if (options.check_x) other_ = make(1);
  design_->eval();  // what is initial in the RTL, a seeded fault's number too, is set once and for all
  if (other_) other_->eval();
  sc_core::sc_spawn_options spawn;
  spawn.spawn_method();
  spawn.set_sensitivity(&edge_);
  spawn.dont_initialize();
  sc_core::sc_spawn([this] { wake(); }, "clock", &spawn);
  if (!options_.trace.empty() && !design_->trace(options_.trace)) {
    throw std::invalid_argument(std::string(design_->name()) + ": was built without waveforms (INSTRUMENTED)");
  }
}

shell::~shell() = default;

stream& shell::add(const char* bundle_name, bool is_into, unsigned bits) {
  const bundle& b = design_->find(bundle_name, is_into, bits);
  return streams_.emplace_back(b, gate(options_.seed, bundle_name, options_.stall, options_.storms));
}

void shell::built_for(const char* unit_name, bool ok, const char* knob, const char* value) {
  if (!ok) throw std::invalid_argument(std::string(unit_name) + ": the RTL is built for " + knob + ": " + value);
}

void shell::strap(const char* strap_name, std::uint64_t value) {
  design_->strap(strap_name, value);
  if (other_) other_->strap(strap_name, value);
}

// At the first edge: straps are there by then.
void shell::reset() {
  was_reset_ = true;
  for (rtl::design* d : {design_.get(), other_.get()}) {
    if (!d) continue;
    for (const bundle& b : d->bundles()) {
      if (b.into) b.valid->set(b.inverted);
      if (!b.into && b.ready) b.ready->set(b.busy);
      if (!b.into && b.credit) b.credit->set(false);
    }
    for (unsigned i = 0; i < 2 * reset_cycles; ++i) {
      d->reset(i < 2 * reset_cycles - 2);
      d->clock(i & 1);
      d->eval();
    }
    d->clock(false);
    d->eval();
  }
}

std::uint64_t shell::cycle_from(ps t) const {
  auto k = static_cast<std::uint64_t>(clock_.cycles_in(t));
  while (clock_.cycles(static_cast<double>(k)) < t) ++k;
  return k;
}

void shell::push(stream& s, const payload& p, ps t, std::uint64_t cookie) {
  s.push(p, t, cookie);
  if (!in_edge_) schedule(std::max(t, now()));
}

void shell::schedule(ps t) {
  if (stopped_) return;
  std::uint64_t k = cycle_from(t);
  if (last_cycle_ != ~std::uint64_t{0} && k <= last_cycle_) k = last_cycle_ + 1;
  const ps at = clock_.cycles(static_cast<double>(k));
  if (at >= scheduled_) return;
  scheduled_ = at;
  settled_ = false;
  edge_.cancel();
  wake_at(edge_, at);
}

void shell::wake() {
  if (!settled_) {
    settled_ = true;
    wake_at(edge_, now());
    return;
  }
  settled_ = false;
  scheduled_ = never;
  edge();
}

void shell::copy_inputs(const rtl::design& from, const rtl::design& to) {
  for (std::size_t i = 0; i < from.pins().size(); ++i) {
    const pin& p = from.pins()[i];
    if (!p.output) std::memcpy(to.pins()[i].at, p.at, p.bytes());
  }
}

// Control outputs that depend on what registers held before reset are X in a simulator that knows X.
void shell::compare_unknown() {
  for (std::size_t i = 0; i < design_->bundles().size(); ++i) {
    const bundle& a = design_->bundles()[i];
    const bundle& b = other_->bundles()[i];
    const pin* mine = a.into ? a.ready : a.valid;
    const pin* its = a.into ? b.ready : b.valid;
    if (mine && mine->get() != its->get())
      violation(mine->name + " is unknown (X): it depends on a register that reset does not set");
  }
}

void shell::edge() {
  if (!was_reset_) reset();
  const ps t = now();
  const std::uint64_t cycle = cycle_from(t);
  last_cycle_ = cycle;
  in_edge_ = true;
  ++cycles_run_;
  bool lively = false;
  for (stream& s : streams_) lively |= s.drive(t);
  design_->clock(false);
  design_->eval();
  bool followed = false;
  for (stream& s : streams_) followed |= s.follow();
  if (followed) design_->eval();
  if (other_) {
    copy_inputs(*design_, *other_);
    other_->eval();
    compare_unknown();
  }
  bool moved = false;
  for (stream& s : streams_) {
    if (const std::string wrong = s.sample(); !wrong.empty()) violation(wrong);
    moved |= s.fired();
    lively |= s.held_back() || s.awaits_data();
  }
  if (!options_.trace.empty() && t >= options_.trace_from) {
    design_->dump(static_cast<std::uint64_t>((t - clock_.period() / 2).count() > 0 ? (t - clock_.period() / 2).count() : 0));
  }
  design_->clock(true);
  design_->eval();
  if (other_) {
    copy_inputs(*design_, *other_);
    other_->eval();
  }
  if (!options_.trace.empty() && t >= options_.trace_from) design_->dump(static_cast<std::uint64_t>(t.count()));
  if (design_->failed()) violation("an assertion failed");
  const bool idle = design_->idle();
  for (stream& s : streams_) {
    if (s.fired()) s.deliver(t);
  }
  in_edge_ = false;
  if (stopped_) return;

  lively |= moved;
  quiet_cycles_ = lively ? 0 : quiet_cycles_ + 1;
  ps next = never;
  bool offering = false;
  for (const stream& s : streams_) {
    if (s.into() && !s.empty()) next = std::min(next, s.front_time());
    offering |= s.into() && !s.empty() && s.front_time() <= t;
    if (s.into() && s.waiting_cycles() > options_.hang_cycles) {
      violation("hang: stream " + s.name() + (s.by_credits() ? " has had no credit for " : " has not been taken for ") +
                std::to_string(s.waiting_cycles()) + " cycles (" + s.control() + ")");
      return;
    }
  }
  const bool asleep = design_->has_idle() ? idle && !lively : owed_ <= 0 && !offering && quiet_cycles_ > run_out;
  if (asleep && owed_ > 0 && awaited_ <= 0 && next == never) {
    violation("hang: " + std::to_string(owed_) + " answers are missing and nothing is under way (" + silent() + ")");
    return;
  }
  if (owed_ > 0 && awaited_ <= 0 && quiet_cycles_ > options_.hang_cycles) {
    violation("hang: " + std::to_string(owed_) + " answers are missing, nothing has moved for " +
              std::to_string(quiet_cycles_) + " cycles (" + silent() + ")");
    return;
  }
  if (!asleep) {
    schedule(clock_.cycles(static_cast<double>(cycle + 1)));
  } else if (next != never && next > t) {
    schedule(next);
  }
}

// The streams by which an answer could come.
std::string shell::silent() const {
  std::string names;
  for (const stream& s : streams_) {
    if (!s.into() && !s.held_back()) names.append(names.empty() ? "" : ", ").append(s.control());
  }
  return names.find(',') == std::string::npos ? names + " stays low" : names + " stay low";
}

void shell::violation(const std::string& what) {
  const std::string text = std::string(name()) + " (" + design_->name() + "): " + what;
  stopped_ = true;
  if (on_violation) {
    on_violation(text);
    return;
  }
  SC_REPORT_FATAL("hcasim/rtl", text.c_str());
}

}  // namespace hcasim::rtl
