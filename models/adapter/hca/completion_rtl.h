// The completion unit with its way to memory as RTL. Every CQE, EQE, interrupt and read of a record goes through the RTL; the
// decisions before (places, arming, events) are the model's.
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
  target_socket<completion_control> control{"control"};

  completion_rtl(const sc_core::sc_module_name& name, const completion_config& config, const clock_domain& clock,
                 unsigned reporters, const rtl::chosen& what);
  ~completion_rtl() override { rtl::write_coverage(writer.design(), how_, writer.name()); }

  // Makes the boundary of the model, with the socket to memory behind the RTL.
  static completion_boundary make(const char* name, const completion_config& config, const clock_domain& clock,
                                  unsigned reporters, const rtl::chosen& what);

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
  const rtl_knobs how_;
};

}  // namespace hcasim
