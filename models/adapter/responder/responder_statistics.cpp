#include "models/adapter/responder/responder_statistics.h"

namespace hcasim {

void responder_counters::list(statistics& s) const {
  s.add("packets", "1", "request packets received", packets);
  s.add("messages", "1", "messages completed in order", messages);
  s.add("payload_written", "B", "payload bytes of SEND and WRITE placed", payload_written);
  s.add("payload_read", "B", "payload bytes of READ responses sent", payload_read);
  s.add("acknowledges", "1", "positive acknowledges sent", acknowledges);
  s.add("naks", "1", "NAKs sent, without RNR", naks);
  s.add("rnr_naks", "1", "receiver-not-ready NAKs sent", rnr_naks);
  s.add("out_of_order", "1", "packets ahead of the expected PSN", out_of_order);
  s.add("duplicates", "1", "packets behind the expected PSN", duplicates);
  s.add("duplicates_unknown", "1", "repetitions of READs and atomics that were not executed, or too long ago; dropped",
        duplicates_unknown);
  s.add("dropped", "1", "packets for a QP that cannot receive", dropped);
  s.add("wrong_source", "1", "packets of RC and UC that do not come from the LID of the peer", wrong_source);
  s.add("bad_qkey", "1", "packets of UD whose Q_Key is not that of the QP", bad_qkey);
  s.add("flushed", "1", "receives completed with WR_FLUSH_ERR", flushed);
  s.add("no_receive", "1", "messages of UC and UD that found no receive posted", no_receive);
  s.add("messages_dropped", "1", "messages of UC and UD dropped for an error or a gap", messages_dropped);
  s.add("shared_taken", "1", "receives taken from an SRQ", shared_taken);
  s.add("group_packets", "1", "multicast packets for groups with QPs here", group_packets);
  s.add("group_copies", "1", "copies of them, one for each QP", group_copies);
  s.add("wrong_route", "1",
        "packets of connected QPs with a GRH that is not the peer's, or without the one that they should have", wrong_route);
  s.add("wrong_domain", "1", "XRC requests that name no SRQ of the QP's domain", wrong_domain);
  s.add("wrong_port", "1", "packets that came by another port than that of their QP", wrong_port);
}

void responder_signals::list(probes& p) {
  p.add("valid", 1, valid);
  p.add("qpn", 24, qpn);
  p.add("opcode", 8, opcode);
  p.add("psn", 24, psn);
  p.add("syndrome", 8, syndrome);
  p.add("inbox", 16, inbox);
}

}  // namespace hcasim
