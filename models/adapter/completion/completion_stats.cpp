#include "models/adapter/completion/completion.h"

namespace hcasim {

void completion::describe() {
  stats_.add("cqes", "1", "CQEs written", cqes_);
  stats_.add("cqes_in_error", "1", "CQEs written with a status other than success", cqes_in_error_);
  stats_.add("cqes_lost", "1", "reports whose CQE could not be written: overflow, invalid CQ, no translation", cqes_lost_);
  stats_.add("bad_reports", "1", "reports for a CQ whose context could not be fetched", bad_reports_);
  stats_.add("overflows", "1", "CQs that overflowed", overflows_);
  stats_.add("record_reads", "1", "CQ records read because the CQ looked full", record_reads_);
  stats_.add("order_waits", "1", "reports that waited for an earlier one of their CQ", order_waits_);
  stats_.add("report_latency", "ps", "from a report to its CQE's write", report_latency_);
  stats_.add("arms", "1", "CQs armed", arms_);
  stats_.add("late_arms", "1", "armings that found a CQE that software had not seen", late_arms_);
  stats_.add("cq_events", "1", "completion events", cq_events_);
  stats_.add("timer_events", "1", "completion events that the moderation timer raised", timer_events_);
  stats_.add("bad_doorbells", "1", "doorbells of no valid CQ or EQ", bad_doorbells_);
  stats_.add("eqes", "1", "EQEs written", eqes_);
  stats_.add("eqes_deferred", "1", "events that waited because their EQ was full", eqes_deferred_);
  stats_.add("events_lost", "1", "events without an open EQ or a valid vector", events_lost_);
  stats_.add("interrupts", "1", "interrupt messages sent", interrupts_);
  stats_.add("masked", "1", "interrupts kept back by a mask", masked_);
  stats_.add("write_failures", "1", "CQEs, EQEs and messages that did not reach memory", write_failures_);
  stats_.busy_time("pipe_busy", "time the pipeline took completions in", pipe_);
  stats_.add("writes_in_flight", "1", "CQEs, EQEs and messages on their way", posted_level_);
  stats_.add("waiting", "1", "reports waiting for their turn", waiting_level_);

  signals_.add("cqe", 1, cqe_probe_);
  signals_.add("cqn", 24, cqn_probe_);
  signals_.add("pi", 32, pi_probe_);
  signals_.add("status", 8, status_probe_);
  signals_.add("waiting", 16, waiting_probe_);
  signals_.add("writes_in_flight", 16, posted_probe_);
  signals_.add("overflow", 1, overflow_probe_);
  signals_.add("event", 4, event_probe_,
               {"none", "completion", "command", "cq_overflow", "qp_fatal", "qp_request", "qp_access", "catastrophic"});
  signals_.add("event_number", 32, event_number_probe_);
  signals_.add("interrupt", 1, interrupt_probe_);
  signals_.add("vector", 8, vector_probe_);
}

}  // namespace hcasim
