#include "tlm/rtl/shell.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>

#include "tlm/base/ending.h"
#include "tlm/rtl/endpoint.h"

namespace hcasim::rtl {
namespace {

constexpr unsigned reset_cycles = 4;

// Code of the design may end the process.
std::unique_ptr<design> make_watched(design_factory make, unsigned random_reset) {
  const ending::unfinished making("an RTL design is made");
  return make(random_reset);
}

}  // namespace

stall_source stalls_of(const shell_options& o, const std::string& stream_name) {
  stall_source s(o.seed, stream_name, o.stall, o.storms, o.progress);
  if (const auto found = o.long_stalls.find(stream_name); found != o.long_stalls.end()) s.stall_one_long(found->second);
  return s;
}

const shell* shell::acting_ = nullptr;

shell::shell(const sc_core::sc_module_name& name, const clock_domain& clock, design_factory make, const shell_options& options)
    : unit(name), options_(options), design_(make_watched(make, 0)) {
  ending::locate_by([](char* text, std::size_t size) { return acting_ ? acting_->write_place(text, size) : 0; });
  const ending::unfinished making(design_->name());
  for (const pin& p : design_->pins()) {
    if (!p.output) std::memset(p.at, 0, p.bytes());  // until a stream drives them
  }
  if (options.check_x) other_ = make(1);
  design_->eval();  // sets initial values of the RTL once, the seeded fault's number among them
  if (other_) other_->eval();
  if (design_->ended())
    throw std::invalid_argument(std::string(this->name()) + " (" + design_->name() +
                                "): before the first cycle: " + design_->why());
  steps_ = options.steps && !other_ && design_->steps();
  const double period = static_cast<double>(clock.period().count());
  domains_.push_back({0, clock, ps(std::llround(design_->clocks().front().phase * period)), {}});
  for (unsigned n = 1; n < design_->clocks().size(); ++n) {
    const clock_pin& c = design_->clocks()[n];
    const double edges_per_s = clock.cycles_in(ps{1'000'000'000'000});
    domains_.push_back({n, clock_domain(frequency{edges_per_s / c.period}), ps(std::llround(c.phase * period)), {}});
  }
  if (!options_.trace.empty() && !design_->trace(options_.trace)) {
    throw std::invalid_argument(std::string(design_->name()) + ": was built without waveforms (WAVES, INSTRUMENTED)");
  }
}

shell::~shell() {
  if (!options_.coverage.empty()) design_->write_coverage(options_.coverage);
}

std::string shell::way() const {
  if (steps_) return "step by step";
  return "as a whole: " + std::string(!options_.steps ? "rtl.steps is off"
                                      : other_        ? "check_x runs a second copy"
                                                      : design_->no_steps());
}

stream& shell::add(const std::string& bundle_name, bool is_into, unsigned bits) {
  const bundle& b = design_->find(bundle_name, is_into, bits);
  stream& s = streams_.emplace_back(b, stalls_of(options_, bundle_name));
  domains_[b.clock].streams.push_back(&s);
  if (b.fifo && b.ready) followers_.push_back(&s);
  if (is_into) {
    into_.push_back(&s);
    stats_.total(bundle_name + "_busy", "ps", "time that the stream had something for the RTL", [this, &s](ps) {
      return static_cast<double>(domains_[s.clock()].clock.cycles(static_cast<double>(s.busy_cycles())).count());
    });
  }
  return s;
}

void shell::built_for(const char* unit_name, bool ok, const char* knob, const char* value) {
  if (!ok) throw std::invalid_argument(std::string(unit_name) + ": the RTL is built for " + knob + ": " + value);
}

void shell::strap(const char* strap_name, std::uint64_t value) {
  design_->strap(strap_name, value);
  if (other_) other_->strap(strap_name, value);
}

void shell::set_clock(const std::string& port, const clock_domain& c, ps phase) {
  domain& d = domains_[design_->find_clock(port)];
  d.clock = c;
  d.phase = phase;
}

// --- side pins

void shell::set(const std::string& side_name, std::uint64_t value) {
  const pin& p = design_->find_side(side_name, false);
  for (unsigned i = 0; i < p.bits; i += 32)
    p.set_part(i, std::min(32U, p.bits - i), static_cast<std::uint32_t>(i < 64 ? value >> i : 0));
  turned_ = side_set_ = true;
  poke();
}

std::uint64_t shell::get(const std::string& side_name) const {
  const pin& p = design_->find_side(side_name, true);
  return p.bits <= 32 ? p.part(0, p.bits) : p.part(0, 32) | std::uint64_t{p.part(32, std::min(32U, p.bits - 32))} << 32;
}

void shell::watch(const std::string& side_name, std::function<void(std::uint64_t, ps)> changed) {
  watched_.push_back({side_name, get(side_name), std::move(changed)});
}

void shell::look_at_sides(ps t) {
  for (watched& w : watched_) {
    const std::uint64_t value = get(w.name);
    if (std::exchange(w.last, value) != value) w.changed(value, t);
  }
}

// Has the clock run on, since something has changed that no stream tells of.
void shell::poke() {
  rests_ = false;
  for (domain& d : domains_) d.quiet = 0;
  if (in_edge_) {
    poked_ = true;
  } else {
    schedule(now());
  }
}

// --- resets

void shell::silence(const rtl::design& d, unsigned of_clock) {
  for (const bundle& b : d.bundles()) {
    if (b.clock != of_clock) continue;
    if (b.into) b.valid->set(b.inverted);
    if (!b.into && b.ready) b.ready->set(b.busy);
    if (!b.into && b.credit) b.credit->set(false);
  }
}

// Resets the design at the first edge, when the straps are set. Before the end of this reset, registers of the RTL are unknown
// (X), and an assertion on X does not fail. In the second copy they are ones, and such an assertion may fail: its end is no
// end.
void shell::first_reset() {
  was_first_reset_ = true;
  for (rtl::design* d : {design_.get(), other_.get()}) {
    if (!d) continue;
    for (unsigned n = 0; n < domains_.size(); ++n) silence(*d, n);
    for (unsigned i = 0; i < 2 * reset_cycles; ++i) {
      d->reset(i < 2 * reset_cycles - 2);
      for (unsigned n = 0; n < domains_.size(); ++n) d->clock(n, i & 1);
      d->eval();
    }
    for (unsigned n = 0; n < domains_.size(); ++n) d->clock(n, false);
    d->eval();
  }
  if (other_) other_->forget_end();
}

void shell::reset_again(unsigned cycles) {
  for (domain& d : domains_) d.asked = std::max(1U, cycles);
  full_reset_ = true;
  poke();
}

void shell::reset_again(const std::string& clock_port, unsigned cycles) {
  const unsigned n = design_->find_clock(clock_port);
  if (!design_->has_reset_of(n))
    throw std::invalid_argument(std::string(design_->name()) + ": clock '" + clock_port + "' has no reset of its own in PINS");
  domains_[n].asked = std::max(1U, cycles);
  poke();
}

void shell::begin_resets(ps t) {
  reset_turned_ = turned_ = side_set_ = true;
  std::vector<lost> losses;
  const bool whole = full_reset_;
  for (unsigned n = 0; n < domains_.size(); ++n) {
    domain& d = domains_[n];
    if (d.asked == 0) continue;
    d.resetting = std::exchange(d.asked, 0) + 1;
    silence(*design_, n);
    design_->reset(true, n);
    for (stream* s : d.streams) {
      if (const std::uint64_t dropped = s->reset(); dropped > 0) losses.push_back({"stream " + s->name(), dropped});
    }
    for (endpoint* e : endpoints_) {
      if (e->clock() == n) e->was_reset(t, losses);
    }
  }
  if (whole) {
    design_->reset(true);
    if (owed_ > 0) losses.push_back({"answers", static_cast<std::uint64_t>(owed_)});
    owed_ = awaited_ = 0;
  }
  was_reset(t, losses);
  if (on_reset) on_reset(losses);
}

// Domains in reset leave it together.
void shell::end_resets() {
  bool any = false;
  for (const domain& d : domains_) {
    if (d.resetting > 1) return;
    any |= d.resetting > 0;
  }
  if (!any) return;
  reset_turned_ = turned_ = side_set_ = true;
  if (std::exchange(full_reset_, false)) design_->reset(false);
  for (unsigned n = 0; n < domains_.size(); ++n) {
    if (std::exchange(domains_[n].resetting, 0) > 0) design_->reset(false, n);
  }
}

// The streams by which an answer could come.
std::string shell::silent() const {
  std::string names;
  for (const stream& s : streams_) {
    if (!s.into() && !s.held_back())
      names.append(names.empty() ? "" : ", ").append(s.inverted() ? "!" : "").append(s.control()).append(clock_name(s));
  }
  return names.find(',') == std::string::npos ? names + " stays low" : names + " stay low";
}

// Returns the clock's name in a design with several.
std::string shell::clock_name(const stream& s) const {
  return domains_.size() == 1 ? std::string() : " of " + design_->clocks()[s.clock()].at->name;
}

// Allocates nothing: a signal handler asks, too.
std::size_t shell::write_place(char* text, std::size_t size) const {
  ending::fixed_text t(text, size);
  t.add(name()).add(" (").add(design_->name()).add("), ").add_ns(static_cast<unsigned long long>(now().count()));
  t.add(", cycle ").add(domains_.front().cycle_from(now()));
  return t.size();
}

void shell::violation(const std::string& what) {
  char place[400];
  const std::string text = std::string(place, write_place(place, sizeof place)) + ": " + what;
  stopped_ = true;
  if (on_violation) {
    on_violation(text);
    return;
  }
  SC_REPORT_FATAL("hcasim/rtl", text.c_str());
}

}  // namespace hcasim::rtl
