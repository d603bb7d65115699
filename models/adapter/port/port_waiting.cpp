// Lists the packets that wait in the port.
#include "models/adapter/port/port.h"

namespace hcasim {
namespace {

std::string text_of(const packet_header& h) {
  return std::string("opcode ") + hex_text(h.opcode) + ", PSN " + std::to_string(h.psn) + ", to QP " +
         std::to_string(h.dest_qpn) + std::string(" of LID ") + std::to_string(h.dest_lid);
}

}  // namespace

void port::list_waiting(waiting_list& list) const {
  for (const lane& l : lanes_) {
    for (const auto& queue : l.queues) {
      if (queue.empty()) continue;
      const waiting& w = queue.front();
      const bool back = w.p->header.dest_lid == config_.lid;
      list.add({.kind = "packet to send",
                .text = text_of(w.p->header) + ", " + std::to_string(queue.size() - 1) + " behind it",
                .since = w.since,
                .at = spot("egress"),
                .waits_for = {back ? spot("received") : link_out.target()}});
    }
  }
  held_.each_in_use([&](const held& h) {
    if (h.since == never) return;  // on its way through
    const packet_header& to = h.p->header;
    list.add({.kind = "packet in the receive buffer",
              .text = text_of(to),
              .since = h.since,
              .at = spot("received"),
              .waits_for = {(to.shape().response ? requester : responder).target() + " QP " + std::to_string(to.dest_qpn),
                            (to.shape().response ? requester : responder).target()}});
  });
}

}  // namespace hcasim
