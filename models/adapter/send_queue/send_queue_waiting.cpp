// Lists the requests that wait in the send queue: of each QP the oldest WQE that the requester does not have yet.
#include "models/adapter/send_queue/send_queue.h"
#include "tlm/wqe.h"

namespace hcasim {

void send_queue::list_waiting(waiting_list& list) const {
  queues_.each([&](const queue_state& q) {
    if (asked_to_stop(q.state) || (q.fetched.empty() && q.ci == q.pi)) return;
    const std::string qp = std::string("QP ") + std::to_string(q.qpn);
    waiting_note n{.kind = "WQE", .text = qp, .since = q.moved, .at = spot(qp), .waits_for = {}};
    if (q.fetched.empty()) {
      n.text += std::string(", ") + std::to_string(static_cast<std::uint16_t>(q.pi - q.ci)) + " blocks are to be fetched";
      n.waits_for = {qpc.target(), walker.target(), dma.target(), work.target() + " " + qp};
    } else {
      n.text = std::string(wqe_opcode_name(q.fetched.front()->control().opcode)) + ", " + n.text;
      n.waits_for = {q.state.has(queue_mark::changing) ? windows.target() : work.target() + " " + qp};
    }
    if (q.state.has(queue_mark::paused)) {
      n.text += ", held back in SQD";
      n.waits_for = {};
    }
    list.add(std::move(n));
  });
}

}  // namespace hcasim
