#include "models/adapter/requester/requester_statistics.h"

namespace hcasim {

void requester_counters::list(statistics& s) {
  s.add("operations", "1", "work requests taken from the send queue", messages);
  s.add("packets", "1", "request packets handed to the port", packets_sent);
  s.add("payload_sent", "B", "payload bytes in request packets, repeats included", payload_sent);
  s.add("payload_received", "B", "bytes of READ and atomic responses placed", payload_received);
  s.add("acknowledges", "1", "acknowledge packets that were not discarded", acknowledges);
  s.add("naks", "1", "negative acknowledges, without RNR", naks);
  s.add("rnr_naks", "1", "receiver-not-ready NAKs", rnr_naks);
  s.add("go_backs", "1", "times sending went back to the oldest unacknowledged packet", go_backs);
  s.add("timeouts", "1", "acknowledge timers that ran out", timeouts);
  s.add("discarded", "1", "response packets that fitted nothing outstanding", discarded);
  s.add("errors", "1", "QPs that went into error here", errors);
  s.add("flushed", "1", "work requests completed with WR_FLUSH_ERR", flushed);
  s.add("latency", "ps", "from a work request's arrival to its completion", latency);
}

void requester_signals::list(probes& p) {
  p.add("valid", 1, valid);
  p.add("qpn", 24, qpn);
  p.add("opcode", 8, opcode);
  p.add("psn", 24, psn);
  p.add("in_flight", 16, in_flight);
  p.add("buffers", 16, buffers);
}

}  // namespace hcasim
