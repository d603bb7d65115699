#include "models/adapter/key_check/key_check.h"

#include <string>
#include <utility>

#include "tlm/base/delegate.h"

namespace hcasim {

key_check::key_check(const sc_core::sc_module_name& name, const key_check_config& config, const clock_domain& clock)
    : unit(name),
      config_(config),
      depth_(clock.cycles(config.depth)),
      interval_(clock.cycles(config.interval)),
      extent_step_(clock.cycles(config.extent_step)),
      cycle_(clock.period()) {
  local.on<&key_check::handle>(this);
  remote.on<&key_check::handle>(this);
  control.on<&key_check::handle_control>(this);
  windows.on<&key_check::handle_control>(this);
  describe();
}

tlm::tlm_sync_enum key_check::handle(key_request& r, tlm::tlm_phase phase, ps& t) {
  if (phase == tlm::END_RESP) {
    release(r, t);
    return tlm::TLM_COMPLETED;
  }
  check& c = checks_.get();
  c.self = this;
  c.request = &r;
  c.arrived = t;
  c.missing = false;
  note_waiting();
  if (config_.blocking_miss) {
    behind_.push(c);
    if (missing_ > 0 || behind_.size() > 1) ++blocked_;
    resume();
    return tlm::TLM_ACCEPTED;
  }
  if (begin(c, t)) {
    retire(c);
    return tlm::TLM_COMPLETED;
  }
  return tlm::TLM_ACCEPTED;
}

bool key_check::begin(check& c, ps& t) {
  t = pipe_.start(now(), interval_);
  valid_probe_.pulse(1, t, cycle_);
  key_probe_.set(c.request->key, t);
  side_probe_.set(c.request->remote, t);
  if (c.request->op == key_op::check) c.request->epoch = c.request->parent_epoch = 0;
  return fetch<&key_check::look_at_mrc>(c, mrc, c.mrc, hca_key_index(c.request->key), t) && look_at_mrc(c, t);
}

// True = the entry is here. A hit whose answer is on its way does not count as missing.
template <key_check::look Look>
void key_check::on_line(check& c, ps t) {
  if (std::exchange(c.missing, false)) --missing_;
  finish(c, (this->*Look)(c, t), t);
}

template <key_check::look Look>
bool key_check::fetch(check& c, initiator_socket<context_request>& from, context_request& r, std::uint32_t index, ps& t) {
  r.operation = c.request->operation;
  r.op = context_op::fetch;
  r.failed = r.dirty = false;
  r.index = index;
  call_on_response<&check::self, &key_check::on_line<Look>>(r, c);
  r.answered_at = ps(0);
  const bool asked_now = t <= now();
  if (from.send(r, t) == tlm::TLM_COMPLETED) return true;
  if (asked_now && r.answered_at == ps(0)) {
    c.missing = true;
    ++missing_;
  }
  return false;
}

bool key_check::look_at_mrc(check& c, ps& t) {
  key_request& r = *c.request;
  if (c.mrc.failed) {
    conclude(c, c.mrc.index >= c.mrc.area_entries ? verdict::bad_index : verdict::table_error, t);
    return true;
  }
  const hca_mrc& m = c.mrc.as<const hca_mrc>();
  if (r.op == key_op::element) [[unlikely]] {
    return look_for_element(c, t);
  }
  const access_request a{r.key,    r.rights,   r.pd,     r.qpn,        r.generation,        r.va,
                         r.length, r.function, r.remote, r.privileged, config_.window_type2};
  const verdict v = judge(m, a);
  if (v != verdict::granted) {
    mrc.release(c.mrc);
    conclude(c, v, t);
    return true;
  }
  r.epoch = take(c.mrc.index, t);
  const mapping map = mapping_of(m, r.key);
  r.map = map.map;
  r.va_offset = map.va_offset;
  if (config_.orphan_windows && rules::is_window(m)) [[unlikely]] {
    c.window = m;
    mrc.release(c.mrc);
    return fetch<&key_check::look_at_parent>(c, mrc, c.parent, hca_key_index(c.window.parent), t) && look_at_parent(c, t);
  }
  if (!needs_extents(m)) {
    mrc.release(c.mrc);
    conclude(c, v, t);
    return true;
  }
  c.search = extent_search(m, r.va, r.length);
  return fetch<&key_check::look_at_extents>(c, extent, c.extent, c.search.line(), t) && look_at_extents(c, t);
}

bool key_check::look_at_extents(check& c, ps& t) {
  if (c.request->op == key_op::element) [[unlikely]] {
    return look_at_elements(c, t);
  }
  for (;;) {
    auto found = extent_search::damaged;
    if (!c.extent.failed) {
      t += extent_step_;
      ++extent_lines_;
      found = c.search.look(c.extent.entry);
      extent.release(c.extent);
    }
    if (found != extent_search::more) {
      const verdict v = found == extent_search::damaged  ? verdict::table_error
                        : found == extent_search::inside ? verdict::granted
                                                         : verdict::bad_bounds;
      mrc.release(c.mrc);
      conclude(c, v, t);
      if (v != verdict::granted) release(*c.request, t);
      return true;
    }
    if (!fetch<&key_check::look_at_extents>(c, extent, c.extent, c.search.line(), t)) return false;
  }
}

// The region of a window may have gone [B4.1]: then the window is as good as unbound. If the region is intact, the access goes
// through its current table. A change of the region then waits for the access too.
bool key_check::look_at_parent(check& c, ps& t) {
  key_request& r = *c.request;
  bool intact = false;
  if (!c.parent.failed) {
    const hca_mrc& region = c.parent.as<const hca_mrc>();
    intact = parent_intact(c.window, region);
    if (intact) {
      r.map = mapping_of(region, c.window.parent).map;
      r.parent_epoch = take(r.region(), t);
    }
    mrc.release(c.parent);
  }
  conclude(c, intact ? verdict::granted : verdict::bad_state, t);
  if (!intact) release(r, t);
  return true;
}

// Elements have lengths of their own, so they are added up from the first one on [E7].
bool key_check::look_for_element(check& c, ps& t) {
  key_request& r = *c.request;
  const hca_mrc& m = c.mrc.as<const hca_mrc>();
  c.left = r.va - m.start;
  c.elements = m.extent_count;
  const bool usable = m.kind == HCA_MRC_INDIRECT && m.key_byte == hca_key_byte(r.key) && c.left < m.length;
  const std::uint32_t first_line = m.extent / HCA_EXTENTS_PER_LINE;
  mrc.release(c.mrc);
  if (!usable || c.elements == 0) {
    conclude(c, verdict::bad_bounds, t);
    return true;
  }
  return fetch<&key_check::look_at_extents>(c, extent, c.extent, first_line, t) && look_at_extents(c, t);
}

bool key_check::look_at_elements(check& c, ps& t) {
  key_request& r = *c.request;
  for (;;) {
    if (c.extent.failed) {
      conclude(c, verdict::table_error, t);
      return true;
    }
    t += extent_step_;
    ++extent_lines_;
    const hca_element* const line = &c.extent.as<const hca_element>();
    const std::uint32_t used = std::min<std::uint32_t>(c.elements, HCA_EXTENTS_PER_LINE);
    for (std::uint32_t i = 0; i < used; ++i) {
      if (c.left < line[i].length) {
        r.piece = line[i];
        r.piece.va += c.left;
        r.piece.length -= static_cast<std::uint32_t>(c.left);
        extent.release(c.extent);
        conclude(c, verdict::granted, t);
        return true;
      }
      c.left -= line[i].length;
    }
    extent.release(c.extent);
    c.elements -= used;
    if (c.elements == 0) {
      conclude(c, verdict::bad_bounds, t);
      return true;
    }
    if (!fetch<&key_check::look_at_extents>(c, extent, c.extent, c.extent.index + 1, t)) return false;
  }
}

void key_check::conclude(check& c, verdict v, ps& t) {
  key_request& r = *c.request;
  t += depth_;
  r.result = v;
  ++verdicts_[r.remote][static_cast<std::size_t>(v)];
  latency_[r.remote].add(t - c.arrived);
  verdict_probe_.set(static_cast<std::uint64_t>(v), t);
}

void key_check::finish(check& c, bool concluded, ps t) {
  if (concluded) {
    key_request& r = *c.request;
    retire(c);
    target_socket<key_request>::respond(r, t);
  }
  if (config_.blocking_miss) resume();
}

void key_check::retire(check& c) {
  checks_.put(c);
  note_waiting();
}

void key_check::note_waiting() {
  const std::uint64_t waiting = checks_.in_use();
  waiting_.set(waiting, now());
  waiting_probe_.set(waiting, now());
}

// blocking_miss: the checks behind go on, in the pipeline's turns, until one of them misses.
void key_check::resume() {
  while (missing_ == 0 && !behind_.empty()) {
    if (pipe_.free_at() > now()) {
      if (std::exchange(turn_asked_, true)) return;
      queue_.at(pipe_.free_at(), call<&key_check::take_turn>(this));
      return;
    }
    check& c = behind_.pop();
    ps t = now();
    if (!begin(c, t)) continue;
    key_request& r = *c.request;
    retire(c);
    target_socket<key_request>::respond(r, t);
  }
}

void key_check::take_turn() {
  turn_asked_ = false;
  resume();
}

void key_check::note_references(ps t) {
  outstanding_.set(epochs_.references(), t);
  references_probe_.set(epochs_.references(), t);
}

std::uint64_t key_check::take(std::uint32_t index, ps t) {
  const std::uint64_t epoch = epochs_.take(index);
  note_references(t);
  return epoch;
}

void key_check::give(std::uint32_t index, std::uint64_t epoch, ps t) {
  const bool last_older = epochs_.give(index, epoch);
  note_references(t);
  if (last_older) [[unlikely]] {
    on_epoch_drained(index, t);
  }
}

// An access gives one reference back per cycle.
void key_check::release(key_request& r, ps t) {
  if (r.epoch == 0) return;
  give(hca_key_index(r.key), std::exchange(r.epoch, 0), t);
  if (r.parent_epoch == 0) [[likely]] {
    return;
  }
  second_reference& s = seconds_.get();
  s = {this, r.region(), std::exchange(r.parent_epoch, 0), nullptr};
  queue_.at(std::max(t, now()) + cycle_, call_holder<&second_reference::self, &key_check::give_second>(s));
}

void key_check::give_second(second_reference& s) {
  give(s.index, s.epoch, now());
  seconds_.put(s);
}

tlm::tlm_sync_enum key_check::handle_control(key_request& r, tlm::tlm_phase phase, ps& t) {
  if (phase == tlm::END_RESP) return tlm::TLM_COMPLETED;
  ++drain_count_;
  const ps arrived = t;
  t = pipe_.start(t, interval_) + depth_;
  const std::uint32_t index = hca_key_index(r.key);
  r.result = verdict::granted;
  if (!epochs_.renew(index)) {
    drain_wait_.add(t - arrived);
    return tlm::TLM_COMPLETED;
  }
  drain& d = drains_.get();
  d = {this, &r, index, arrived, nullptr};
  draining_.push(d);
  return tlm::TLM_ACCEPTED;
}

// Answers the drains of this index, not before the kernel has reached the time of the last release.
void key_check::on_epoch_drained(std::uint32_t index, ps t) {
  fifo<drain> others;
  while (!draining_.empty()) {
    drain& d = draining_.pop();
    if (d.index != index) {
      others.push(d);
      continue;
    }
    queue_.at(std::max(t, now()), call_holder<&drain::self, &key_check::answer_drain>(d));
  }
  draining_ = others;
}

void key_check::answer_drain(drain& d) {
  key_request& r = *d.request;
  drain_wait_.add(now() - d.arrived);
  drains_.put(d);
  target_socket<key_request>::respond(r, now());
}

void key_check::describe() {
  static constexpr const char* sides[2] = {"local", "remote"};
  for (std::size_t s = 0; s < 2; ++s) {
    for (std::size_t v = 0; v < verdicts; ++v) {
      stats_.add(std::string(sides[s]) + "_" + verdict_names[v], "1",
                 std::string("checks of ") + (s ? "R_Keys" : "L_Keys") + " that ended in " + verdict_names[v], verdicts_[s][v]);
    }
    stats_.add(std::string(sides[s]) + "_latency", "ps", std::string("from request to verdict, ") + (s ? "R_Keys" : "L_Keys"),
               latency_[s]);
  }
  stats_.add("extent_lines", "1", "lines of extents looked at", extent_lines_);
  stats_.add("blocked", "1", "checks that waited behind one that had missed", blocked_);
  stats_.add("drains", "1", "epochs begun by the command unit", drain_count_);
  stats_.add("drain_wait", "ps", "from a drain to the end of the last older access", drain_wait_);
  stats_.add("references", "1", "held by accesses granted and not finished, one to each key that granted it", outstanding_);
  stats_.add("waiting", "1", "checks waiting for an MRC, an extent or an earlier check", waiting_);
  stats_.busy_time("pipe_busy", "time the pipeline took checks in", pipe_);
  stats_.wait_time("pipe_waited", "time checks waited to enter the pipeline, summed", pipe_);
  signals_.add("valid", 1, valid_probe_);
  signals_.add("key", 32, key_probe_);
  signals_.add("side", 1, side_probe_, {sides[0], sides[1]});
  signals_.add("verdict", 3, verdict_probe_, {verdict_names, verdict_names + verdicts});
  signals_.add("references", 16, references_probe_);
  signals_.add("waiting", 16, waiting_probe_);
}

}  // namespace hcasim
