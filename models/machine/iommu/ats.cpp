// Devices with their own translation cache: their requests and messages.
#include <cstring>

#include "models/machine/iommu/iommu.h"

namespace hcasim {

unsigned iommu::needed_by(const access& a) {
  if (a.type != pcie_address_type::translation_request) return right_to(a.payload->is_write());
  return right_to(!(a.payload->get_extension<pcie_extension>()->code & ats_no_write));
}

// A translation request that hits the IOTLB is answered in the call.
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
  if (e.message == pcie_message::invalidate_done) return device_invalidations_.end(e.tag, r.id);
  if (e.message == pcie_message::page_request) page_requests_.take(r.id, address, e.tag, e.code);
}

}  // namespace hcasim
