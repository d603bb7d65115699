#include "models/adapter/doorbell/doorbell.h"

namespace hcasim {

void doorbell::describe() {
  stats_.add("send_doorbells", "1", "SQ doorbells, also those of a BlueFlame WQE that was not taken", send_bells_);
  stats_.add("receive_doorbells", "1", "RQ doorbells", receive_bells_);
  stats_.add("cq_doorbells", "1", "CQ doorbells", cq_bells_);
  stats_.add("eq_doorbells", "1", "EQ doorbells", eq_bells_);
  describe_front(stats_);
  stats_.add("fifo_wait", "ps", "time in the FIFO, of doorbells that had to wait", wait_);
  stats_.add("fifo", "1", "doorbells waiting", fifo_level_);
  stats_.busy_time("pipe_busy", "time that doorbells took their turns", pipe_);
  stats_.busy_time("port_busy", "time that lines of BlueFlame writes came in, one a cycle", port_);
  stats_.busy_time("lines_busy", "time that lines of BlueFlame WQEs were taken, at `blueflame_lines`", lines_);
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
