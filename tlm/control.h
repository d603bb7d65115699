// Orders of the command unit to the data path, and of its units to each other: a payload for each receiver.
#pragma once

#include <cstdint>

#include "firmware/abi/context.h"
#include "tlm/socket.h"

namespace hcasim {

// To doorbell: accept the doorbells of a QP, an SRQ or a CQ through a UAR page, or no more.
struct doorbell_control : transaction {
  bool of_cq = false;
  bool open = false;
  std::uint32_t number = 0;
  std::uint32_t uar = 0;
};

// To send_queue.
//
// start: forget everything of an earlier life of the QP.
// stop: answered when nothing of the QP is being processed.
// drain: the QP is in SQD; no WQE is begun any more. Answered when the context tells whether a WQE begun before is still
//        incomplete (`sq_draining`). If none is and `notify` is set, HCA_EVENT_SQ_DRAINED is raised.
// resume: the QP has left SQD, for RTS or for an error, and its context says so.
enum class send_queue_op : std::uint8_t { start, stop, drain, resume };

struct send_queue_control : transaction {
  send_queue_op op = send_queue_op::start;
  std::uint32_t qpn = 0;
  bool notify = false;  // drain
};

// To requester. start, stop: as above.
//
// flush: the QP is in error, by a command or the responder's word; complete its WQEs with WR_FLUSH_ERR in order.
// resume: the QP has left SQE; later WQEs are sent again.
enum class requester_op : std::uint8_t { start, stop, flush, resume };

struct requester_control : transaction {
  requester_op op = requester_op::start;
  std::uint32_t qpn = 0;
};

// To responder. start, stop: as above.
//
// flush: the QP is in error, by a command or the requester's word. Answered when its known receives are reported.
// set_group: the multicast groups of hash `hash` begin with number `number`; 0 = there are none.
enum class responder_op : std::uint8_t { start, start_srq, stop, flush, set_group };

struct responder_control : transaction {
  responder_op op = responder_op::start;
  std::uint32_t number = 0;  // of a QP, an SRQ or a group
  std::uint32_t hash = 0;
};

// To completion.
//
// set_eq: open or close an event queue.
// settle: answered when the CQEs whose places in CQ `number` were taken are on their way to memory.
// reset: the MSI-X table is as it was at power-on, and nothing is known of any CQ.
enum class completion_op : std::uint8_t { set_eq, settle, reset };

struct completion_control : transaction {
  completion_op op = completion_op::set_eq;
  std::uint32_t number = 0;
  bool open = false;
  hca_eqc eqc{};
};

// To requester and responder: pages of an on-demand region with VAs in [first, last] are ready, cannot be written, or are not
// mapped at all. Accesses that wait for them are repeated, or fail.
enum class page_outcome : std::uint8_t { ready, read_only, unmapped };

struct page_answer : transaction {
  std::uint32_t index = 0;  // of the key
  page_outcome outcome = page_outcome::ready;
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
