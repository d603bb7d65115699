#include "models/machine/pcie/pcie_delivery.h"

#include "models/machine/pcie/pcie_completions.h"
#include "tlm/base/border.h"

namespace hcasim {

void pcie_delivery::arrive(pcie_burst& b) {
  if (auto* extension = b.payload().get_extension<pcie_extension>()) extension->memory_at = now();
  if (b.fate != pcie_fate::ordinary && spoil(b)) [[unlikely]] {
    return on_answer(b, now());
  }
  switch (b.place) {
    case pcie_place::memory:
      return forward(b, memory_, memory_abroad_);
    case pcie_place::interrupts:
      return forward(b, interrupts_, true);
    case pcie_place::device:
      b.payload().set_address(b.offset);
      return forward(b, b.to->sockets.down, b.to->down_abroad);
    case pcie_place::nowhere:
      b.fail(tlm::TLM_ADDRESS_ERROR_RESPONSE);
      return on_answer(b, now());
  }
}

template <class Socket>
void pcie_delivery::forward(pcie_burst& b, Socket& to, bool abroad) {
  tlm::tlm_generic_payload& p = b.payload();
  if (to.get_base_port().size() == 0) {
    b.fail(tlm::TLM_ADDRESS_ERROR_RESPONSE);
    return on_answer(b, now());
  }
  tlm::tlm_phase phase = tlm::BEGIN_REQ;
  sc_core::sc_time delay = to_delay(now(), abroad);
  const tlm::tlm_sync_enum status = to->nb_transport_fw(p, phase, delay);
  if (status == tlm::TLM_UPDATED && phase == tlm::BEGIN_RESP) {
    tlm::tlm_phase end = tlm::END_RESP;
    sc_core::sc_time end_delay = delay;
    to->nb_transport_fw(p, end, end_delay);
  } else if (status != tlm::TLM_COMPLETED) {
    return;
  }
  on_answer(b, from_delay(delay));
}

void pcie_delivery::on_answer(pcie_burst& b, ps t) {
  if (t > now()) {
    take_step<&pcie_completions::come_back>(queue_, &completions_, b, t);
  } else {
    completions_.come_back(b);
  }
}

// Applies a fault at the destination; true = the burst ends here, with its status set.
bool pcie_delivery::spoil(pcie_burst& b) {
  switch (b.fate) {
    case pcie_fate::poisoned_read:
    case pcie_fate::completion_timeout:
    case pcie_fate::ordinary:
      return false;
    case pcie_fate::unsupported:
      b.fail(tlm::TLM_ADDRESS_ERROR_RESPONSE);
      break;
    default:
      b.fail(tlm::TLM_GENERIC_ERROR_RESPONSE);
      break;
  }
  if (b.from->function.is_master() && (!b.read || b.fate == pcie_fate::malformed)) bursts_.contain(*b.from);
  return true;
}

unsigned pcie_delivery::debug(pcie_place place, pcie_device* to, std::uint64_t offset, tlm::tlm_generic_payload& p) {
  if (place == pcie_place::memory) return memory_->transport_dbg(p);
  if (place != pcie_place::device) return 0;
  const std::uint64_t address = p.get_address();
  p.set_address(offset);
  const unsigned n = to->sockets.down->transport_dbg(p);
  p.set_address(address);
  return n;
}

void pcie_delivery::learn_borders() {
  memory_abroad_ = leads_abroad(memory_);
}

}  // namespace hcasim
