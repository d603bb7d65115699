#include "models/adapter/completion/rtl/completion_rtl.h"

#include "tlm/base/delegate.h"

namespace hcasim {

completion_rtl::completion_rtl(const sc_core::sc_module_name& name, const completion_config& config, const clock_domain& clock,
                               unsigned reporters, rtl::design_factory make, const rtl::shell_options& options)
    : unit(name), inner_("unit", config, clock, reporters), writer_("writer", clock, make, options) {
  inner_.dma.bind(writer_.in);
  to_inner_.bind(inner_.control);
  control.on<&completion_rtl::on_control>(this);
}

// Completions that are settled have left the RTL as well.
tlm::tlm_sync_enum completion_rtl::on_control(completion_control& c, tlm::tlm_phase phase, ps& t) {
  if (phase != tlm::BEGIN_REQ) return tlm::TLM_COMPLETED;
  passed_on& p = passed_on_.get();
  p.self = this;
  p.asked = &c;
  p.own = c;
  p.own.waiter = {};
  call_on_response<&passed_on::self, &completion_rtl::end>(p.own, p);
  if (to_inner_.send(p.own, t) != tlm::TLM_COMPLETED) return tlm::TLM_ACCEPTED;
  if (c.op == completion_op::settle && !writer_.all_handed_on()) {
    end(p);
    return tlm::TLM_ACCEPTED;
  }
  passed_on_.put(p);
  return tlm::TLM_COMPLETED;
}

void completion_rtl::end(passed_on& p) {
  writer_.when_handed_on(call_holder<&passed_on::self, &completion_rtl::answer>(p));
}

void completion_rtl::answer(passed_on& p) {
  completion_control& asked = *p.asked;
  passed_on_.put(p);
  target_socket<completion_control>::respond(asked, now());
}

}  // namespace hcasim
