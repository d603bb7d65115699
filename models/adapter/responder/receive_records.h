// The QPs and SRQs that the responder knows. Both have numbers of one range, and each number has a record among the QPs.
#pragma once

#include "firmware/abi/context.h"
#include "models/adapter/responder/shared_queue.h"
#include "tlm/base/record_table.h"

namespace hcasim {

struct receive_records {
  record_table<receive_qp> qps;
  record_table<shared_queue> srqs;
  receive_qp strangers{0};  // takes the packets for QPs that were never started: no trace of them stays

  [[nodiscard]] receive_qp& started(std::uint32_t qpn) {
    receive_qp* const c = qps.find(qpn);
    return c ? *c : strangers;
  }
  [[nodiscard]] bool is_stranger(const receive_qp& c) const { return &c == &strangers; }
  // Returns the SRQ that was last started under this number; null = the number is a QP's.
  [[nodiscard]] shared_queue* srq(std::uint32_t number) const {
    shared_queue* const s = srqs.find(number);
    return s && s->state.life != shared_queue_life::ended ? s : nullptr;
  }
  // Returns the SRQ of this number; null = there is none, or a command stops it.
  [[nodiscard]] shared_queue* live_srq(std::uint32_t number) const {
    shared_queue* const s = srq(number);
    return s && !asked_to_stop(s->line.state) ? s : nullptr;
  }
  // Returns whether the SRQ of an XRC target has ended: another SRQ may have its number now, and another CQ the number of its
  // CQ.
  [[nodiscard]] bool srq_ended(const receive_qp& c, const hca_qpc& q) const {
    const shared_queue* const s = live_srq(q.srqn);
    return !s || s->life != c.srq_life;
  }
};

}  // namespace hcasim
