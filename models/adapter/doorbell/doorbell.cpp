#include "models/adapter/doorbell/doorbell.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "tlm/base/delegate.h"

namespace hcasim {

using doorbell_rules::number_mask;

doorbell::doorbell(const sc_core::sc_module_name& name, const doorbell_config& config, const clock_domain& clock)
    : unit(name), doorbell_front(config, clock), config_(config), clock_(clock), fifo_(config.fifo_depth) {
  describe();
}

void doorbell::write_uar(const doorbell_rules::uar_write& w, ps t) {
  if (w.is.what == doorbell_rules::target::blueflame) return take_blueflame(w, t);
  if (w.is.what == doorbell_rules::target::none) {
    ++bad_writes_;
    return;
  }
  const hca_doorbell& d = w.rung;
  const bool of_qp = w.is.kind == bell::send || w.is.kind == bell::receive;
  if (of_qp && (d.number == 0 || d.number > number_mask)) {
    ++bad_writes_;
    return;
  }
  switch (w.is.kind) {
    case bell::send:
      ++send_bells_;
      break;
    case bell::receive:
      ++receive_bells_;
      break;
    case bell::completion:
      ++cq_bells_;
      break;
    case bell::event:
      ++eq_bells_;
      break;
  }
  arrive({w.is.kind, d.number, of_qp ? d.value & 0xffff : d.value, t, w.operation}, t);
}

void doorbell::take_blueflame(const doorbell_rules::uar_write& w, ps t) {
  const doorbell_rules::blueflame& b = w.wqe;
  const ps line = ps(std::llround(1e12 / config_.blueflame_lines.hertz));
  const auto lines = static_cast<std::int64_t>(ceil_div(w.bytes, HCA_WQE_BLOCK));
  // Lines pass the port one a cycle, whether the WQE is taken or not.
  const ps comes = port_.start(t, clock_.cycles(static_cast<double>(lines)));
  if (!b.whole) {
    // Its index is not trusted either; the record's is.
    ++blueflame_bad_;
    if (b.plausible) remember(b.qpn, w.operation, t);
    return;
  }
  const ps room = line * static_cast<std::int64_t>(config_.blueflame_buffer);
  const bool fits = b.bytes <= config_.blueflame_max && lines <= static_cast<std::int64_t>(config_.blueflame_buffer);
  const bool now_free = lines_.free_at() + line * lines <= t + room;
  if (!fits || (!now_free && !config_.blueflame_stall)) {
    ++blueflame_refused_;
    ++send_bells_;
    return arrive({bell::send, b.qpn, b.value, t, w.operation}, t);
  }
  ++blueflame_wqes_;
  blueflame_lines_ += static_cast<std::uint64_t>(lines);
  const ps done = lines_.start(t, line * lines) + line * lines;
  const std::uint32_t blocks = b.bytes / HCA_WQE_BLOCK;
  const ps taken = std::max(done, comes + clock_.cycles(blocks + 1));
  blueflame_probe_.pulse(b.bytes, taken, clock_.period());
  doorbell_ring& ring = rings_.get();
  std::memcpy(ring.blueflame.data(), w.data, b.bytes);
  ring.blueflame_bytes = b.bytes;
  arrive({bell::send, b.qpn, b.value, taken, w.operation, &ring}, t, done == t + line * lines);
}

// Passes a doorbell on in the call if the unit is idle. A recovered doorbell that waits for its turn keeps the unit busy.
void doorbell::arrive(entry e, ps t, bool prompt) {
  if (prompt && !coming_in_ && size_ == 0 && aside_.empty() && recovered_turn_ < t && pipe_.free_at() <= e.ready) {
    if (e.ready <= now()) {
      let_through(e);
      return;
    }
    coming_in_ = true;
    coming_ = e;
    queue_.at(e.ready, call<&doorbell::came_in>(this));
    return;
  }
  if (coalesced(e)) return;
  if (size_ == fifo_.size()) return drop(e, t);
  e.queued = now();
  fifo_[(head_ + size_) % fifo_.size()] = e;
  ++size_;
  if (e.kind == bell::send) ++queued_[e.number % queued_.size()];
  fifo_level_.set(size_, t);
  fifo_probe_.set(size_, t);
  if (!draining_) schedule_drain();
}

void doorbell::came_in() {
  coming_in_ = false;
  if (!coming_.cancelled) let_through(coming_);
  for (const entry& e : std::exchange(behind_, {})) recovered_turn_ = forward(e);
  if (size_ > 0 || !aside_.empty()) schedule_drain();
}

void doorbell::schedule_drain() {
  if (coming_in_) return;
  draining_ = true;
  const ps ready = size_ > 0 ? fifo_[head_].ready : now();
  queue_.at(std::max(pipe_.free_at(), ready), call<&doorbell::drain>(this));
}

// A BlueFlame WQE that is merged with another doorbell is fetched from the SQ like any other.
bool doorbell::coalesced(const entry& e) {
  if (e.kind == bell::completion || e.kind == bell::event) return merged_aside(e);
  if (e.kind != bell::send || !config_.coalesce || queued_[e.number % queued_.size()] == 0) return false;
  for (std::size_t i = size_; i-- > 0;) {
    entry& old = fifo_[(head_ + i) % fifo_.size()];
    if (old.kind != bell::send || old.number != e.number || old.cancelled) continue;
    if (doorbell_rules::ahead(e.value, old.value) > 0) {
      old.value = e.value;
      old.operation = e.operation;
    }
    for (doorbell_ring* ring : {std::exchange(old.wqe, nullptr), e.wqe}) {
      if (ring) rings_.put(*ring);
    }
    ++coalesced_;
    return true;
  }
  return false;
}

bool doorbell::merged_aside(const entry& e) {
  for (entry& old : aside_) {
    if (old.kind != e.kind || ((old.number ^ e.number) & number_mask) != 0) continue;
    old.value = e.value;
    if (e.number > number_mask) old.number = e.number;  // an arming is not forgotten
    return true;
  }
  return false;
}

void doorbell::drop(const entry& e, ps t) {
  drop_probe_.pulse(1, t, clock_.period());
  if (e.kind == bell::completion || e.kind == bell::event) {
    ++aside_count_;
    aside_.push_back(e);
    return;
  }
  ++dropped_count_;
  if (e.wqe) rings_.put(*e.wqe);
  remember(e.number, e.operation, t);
}

void doorbell::drain() {
  const ps t = now();
  // A record took the turn in between, or another doorbell has come to the front.
  if (pipe_.free_at() > t || (size_ > 0 && fifo_[head_].ready > t)) return schedule_drain();
  entry e;
  if (size_ > 0) {
    e = fifo_[head_];
    wait_.add(t - e.queued);
    head_ = (head_ + 1) % fifo_.size();
    --size_;
    if (e.kind == bell::send && !e.cancelled) --queued_[e.number % queued_.size()];
    fifo_level_.set(size_, t);
    fifo_probe_.set(size_, t);
  } else {
    e = aside_.front();
    aside_.pop_front();
  }
  if (e.cancelled) {
    pipe_.start(t, clock_.period());
  } else {
    let_through(e);
  }
  draining_ = false;
  if (size_ > 0 || !aside_.empty()) schedule_drain();
}

void doorbell::let_through(const entry& e) {
  if (recovering_ && e.number == newest_.qpn) {
    const auto note = [&](bool& any, std::uint32_t& index) {
      if (!any || doorbell_rules::ahead(e.value, index) > 0) index = e.value;
      any = true;
    };
    if (e.kind == bell::send) note(newest_.send, newest_.sq);
    if (e.kind == bell::receive) note(newest_.receive, newest_.rq);
  }
  forward(e);
}

ps doorbell::forward(entry e) {
  const ps turn = pipe_.start(now(), clock_.cycles(config_.interval));
  const ps t = turn + clock_.cycles(config_.latency);
  bell_probe_.pulse(static_cast<std::uint64_t>(e.kind) + 1, t, clock_.period());
  number_probe_.set(e.number, t);
  value_probe_.set(e.value, t);
  doorbell_ring& ring = e.wqe ? *e.wqe : rings_.get();
  if (!e.wqe) ring.blueflame_bytes = 0;
  ring.kind = e.kind;
  ring.number = e.number;
  ring.value = e.value;
  ring.operation = e.operation;
  ring.context = this;
  queue_.at(t, call_holder<&doorbell_ring::context, &doorbell::deliver>(ring));
  return turn;
}

void doorbell::deliver(doorbell_ring& ring) {
  ps t = now();
  (ring.kind == bell::send ? send : ring.kind == bell::receive ? receive : completion).send(ring, t);
  rings_.put(ring);
}

}  // namespace hcasim
