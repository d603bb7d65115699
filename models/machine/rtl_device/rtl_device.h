// A PCIe device that is RTL. Its AXI4 master or its TLPs read and write host memory, and every other place on PCIe; its
// registers lie in a BAR.
//
// PINS of hca_add_rtl with INTERFACE device: an AXI4 master m0 ("axi4 m0 = *"), or the streams of TLPs rd_req, wr_req and cpl
// (tlm/rtl/tlp/tlp_master.h). Registers: by AXI-Lite (lite_registers.h), or by the streams of TLPs rx_req and tx_cpl with
// addresses of the host (tlm/rtl/tlp/tlp_completer.h). An interrupt is a write to the window of messages (tlm/pcie.h). Bursts
// carry `requester`, by which an IOMMU knows the device. TLPs must carry it too; the strap "requester" has its value.
#pragma once

#include <memory>

#include "models/machine/rtl_device/lite_registers.h"
#include "models/machine/rtl_device/rtl_device_config.h"
#include "tlm/rtl/axi/axi_master.h"
#include "tlm/rtl/registry.h"
#include "tlm/rtl/tlp/tlp_completer.h"
#include "tlm/rtl/tlp/tlp_master.h"

namespace hcasim {

class rtl_device : public rtl::open_shell {
 public:
  // Its identity for PCIe, and the limits of TLPs; an AXI4 master need not know.
  struct pcie_function {
    std::uint16_t requester;
    std::uint64_t bar;  // where the host has it
    std::uint64_t payload, read_request, completion_boundary;
  };

  // Throws std::invalid_argument: a bundle is not there or has another width; `bar` is no power of two.
  rtl_device(const sc_core::sc_module_name& name, const rtl_device_config& config, const rtl::chosen& what,
             const pcie_function& is);
  ~rtl_device() override;

  tlm::tlm_initiator_socket<64>& memory();
  tlm::tlm_target_socket<64>& bar();
  // Returns the bursts made by its AXI master, or its memory requests in TLPs.
  [[nodiscard]] std::uint64_t bursts() const;

 private:
  std::unique_ptr<rtl::axi_master> axi_;  // or
  std::unique_ptr<rtl::tlp_master> tlps_;
  std::unique_ptr<lite_registers> lite_;  // or
  std::unique_ptr<rtl::tlp_completer> completer_;
};

}  // namespace hcasim
