// Messages of address translation, to and from the link; register accesses that pass by.
#include <algorithm>
#include <cstring>

#include "models/atc/atc.h"

namespace hcasim {

tlm::tlm_sync_enum atc::from_above(tlm::tlm_generic_payload& p, tlm::tlm_phase& phase, sc_core::sc_time& delay) {
  const auto* extension = p.get_extension<pcie_extension>();
  if (!extension || extension->message == pcie_message::none) return bar->nb_transport_fw(p, phase, delay);
  if (phase != tlm::BEGIN_REQ) return tlm::TLM_COMPLETED;
  const ps t = now() + to_ps(delay);
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
  const auto inside = [&](std::uint64_t address) { return (address | 0xfff) >= first && address <= last; };
  dropped_ += cache_.drop(0, first, last);
  for (lookup* l : open_) {
    if (l->status == lookup::state::asked && inside(l->page)) l->stale = true;
  }
  invalidation i{tag, first, last, tracked_left_, 0, t};
  for (const access* a : tracked_) i.tracked += inside(a->address);
  // Before those in order are translated anew: what has not left may not leave with what it knew.
  std::vector<access*> again;
  for (access* a : held_) {
    if (!a->known || a->plain || a->refused || !inside(a->address)) continue;
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
    const bool counted = a.number < i.before && (a.address | 0xfff) >= i.first && a.address <= i.last;
    if (!counted || --i.tracked != 0) {
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
  q.of = nullptr;
  q.entry = 0;
  q.extension.requester = requester_;
  q.extension.address_type = pcie_address_type::untranslated;
  q.extension.message = pcie_message::none;
  q.extension.tag = 0;
  q.extension.code = 0;
  q.set_command(command);
  q.set_address(address);
  q.set_data_ptr(reinterpret_cast<unsigned char*>(&q.entry));
  q.set_data_length(bytes);
  q.set_streaming_width(bytes);
  q.set_byte_enable_ptr(nullptr);
  q.set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
  return q;
}

void atc::send_message(pcie_message kind, std::uint64_t address, std::uint16_t tag, std::uint8_t code, ps t) {
  own_payload& q = new_payload(tlm::TLM_WRITE_COMMAND, address, 0);
  q.extension.message = kind;
  q.extension.tag = tag;
  q.extension.code = code;
  tlm::tlm_phase phase = tlm::BEGIN_REQ;
  sc_core::sc_time delay = to_sc(std::max(t - now(), ps(0)));
  const tlm::tlm_sync_enum status = pcie->nb_transport_fw(q, phase, delay);
  if (status == tlm::TLM_COMPLETED || phase == tlm::BEGIN_RESP) q.release();
}

void atc::free(tlm::tlm_generic_payload* p) {
  own_.put(static_cast<own_payload&>(*p));
}

void atc::describe() {
  stats_.add("bursts", "1", "bursts of the DMA engine", bursts_);
  stats_.add("hits", "1", "bursts whose translation was known", hits_);
  stats_.add("plain", "1", "bursts that are not translated: interrupts, other devices", plain_);
  stats_.add("misses", "1", "pages whose translation was asked for", misses_);
  stats_.add("merged", "1", "bursts that joined another one's question", merged_);
  stats_.add("slot_waits", "1", "questions that waited because too many were under way", slot_waits_);
  stats_.add("order_waits", "1", "bursts that waited for a write before them", order_waits_);
  stats_.add("evictions", "1", "translations that made room", evictions_);
  stats_.add("dropped_entries", "1", "translations forgotten by invalidations", dropped_);
  stats_.add("stale_answers", "1", "answers asked for again because an invalidation came meanwhile", stale_);
  stats_.add("invalidations", "1", "ranges that the IOMMU had forgotten", invalidated_);
  stats_.add("drained", "1", "invalidations that waited for reads under way", drains_);
  stats_.add("retranslated", "1", "bursts that an invalidation met before they left", retranslated_);
  stats_.add("page_requests", "1", "page requests sent", page_requests_);
  stats_.add("credit_waits", "1", "page requests that waited for a credit", credit_waits_);
  stats_.add("page_retries", "1", "pages asked for again that were granted, but not there", page_retries_);
  stats_.add("pages_refused", "1", "page requests answered with invalid request", pages_refused_);
  stats_.add("stops", "1", "times that page requests were given up for good", stops_);
  stats_.add("refused", "1", "bursts that failed", refused_);
  stats_.formula("hit_ratio", "1", "share of the translated bursts that found their translation", [this] {
    const auto all = static_cast<double>(bursts_.value() - plain_.value());
    return all > 0 ? 1 - static_cast<double>(misses_.value() + merged_.value()) / all : 0.0;
  });
  stats_.add("request_time", "ps", "from a translation request to its completion", request_time_);
  stats_.add("page_time", "ps", "from a page request to its answer", page_time_);
  stats_.add("wait_time", "ps", "of bursts that did not go on at once: from their arrival until they left", wait_time_);
  stats_.add("invalidation_time", "ps", "from an invalidation to its completion", invalidation_time_);
  stats_.add("requests_outstanding", "1", "translation requests under way", asking_level_);
  stats_.add("pages_outstanding", "1", "page requests under way", pages_level_);
  stats_.add("held", "1", "bursts that wait", held_level_);
  signals_.add("valid", 1, valid_probe_);
  signals_.add("address", 64, address_probe_);
  signals_.add("hit", 1, hit_probe_);
  signals_.add("requests", 13, asking_probe_);
  signals_.add("pages", 10, pages_probe_);
  signals_.add("held", 16, held_probe_);
  signals_.add("invalidate", 1, invalidate_probe_);
  signals_.add("refused", 1, refused_probe_);
  signals_.add("stopped", 1, stopped_probe_);
}

}  // namespace hcasim
