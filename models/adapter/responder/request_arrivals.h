// Request packets from the port: through the packet engine, to their QPs, and one after the other to the execution.
#pragma once

#include "models/adapter/responder/multicast_groups.h"
#include "models/adapter/responder/request_execution.h"
#include "tlm/base/clock_domain.h"
#include "tlm/processing_steps.h"

namespace hcasim {

class request_arrivals {
 public:
  struct parts {
    packet_engine& engine;
    processing_steps& steps;
    receive_records& records;
    multicast_groups& groups;
    request_execution& execution;
    held_packets& held;
  };

  // `latency`: from a packet's start in the engine to its QP.
  request_arrivals(event_queue& queue, const clock_domain& clock, ps latency, const parts& p, responder_counters& counters,
                   responder_signals& signals)
      : queue_(queue), clock_(clock), latency_(latency), parts_(p), counters_(counters), signals_(signals) {}

  tlm::tlm_sync_enum on_packet(packet& p, tlm::tlm_phase phase, ps& t);
  // Hands a packet to its QP.
  void arrive(packet& p);

 private:
  void take(packet& p);
  void admit(packet& p);
  process serve(receive_qp& c);

  event_queue& queue_;
  const clock_domain& clock_;
  const ps latency_;
  const parts parts_;
  responder_counters& counters_;
  responder_signals& signals_;
};

}  // namespace hcasim
