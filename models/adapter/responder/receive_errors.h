// Errors of requests and of QPs: refusals, the way into ERR, flushed receives.
//
// A bad R_Key is NAK remote access, a bad request NAK invalid request, a bad receive buffer NAK remote operation. Each puts the
// QP into ERR, completes the receive in use with the matching status and flushes the rest [D.1]. UC and UD drop the message.
#pragma once

#include "models/adapter/responder/receive_reports.h"
#include "models/adapter/responder/responder_config.h"
#include "models/adapter/responder/response_sender.h"
#include "tlm/base/process.h"
#include "tlm/context.h"

namespace hcasim {

class receive_errors {
 public:
  receive_errors(initiator_socket<context_request>& qpc, initiator_socket<requester_control>& requester, page_faults& faults,
                 receive_reports& reports, response_sender& responses, const responder_config& config,
                 responder_counters& counters)
      : qpc_(qpc),
        requester_(requester),
        faults_(faults),
        reports_(reports),
        responses_(responses),
        config_(config),
        counters_(counters) {}

  // Refuses the request in hand, as its transport has it: a NAK and ERR, or the message is dropped.
  void refuse(receive_qp& c, hca_qpc& q, std::uint8_t syndrome, std::uint8_t receive_status, ps t);
  // Drops a message of UC or UD; the QP goes on with the next. HCA_WC_SUCCESS: the drop is not reported, not even from an SRQ.
  void drop_message(receive_qp& c, hca_qpc& q, std::uint8_t receive_status, ps t);
  // Asks for the page of a request; the request comes back after the RNR delay, as often as the page is missing.
  void page_missing(receive_qp& c, hca_qpc& q, const packet& p, const missing_page& page, std::uint8_t receive_status, ps t);
  void put_into_error(receive_qp& c, hca_qpc& q, std::uint8_t receive_status, std::uint32_t event, ps t);
  // Does the same as put_into_error, from outside the packet sequence.
  process fail_later(receive_qp& c, std::uint32_t event, ps t);
  // Gives up a QP whose context is unreadable or damaged. The CQ of its receives is not known, so the event names the QP.
  void report_unreadable(receive_qp& c, ps t);
  // Flushes the receives of a QP in error; `order`: answered then, null = there is none.
  process flush_receives(receive_qp& c, responder_control* order, ps t);

 private:
  void fatal(receive_qp& c, hca_qpc& q, std::uint8_t syndrome, std::uint8_t receive_status, ps t);
  process tell_requester(receive_qp& c, ps t);
  void flush_with(receive_qp& c, hca_qpc& q, ps t);

  initiator_socket<context_request>& qpc_;
  initiator_socket<requester_control>& requester_;
  page_faults& faults_;
  receive_reports& reports_;
  response_sender& responses_;
  const responder_config& config_;
  responder_counters& counters_;
};

}  // namespace hcasim
