// Between the command unit and the data path, and between requester and responder of one QP.
//
// start: forget everything of an earlier life of the QP; (to doorbell) accept its doorbells through UAR page `uar`.
// stop: answered when nothing of the QP is being processed; (to doorbell) accept its doorbells no more.
// flush: the QP is in error; complete its WQEs with WR_FLUSH_ERR in order. Answered when the known WQEs are reported.
// resume: (to the requester) the QP left SQE; later WQEs are sent again.
// failed: (requester <-> responder) the other half has put the QP into error; (requester -> send_queue) the QP is in error, and
//         its context says so.
// drain: (to send_queue) the QP is in SQD: no WQE is begun any more. Answered when the context tells whether a WQE begun before
//        is still incomplete (`sq_draining`). If none is and `notify` is set, HCA_EVENT_SQ_DRAINED is raised.
// go_on: (to send_queue) the QP is in RTS again.
// set_eq: (to completion) open or close an event queue.
// set_cq: (to doorbell) accept the doorbells of CQ `number` through UAR page `uar`, if `open`; else no more.
// group: (to responder) the multicast groups of hash `first` begin with number `number`; 0 = there are none.
// settle: (to completion) answered when the CQEs whose places in CQ `number` were taken are on their way to memory.
// reset: (to completion) the MSI-X table is as it was at power-on, and nothing is known of any CQ.
// pages: (to requester and responder) of the on-demand region with key index `number`, pages with VAs in [first, last] are
//        ready, cannot be written, or are not mapped at all: accesses waiting for them are repeated, or fail.
#pragma once

#include <cstdint>

#include "firmware/abi/context.h"
#include "tlm/socket.h"

namespace hcasim {

enum class control_op : std::uint8_t {
  start,
  stop,
  flush,
  resume,
  failed,
  drain,
  go_on,
  set_eq,
  set_cq,
  pages,
  reset,
  settle,
  group
};
enum class page_outcome : std::uint8_t { ready, read_only, unmapped };

struct control_request : transaction {
  control_op op = control_op::start;
  std::uint32_t number = 0;  // QPN, EQN or CQN
  std::uint32_t uar = 0;     // start, set_cq
  bool open = false;         // set_eq, set_cq
  bool notify = false;       // drain
  bool shared = false;       // start: it is an SRQ
  hca_eqc eqc{};
  page_outcome outcome = page_outcome::ready;  // pages
  std::uint64_t first = 0;
  std::uint64_t last = 0;
};

// A read or write of a control register, from the BAR decoder to the unit that owns the register. Answered at once.
struct register_access : transaction {
  std::uint32_t offset = 0;  // offset in the BAR
  std::uint32_t bytes = 0;   // 4 or 8
  bool write = false;
  std::uint64_t value = 0;
};

}  // namespace hcasim
