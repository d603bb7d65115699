#include "tlm/page_faults.h"

#include <utility>

#include "tlm/base/delegate.h"

namespace hcasim {

void page_faults::note(request& r, const missing_page& p, std::uint32_t qpn, const void* owner, ps t) {
  bool asked = false;
  for (const request* o = first_; o; o = o->next) asked |= o->for_page(p);
  r.status = state::pending;
  r.page = p;
  r.owner = owner;
  r.since = t;
  r.previous = nullptr;
  r.next = first_;
  if (first_) first_->previous = &r;
  first_ = &r;
  ++pending_;
  ++faults_;
  if (!asked) raise(r, qpn, t);
}

void page_faults::raise(const request& r, std::uint32_t qpn, ps t) {
  ++raised_;
  report& e = pool_.get();
  e = {};
  e.operation = r.page.operation;
  e.event = true;
  e.type = HCA_EVENT_PAGE_FAULT;
  e.number = r.page.index;
  e.va = r.page.va;
  e.length = static_cast<std::uint32_t>(std::min<std::uint64_t>(r.page.length, ~0U));
  e.flags = (r.page.write ? std::uint32_t{HCA_FAULT_WRITE} : 0U) | (remote_ ? std::uint32_t{HCA_FAULT_REMOTE} : 0U);
  e.qpn = qpn;
  call_on_response<&pool<report>::put>(e, &pool_);
  if (reports_.send(e, t) == tlm::TLM_COMPLETED) pool_.put(e);
}

void page_faults::forget(request& r) {
  if (r.status == state::pending) {
    (r.previous ? r.previous->next : first_) = r.next;
    if (r.next) r.next->previous = r.previous;
    --pending_;
  }
  r.status = state::idle;
}

void page_faults::end(request& r, state outcome) {
  const std::coroutine_handle<> waiter = std::exchange(r.waiter, {});
  forget(r);
  r.status = outcome;
  time_.add(now() - r.since);
  if (outcome == state::refused) ++refused_;
  if (waiter) queue_.soon(resume(waiter));
}

tlm::tlm_sync_enum page_faults::on_answer(page_answer& a, tlm::tlm_phase, ps&) {
  for (request* r = first_; r;) {
    request* const next = r->next;
    const bool meant = r->page.index == a.index && r->page.va >= a.first && r->page.va <= a.last;
    if (meant && a.outcome == page_outcome::ready) end(*r, state::ready);
    if (meant && (a.outcome == page_outcome::unmapped || (a.outcome == page_outcome::read_only && r->page.write)))
      end(*r, state::refused);
    r = next;
  }
  return tlm::TLM_COMPLETED;
}

void page_faults::cancel(const void* owner) {
  for (request* r = first_; r;) {
    request* const next = r->next;
    if (r->owner == owner) end(*r, state::cancelled);
    r = next;
  }
}

void page_faults::list_waiting(waiting_list& list, const std::string& at, const std::string& driver) const {
  for (const request* r = first_; r; r = r->next) {
    list.add({.kind = "page fault",
              .text = std::string(r->page.write ? "write" : "read") + " at " + hex_text(r->page.va) + ", key index " +
                      std::to_string(r->page.index),
              .since = r->since,
              .at = at,
              .waits_for = {driver}});
  }
}

void page_faults::list(statistics& s) {
  s.add("page_faults", "1", "accesses that found a page of an on-demand region missing", faults_);
  s.add("page_fault_events", "1", "of those, the ones that the driver was told of: the first for a page", raised_);
  s.add("page_faults_refused", "1", "accesses whose page is not mapped, or not for writing", refused_);
  s.add("page_fault_time", "ps", "from the missing page to the driver's answer", time_);
}

}  // namespace hcasim
