// Translations and pages that bursts wait for.
#include <algorithm>
#include <iterator>
#include <utility>

#include "models/adapter/atc/atc.h"
#include "tlm/base/delegate.h"

namespace hcasim {

void atc::join(access& a, ps t) {
  const std::uint64_t page = a.address & ~std::uint64_t{0xfff};
  const bool write = a.payload().is_write();
  for (lookup* l : open_) {
    if (l->page != page || (write && !l->write)) continue;
    ++merged_;
    l->waiting.push_back(&a);
    return;
  }
  ++misses_;
  lookup& l = lookups_.get();
  l.owner = this;
  l.page = page;
  const auto* const extension = a.payload().get_extension<pcie_extension>();
  l.operation = extension ? extension->operation : 0;
  l.write = write;
  l.tries = 0;
  l.begun = t;
  l.waiting.clear();
  l.waiting.push_back(&a);
  open_.push_back(&l);
  ask(l, t);
}

void atc::ask(lookup& l, ps t) {
  if (asking_ == config_.requests) {
    ++slot_waits_;
    l.status = lookup::state::waits_for_slot;
    without_slot_.push(l);
    return;
  }
  ++asking_;
  asking_level_.set(asking_, now());
  asking_probe_.set(asking_, now());
  l.status = lookup::state::asked;
  l.stale = false;
  l.begun = now();
  own_payload& q = new_payload(tlm::TLM_READ_COMMAND, l.page, sizeof q.entry);
  q.of = &l;
  q.extension.operation = l.operation;
  q.extension.address_type = pcie_address_type::translation_request;
  q.extension.code = l.write ? std::uint8_t{0} : std::uint8_t{ats_no_write};
  tlm::tlm_phase phase = tlm::BEGIN_REQ;
  sc_core::sc_time delay = to_delay(t);
  const tlm::tlm_sync_enum status = pcie->nb_transport_fw(q, phase, delay);
  if (status != tlm::TLM_COMPLETED && phase != tlm::BEGIN_RESP) return;
  queue_.at(from_delay(delay), call_holder<&own_payload::from, &atc::answered_later>(q));
}

void atc::answered_later(own_payload& q) {
  answered(q, now());
  q.release();
}

void atc::answered(own_payload& q, ps t) {
  lookup& l = *q.of;
  --asking_;
  asking_level_.set(asking_, now());
  asking_probe_.set(asking_, now());
  request_time_.add(t - l.begun);
  if (l.stale) {
    // An invalidation came meanwhile: the answer may be older.
    ++stale_;
    ask(l, t);
    return slot_free(t);
  }
  if (q.get_response_status() != tlm::TLM_OK_RESPONSE) {
    give_up(l, t);
    return slot_free(t);
  }
  const std::uint64_t rights = q.entry & (ats_read | ats_write);
  std::uint64_t base = ats_base(q.entry);
  unsigned shift = ats_shift(q.entry);
  if (shift != 12 && shift != 21 && shift != 30) {
    base += offset_in_page(l.page, shift);
    shift = 12;
  }
  if (rights != 0) evictions_ += cache_.put(0, l.page, shift, base, static_cast<unsigned>(rights));
  const auto allowed = [&](const access* a) { return (rights & (a->payload().is_write() ? ats_write : ats_read)) != 0; };
  const std::vector<access*> waiting = std::exchange(l.waiting, {});
  std::copy_if(waiting.begin(), waiting.end(), std::back_inserter(l.waiting), [&](const access* a) { return !allowed(a); });
  const bool all = l.waiting.empty();
  if (all) close(l);
  // Bursts go on in the order in which they came. A burst that has left belongs to the engine, so all rights are looked at
  // before.
  std::vector<access*> granted;
  std::copy_if(waiting.begin(), waiting.end(), std::back_inserter(granted), allowed);
  for (access* a : granted) {
    a->physical = base + offset_in_page(a->address, shift);
    known(*a, t);
  }
  if (!all) without_right(l, t);
  slot_free(t);
}

void atc::without_right(lookup& l, ps t) {
  if (config_.page_requests == 0 || stopped_ || l.tries > config_.page_retries) return give_up(l, t);
  if (l.tries++ == 0 || config_.page_retry_delay == 0_ps) return ask_page(l, t);
  // The page was granted and is still missing: software gets some time.
  ++page_retries_;
  l.status = lookup::state::pauses;
  queue_.at(std::max(t, now()) + config_.page_retry_delay, call_holder<&lookup::owner, &atc::ask_page>(l));
}

void atc::ask_page(lookup& l, ps t) {
  if (stopped_) return give_up(l, t);
  if (free_groups_.empty()) {
    ++credit_waits_;
    l.status = lookup::state::waits_for_credit;
    without_credit_.push(l);
    return;
  }
  l.group = free_groups_.back();
  free_groups_.pop_back();
  groups_[l.group] = &l;
  l.status = lookup::state::page_asked;
  l.begun = t;
  ++page_requests_;
  pages_level_.add(1, now());
  pages_probe_.set(pages_level_.value(), now());
  const unsigned what = ats_page_last | (l.write ? ats_page_read | ats_page_write : ats_page_read);
  send_message(pcie_message::page_request, l.page, l.group, static_cast<std::uint8_t>(what), t);
}

void atc::page_answered(std::uint16_t group, ats_response code, ps t) {
  if (group >= groups_.size() || !groups_[group]) return;
  lookup& l = *std::exchange(groups_[group], nullptr);
  free_groups_.push_back(group);
  pages_level_.add(-1, now());
  pages_probe_.set(pages_level_.value(), now());
  page_time_.add(t - l.begun);
  if (code == ats_response::success) {
    ask(l, t);
    return credit_free(t);
  }
  if (code == ats_response::invalid_request) {
    ++pages_refused_;
    give_up(l, t);
    return credit_free(t);
  }
  give_up(l, t);
  stop_pages(t);
}

// Fails the page requests that wait for a credit, since the service of page requests has ended. Requests already sent are
// answered.
void atc::stop_pages(ps t) {
  if (stopped_) return;
  ++stops_;
  stopped_ = true;
  stopped_probe_.set(1, t);
  while (!without_credit_.empty()) give_up(without_credit_.pop(), t);
}

void atc::reset() {
  cache_.drop(0, 0, ~std::uint64_t{0});
  for (lookup* l : open_) l->stale |= l->status == lookup::state::asked;
  invalidations_.clear();
  stop_pages(now());
  stopped_ = false;
  stopped_probe_.set(0, now());
}

void atc::give_up(lookup& l, ps t) {
  const std::vector<access*> waiting = std::exchange(l.waiting, {});
  close(l);
  for (access* a : waiting) {
    a->refused = true;
    known(*a, t);
  }
}

void atc::close(lookup& l) {
  std::erase(open_, &l);
  lookups_.put(l);
}

void atc::slot_free(ps t) {
  while (asking_ < config_.requests && !without_slot_.empty()) ask(without_slot_.pop(), t);
}

void atc::credit_free(ps t) {
  while (!free_groups_.empty() && !without_credit_.empty()) ask_page(without_credit_.pop(), t);
}

}  // namespace hcasim
