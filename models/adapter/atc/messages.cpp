// Messages of address translation, to and from the link; register accesses pass through.
#include <algorithm>
#include <cstring>

#include "models/adapter/atc/atc.h"
#include "tlm/access.h"
#include "tlm/base/delegate.h"

namespace hcasim {

tlm::tlm_sync_enum atc::from_above(tlm::tlm_generic_payload& p, tlm::tlm_phase& phase, sc_core::sc_time& delay) {
  const auto* extension = p.get_extension<pcie_extension>();
  if (!extension || extension->message == pcie_message::none) return bar->nb_transport_fw(p, phase, delay);
  if (phase != tlm::BEGIN_REQ) return tlm::TLM_COMPLETED;
  const ps t = from_delay(delay);
  p.set_response_status(tlm::TLM_OK_RESPONSE);
  if (extension->message == pcie_message::invalidate && p.get_data_length() == 8) {
    std::uint64_t entry = 0;
    std::memcpy(&entry, p.get_data_ptr(), sizeof entry);
    invalidate(extension->tag, entry, t);
  } else if (extension->message == pcie_message::page_response) {
    page_answered(extension->tag, static_cast<ats_response>(extension->code), t);
  } else {
    p.set_response_status(tlm::TLM_COMMAND_ERROR_RESPONSE);
  }
  return tlm::TLM_COMPLETED;
}

tlm::tlm_sync_enum atc::from_bar(tlm::tlm_generic_payload& p, tlm::tlm_phase& phase, sc_core::sc_time& delay) {
  return down->nb_transport_bw(p, phase, delay);
}

void atc::invalidate(std::uint16_t tag, std::uint64_t entry, ps t) {
  ++invalidated_;
  invalidate_probe_.pulse(1, t, clock_.period());
  const std::uint64_t first = ats_base(entry);
  const std::uint64_t last = first + ((std::uint64_t{1} << ats_shift(entry)) - 1);
  invalidation i{tag, first, last, tracked_left_, 0, t};
  dropped_ += cache_.drop(0, first, last);
  for (lookup* l : open_) {
    if (l->status == lookup::state::asked && i.covers(l->page)) l->stale = true;
  }
  for (const access* a : tracked_) i.tracked += i.covers(a->address);
  // First every held burst loses its old translation: translating one anew may let others leave.
  std::vector<access*> again;
  for (access* a : held_) {
    if (!a->known || a->plain || a->refused || !i.covers(a->address)) continue;
    a->known = false;
    again.push_back(a);
  }
  retranslated_ += again.size();
  if (i.tracked == 0) {
    invalidation_time_.add(ps(0));
    send_message(pcie_message::invalidate_done, 0, tag, 0, t);
  } else {
    ++drains_;
    invalidations_.push_back(i);
  }
  for (access* a : again) look_up(*a, t);
}

void atc::drained(const access& a, ps t) {
  for (std::size_t n = 0; n < invalidations_.size();) {
    invalidation& i = invalidations_[n];
    if (a.number >= i.before || !i.covers(a.address) || --i.tracked != 0) {
      ++n;
      continue;
    }
    invalidation_time_.add(t - i.begun);
    const std::uint16_t tag = i.tag;
    invalidations_.erase(invalidations_.begin() + static_cast<std::ptrdiff_t>(n));
    send_message(pcie_message::invalidate_done, 0, tag, 0, t);
  }
}

atc::own_payload& atc::new_payload(tlm::tlm_command command, std::uint64_t address, unsigned bytes) {
  own_payload& q = own_.get();
  q.set_mm(this);
  q.acquire();
  q.from = this;
  q.of = nullptr;
  q.entry = 0;
  q.extension.requester = requester_;
  q.extension.address_type = pcie_address_type::untranslated;
  q.extension.message = pcie_message::none;
  q.extension.tag = 0;
  q.extension.code = 0;
  q.extension.operation = 0;
  set_access(q, command, address, &q.entry, bytes);
  return q;
}

void atc::send_message(pcie_message kind, std::uint64_t address, std::uint16_t tag, std::uint8_t code, ps t) {
  own_payload& q = new_payload(tlm::TLM_WRITE_COMMAND, address, 0);
  q.extension.message = kind;
  q.extension.tag = tag;
  q.extension.code = code;
  tlm::tlm_phase phase = tlm::BEGIN_REQ;
  sc_core::sc_time delay = to_delay(std::max(t, left_until_));  // behind the writes before it
  const tlm::tlm_sync_enum status = pcie->nb_transport_fw(q, phase, delay);
  if (status != tlm::TLM_COMPLETED && phase != tlm::BEGIN_RESP) return;
  queue_.at(std::max(from_delay(delay), now()), call_holder<&own_payload::from, &atc::message_left_later>(q));
}

void atc::message_left_later(own_payload& q) {
  message_left(q, now());
  q.release();
}

// A page request that the link or the IOMMU refuses has no other answer.
void atc::message_left(const own_payload& q, ps t) {
  if (q.extension.message != pcie_message::page_request || q.get_response_status() >= tlm::TLM_INCOMPLETE_RESPONSE) return;
  page_answered(q.extension.tag, ats_response::invalid_request, t);
}

void atc::free(tlm::tlm_generic_payload* p) {
  own_.put(static_cast<own_payload&>(*p));
}

}  // namespace hcasim
