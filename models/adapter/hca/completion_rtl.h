// The completion unit with its way to memory as RTL: every CQE, every EQE, every interrupt and every record that is read goes
// through it. What is decided before (places, arming, events) is the model's.
//
// It takes the place of the model as any unit with the same sockets does (completion_boundary.h).
#pragma once

#include "models/adapter/completion/completion.h"
#include "models/adapter/completion/completion_boundary.h"
#include "models/adapter/memory_port/memory_port_rtl.h"
#include "tlm/base/pool.h"
#include "tlm/rtl/registry.h"

namespace hcasim {

class completion_rtl : public unit {
 public:
  completion inner;
  memory_port_rtl writer;
  target_socket<control_request> control{"control"};

  completion_rtl(const sc_core::sc_module_name& name, const completion_config& config, const clock_domain& clock,
                 unsigned reporters, const rtl::chosen& what);
  ~completion_rtl() override { rtl::write_coverage(writer.design(), how_, writer.name()); }

  // The boundary of the model, with the socket to memory behind the RTL.
  static completion_boundary make(const char* name, const completion_config& config, const clock_domain& clock,
                                  unsigned reporters, const rtl::chosen& what);

 private:
  struct passed_on {
    completion_rtl* self = nullptr;
    control_request* asked = nullptr;
    control_request own;
  };
  tlm::tlm_sync_enum on_control(control_request& c, tlm::tlm_phase phase, ps& t);

  static void end(passed_on& p);

  initiator_socket<control_request> to_inner_{"to_inner"};
  pool<passed_on> passed_on_;
  const rtl_knobs how_;
};

}  // namespace hcasim
