// Responses leave in order; errors, flushes and completions.
#include "models/adapter/responder/responder.h"

namespace hcasim {

responder::route responder::route_of(const connection& c, const hca_qpc& q) {
  return {.owner = owner_of(q, c.qpn),
          .operation = c.operation,
          .dest_qpn = q.dest_qpn,
          .msn = q.msn,
          .dest_lid = q.dest_lid,
          .service_level = q.service_level,
          .mtu_shift = q.mtu_shift,
          .transport_bits = q.transport == HCA_TRANSPORT_XRC_TGT ? wire::xrc : wire::rc,
          .global = q.route};
}

packet& responder::new_response(const route& to, std::uint8_t opcode, std::uint32_t psn) {
  packet& p = packet_pool_.get();
  p.operation = to.operation;
  packet_header& h = p.header;
  h = {};
  h.virtual_lane = to.service_level;
  h.service_level = to.service_level;
  h.dest_lid = to.dest_lid;
  h.source_lid = lid_;
  h.dest_qpn = to.dest_qpn;
  h.opcode = static_cast<std::uint8_t>(opcode | to.transport_bits);
  h.psn = psn;
  h.syndrome = wire::ack_no_credits;
  h.msn = to.msn;
  set_route(p, to.global, gid_);
  p.payload = 0;
  return p;
}

void responder::acknowledge(connection& c, const route& to, std::uint32_t psn, std::uint8_t syndrome, ps t) {
  packet& p = new_response(to, wire::acknowledge, psn);
  p.header.syndrome = syndrome;
  if (syndrome == wire::ack_no_credits) {
    ++acknowledges_;
  } else if ((syndrome & 0xe0) == wire::rnr_nak) {
    ++rnr_naks_;
  } else {
    ++naks_;
  }
  c.acks_owed = 0;
  syndrome_probe_.set(syndrome, t);
  answer(c, p);
}

// In its turn, behind what is owed. A positive acknowledge that waits already says the same for more.
void responder::answer(connection& c, packet& p) {
  if (c.owed.empty()) return send_response(c, p);
  const auto positive = [](const packet_header& h) {
    return kind_bits(h.opcode) == wire::acknowledge && h.syndrome == wire::ack_no_credits;
  };
  if (packet* const last = c.owed[c.owed.size() - 1].response; last && positive(p.header) && positive(last->header)) {
    last->header.psn = p.header.psn;
    last->header.msn = p.header.msn;
    last->operation = p.operation;
    packet_pool_.put(p);
    return;
  }
  c.owed.push({&p, {}});
}

void responder::send_response(connection& c, packet& p) {
  const std::uint64_t ticket = c.out.reserve();
  p.tag = ticket;
  encode(p);
  c.out.complete(ticket, &p, now());
  emit(c);
}

void responder::emit(connection& c) {
  if (c.emitting) return;
  c.emitting = true;
  c.out.drain([this, &c](packet& p, ps at) {
    const bool buffered = p.header.shape().payload;
    if (p.tag > c.last_ticket || asked_to_stop(c.state)) {
      packet_pool_.put(p);
      if (buffered) buffers_.give();
      return;
    }
    ps t = std::max(at, now());
    p.waiter = {};
    p.context = this;
    p.on_response = nullptr;
    if (buffered) {
      p.on_response = [](void* self, transaction& taken, ps) {
        taken.on_response = nullptr;
        static_cast<responder*>(self)->buffers_.give();
      };
    }
    if (egress.send(p, t) == tlm::TLM_COMPLETED && buffered) buffers_.give();
  });
  c.emitting = false;
}

// An error of a request, as the transport has it.
void responder::refuse(connection& c, hca_qpc& q, std::uint8_t syndrome, std::uint8_t receive_status, ps t) {
  if (hca_transport_reliable(q.transport)) {
    fatal(c, q, syndrome, receive_status, t);
  } else if (receive_status == HCA_WC_LOC_PROT_ERR && config_.unreliable_receive_error == unreliable_receive_error::error) {
    put_into_error(c, q, receive_status, HCA_EVENT_QP_FATAL, t);
  } else {
    drop_message(c, q, receive_status, t);
  }
}

// UC, UD: the QP goes on with the next message. HCA_WC_SUCCESS: nothing of it is reported, not even from an SRQ. A receive that
// cannot be written to is not the next message's either.
void responder::drop_message(connection& c, hca_qpc& q, std::uint8_t receive_status, ps t) {
  ++messages_dropped_;
  q.inbound = HCA_INBOUND_NONE;
  q.expected_psn = psn_add(q.expected_psn, 1);
  if (!q.in_wqe_held || receive_status == HCA_WC_SUCCESS) return;
  if (q.srqn == 0 && receive_status != HCA_WC_LOC_PROT_ERR) return;
  q.in_wqe_held = 0;
  report_receive(c, q, q.in_wqe, receive_status, nullptr, c.operation, t);
}

void responder::fatal(connection& c, hca_qpc& q, std::uint8_t syndrome, std::uint8_t receive_status, ps t) {
  acknowledge(c, route_of(c, q), q.expected_psn, syndrome, t);
  put_into_error(c, q, receive_status, syndrome == wire::nak_remote_access ? HCA_EVENT_QP_ACCESS : HCA_EVENT_QP_REQUEST, t);
}

void responder::put_into_error(connection& c, hca_qpc& q, std::uint8_t receive_status, std::uint32_t event, ps t) {
  q.state = HCA_QP_ERR;
  c.on(connection_event::context_in_error);
  faults_.cancel(&c);
  const bool told = q.in_wqe_held && report_receive(c, q, q.in_wqe, receive_status, nullptr, c.operation, t);
  q.in_wqe_held = 0;
  if (!told) raise(event, c.qpn, c.operation, t);
  flush_with(c, q, t);
  tell_requester(c, t);
}

// Gives up a connection whose context cannot be read or believed. The CQ of its receives is not known, so software hears of the
// QP instead.
void responder::lose(connection& c, ps t) {
  if (c.shared || std::exchange(c.lost, true)) return;
  c.on(connection_event::context_in_error);
  faults_.cancel(&c);
  raise(HCA_EVENT_QP_FATAL, c.qpn, c.operation, t);
  tell_requester(c, t);
}

// Does the same as put_into_error, from outside the packet sequence.
process responder::fail_later(connection& c, std::uint32_t event, ps t) {
  c.on(connection_event::response_fails);
  faults_.cancel(&c);
  ++c.busy;
  context_request ctx;
  ctx.index = c.qpn;
  co_await qpc.request(ctx, t);
  if (!ctx.failed) {
    put_into_error(c, ctx.as<hca_qpc>(), HCA_WC_WR_FLUSH_ERR, event, t);
    ctx.dirty = true;
    qpc.release(ctx);
  } else {
    lose(c, t);
  }
  --c.busy;
  check_stopped(c);
}

process responder::tell_requester(connection& c, ps t) {
  ++c.busy;
  control_request tell;
  tell.op = control_op::failed;
  tell.number = c.qpn;
  co_await peer_out.request(tell, t);
  --c.busy;
  check_stopped(c);
}

process responder::flush_receives(connection& c, control_request* answer, ps t) {
  ++c.busy;
  context_request ctx;
  ctx.index = c.qpn;
  co_await qpc.request(ctx, t);
  if (!ctx.failed) {
    auto& q = ctx.as<hca_qpc>();
    if (q.in_wqe_held) {
      q.in_wqe_held = 0;
      report_receive(c, q, q.in_wqe, HCA_WC_WR_FLUSH_ERR, nullptr, 0, t);
    }
    flush_with(c, q, t);
    ctx.dirty = true;
    qpc.release(ctx);
  } else {
    lose(c, t);
  }
  if (answer) {
    // The caller may still be inside its request.
    co_await queue_.until(std::max(t, now() + ps(1)));
    target_socket<control_request>::respond(*answer, now());
  }
  --c.busy;
  check_stopped(c);
}

void responder::flush_with(connection& c, hca_qpc& q, ps t) {
  while (q.rq.log_bytes != 0 && q.rq_ci != c.rq_pi) {
    ++flushed_;
    report_receive(c, q, q.rq_ci++, HCA_WC_WR_FLUSH_ERR, nullptr, 0, t);
  }
  if (q.srqn == 0 || q.transport == HCA_TRANSPORT_XRC_TGT || c.state.has(connection_mark::told_last)) return;
  c.on(connection_event::last_wqe);
  raise(HCA_EVENT_QP_LAST_WQE, c.qpn, 0, t);
}

bool responder::report_receive(const connection& c, const hca_qpc& q, std::uint16_t index, std::uint8_t status, const packet* p,
                               std::uint64_t operation, ps t) {
  const bool xrc = q.transport == HCA_TRANSPORT_XRC_TGT;
  if (xrc && srq_ended(c, q)) return false;
  report& r = report_pool_.get();
  r.operation = operation;
  r.event = false;
  r.cqn = q.recv_cqn;
  r.cqe = {};
  r.cqe.qpn = c.qpn;
  r.cqe.index = index;
  r.cqe.status = status;
  r.cqe.flags = HCA_CQE_RECEIVE;
  r.cqe.opcode = HCA_WQE_SEND;
  if (xrc) r.cqe.srqn = q.srqn;
  if (p) {
    const packet_header& h = p->header;
    r.cqe.byte_count = q.in_received;
    if (kind_of(h.opcode) == request_kind::write) r.cqe.opcode = HCA_WQE_WRITE_IMM;
    if (h.shape().immediate) {
      r.cqe.flags |= HCA_CQE_WITH_IMM;
      r.cqe.immediate = h.immediate;
    }
    if (h.shape().invalidate) {
      r.cqe.flags |= HCA_CQE_WITH_INV;
      r.cqe.immediate = h.invalidate_key;
    }
    if (h.solicited) r.cqe.flags |= HCA_CQE_SOLICITED;
    if (h.global && h.shape().datagram) r.cqe.flags |= HCA_CQE_GRH;
    r.cqe.source_qpn = h.shape().datagram ? h.source_qpn : q.dest_qpn;
    r.cqe.source_lid = h.source_lid;
    r.cqe.service_level = h.service_level;
  }
  send_report(r, t);
  return true;
}

void responder::raise(std::uint32_t type, std::uint32_t number, std::uint64_t operation, ps t) {
  report& r = report_pool_.get();
  r.operation = operation;
  r.event = true;
  r.type = type;
  r.number = number;
  send_report(r, t);
}

void responder::send_report(report& r, ps t) {
  r.waiter = {};
  r.context = this;
  r.on_response = [](void* self, transaction& done, ps) {
    static_cast<responder*>(self)->report_pool_.put(static_cast<report&>(done));
  };
  if (reports.send(r, t) == tlm::TLM_COMPLETED) report_pool_.put(r);
}

}  // namespace hcasim
