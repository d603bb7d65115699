// The QPs that the requester knows.
#pragma once

#include "models/adapter/requester/send_qp.h"
#include "tlm/base/record_table.h"

namespace hcasim {

struct send_records {
  explicit send_records(retransmission& r) : timers(r), strangers(0, r) {}

  retransmission& timers;
  record_table<send_qp> qps;
  send_qp strangers;  // takes the packets for QPs that were never started: no trace of them stays

  [[nodiscard]] send_qp& make(std::uint32_t qpn) { return qps.make(qpn, timers); }
  [[nodiscard]] send_qp& started(std::uint32_t qpn) {
    send_qp* const f = qps.find(qpn);
    return f ? *f : strangers;
  }
};

}  // namespace hcasim
