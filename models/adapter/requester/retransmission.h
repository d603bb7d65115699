// Retransmission: RC packets are sent again from the oldest unacknowledged one (go-back-N). The causes are a loss, a timeout
// and an RNR NAK, whose delay passes first.
#pragma once

#include "models/adapter/requester/send_completion.h"
#include "models/adapter/requester/send_loop.h"

namespace hcasim {

class retransmission {
 public:
  retransmission(send_loop& sending, send_completion& completion, requester_counters& counters)
      : sending_(sending), completion_(completion), counters_(counters) {}

  void go_back(send_qp& f, ps t);
  // Goes back, or fails the oldest operation after too many times without progress.
  void retry(send_qp& f, ps t);
  // Reacts to an RNR NAK with this timer field; too many fail the oldest operation.
  void on_rnr_nak(send_qp& f, ps t, std::uint8_t timer);
  // Notes that something was acknowledged.
  void on_progress(send_qp& f, ps t);

  void on_timer(send_qp& f);
  void on_rnr_timer(send_qp& f);

 private:
  send_loop& sending_;
  send_completion& completion_;
  requester_counters& counters_;
};

}  // namespace hcasim
