// Messages of the IOMMU to devices: invalidations, and answers to page requests.
#pragma once

#include "tlm/base/pool.h"
#include "tlm/pcie.h"

namespace hcasim {

class device_messages : private tlm::tlm_mm_interface {
 public:
  using port = sc_core::sc_port_b<tlm::tlm_fw_transport_if<>>;

  explicit device_messages(port& mmio) : mmio_(mmio) {}

  void send(std::uint32_t to, pcie_message kind, std::uint16_t tag, std::uint8_t code, std::uint64_t body);
  [[nodiscard]] std::size_t in_use() const { return pool_.in_use(); }

 private:
  struct message : tlm::tlm_generic_payload {
    pcie_extension extension;
    std::uint64_t body = 0;

    message() = default;
    ~message() override { clear_extension(&extension); }
    message(const message&) = delete;
    message& operator=(const message&) = delete;
  };

  void free(tlm::tlm_generic_payload* p) override;

  port& mmio_;
  pool<message> pool_;
};

}  // namespace hcasim
