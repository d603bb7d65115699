// Registers behind AXI-Lite, as a TLM-2.0 target. Accesses go one after the other, each word by itself, in the order they came.
// The RTL decodes as many bits of address as it has; there is no register at a word beyond them, whose access is an error.
//
// PINS of hca_add_rtl: `axi_lite reg = PATTERN`, or bundles whose widths are those of the bus:
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

  // Throws std::invalid_argument: a bundle is not there or has another width.
  lite_registers(const sc_core::sc_module_name& name, rtl::open_shell& of);

 private:
  tlm::tlm_sync_enum begin(tlm::tlm_generic_payload& p, tlm::tlm_phase& phase, sc_core::sc_time& delay);
  void next_word(ps t);
  void read(const rtl::payload& p, ps t);
  void word_done(unsigned response, ps t);
  void end_word(unsigned response, ps t);
  [[nodiscard]] std::uint64_t word_at() const;
  // Whether the RTL can be asked for it: the address fits, and so do the bytes of a write.
  [[nodiscard]] bool reaches(std::uint64_t word) const;

  // A stream, and where in its payload a signal lies.
  struct channel {
    rtl::stream& s;
    rtl::field first;   // addr, data or resp
    rtl::field second;  // strb, or the resp of a read
  };
  static channel find(rtl::open_shell& of, const char* name, bool into, const char* first, const char* second);

  rtl::open_shell& shell_;
  const channel aw_, w_, b_, ar_, r_;
  const unsigned word_;  // bytes

  std::deque<tlm::tlm_generic_payload*> accesses_;
  unsigned moved_ = 0;  // bytes of the first one
  tlm::tlm_response_status status_ = tlm::TLM_OK_RESPONSE;
};

}  // namespace hcasim
