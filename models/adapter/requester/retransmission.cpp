#include "models/adapter/requester/retransmission.h"

#include "models/adapter/requester/requester_rules.h"

namespace hcasim {

void retransmission::go_back(send_qp& f, ps t) {
  ++counters_.go_backs;
  ++f.pass;
  f.on(send_qp_event::go_back);
  f.rewind();
  if (!f.operations.empty()) {
    const send_operation& op = *f.operations.front();
    if (op.psns != 0 && !op.view.fetches()) {
      f.cursor_packet = static_cast<std::uint32_t>(std::max(psn_distance(op.first_psn, f.una_psn), 0));
    }
  }
  sending_.run(f, t);
}

void retransmission::retry(send_qp& f, ps t) {
  if (f.retries >= f.qp.retry_count) {
    completion_.fail_front(f, HCA_WC_RETRY_EXC_ERR, t);
    return;
  }
  ++f.retries;
  f.restart_timer(t);
  go_back(f, t);
}

void retransmission::on_progress(send_qp& f, ps t) {
  f.retries = f.rnr_retries = 0;
  ++counters_.advances;
  f.on(send_qp_event::progress);
  if (psn_distance(f.una_psn, f.next_psn) > 0) {
    f.restart_timer(t);
  } else {
    f.timer.clear();
  }
}

void retransmission::on_timer(send_qp& f) {
  if (f.state.has(send_qp_mark::resting)) return;
  if (f.state.any({send_qp_mark::paging, send_qp_mark::landing})) {  // nothing of this is the peer's fault
    f.restart_timer(now());
    return;
  }
  if (f.operations.empty()) return;
  ++counters_.timeouts;
  retry(f, now());
}

void retransmission::on_rnr_nak(send_qp& f, ps t, std::uint8_t timer) {
  ++counters_.rnr_naks;
  if (f.state.has(send_qp_mark::resting)) return;  // of an earlier request: a repetition is already due
  if (f.qp.rnr_retry != 7 && f.rnr_retries >= f.qp.rnr_retry) {
    completion_.fail_front(f, HCA_WC_RNR_RETRY_EXC_ERR, t);
    return;
  }
  ++f.rnr_retries;
  f.on(send_qp_event::rnr_nak);
  f.timer.clear();
  go_back(f, t);
  if (!f.rnr_timer.is_set()) f.rnr_timer.set(t + rnr_delay(timer));
}

void retransmission::on_rnr_timer(send_qp& f) {
  f.on(send_qp_event::rnr_over);
  sending_.run(f, now());
}

}  // namespace hcasim
