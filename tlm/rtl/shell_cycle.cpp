// The cycles of a shell: when clocks rise and stop, and the work of streams at an edge.
#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "tlm/base/delegate.h"
#include "tlm/rtl/shell.h"

namespace hcasim::rtl {
namespace {

// A design without an idle pin is clocked for so many cycles after the last move.
constexpr std::uint64_t run_out = 64;

}  // namespace

std::uint64_t shell::domain::cycle_from(ps t) const {
  if (t <= phase) return 0;
  auto k = static_cast<std::uint64_t>(clock.cycles_in(t - phase));
  while (at(k) < t) ++k;
  return k;
}

void shell::push(stream& s, const payload& p, ps t, std::uint64_t cookie, std::uint64_t what) {
  rests_ = false;
  s.push(p, t, cookie, what);
  if (!in_edge_) schedule(std::max(t, now()));
}

void shell::schedule(ps t) {
  if (stopped_ || running_ || t >= scheduled_) return;
  ps first = never;
  for (domain& d : domains_) {
    d.next = std::max(d.cycle_from(t), d.after);
    d.next_at = d.at(d.next);
    first = std::min(first, d.next_at);
  }
  wake_for_edge(first);
}

void shell::wake_for_edge(ps t) {
  if (t == scheduled_) return;
  scheduled_ = t;
  queue_.last(t, call<&shell::wake>(this));
}

// An edge that was scheduled for later and then for earlier is not looked at again.
void shell::wake() {
  if (scheduled_ != now()) return;
  scheduled_ = never;
  acting_ = this;
  try {
    edge();
  } catch (...) {
    // Verilator's own errors leave an evaluation by an exception.
    acting_ = nullptr;
    if (stopped_ || !ended()) throw;
    find_end();
  }
  acting_ = nullptr;
}

bool shell::ended() const {
  return design_->ended() || (other_ && other_->ended());
}

// The first reason is told, once.
void shell::find_end() {
  if (stopped_) return;
  if (design_->ended()) return violation(design_->why());
  violation(other_->why() +
            ", in the second copy of the design alone, whose registers begin as ones (check_x): it depends on a register that "
            "reset does not set");
}

void shell::copy_inputs(const rtl::design& from, const rtl::design& to) {
  for (std::size_t i = 0; i < from.pins().size(); ++i) {
    const pin& p = from.pins()[i];
    if (!p.output) std::memcpy(to.pins()[i].at, p.at, p.bytes());
  }
}

// A control output that depends on the content of registers before reset is X in a simulator with X.
void shell::compare_unknown() {
  for (std::size_t i = 0; i < design_->bundles().size(); ++i) {
    const bundle& a = design_->bundles()[i];
    const bundle& b = other_->bundles()[i];
    const auto differ = [](const pin* mine, const pin* its) { return mine && mine->get() != its->get(); };
    if (domains_[a.clock].resetting > 0) continue;
    const bool by_credit = a.into && a.credit;
    const pin* mine = by_credit ? a.credit : a.into ? a.ready : a.valid;
    if (differ(mine, by_credit ? b.credit : a.into ? b.ready : b.valid))
      violation(mine->name + " is unknown (X): it depends on a register that reset does not set");
  }
}

void shell::write_wave(ps t) {
  if (options_.trace.empty() || t < std::max(options_.trace_from, dumped_ + ps{1})) return;
  dumped_ = t;
  design_->dump(static_cast<std::uint64_t>(t.count()));
}

// Finds whether a few bytes tell if anything moves at an edge. True for a design with one clock, no side pins, no waveform, and
// streams that go by valid and ready alone.
void shell::find_offers() {
  const bool plain = steps_ && domains_.size() == 1 && !design_->has_sides() && options_.trace.empty() &&
                     std::all_of(streams_.begin(), streams_.end(), [](const stream& s) { return s.plain(); });
  may_rest_ = plain;
  for (stream& s : streams_) {
    if (!s.into()) out_of_.push_back(&s);
  }
}

bool shell::nothing_moves() {
  if (std::exchange(turned_, false)) work_out_inputs();
  return std::none_of(out_of_.begin(), out_of_.end(), [](const stream* s) { return s->is_valid(); });
}

void shell::edge() {
  design_->set_time(static_cast<std::uint64_t>(now().count()));
  if (!was_first_reset_) {
    find_offers();
    first_reset();
  }
  ++effort_.looks;
  if (rests_ && nothing_moves()) return quiet_edge();
  const ps t = now();
  moving_.clear();
  in_edge_ = true;
  // In rest the shell's side of every stream is unchanged, and the one clock is due.
  const bool lively = rests_ && followers_.empty() ? look_at(out_of_) : settle(t);
  const bool still = !std::exchange(side_set_, false) && !lively && !other_ && !design_->has_waves() && design_->idle();
  if (steps_) {
    for (stream* s : moving_) s->fall();
  }
  rise(still);
  end_resets();
  write_wave(t);
  if (ended()) find_end();
  const bool idle = design_->idle();
  for (stream* s : moving_) {
    s->deliver(t);
    if (may_rest_) turned_ |= s->withdraw();
    rests_ = rests_ && s->rests();
  }
  if (!watched_.empty()) look_at_sides(t);
  in_edge_ = false;
  if (!stopped_) resume(t, lively, idle);
}

// An edge at which nothing moves, of a design that may rest: most come in a row, and the design only counts cycles.
void shell::quiet_edge() {
  domain& d = domains_.front();
  rise(design_->idle());
  if (design_->ended()) find_end();
  if (stopped_) return;
  const bool idle = design_->idle();
  const std::uint64_t limit = options_.patience > 0 ? options_.patience : options_.hang_cycles;
  if (idle || !design_->has_idle() || poked_ || d.quiet >= limit) return resume(now(), false, idle);
  ++d.quiet;
  running_ = true;
  d.next_at = d.at(d.next = d.after);
  wake_for_edge(d.next_at);
}

// Lets streams drive their pins and the design settle, and finds the transfers of the edge; returns whether there is any.
bool shell::settle(ps t) {
  due_.clear();
  for (domain& d : domains_) {
    if (d.next_at == t) due_.push_back(&d);
  }
  if (std::any_of(due_.begin(), due_.end(), [](const domain* d) { return d->asked > 0; })) begin_resets(t);
  bool lively = false;
  for (domain* d : due_) {
    if (d->resetting > 0) [[unlikely]] {
      lively = true;
    } else {
      for (stream* s : d->streams) {
        lively |= s->drive(t);
        turned_ |= s->turned();
      }
    }
    if (!steps_) design_->clock(d->number, false);
  }
  if (std::exchange(turned_, false) || !steps_) work_out_inputs();
  bool followed = false;
  for (stream* s : followers_) {
    const domain& d = domains_[s->clock()];
    followed |= d.next_at == t && d.resetting == 0 && s->follow();
  }
  if (followed) work_out_inputs();
  if (other_) {
    copy_inputs(*design_, *other_);
    other_->eval();
    compare_unknown();
  }
  for (domain* d : due_) {
    if (d->resetting == 0) lively |= look_at(d->streams);
  }
  if (!options_.trace.empty()) {
    const ps fell = t - due_.front()->clock.period() / 2;
    write_wave(std::max(fell, std::min(dumped_ + ps{1}, t - ps{1})));
  }
  return lively;
}

// Once everything has settled; whether anything happens.
bool shell::look_at(const std::vector<stream*>& streams) {
  bool lively = false;
  for (stream* s : streams) {
    if (!s->sample()) violation(s->wrong());
    if (s->fired()) moving_.push_back(s);
    lively |= s->fired() || s->held_back() || s->awaits_data();
  }
  return lively;
}

void shell::work_out_inputs() {
  ++effort_.settled;
  if (steps_ && !std::exchange(reset_turned_, false)) {
    design_->settle();
  } else {
    design_->eval();
  }
}

// `still`: the design says that nothing changes at this edge, which no observer hears of then.
void shell::rise(bool still) {
  std::uint64_t risen = 0;
  for (domain* d : due_) {
    risen |= std::uint64_t{1} << d->number % 64;
    if (!steps_) design_->clock(d->number, !still);
    ++d->edges;
    d->after = d->next + 1;
    if (d->resetting > 1) --d->resetting;
  }
  if (!still) {
    ++effort_.risen;
    if (steps_) {
      design_->rise(risen);
    } else {
      design_->eval();
    }
  }
  if (other_) {
    copy_inputs(*design_, *other_);
    other_->eval();
  }
}

// Whether there is a next edge, and when; hangs.
void shell::resume(ps t, bool lively, bool idle) {
  lively |= std::exchange(poked_, false);
  if (lively) {
    for (domain& d : domains_) d.quiet = 0;
  } else {
    for (domain* d : due_) ++d->quiet;
  }
  std::uint64_t quiet = ~std::uint64_t{0};
  bool resetting = false;
  for (const domain& d : domains_) {
    quiet = std::min(quiet, d.quiet);
    resetting |= d.resetting > 0 || d.asked > 0;
  }
  if (options_.patience > 0 && stalls(quiet)) return;
  ps next = never;
  bool offering = false;
  if (!rests_ && may_rest_) {
    const std::vector<stream*>& all = domains_.front().streams;
    rests_ = !resetting && !side_set_ && std::all_of(all.begin(), all.end(), [](const stream* s) { return s->rests(); });
  }
  if (!rests_) {
    for (const stream* s : into_) {
      if (s->empty()) continue;
      next = std::min(next, s->front_time());
      offering |= s->front_time() <= t;
      if (s->waiting_cycles() > options_.hang_cycles) return not_taken(*s);
    }
  }
  const bool asleep = !resetting && (design_->has_idle() ? idle && quiet > 0 : owed_ <= 0 && !offering && quiet > run_out);
  if (owed_ > 0 && awaited_ <= 0) {
    if (asleep && next == never) return not_answered(0);
    if (quiet > options_.hang_cycles) return not_answered(quiet);
  }
  const bool busy_without_work = design_->has_idle() && !idle && owed_ <= 0 && awaited_ <= 0 && next == never;
  if (options_.must_rest && busy_without_work && quiet > options_.hang_cycles) return not_idle(quiet);
  running_ = !asleep;
  if (asleep) {
    if (next != never && next > t) schedule(next);
    return;
  }
  ps first = never;
  for (domain* d : due_) d->next_at = d->at(d->next = d->after);
  for (const domain& d : domains_) first = std::min(first, d.next_at);
  wake_for_edge(first);
}

// Work waits and nothing moves, although our side holds nothing back and no other unit has to do something first.
bool shell::stalls(std::uint64_t quiet) {
  if (owed_ > 0 && awaited_ <= 0 && quiet > options_.patience) {
    violation("stall: " + std::to_string(owed_) + " answers are missing, and nothing has moved for " + std::to_string(quiet) +
              " cycles without a reason (" + silent() + ")");
    return true;
  }
  const auto waits = [](const stream* s) { return s->into() && s->waits(); };
  if (rests_ || !moving_.empty() || std::none_of(into_.begin(), into_.end(), waits)) return false;
  if (std::any_of(streams_.begin(), streams_.end(), [](const stream& s) { return s.holds(); }) || may_wait()) return false;
  for (const domain* d : due_) {
    for (stream* s : d->streams) {
      if (!waits(s) || s->wait_in_vain() <= options_.patience) continue;
      violation("stall: stream " + s->name() + clock_name(*s) + " has not been taken for " +
                std::to_string(s->waiting_cycles()) + " cycles, more than " + std::to_string(options_.patience) +
                " of them without a reason (" + s->control() + ")");
      return true;
    }
  }
  return false;
}

void shell::not_taken(const stream& s) {
  violation("hang: stream " + s.name() + clock_name(s) +
            (s.by_credits() ? " has had no credit for " : " has not been taken for ") + std::to_string(s.waiting_cycles()) +
            " cycles (" + s.control() + ")");
}

void shell::not_answered(std::uint64_t quiet) {
  violation("hang: " + std::to_string(owed_) + " answers are missing" +
            (quiet > 0 ? ", nothing has moved for " + std::to_string(quiet) + " cycles" : " and nothing is under way") + " (" +
            silent() + ")");
}

void shell::not_idle(std::uint64_t quiet) {
  violation("hang: the design is not idle, although it has no work and nothing has moved for " + std::to_string(quiet) +
            " cycles");
}

}  // namespace hcasim::rtl
