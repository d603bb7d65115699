// A PCIe device that is RTL: its AXI4 master or its TLPs read and write host memory (and whatever else PCIe leads to), its
// registers lie in a BAR.
//
// PINS of hca_add_rtl with INTERFACE device: an AXI4 master m0 ("axi4 m0 = *") or the streams of TLPs rd_req, wr_req and cpl
// (tlm/rtl/tlp_stream.h), and the bundles of an AXI-Lite slave:
//   in reg_aw data=addr   in reg_w data=data,strb   out reg_b data=resp   in reg_ar data=addr   out reg_r data=data,resp
// Register accesses go one after the other, each word by itself, in the order they came. An interrupt is a write to the window
// of messages (tlm/pcie.h). Bursts carry `requester`, by which an IOMMU knows the device; TLPs must say it, and the strap
// "requester" is set to it.
#pragma once

#include <tlm_utils/simple_target_socket.h>

#include <deque>
#include <memory>

#include "models/rtl_device/rtl_device_config.h"
#include "tlm/rtl/axi_master.h"
#include "tlm/rtl/registry.h"
#include "tlm/rtl/tlp_master.h"

namespace hcasim {

class rtl_device : public rtl::shell {
 public:
  tlm_utils::simple_target_socket<rtl_device, 64> bar{"bar"};

  // What PCIe lets it ask for; an AXI4 master need not know.
  struct pcie_limits {
    std::uint64_t payload, read_request, completion_boundary;
  };

  // Throws std::invalid_argument: a bundle is not there or has another width; `bar` is no power of two, or beyond the
  // addresses of the registers.
  rtl_device(const sc_core::sc_module_name& name, const rtl_device_config& config, const rtl::chosen& what,
             std::uint16_t requester, const pcie_limits& limits);
  ~rtl_device() override;

  tlm::tlm_initiator_socket<64>& memory();
  // That its AXI master made, or memory requests in TLPs.
  [[nodiscard]] std::uint64_t bursts() const;

 private:
  tlm::tlm_sync_enum begin(tlm::tlm_generic_payload& p, tlm::tlm_phase& phase, sc_core::sc_time& delay);
  void next_word(ps t);
  void word_done(unsigned response, ps t);
  [[nodiscard]] std::uint64_t word_at() const;

  std::unique_ptr<rtl::axi_master> axi_;  // or
  std::unique_ptr<rtl::tlp_master> tlps_;
  const rtl_device_config config_;
  const unsigned word_;          // bytes of a register
  const unsigned address_bits_;  // of the registers
  rtl::stream& reg_aw_;
  rtl::stream& reg_w_;
  rtl::stream& reg_b_;
  rtl::stream& reg_ar_;
  rtl::stream& reg_r_;

  std::deque<tlm::tlm_generic_payload*> accesses_;
  unsigned moved_ = 0;  // bytes of the first one
  tlm::tlm_response_status status_ = tlm::TLM_OK_RESPONSE;
  counter register_reads_, register_writes_, register_errors_;
};

}  // namespace hcasim
