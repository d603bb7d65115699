// Sending: from the operation at the cursor to packets in PSN order at the port.
//
// UC and UD are done with a message when the last byte of its last packet has left the adapter.
#pragma once

#include "models/adapter/requester/packet_gather.h"
#include "models/adapter/requester/requester_config.h"
#include "models/adapter/requester/send_completion.h"
#include "tlm/base/clock_domain.h"
#include "tlm/base/server.h"
#include "tlm/base/wait.h"
#include "tlm/processing_steps.h"

namespace hcasim {

class send_loop {
 public:
  struct ports {
    initiator_socket<context_request>& qpc;
    std::deque<initiator_socket<packet>>& egress;  // to each port
  };
  struct parts {
    processing_steps& steps;
    packet_gather& gather;
    send_completion& completion;
  };

  send_loop(const ports& p, const requester_config& config, const clock_domain& clock, packet_pool& packets, const parts& with,
            requester_counters& counters, requester_signals& signals)
      : ports_(p),
        config_(config),
        clock_(clock),
        packet_pool_(packets),
        parts_(with),
        counters_(counters),
        signals_(signals),
        buffers_(queue_, config.buffers) {}

  // Sends what may be sent of a QP.
  void run(send_qp& f, ps t) {
    if (f.state.has(send_qp_mark::looping)) return;
    if (f.may_go_on()) {
      loop(f, t);
    } else {
      ended(f);
    }
  }

  [[nodiscard]] const credits& buffers() const { return buffers_; }
  [[nodiscard]] const server& message_engine() const { return message_engine_; }
  [[nodiscard]] const server& packet_engine() const { return packet_engine_; }

 private:
  // The port's token for the last packet of a message of UC or UD.
  struct departure {
    send_loop* loop = nullptr;
    send_qp* of = nullptr;
    std::uint64_t number = 0;  // of the operation
  };

  process loop(send_qp& f, ps t);
  void ended(send_qp& f) {
    parts_.completion.complete_in_order(f, now());
    parts_.completion.check_stopped(f);
  }
  // Starts an operation with the context of its QP: status, PSNs.
  void start(send_qp& f, send_operation& op, context_request& c);
  process gather(send_qp& f, send_operation& op, std::uint32_t index, std::uint64_t ticket, std::uint32_t pass, ps t);
  void emit(send_qp& f);
  void send(send_qp& f, packet& p, ps t);
  void on_taken(packet& p);
  void tell_departure(send_qp& f, packet& p);
  void on_departure(departure& d);

  event_queue& queue_ = event_queue::instance();
  const ports ports_;
  const requester_config& config_;
  const clock_domain& clock_;
  packet_pool& packet_pool_;
  const parts parts_;
  requester_counters& counters_;
  requester_signals& signals_;
  credits buffers_;
  server message_engine_;
  server packet_engine_;
  pool<departure> departures_;
};

}  // namespace hcasim
