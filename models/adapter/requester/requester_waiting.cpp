// Lists the requests that wait in the requester: the oldest of each QP.
#include "models/adapter/requester/requester.h"

namespace hcasim {

void requester::list_waiting(waiting_list& list) const {
  const bool full = sending_.buffers().available() == 0;
  ps oldest = never;
  records_.qps.each([&](const send_qp& f) {
    if (f.operations.empty()) return;
    const send_operation& op = *f.operations.front();
    if (op.pins != 0) oldest = std::min(oldest, op.arrived);
    waiting_note n{.kind = "work request",
                   .text = std::string(wqe_opcode_name(op.view.control.opcode)) + " of " + std::to_string(op.view.length) +
                           std::string(" B, QP ") + std::to_string(f.qpn),
                   .since = op.arrived,
                   .at = spot(std::string("QP ") + std::to_string(f.qpn)),
                   .waits_for = {}};
    if (op.psns != 0) n.text += std::string(", PSN ") + std::to_string(op.first_psn);
    if (f.operations.size() > 1) n.text += std::string(", ") + std::to_string(f.operations.size() - 1) + " behind it";
    const bool datagram = op.view.is_datagram();
    const std::uint16_t lid = datagram ? op.view.datagram.lid : f.qp.dest_lid;
    const std::uint32_t qpn = datagram ? op.view.datagram.qpn : f.qp.dest_qpn;
    const std::string port = egress[std::min<std::size_t>(f.qp.port, egress.size() - 1)].target();
    const std::string far = list.far(lid, "responder") + " QP " + std::to_string(qpn);
    if (f.state.any({send_qp_mark::paging, send_qp_mark::landing})) {
      n.waits_for = {spot("page fault")};
    } else if (f.rnr_retries != 0 || f.state.has(send_qp_mark::resting)) {
      n.text += std::string(", asked to come back ") + std::to_string(f.rnr_retries) + " times";
      n.waits_for = {far};
    } else if (op.psns == 0) {
      n.waits_for = {full ? spot("packet buffers") : qpc.target()};
    } else if (op.pins != 0 || !f.out.empty()) {
      n.waits_for = {keys.target(), walker.target(), dma.target(), port};
    } else if (f.cursor == op.number) {
      n.waits_for = {full ? spot("packet buffers") : far};
    } else if (f.qp.unreliable()) {
      n.waits_for = {port};
    } else {
      n.waits_for = {far, port};
    }
    list.add(std::move(n));
  });
  if (full && oldest != never) {
    std::vector<std::string> waits_for{dma.target()};
    for (const auto& port : egress) waits_for.push_back(port.target());
    list.add({.kind = "packet buffers",
              .text = std::to_string(sending_.buffers().total()) + " in use, " + std::to_string(sending_.buffers().waiting()) +
                      " QPs want more",
              .since = oldest,
              .at = spot("packet buffers"),
              .waits_for = std::move(waits_for)});
  }
  faults_.list_waiting(list, spot("page fault"), nearest("host"));
}

}  // namespace hcasim
