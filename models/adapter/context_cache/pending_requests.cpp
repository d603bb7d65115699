#include "models/adapter/context_cache/pending_requests.h"

#include "models/adapter/context_cache/request_admission.h"
#include "tlm/base/delegate.h"

namespace hcasim {

bool pending_requests::take(context_request& r, ps t) {
  pending_request& p = pool_.get();
  p = {&r, t, admission::answered, nullptr};
  if (gated()) {
    gate_.push(p);
  } else {
    const admission a = parts_.admission.admit(p);
    if (a == admission::answered) {
      pool_.put(p);
      return true;
    }
    if (a != admission::queued) stall(p, a);
  }
  note_waiting();
  return false;
}

void pending_requests::answer(pending_request& p) {
  context_request& r = *p.request;
  const ps t = std::max(p.t, now());
  pool_.put(p);
  note_waiting();
  target_socket<context_request>::respond(r, t);
}

void pending_requests::settle(pending_request& p) {
  const admission a = parts_.admission.admit(p);
  if (a == admission::answered) {
    answer(p);
  } else if (a != admission::queued) {
    stall(p, a);
  }
}

void pending_requests::settle_all(fifo<pending_request> list) {
  while (!list.empty()) settle(list.pop());
}

void pending_requests::stall(pending_request& p, admission why) {
  count_stall(p, why);
  stalled_.push(p);
}

void pending_requests::count_stall(pending_request& p, admission why) {
  if (p.stall == admission::answered) ++(why == admission::no_fetch ? counters_.no_fetch : counters_.no_victim);
  p.stall = why;
  ++stalled_count_;
  if (why == admission::no_fetch) {
    ++stalled_for_fetch_;
  } else {
    ++stalled_in_set_[parts_.admission.set_of(p)];
  }
  signals_.stalled.set(stalled_count_, now());
}

void pending_requests::end_stall(const pending_request& p) {
  --stalled_count_;
  if (p.stall == admission::no_fetch) {
    --stalled_for_fetch_;
  } else {
    --stalled_in_set_[parts_.admission.set_of(p)];
  }
}

void pending_requests::retry_stalled() {
  fifo<pending_request> list = stalled_.take();
  fifo<pending_request> still;
  while (!list.empty()) {
    pending_request& p = list.pop();
    end_stall(p);
    // Another try takes a turn of the lookup port; newcomers wait for it.
    p.t = std::max({p.t, port_.turns.free_at(), now()});
    const admission a = parts_.admission.admit(p);
    if (a == admission::no_fetch || a == admission::no_victim) {
      count_stall(p, a);
      still.push(p);
    } else {
      port_.turns.start(now(), port_.interval);
      if (a == admission::answered) answer(p);
    }
    if (!parts_.fetches.any_free()) break;
  }
  // First come, first served: requests that stalled meanwhile are last.
  still.append(list);
  still.append(stalled_);
  stalled_ = still;
  signals_.stalled.set(stalled_count_, now());
}

// Stalled requests try again in the cycle after a way or a fetch became free; a lookup may be faster.
void pending_requests::poke() {
  if (poked_) return;
  poked_ = true;
  queue_.at(now() + port_.cycle, call<&pending_requests::on_poke>(this));
}

void pending_requests::on_poke() {
  poked_ = false;
  if (stalled_count_ > 0) retry_stalled();
  progress();
}

void pending_requests::on_release() {
  on_room();
  if (area_change_) queue_.soon(call<&pending_requests::progress>(this));
}

bool pending_requests::missing() const {
  return parts_.fetches.active() > 0 || stalled_count_ > 0;
}

void pending_requests::progress() {
  again_ = true;
  if (progressing_) return;
  progressing_ = true;
  while (again_) {
    again_ = false;
    if (area_change_ && parts_.admission.idle()) settle(*std::exchange(area_change_, nullptr));
    while (!gate_.empty() && !area_change_ && (config_.hit_under_miss || !missing())) settle(gate_.pop());
  }
  progressing_ = false;
}

void pending_requests::list_waiting(waiting_list& list, const std::string& at, const std::string& target,
                                    std::uint64_t pinned) const {
  pool_.each_in_use([&](const pending_request& p) {
    list.add({.kind = p.request->op == context_op::fetch ? "context to fetch" : "context to drop",
              .text = std::to_string(p.request->index) + ", " + std::to_string(pinned) + " entries are lent",
              .since = p.t,
              .at = at,
              .waits_for = {target}});
  });
}

}  // namespace hcasim
