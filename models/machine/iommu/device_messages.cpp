#include "models/machine/iommu/device_messages.h"

#include "tlm/access.h"

namespace hcasim {

void device_messages::send(std::uint32_t to, pcie_message kind, std::uint16_t tag, std::uint8_t code, std::uint64_t body) {
  message& m = pool_.get();
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
  const tlm::tlm_sync_enum status = mmio_->nb_transport_fw(m, phase, delay);
  if (status == tlm::TLM_COMPLETED || (status == tlm::TLM_UPDATED && phase == tlm::BEGIN_RESP)) m.release();
}

void device_messages::free(tlm::tlm_generic_payload* p) {
  auto& m = static_cast<message&>(*p);
  m.clear_extension(&m.extension);
  pool_.put(m);
}

}  // namespace hcasim
