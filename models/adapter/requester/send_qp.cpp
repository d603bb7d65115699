#include "models/adapter/requester/send_qp.h"

#include "models/adapter/requester/requester_rules.h"
#include "models/adapter/requester/retransmission.h"
#include "tlm/base/delegate.h"

namespace hcasim {

send_qp::send_qp(std::uint32_t n, retransmission& r)
    : qpn(n),
      owner(&r),
      timer(call_holder<&send_qp::owner, &retransmission::on_timer>(*this)),
      rnr_timer(call_holder<&send_qp::owner, &retransmission::on_rnr_timer>(*this)) {}

void send_qp::restart_timer(ps t) {
  const ps timeout = qp.unreliable() ? never : ack_timeout(qp.timeout);
  timer.set(timeout == never ? never : t + timeout);
}

}  // namespace hcasim
