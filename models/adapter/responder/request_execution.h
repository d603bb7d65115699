// Judges each request packet of RC in PSN order [O6] (PSN, sequence, QP rights, resources, lengths, key) and has it executed.
// Duplicates are answered again without being executed again.
//
// UC accepts losses: a gap ends the message in progress. A message with an error is dropped to its end, while the QP goes on.
// UD takes single packets whose Q_Key is the QP's and puts them 40 bytes into the receive buffer. Neither is answered
// [D.1: UC, UD]. A receive WQE of a dropped message is the next one's; from an SRQ it completes with the error.
#pragma once

#include "models/adapter/responder/arrival_rules.h"
#include "models/adapter/responder/fetch_answers.h"
#include "models/adapter/responder/payload_placement.h"
#include "models/adapter/responder/receive_queues.h"
#include "models/adapter/responder/xrc_domains.h"

namespace hcasim {

class request_execution {
 public:
  struct parts {
    receive_queues& receives;
    xrc_domains& domains;
    payload_placement& placement;
    fetch_answers& fetches;
    receive_errors& errors;
    response_sender& responses;
  };

  request_execution(initiator_socket<context_request>& qpc, const responder_config& config, receive_records& records,
                    responder_counters& counters, const parts& p)
      : qpc_(qpc), config_(config), records_(records), counters_(counters), parts_(p) {}

  // Handles the next packet of a QP; true = the packet is held until its payload has landed.
  task<bool> handle(receive_qp& c, packet& p, ps& t);

 private:
  [[nodiscard]] request_arrival arrival_of(const receive_qp& c, const hca_qpc& q, const packet& p,
                                           const executed_fetch*& kept) const;
  void advance_psn(hca_qpc& q, const packet& p, request_answer answer);
  task<bool> execute(receive_qp& c, context_request& ctx, packet& p, ps& t);
  task<bool> enter_domain(receive_qp& c, context_request& ctx, std::uint32_t srqn, ps& t);
  task<bool> take_receive(receive_qp& c, context_request& ctx, std::uint32_t psn, ps& t);
  task<> repeat_read(receive_qp& c, context_request& ctx, packet& p, ps& t);
  void acknowledge_due(receive_qp& c, const hca_qpc& q, ps t);

  initiator_socket<context_request>& qpc_;
  const responder_config& config_;
  receive_records& records_;
  responder_counters& counters_;
  const parts parts_;
};

}  // namespace hcasim
