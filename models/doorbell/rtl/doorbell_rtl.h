// doorbell as RTL: the sockets of the model around the Verilated unit (doorbell.sv).
//
// Control registers, the MSI-X table and the window on device memory are answered here, as the model does it. Writes into UAR
// pages go to the RTL, those of BlueFlame with their lines; a doorbell that carries a WQE is passed on when its lines are out.
#pragma once

#include <tlm_utils/simple_target_socket.h>

#include <deque>

#include "models/base/pool.h"
#include "models/doorbell/bar_monitor.h"
#include "models/doorbell/doorbell_config.h"
#include "tlm/context.h"
#include "tlm/control.h"
#include "tlm/dma.h"
#include "tlm/rtl/shell.h"
#include "tlm/work.h"

namespace hcasim {

class doorbell_rtl : public rtl::shell {
 public:
  tlm_utils::simple_target_socket<doorbell_rtl, 64> bar;

  initiator_socket<doorbell_ring> send{"send"};
  initiator_socket<doorbell_ring> receive{"receive"};
  initiator_socket<doorbell_ring> completion{"completion"};
  initiator_socket<register_access> command{"command"};
  initiator_socket<register_access> msix{"msix"};
  initiator_socket<register_access> device_memory{"device_memory"};
  initiator_socket<context_request> qpc{"qpc"};
  initiator_socket<dma_request> dma{"dma"};

  // The design's parameters must be those of the configuration: throws std::invalid_argument that names the knob.
  doorbell_rtl(const sc_core::sc_module_name& name, const doorbell_config& config, const clock_domain& clock,
               rtl::design_factory make, const rtl::shell_options& options = {});

  void observe_bar(bar_monitor* m) { monitor_ = m; }

 private:
  struct record_read : dma_request {
    hca_qp_record record{};
  };

  tlm::tlm_sync_enum nb_access(tlm::tlm_generic_payload& gp, tlm::tlm_phase& phase, sc_core::sc_time& delay);
  void b_access(tlm::tlm_generic_payload& gp, sc_core::sc_time& delay);
  void access(tlm::tlm_generic_payload& gp, ps& t);
  void access_register(tlm::tlm_generic_payload& gp, initiator_socket<register_access>& owner, ps& t);
  void write_uar(std::uint32_t offset, const std::byte* data, std::uint64_t n, ps t);
  void pass_on(ps t);
  void found_qp(ps t);
  void found_record(ps t);
  void note(const rtl::payload& p, ps t);
  void describe();

  const doorbell_config config_;
  rtl::stream& wr_;
  rtl::stream& line_;
  rtl::stream& ring_line_;
  rtl::stream& ring_;
  rtl::stream& qp_rsp_;
  rtl::stream& qp_;
  rtl::stream& rec_rsp_;
  rtl::stream& rec_;
  rtl::stream& note_;

  std::deque<rtl::payload> rung_;   // doorbells whose lines are not all out
  std::deque<rtl::payload> lines_;  // out, and of doorbells that are not
  pool<doorbell_ring> rings_;
  context_request context_;
  record_read read_;

  counter blueflame_wqes_, blueflame_lines_, blueflame_refused_, blueflame_bad_;
  counter coalesced_, dropped_count_, recovered_, recovery_failures_, aside_count_, bad_writes_, bad_reads_, register_accesses_;
  probe bell_probe_, number_probe_, value_probe_, drop_probe_;
  bar_monitor* monitor_ = nullptr;
};

}  // namespace hcasim
