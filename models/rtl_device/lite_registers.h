// Registers behind AXI-Lite, as a TLM-2.0 target. Accesses go one after the other, each word by itself, in the order they came.
//
// Bundles in PINS of hca_add_rtl, whose widths are those of the bus:
//   in reg_aw data=addr   in reg_w data=data,strb   out reg_b data=resp   in reg_ar data=addr   out reg_r data=data,resp
#pragma once

#include <tlm_utils/simple_target_socket.h>

#include <deque>

#include "tlm/base/statistics.h"
#include "tlm/rtl/shell.h"

namespace hcasim {

class lite_registers : public sc_core::sc_module {
 public:
  tlm_utils::simple_target_socket<lite_registers, 64> bar{"bar"};
  counter reads, writes, errors;  // words

  // Throws std::invalid_argument: a bundle is not there or has another width; `bytes` is beyond the addresses.
  lite_registers(const sc_core::sc_module_name& name, rtl::open_shell& of, std::uint64_t bytes);

 private:
  tlm::tlm_sync_enum begin(tlm::tlm_generic_payload& p, tlm::tlm_phase& phase, sc_core::sc_time& delay);
  void next_word(ps t);
  void read(const rtl::payload& p, ps t);
  void word_done(unsigned response, ps t);
  [[nodiscard]] std::uint64_t word_at() const;

  rtl::open_shell& shell_;
  const unsigned word_;  // bytes
  const unsigned address_bits_;
  rtl::stream& aw_;
  rtl::stream& w_;
  rtl::stream& ar_;

  std::deque<tlm::tlm_generic_payload*> accesses_;
  unsigned moved_ = 0;  // bytes of the first one
  tlm::tlm_response_status status_ = tlm::TLM_OK_RESPONSE;
};

}  // namespace hcasim
