#include "models/adapter/responder/receive_errors.h"

namespace hcasim {

// A page that cannot be had refuses the request: a receive buffer's (LOC_PROT_ERR) as a bad receive, any other as a bad key
// [D14].
void receive_errors::page_missing(receive_qp& c, hca_qpc& q, const packet& p, const missing_page& page,
                                  std::uint8_t receive_status, ps t) {
  const bool same = c.missing.for_page(page);
  const page_faults::state known = same ? c.missing.status : page_faults::state::idle;
  if (known != page_faults::state::pending) faults_.forget(c.missing);
  if (known == page_faults::state::refused) {
    const bool receive = receive_status == HCA_WC_LOC_PROT_ERR;
    refuse(c, q, receive ? wire::nak_remote_operation : wire::nak_remote_access, receive_status, t);
    return;
  }
  if (known != page_faults::state::pending) {
    faults_.forget(c.missing);
    faults_.note(c.missing, page, c.qpn, &c, t);
  }
  if (!hca_transport_reliable(q.transport)) {
    drop_message(c, q, HCA_WC_SUCCESS, t);
    return;
  }
  responses_.ask_to_come_back(c, q, p.header.psn, t);
}

void receive_errors::refuse(receive_qp& c, hca_qpc& q, std::uint8_t syndrome, std::uint8_t receive_status, ps t) {
  if (hca_transport_reliable(q.transport)) {
    fatal(c, q, syndrome, receive_status, t);
  } else if (receive_status == HCA_WC_LOC_PROT_ERR && config_.unreliable_receive_error == unreliable_receive_error::error) {
    put_into_error(c, q, receive_status, HCA_EVENT_QP_FATAL, t);
  } else {
    drop_message(c, q, receive_status, t);
  }
}

// A receive that cannot be written to is not the next message's either.
void receive_errors::drop_message(receive_qp& c, hca_qpc& q, std::uint8_t receive_status, ps t) {
  ++counters_.messages_dropped;
  q.inbound = HCA_INBOUND_NONE;
  q.expected_psn = psn_add(q.expected_psn, 1);
  if (!q.in_wqe_held || receive_status == HCA_WC_SUCCESS) return;
  if (q.srqn == 0 && receive_status != HCA_WC_LOC_PROT_ERR) return;
  q.in_wqe_held = 0;
  reports_.complete(c, q, q.in_wqe, receive_status, nullptr, c.operation, t);
}

void receive_errors::fatal(receive_qp& c, hca_qpc& q, std::uint8_t syndrome, std::uint8_t receive_status, ps t) {
  responses_.acknowledge(c, response_sender::route_of(c, q), q.expected_psn, syndrome, t);
  put_into_error(c, q, receive_status, syndrome == wire::nak_remote_access ? HCA_EVENT_QP_ACCESS : HCA_EVENT_QP_REQUEST, t);
}

void receive_errors::put_into_error(receive_qp& c, hca_qpc& q, std::uint8_t receive_status, std::uint32_t event, ps t) {
  q.state = HCA_QP_ERR;
  c.on(receive_qp_event::context_in_error);
  faults_.cancel(&c);
  const bool told = q.in_wqe_held && reports_.complete(c, q, q.in_wqe, receive_status, nullptr, c.operation, t);
  q.in_wqe_held = 0;
  if (!told) reports_.raise(event, c.qpn, c.operation, t);
  flush_with(c, q, t);
  tell_requester(c, t);
}

void receive_errors::report_unreadable(receive_qp& c, ps t) {
  if (c.state.has(receive_qp_mark::lost)) return;
  c.on(receive_qp_event::context_lost);
  faults_.cancel(&c);
  reports_.raise(HCA_EVENT_QP_FATAL, c.qpn, c.operation, t);
  tell_requester(c, t);
}

process receive_errors::fail_later(receive_qp& c, std::uint32_t event, ps t) {
  c.on(receive_qp_event::response_fails);
  faults_.cancel(&c);
  c.enter();
  context_request ctx;
  ctx.index = c.qpn;
  co_await qpc_.request(ctx, t);
  if (!ctx.failed) {
    put_into_error(c, ctx.as<hca_qpc>(), HCA_WC_WR_FLUSH_ERR, event, t);
    ctx.dirty = true;
    qpc_.release(ctx);
  } else {
    report_unreadable(c, t);
  }
  c.leave();
}

process receive_errors::tell_requester(receive_qp& c, ps t) {
  c.enter();
  requester_control tell;
  tell.op = requester_op::flush;
  tell.qpn = c.qpn;
  co_await requester_.request(tell, t);
  c.leave();
}

process receive_errors::flush_receives(receive_qp& c, responder_control* order, ps t) {
  c.enter();
  context_request ctx;
  ctx.index = c.qpn;
  co_await qpc_.request(ctx, t);
  if (!ctx.failed) {
    auto& q = ctx.as<hca_qpc>();
    if (q.in_wqe_held) {
      q.in_wqe_held = 0;
      reports_.complete(c, q, q.in_wqe, HCA_WC_WR_FLUSH_ERR, nullptr, 0, t);
    }
    flush_with(c, q, t);
    ctx.dirty = true;
    qpc_.release(ctx);
  } else {
    report_unreadable(c, t);
  }
  if (order) {
    // The caller may still be inside its request.
    co_await event_queue::instance().until(std::max(t, now() + ps(1)));
    target_socket<responder_control>::respond(*order, now());
  }
  c.leave();
}

void receive_errors::flush_with(receive_qp& c, hca_qpc& q, ps t) {
  while (q.rq.log_bytes != 0 && q.rq_ci != c.posted.end) {
    ++counters_.flushed;
    reports_.complete(c, q, q.rq_ci++, HCA_WC_WR_FLUSH_ERR, nullptr, 0, t);
  }
  if (q.srqn == 0 || q.transport == HCA_TRANSPORT_XRC_TGT || c.state.has(receive_qp_mark::told_last)) return;
  c.on(receive_qp_event::last_wqe);
  reports_.raise(HCA_EVENT_QP_LAST_WQE, c.qpn, 0, t);
}

}  // namespace hcasim
