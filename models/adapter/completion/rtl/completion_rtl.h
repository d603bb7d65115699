// The completion unit with its way to memory as RTL. Every CQE, EQE, interrupt and read of a record goes through the RTL; the
// decisions before (places, arming, events) are the model's.
#pragma once

#include "models/adapter/completion/completion.h"
#include "models/adapter/memory_port/memory_port_rtl.h"
#include "tlm/base/pool.h"

namespace hcasim {

class completion_rtl : public unit {
  completion inner_;
  memory_port_rtl writer_;

 public:
  std::deque<target_socket<report>>& reports = inner_.reports;
  target_socket<doorbell_ring>& bells = inner_.bells;
  target_socket<completion_control> control{"control"};
  target_socket<register_access>& msix = inner_.msix;
  initiator_socket<context_request>& cqc = inner_.cqc;
  initiator_socket<translate_request>& walker = inner_.walker;
  initiator_socket<dma_request>& dma = writer_.dma;

  completion_rtl(const sc_core::sc_module_name& name, const completion_config& config, const clock_domain& clock,
                 unsigned reporters, rtl::design_factory make, const rtl::shell_options& options);

 private:
  struct passed_on {
    completion_rtl* self = nullptr;
    completion_control* asked = nullptr;
    completion_control own;
  };
  tlm::tlm_sync_enum on_control(completion_control& c, tlm::tlm_phase phase, ps& t);

  void end(passed_on& p);
  void answer(passed_on& p);

  initiator_socket<completion_control> to_inner_{"to_inner"};
  pool<passed_on> passed_on_;
};

}  // namespace hcasim
