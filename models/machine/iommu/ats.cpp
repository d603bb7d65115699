// Devices that translate for themselves: their questions, their messages, and what is sent to them.
#include <algorithm>
#include <cstring>
#include <utility>

#include "models/machine/iommu/iommu.h"
#include "tlm/access.h"

namespace hcasim {

unsigned iommu::needed_by(const access& a) {
  if (a.type != pcie_address_type::translation_request) return right_to(a.payload->is_write());
  return right_to(!(a.payload->get_extension<pcie_extension>()->code & ats_no_write));
}

// A question that the IOTLB answers is answered in the call.
tlm::tlm_sync_enum iommu::from_ats_device(requester& r, tlm::tlm_generic_payload& p, const pcie_extension& e,
                                          sc_core::sc_time& delay, ps t, ps arrived) {
  const bool asks = e.address_type == pcie_address_type::translation_request;
  if (asks) {
    ++translation_requests_;
  } else if (e.message == pcie_message::none) {
    ++translated_;
  }
  kind_probe_.pulse(asks ? 1 : e.message == pcie_message::none ? 2 : 3, t, config_.issue_interval);
  const bool allowed = r.ats && r.state == context_state::translated && e.message == pcie_message::none;
  if (r.order.empty() && allowed) {
    const page_cache::entry* known = asks ? tlb_.find(r.id, p.get_address()) : nullptr;
    if (known && (known->rights & right_to(!(e.code & ats_no_write)))) {
      ++hits_;
      const std::uint64_t entry = ats_entry(known->value, known->shift, known->rights);
      std::memcpy(p.get_data_ptr(), &entry, sizeof entry);
      p.set_response_status(tlm::TLM_OK_RESPONSE);
      delay = to_delay(t);
      return tlm::TLM_COMPLETED;
    }
  }
  hold(r, p, false, t, arrived);
  return tlm::TLM_ACCEPTED;
}

void iommu::take_message(requester& r, const pcie_extension& e, std::uint64_t address) {
  if (e.message == pcie_message::invalidate_done) return free_one(e.tag, r.id);
  if (e.message == pcie_message::page_request) take_page_request(r, address, e.tag, e.code);
}

// ---- invalidations

unsigned iommu::free_tag() const {
  const auto is_free = [](const device_invalidation& d) { return d.status == device_invalidation::state::free; };
  return static_cast<unsigned>(std::find_if(tags_.begin(), tags_.end(), is_free) - tags_.begin());
}

bool iommu::tags_asked() const {
  const auto is_asked = [](const device_invalidation& d) { return d.status == device_invalidation::state::asked; };
  return std::any_of(tags_.begin(), tags_.end(), is_asked);
}

void iommu::free_one(std::uint16_t tag, std::uint32_t from) {
  if (tag >= ats_tags || tags_[tag].status == device_invalidation::state::free || tags_[tag].requester != from) return;
  if (tags_[tag].status == device_invalidation::state::asked) {
    device_invalidation_time_.add(now() - tags_[tag].sent);
    tags_asked_.add(-1, now());
    tags_probe_.set(tags_asked_.value(), now());
  }
  tags_[tag].status = device_invalidation::state::free;
  if (!tags_asked()) tag_timer_.cancel();
  if (tag_waiter_) queue_.soon(resume(std::exchange(tag_waiter_, {})));
}

// The rights of the device are read anew: what it answers from now on is to questions of now.
void iommu::free_lost(std::uint32_t of) {
  for (device_invalidation& d : tags_) {
    if (d.status == device_invalidation::state::lost && d.requester == of) d.status = device_invalidation::state::free;
  }
}

// The tag of an invalidation that was given up is not used again before the device names it, or its context is read anew.
void iommu::expire() {
  ps next = never;
  for (device_invalidation& d : tags_) {
    if (d.status != device_invalidation::state::asked) continue;
    if (d.sent + config_.invalidation_timeout > now()) {
      next = std::min(next, d.sent + config_.invalidation_timeout);
      continue;
    }
    d.status = device_invalidation::state::lost;
    tags_asked_.add(-1, now());
    tags_probe_.set(tags_asked_.value(), now());
    timed_out_ = true;
    ++timeouts_;
    ++faults_;
    ++fault_kinds_[IOMMU_FAULT_TIMEOUT];
    fault_address_ = 0;
    fault_info_ = d.requester | std::uint64_t{IOMMU_FAULT_TIMEOUT} << 16;
    fault_probe_.pulse(IOMMU_FAULT_TIMEOUT, now(), config_.hit_latency);
  }
  if (next != never) wake_at(tag_timer_, next);
  if (tag_waiter_) queue_.soon(resume(std::exchange(tag_waiter_, {})));
}

// ---- page requests

void iommu::take_page_request(requester& r, std::uint64_t address, std::uint32_t group, std::uint32_t flags) {
  const bool enabled = (pages_size_ & 0x80000000U) != 0;
  const std::uint32_t size = 1U << (pages_size_ & 15);
  if (!enabled || pages_tail_ - pages_head_ >= size) {
    ++page_overflows_;
    if (!(flags & ats_page_last)) return;
    ++page_responses_;
    const auto code = enabled ? ats_response::success : ats_response::failure;
    send_to_device(r.id, pcie_message::page_response, static_cast<std::uint16_t>(group), static_cast<std::uint8_t>(code), 0);
    return;
  }
  ++page_requests_;
  iommu_page_request entry{r.id, group, address & ~std::uint64_t{0xfff}, flags, {}};
  ps t = now();
  access_memory(true, pages_base_ + (pages_tail_ & (size - 1)) * sizeof entry, &entry, sizeof entry, t);
  const bool was_empty = pages_tail_++ == pages_head_;
  pages_queued_.set(pages_tail_ - pages_head_, now());
  pages_probe_.set(pages_tail_ - pages_head_, now());
  if (was_empty) queue_.at(t, {[](void* x) { static_cast<iommu*>(x)->raise_pages(); }, this});
}

void iommu::raise_pages() {
  tlm::tlm_generic_payload p;
  std::uint32_t vector = pages_vector_;
  set_access(p, tlm::TLM_WRITE_COMMAND, msi_window, &vector, sizeof vector);
  tlm::tlm_phase phase = tlm::BEGIN_REQ;
  sc_core::sc_time delay = to_delay(now());
  interrupts->nb_transport_fw(p, phase, delay);
}

// ---- messages to devices

void iommu::send_to_device(std::uint32_t to, pcie_message kind, std::uint16_t tag, std::uint8_t code, std::uint64_t body) {
  device_message& m = device_messages_.get();
  m.set_mm(this);
  m.acquire();
  m.body = body;
  m.extension = {};
  m.extension.requester = static_cast<std::uint16_t>(to);
  m.extension.message = kind;
  m.extension.tag = tag;
  m.extension.code = code;
  m.set_extension(&m.extension);
  set_access(m, tlm::TLM_WRITE_COMMAND, 0, &m.body, kind == pcie_message::invalidate ? sizeof m.body : 0);
  tlm::tlm_phase phase = tlm::BEGIN_REQ;
  sc_core::sc_time delay = to_delay(now());
  const tlm::tlm_sync_enum status = mmio->nb_transport_fw(m, phase, delay);
  if (status == tlm::TLM_COMPLETED || (status == tlm::TLM_UPDATED && phase == tlm::BEGIN_RESP)) m.release();
}

void iommu::free(tlm::tlm_generic_payload* p) {
  auto& m = static_cast<device_message&>(*p);
  m.clear_extension(&m.extension);
  device_messages_.put(m);
}

}  // namespace hcasim
