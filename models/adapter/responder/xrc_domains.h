// XRC: each request names an SRQ, which must belong to the domain of the QP. The PD of the SRQ judges the keys of the request,
// and the CQ of the SRQ gets the completions of the receives [H8, H9].
#pragma once

#include "models/adapter/responder/receive_errors.h"
#include "models/adapter/responder/receive_records.h"
#include "tlm/base/process.h"
#include "tlm/context.h"

namespace hcasim {

class xrc_domains {
 public:
  xrc_domains(initiator_socket<context_request>& qpc, receive_records& records, receive_errors& errors)
      : qpc_(qpc), records_(records), errors_(errors) {}

  // Finds the domain of an SRQ; false = the SRQ is not of the QP's domain. A lookup releases the context of the QP meanwhile;
  // then ctx.failed = the context could not be fetched again.
  task<bool> find(receive_qp& c, context_request& ctx, std::uint32_t srqn, xrc_domain& out, ps& t);
  // Makes the context of the QP the one of a message to the SRQ; all packets of a message name the same SRQ [H10].
  task<bool> enter(receive_qp& c, context_request& ctx, std::uint32_t srqn, ps& t);

 private:
  task<> look_up(shared_queue& s, const receive_qp& c, ps& t);

  initiator_socket<context_request>& qpc_;
  receive_records& records_;
  receive_errors& errors_;
};

}  // namespace hcasim
