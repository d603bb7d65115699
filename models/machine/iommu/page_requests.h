// Page requests of devices: a queue in host memory, and an interrupt when the first comes. A full queue answers "try again", a
// missing one "failed".
#pragma once

#include "firmware/abi/iommu.h"
#include "models/machine/iommu/device_messages.h"
#include "models/machine/iommu/host_tables.h"
#include "tlm/base/probe.h"
#include "tlm/base/statistics.h"

namespace hcasim {

class page_requests {
 public:
  using port = sc_core::sc_port_b<tlm::tlm_fw_transport_if<>>;

  page_requests(host_tables& tables, port& interrupts, device_messages& messages)
      : tables_(tables), interrupts_(interrupts), messages_(messages) {}

  // Takes a page request; `flags`: ats_page_*.
  void take(std::uint32_t requester, std::uint64_t address, std::uint32_t group, std::uint32_t flags);
  // Sends software's answer to a group.
  void respond(std::uint32_t requester, std::uint16_t group, std::uint8_t code);

  // Writes a register of the queue; others are left alone.
  void write_register(std::uint32_t offset, std::uint64_t value);
  [[nodiscard]] std::uint64_t read_register(std::uint32_t offset) const;

  counter requests, overflows, responses;
  level queued;
  probe shown;

 private:
  void raise();
  void show();

  event_queue& queue_ = event_queue::instance();
  host_tables& tables_;
  port& interrupts_;
  device_messages& messages_;
  std::uint64_t base_ = 0;
  std::uint32_t size_ = 0;  // as the register has it
  std::uint32_t head_ = 0;
  std::uint32_t tail_ = 0;
  std::uint32_t vector_ = 0;
};

}  // namespace hcasim
