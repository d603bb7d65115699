// Lists the requests that wait in the responder.
#include "models/adapter/responder/responder.h"

namespace hcasim {

void responder::list_waiting(waiting_list& list) const {
  records_.qps.each([&](const receive_qp& c) {
    const std::string qp = std::string("QP ") + std::to_string(c.qpn);
    if (c.no_receive_since != never) {
      list.add({.kind = "receive",
                .text = "none is posted to " + qp + ", and a message has come for it",
                .since = never,  // the sender may have given up
                .at = spot(qp),
                .waits_for = {nearest("host")}});
    }
    if (c.missing.status == page_faults::state::pending) return;  // noted with its page
    if (c.inbox.served()) {
      list.add({.kind = "packet received",
                .text = qp + ", " + std::to_string(c.inbox.size()) + " behind it",
                .since = c.handled_since,
                .at = spot(qp),
                .waits_for = {keys.target(), walker.target(), dma.target(), qpc.target(), windows.target()}});
    }
    if (!c.owed.empty() && !c.owed.front().response) {
      const read_job& r = c.owed.front().read;
      waiting_note n{.kind = "READ answer",
                     .text = qp + ", PSN " + std::to_string(r.psn) + ", " + std::to_string(r.index) + " of " +
                             std::to_string(r.count) + " packets begun",
                     .since = r.since,
                     .at = spot(qp),
                     .waits_for = {}};
      const auto& port = egress[std::min<std::size_t>(r.to.port, egress.size() - 1)];
      n.waits_for = {keys.target(), walker.target(), dma.target(), port.target()};
      if (responses_.buffers().available() == 0) n.waits_for.emplace_back(spot("response buffers"));
      list.add(std::move(n));
    }
  });
  faults_.list_waiting(list, spot("page fault"), nearest("host"));
}

}  // namespace hcasim
