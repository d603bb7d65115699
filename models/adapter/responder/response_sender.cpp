#include "models/adapter/responder/response_sender.h"

#include "tlm/base/delegate.h"

namespace hcasim {

response_route response_sender::route_of(const receive_qp& c, const hca_qpc& q) {
  return {.owner = owner_of(q, c.qpn),
          .operation = c.operation,
          .dest_qpn = q.dest_qpn,
          .msn = q.msn,
          .dest_lid = q.dest_lid,
          .service_level = q.service_level,
          .mtu_shift = q.mtu_shift,
          .port = q.port,
          .transport_bits = q.transport == HCA_TRANSPORT_XRC_TGT ? wire::xrc : wire::rc,
          .global = q.route};
}

packet& response_sender::new_response(const response_route& to, std::uint8_t opcode, std::uint32_t psn) {
  packet& p = pool_.get();
  p.operation = to.operation;
  p.port = ports_.existing(to.port);
  packet_header& h = p.header;
  h = {};
  h.virtual_lane = to.service_level;
  h.service_level = to.service_level;
  h.dest_lid = to.dest_lid;
  h.source_lid = ports_.lid(p.port);
  h.dest_qpn = to.dest_qpn;
  h.opcode = static_cast<std::uint8_t>(opcode | to.transport_bits);
  h.psn = psn;
  h.syndrome = wire::ack_no_credits;
  h.msn = to.msn;
  set_route(p, to.global, ports_.gid(p.port));
  p.payload = 0;
  return p;
}

void response_sender::acknowledge(receive_qp& c, const response_route& to, std::uint32_t psn, std::uint8_t syndrome, ps t) {
  packet& p = new_response(to, wire::acknowledge, psn);
  p.header.syndrome = syndrome;
  if (syndrome == wire::ack_no_credits) {
    ++counters_.acknowledges;
  } else if ((syndrome & 0xe0) == wire::rnr_nak) {
    ++counters_.rnr_naks;
  } else {
    ++counters_.naks;
  }
  c.acks_owed = 0;
  signals_.syndrome.set(syndrome, t);
  answer(c, p);
}

void response_sender::ask_to_come_back(receive_qp& c, hca_qpc& q, std::uint32_t psn, ps t) {
  q.nak_sent = 1;
  acknowledge(c, route_of(c, q), psn, static_cast<std::uint8_t>(wire::rnr_nak | (q.min_rnr_timer & 0x1f)), t);
}

// A waiting positive acknowledge is replaced by a later one.
void response_sender::answer(receive_qp& c, packet& p) {
  if (c.owed.empty()) return send(c, p);
  const auto positive = [](const packet_header& h) {
    return kind_bits(h.opcode) == wire::acknowledge && h.syndrome == wire::ack_no_credits;
  };
  if (packet* const last = c.owed[c.owed.size() - 1].response; last && positive(p.header) && positive(last->header)) {
    last->header.psn = p.header.psn;
    last->header.msn = p.header.msn;
    last->operation = p.operation;
    pool_.put(p);
    return;
  }
  c.owed.push({&p, {}});
}

void response_sender::send(receive_qp& c, packet& p) {
  const std::uint64_t ticket = c.out.reserve();
  p.tag = ticket;
  encode(p);
  c.out.complete(ticket, &p, now());
  emit(c);
}

void response_sender::emit(receive_qp& c) {
  c.out.drain([this, &c](packet& p, ps at) {
    const bool buffered = p.header.shape().payload;
    if (p.tag > c.last_ticket || asked_to_stop(c.state)) {
      pool_.put(p);
      if (buffered) buffers_.give();
      return;
    }
    ps t = std::max(at, now());
    p.waiter = {};
    p.on_response = nullptr;
    if (buffered) call_on_response<&response_sender::taken>(p, this);
    if (egress_[p.port].send(p, t) == tlm::TLM_COMPLETED && buffered) buffers_.give();
  });
}

void response_sender::taken(packet& p) {
  p.on_response = nullptr;
  buffers_.give();
}

}  // namespace hcasim
