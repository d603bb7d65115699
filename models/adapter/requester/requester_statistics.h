// Counters and signals of the requester, for all its parts.
#pragma once

#include "tlm/base/probe.h"
#include "tlm/base/statistics.h"

namespace hcasim {

struct requester_counters {
  counter messages;
  counter packets_sent;
  counter payload_sent;
  counter payload_received;
  counter acknowledges;
  counter naks;
  counter rnr_naks;
  counter go_backs;
  counter timeouts;
  counter discarded;
  counter errors;
  counter flushed;
  std::uint64_t advances = 0;  // times that a QP's oldest outstanding PSN moved on
  histogram latency;

  void list(statistics& s);
  [[nodiscard]] std::uint64_t completed() const { return latency.count_ever() + flushed.value() + errors.value() + advances; }
};

struct requester_signals {
  probe valid;
  probe qpn;
  probe opcode;
  probe psn;
  probe in_flight;
  probe buffers;

  void list(probes& p);
};

}  // namespace hcasim
