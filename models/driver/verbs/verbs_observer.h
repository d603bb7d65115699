// An observer of the verbs of all processes. Off (null), each call costs one test.
//
// Contract: a call comes at the end of its verb, in the program's thread, whose local time is the verb's end. `begin` is the
// local time at its begin. Requests live until the call returns.
#pragma once

#include <span>

#include "models/driver/verbs/verbs.h"

namespace hcasim::driver {

class verbs_observer {
 public:
  verbs_observer() = default;
  virtual ~verbs_observer() = default;
  verbs_observer(const verbs_observer&) = delete;
  verbs_observer& operator=(const verbs_observer&) = delete;

  virtual void made(verbs::ibv_qp& qp) = 0;
  virtual void made(verbs::ibv_srq& srq) = 0;
  virtual void modified(verbs::ibv_qp& qp, const verbs::ibv_qp_attr& to, int mask) = 0;
  virtual void ending(verbs::ibv_qp& qp) = 0;
  virtual void joined(verbs::ibv_qp& qp, const verbs::ibv_gid& group, std::uint16_t lid) = 0;
  // Notes that a fast registration got its memory.
  virtual void mapped(const cpu& c, ps begin) = 0;
  // Notes a post; `end`: the first request that was not posted, null = all were.
  virtual void sent(const cpu& c, ps begin, verbs::ibv_qp& qp, const verbs::ibv_send_wr* first,
                    const verbs::ibv_send_wr* end) = 0;
  virtual void received(const cpu& c, ps begin, verbs::ibv_qp& qp, const verbs::ibv_recv_wr* first,
                        const verbs::ibv_recv_wr* end) = 0;
  virtual void received(const cpu& c, ps begin, verbs::ibv_srq& srq, const verbs::ibv_recv_wr* first,
                        const verbs::ibv_recv_wr* end) = 0;
  // Notes a poll; `found` is empty when the poll was in vain.
  virtual void polled(const cpu& c, ps begin, verbs::ibv_cq& cq, std::span<const verbs::ibv_wc> found) = 0;
  // Notes that the thread begins to wait for the CQ; `by_event`: the CQ is armed.
  virtual void waits(const cpu& c, ps begin, verbs::ibv_cq& cq, bool by_event) = 0;
};

// The observer of all devices of this process; null = none.
inline constinit verbs_observer* observer_of_verbs = nullptr;

}  // namespace hcasim::driver
