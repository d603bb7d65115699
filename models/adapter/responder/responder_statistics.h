// Counters and signals of the responder, for all its parts.
#pragma once

#include "tlm/base/probe.h"
#include "tlm/base/statistics.h"

namespace hcasim {

struct responder_counters {
  counter packets;
  counter payload_written;
  counter payload_read;
  counter acknowledges;
  counter naks;
  counter rnr_naks;
  counter out_of_order;
  counter duplicates;
  counter duplicates_unknown;
  counter dropped;
  counter wrong_source;
  counter bad_qkey;
  counter messages;
  counter flushed;
  counter no_receive;
  counter messages_dropped;
  counter shared_taken;
  counter group_packets;
  counter group_copies;
  counter wrong_route;
  counter wrong_domain;
  counter wrong_port;

  void list(statistics& s) const;
};

struct responder_signals {
  probe valid;
  probe qpn;
  probe opcode;
  probe psn;
  probe syndrome;
  probe inbox;

  void list(probes& p);
};

}  // namespace hcasim
