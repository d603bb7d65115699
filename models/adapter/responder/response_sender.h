// Responses of each QP leave in the order of their requests. An answer waits behind the responses of READs before it.
#pragma once

#include "models/adapter/responder/receive_qp.h"
#include "models/adapter/responder/responder_statistics.h"
#include "tlm/base/wait.h"
#include "tlm/port_addresses.h"

namespace hcasim {

class response_sender {
 public:
  // `buffers`: for payload of responses under way from memory to the port.
  response_sender(std::deque<initiator_socket<packet>>& egress, packet_pool& packets, const credits& buffers,
                  const port_addresses& ports, responder_counters& counters, responder_signals& signals)
      : egress_(egress), pool_(packets), buffers_(buffers), ports_(ports), counters_(counters), signals_(signals) {}

  static response_route route_of(const receive_qp& c, const hca_qpc& q);
  packet& new_response(const response_route& to, std::uint8_t opcode, std::uint32_t psn);
  // Answers with an ACK or a NAK.
  void acknowledge(receive_qp& c, const response_route& to, std::uint32_t psn, std::uint8_t syndrome, ps t);
  // Asks the requester to repeat this packet after the QP's RNR delay.
  void ask_to_come_back(receive_qp& c, hca_qpc& q, std::uint32_t psn, ps t);
  // Queues an answer in its turn.
  void answer(receive_qp& c, packet& p);
  // Sends a response behind all earlier ones.
  void send(receive_qp& c, packet& p);
  // Hands the responses of c.out that are complete to the port.
  void emit(receive_qp& c);
  void drop(packet& p) { pool_.put(p); }

  [[nodiscard]] credits& buffers() { return buffers_; }
  [[nodiscard]] const credits& buffers() const { return buffers_; }

 private:
  void taken(packet& p);

  std::deque<initiator_socket<packet>>& egress_;  // to each port
  packet_pool& pool_;
  credits buffers_;
  const port_addresses ports_;
  responder_counters& counters_;
  responder_signals& signals_;
};

}  // namespace hcasim
