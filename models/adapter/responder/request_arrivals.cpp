#include "models/adapter/responder/request_arrivals.h"

#include "tlm/base/delegate.h"

namespace hcasim {

// Packets enter the engine one after the other. Its latency is the same for all, so packets reach their QPs in the same order.
tlm::tlm_sync_enum request_arrivals::on_packet(packet& p, tlm::tlm_phase, ps&) {
  ++counters_.packets;
  p.holder = this;
  parts_.engine.ask(packet_engine::request, call_holder<&packet::holder, &request_arrivals::take>(p));
  return tlm::TLM_ACCEPTED;
}

void request_arrivals::take(packet& p) {
  signals_.valid.pulse(1, now(), clock_.period());
  signals_.qpn.set(p.header.dest_qpn, now());
  signals_.opcode.set(p.header.opcode, now());
  signals_.psn.set(p.header.psn, now());
  queue_.at(now() + latency_, call_holder<&packet::holder, &request_arrivals::arrive>(p));
}

void request_arrivals::arrive(packet& p) {
  if (p.header.dest_qpn == wire::group_qpn) [[unlikely]] {
    if (hca_lid_is_group(p.header.dest_lid)) return parts_.groups.take(p);
    ++counters_.dropped;
    return parts_.held.release(p);
  }
  if (!parts_.steps.used()) return admit(p);
  const std::uint32_t qpn = parts_.records.started(p.header.dest_qpn).qpn;
  parts_.steps.run({qpn, processing_step::request_in, p.payload, p.operation},
                   call_holder<&packet::holder, &request_arrivals::admit>(p));
}

void request_arrivals::admit(packet& p) {
  receive_qp& c = parts_.records.started(p.header.dest_qpn);
  const bool idle = c.inbox.push(p);
  signals_.inbox.set(c.inbox.size(), now());
  if (idle) serve(c);
}

process request_arrivals::serve(receive_qp& c) {
  c.enter();
  while (packet* const p = c.inbox.next()) {
    ps t = c.handled_since = now();
    c.operation = p->operation;
    const bool held = co_await parts_.execution.handle(c, *p, t);
    c.operation = 0;
    if (!held) parts_.held.release(*p);
  }
  c.leave();
}

}  // namespace hcasim
