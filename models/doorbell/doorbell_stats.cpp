#include "models/doorbell/doorbell.h"

namespace hcasim {

void doorbell::describe() {
  stats_.add("send_doorbells", "1", "SQ doorbells, also those of a BlueFlame WQE that was not taken", send_bells_);
  stats_.add("receive_doorbells", "1", "RQ doorbells", receive_bells_);
  stats_.add("cq_doorbells", "1", "CQ doorbells", cq_bells_);
  stats_.add("eq_doorbells", "1", "EQ doorbells", eq_bells_);
  stats_.add("blueflame_wqes", "1", "WQEs taken by BlueFlame", blueflame_wqes_);
  stats_.add("blueflame_lines", "1", "64 B lines of these", blueflame_lines_);
  stats_.add("blueflame_refused", "1", "BlueFlame WQEs taken as plain doorbells: too large, or no room", blueflame_refused_);
  stats_.add("blueflame_bad", "1", "BlueFlame writes that hold no whole WQE", blueflame_bad_);
  stats_.add("coalesced", "1", "SQ doorbells merged with one of the same QP that was waiting", coalesced_);
  stats_.add("dropped", "1", "SQ and RQ doorbells dropped because the FIFO was full", dropped_count_);
  stats_.add("recovered", "1", "doorbell records read back and rung", recovered_);
  stats_.add("recovery_failures", "1", "records that could not be read: no such QP, or no record", recovery_failures_);
  stats_.add("aside", "1", "CQ and EQ doorbells that waited beside the full FIFO", aside_count_);
  stats_.add("bad_writes", "1", "writes that are no doorbell and no register", bad_writes_);
  stats_.add("bad_reads", "1", "reads of what cannot be read", bad_reads_);
  stats_.add("register_accesses", "1", "reads and writes of control registers and the MSI-X table", register_accesses_);
  stats_.add("fifo_wait", "ps", "time in the FIFO, of doorbells that had to wait", wait_);
  stats_.add("fifo", "1", "doorbells waiting", fifo_level_);
  stats_.add("to_recover", "1", "QPs whose doorbells were dropped and not yet recovered", dropped_level_);

  signals_.add("fifo", 16, fifo_probe_);
  signals_.add("bell", 3, bell_probe_, {"none", "send", "receive", "completion", "event"});
  signals_.add("number", 32, number_probe_);
  signals_.add("value", 32, value_probe_);
  signals_.add("blueflame_bytes", 11, blueflame_probe_);
  signals_.add("drop", 1, drop_probe_);
  signals_.add("to_recover", 16, dropped_probe_);
  signals_.add("recovered_qpn", 24, recover_probe_);
}

}  // namespace hcasim
