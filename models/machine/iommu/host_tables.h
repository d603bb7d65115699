// Host memory by physical address: what software has written for the IOMMU, and what the IOMMU writes for software.
#pragma once

#include "tlm/access.h"
#include "tlm/base/event_queue.h"

namespace hcasim {

class host_tables {
 public:
  using port = sc_core::sc_port_b<tlm::tlm_fw_transport_if<>>;

  explicit host_tables(port& memory) : memory_(memory) {}

  // Reads or writes; sets `t` to the time of the end. False = the memory could not be reached.
  bool access(bool write, std::uint64_t address, void* data, unsigned bytes, ps& t) {
    tlm::tlm_generic_payload p;
    set_access(p, write ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND, address, data, bytes);
    tlm::tlm_phase phase = tlm::BEGIN_REQ;
    sc_core::sc_time delay = to_delay(now());
    memory_->nb_transport_fw(p, phase, delay);
    t = from_delay(delay);
    return p.get_response_status() == tlm::TLM_OK_RESPONSE;
  }

 private:
  port& memory_;
};

}  // namespace hcasim
