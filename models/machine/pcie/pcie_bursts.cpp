#include "models/machine/pcie/pcie_bursts.h"

namespace hcasim {

pcie_burst& pcie_bursts::begin(tlm::tlm_generic_payload& p, const pcie_extension* extension, pcie_device* from, ps t) {
  pcie_burst& b = pool_.get();
  b.next = nullptr;
  b.from = from;
  b.to = nullptr;
  b.read = p.is_read();
  b.relaxed = extension && extension->relaxed_ordering;
  b.address = p.get_address();
  b.bytes = p.get_data_length();
  b.empty = b.bytes == 0 && extension && extension->message != pcie_message::none;
  b.begun = t;
  b.fate = pcie_fate::ordinary;
  b.get_on(p);
  return b;
}

void pcie_bursts::take(pcie_burst& b, ps t) {
  tlm::tlm_phase phase = tlm::END_REQ;
  sc_core::sc_time delay = to_delay(t, false);
  cpu_->nb_transport_bw(b.payload(), phase, delay);
}

// The burst is finished before its answer: the initiator may send the next one from inside the call.
void pcie_bursts::respond(pcie_burst& b) {
  tlm::tlm_generic_payload& p = b.payload();
  pcie_device* const from = b.from;
  p.set_address(b.address);
  b.get_off();
  pool_.put(b);
  tlm::tlm_phase phase = tlm::BEGIN_RESP;
  sc_core::sc_time delay = to_delay(now(), !from || from->up_abroad);
  if (from) {
    from->sockets.up->nb_transport_bw(p, phase, delay);
  } else {
    cpu_->nb_transport_bw(p, phase, delay);
  }
}

void pcie_bursts::refuse(pcie_burst& b) {
  b.fail(tlm::TLM_COMMAND_ERROR_RESPONSE);
  take_step<&pcie_bursts::respond>(queue_, this, b, now());
}

// A read gets its error as an answer. The loss of a write is not reported, and the device's next action may tell software that
// the bytes are there. So, as with downstream port containment, the port lets nothing more of the device pass until software
// has reacted.
void pcie_bursts::contain(pcie_device& d) {
  d.function.end_mastering();
  pool_.each_in_use([&](const pcie_burst& on_its_way) {
    auto& b = const_cast<pcie_burst&>(on_its_way);  // NOLINT(cppcoreguidelines-pro-type-const-cast): ours
    if (b.from != &d || b.fate != pcie_fate::ordinary) return;
    b.fate = b.read ? pcie_fate::completion_timeout : pcie_fate::aborted;
  });
}

}  // namespace hcasim
