#include "models/adapter/responder/request_execution.h"

namespace hcasim {

task<bool> request_execution::handle(receive_qp& c, packet& p, ps& t) {
  if (!is_live(c.state)) {
    ++counters_.dropped;
    co_return false;
  }
  context_request ctx;
  ctx.index = p.header.dest_qpn;
  ctx.operation = p.operation;
  co_await qpc_.request(ctx, t);
  if (ctx.failed) {
    ++counters_.dropped;
    if (!records_.is_stranger(c) && !records_.srq(c.qpn)) parts_.errors.report_unreadable(c, t);
    co_return false;
  }
  auto& q = ctx.as<hca_qpc>();
  const bool reliable = hca_transport_reliable(q.transport) != 0;
  const executed_fetch* kept = nullptr;
  const request_answer answer = answer_to(arrival_of(c, q, p, kept));
  bool held = false;
  switch (answer) {
    case request_answer::drop:
      ++counters_.dropped;
      break;
    case request_answer::drop_foreign:
      ++(p.port != q.port                    ? counters_.wrong_port
         : q.transport == HCA_TRANSPORT_UD   ? counters_.bad_qkey
         : p.header.source_lid != q.dest_lid ? counters_.wrong_source
                                             : counters_.wrong_route);
      break;
    case request_answer::drop_unknown:
      ++counters_.duplicates;
      ++counters_.duplicates_unknown;
      break;
    case request_answer::execute:
    case request_answer::begin:
    case request_answer::skip:
      advance_psn(q, p, answer);
      if (answer != request_answer::skip) held = co_await execute(c, ctx, p, t);
      if (!reliable) c.acks_owed = 0;
      break;
    case request_answer::refuse:
      q.nak_sent = 0;
      parts_.errors.refuse(c, q, wire::nak_invalid_request, HCA_WC_LOC_QP_OP_ERR, t);
      break;
    case request_answer::acknowledge:
      ++counters_.duplicates;
      ++c.acks_owed;
      break;
    case request_answer::repeat_read:
      ++counters_.duplicates;
      co_await repeat_read(c, ctx, p, t);
      break;
    case request_answer::repeat_atomic:
      ++counters_.duplicates;
      parts_.fetches.repeat_atomic(c, q, *kept);
      break;
    case request_answer::ask_again:
      ++counters_.out_of_order;
      q.nak_sent = 1;
      parts_.responses.acknowledge(c, response_sender::route_of(c, q), q.expected_psn, wire::nak_sequence, t);
      break;
    case request_answer::wait:
      ++counters_.out_of_order;
      break;
  }
  if (ctx.failed) co_return held;
  acknowledge_due(c, ctx.as<const hca_qpc>(), t);
  ctx.dirty = changes_context(answer);
  qpc_.release(ctx);
  co_return held;
}

// Acknowledges what is owed, once for all packets that wait.
void request_execution::acknowledge_due(receive_qp& c, const hca_qpc& q, ps t) {
  const bool due = c.acks_owed != 0 && (c.inbox.empty() || c.acks_owed >= config_.ack_coalesce);
  if (!due || in_error(c.state)) return;
  const std::uint32_t psn = psn_add(q.expected_psn, wire::psn_mask);
  parts_.responses.acknowledge(c, response_sender::route_of(c, q), psn, wire::ack_no_credits, t);
}

request_arrival request_execution::arrival_of(const receive_qp& c, const hca_qpc& q, const packet& p,
                                              const executed_fetch*& kept) const {
  const packet_header& h = p.header;
  request_arrival a{
      .started = !records_.is_stranger(c),
      .from_peer = p.port == q.port && (q.transport == HCA_TRANSPORT_UD
                                            ? h.qkey == q.qkey
                                            : h.source_lid == q.dest_lid && comes_from(q.route, h.global, p.grh)),  // [H2]
      .state = q.state,
      .transport = q.transport,
      .opcode = h.opcode,
      .inbound = q.inbound};
  const std::int32_t ahead = psn_distance(q.expected_psn, h.psn);
  if (ahead == 0) return a;
  if (ahead > 0) {
    a.psn = q.nak_sent ? psn_class::noticed : psn_class::ahead;
  } else {
    kept = is_fetch(h.opcode) ? fetch_answers::repeated_by(c, q, h) : nullptr;
    a.psn = kept ? psn_class::executed : psn_class::older;
  }
  return a;
}

// Moves the QP to the packet's place in the sequence. A QP of UC or UD moves there from a lost place as well.
void request_execution::advance_psn(hca_qpc& q, const packet& p, request_answer answer) {
  const std::uint32_t psn = p.header.psn;
  if (hca_transport_reliable(q.transport)) {
    q.nak_sent = 0;
    return;
  }
  if (answer != request_answer::execute) {
    if (psn != q.expected_psn) ++counters_.out_of_order;
    if (q.inbound != HCA_INBOUND_NONE) ++counters_.messages_dropped;
    q.inbound = HCA_INBOUND_NONE;
  }
  q.expected_psn = answer == request_answer::skip ? psn_add(psn, 1) : psn;
}

// Checks in the order of [D4..D13]; returns whether the packet is held until its payload has landed.
task<bool> request_execution::execute(receive_qp& c, context_request& ctx, packet& p, ps& t) {
  const packet_header& h = p.header;
  const request_kind kind = kind_of(h.opcode);
  const wire::shape& s = h.shape();
  if (auto& q = ctx.as<hca_qpc>(); right_of(kind) & ~std::uint32_t{q.access}) {  // [D4]
    parts_.errors.refuse(c, q, wire::nak_invalid_request, HCA_WC_LOC_QP_OP_ERR, t);
    co_return false;
  }
  if (ctx.as<const hca_qpc>().transport == HCA_TRANSPORT_XRC_TGT) [[unlikely]] {
    const bool entered = co_await enter_domain(c, ctx, h.srqn, t);
    if (!entered) co_return false;
  }
  auto& before = ctx.as<hca_qpc>();
  if ((kind == request_kind::read || kind == request_kind::atomic) && c.reads >= before.max_read_in) {  // [D5]
    parts_.errors.refuse(c, before, wire::nak_invalid_request, HCA_WC_LOC_QP_OP_ERR, t);
    co_return false;
  }
  if (takes_receive(h.opcode)) {  // [D5]
    const bool ready = co_await take_receive(c, ctx, h.psn, t);
    if (!ready) co_return false;
  }
  c.no_receive_since = never;
  auto& q = ctx.as<hca_qpc>();
  const std::uint32_t remaining = s.reth ? h.dma_length : q.in_remaining;
  const bool misaligned = kind == request_kind::atomic && config_.atomic_align_first && !atomic_aligned(h);
  if (misaligned || !length_ok(p, q.mtu_shift, remaining)) {  // [D6]
    parts_.errors.refuse(c, q, wire::nak_invalid_request, HCA_WC_LOC_LEN_ERR, t);
    co_return false;
  }
  switch (kind) {
    case request_kind::send:
      co_return co_await parts_.placement.send(c, q, p, t);
    case request_kind::write:
      co_return co_await parts_.placement.write(c, q, p, t);
    case request_kind::read:
      co_await parts_.fetches.read(c, q, p, false, t);
      co_return false;
    default:
      co_await parts_.fetches.atomic(c, q, p, t);
      co_return false;
  }
}

// Returns whether the request may go on: its SRQ is of the QP's domain.
task<bool> request_execution::enter_domain(receive_qp& c, context_request& ctx, std::uint32_t srqn, ps& t) {
  const bool entered = co_await parts_.domains.enter(c, ctx, srqn, t);
  if (ctx.failed || !is_live(c.state)) co_return false;
  if (!entered) {
    ++counters_.wrong_domain;
    parts_.errors.refuse(c, ctx.as<hca_qpc>(), wire::nak_remote_access, HCA_WC_LOC_QP_OP_ERR, t);
  }
  co_return entered;
}

// Returns whether the request may go on: it has a receive WQE.
task<bool> request_execution::take_receive(receive_qp& c, context_request& ctx, std::uint32_t psn, ps& t) {
  bool ready = false;
  if (auto& q = ctx.as<hca_qpc>(); q.srqn != 0) {
    ready = co_await parts_.receives.take_shared(c, ctx, t);
  } else {
    ready = co_await parts_.receives.take(c, q, t);
  }
  if (ctx.failed || !is_live(c.state)) co_return false;
  if (ready) co_return true;
  auto& q = ctx.as<hca_qpc>();
  if (!hca_transport_reliable(q.transport)) {
    ++counters_.no_receive;
    parts_.errors.drop_message(c, q, HCA_WC_SUCCESS, t);
    co_return false;
  }
  if (c.no_receive_since == never) c.no_receive_since = t;
  parts_.responses.ask_to_come_back(c, q, psn, t);
  co_return false;
}

task<> request_execution::repeat_read(receive_qp& c, context_request& ctx, packet& p, ps& t) {
  xrc_domain of;
  const bool xrc = ctx.as<const hca_qpc>().transport == HCA_TRANSPORT_XRC_TGT;
  if (xrc) {
    const bool found = co_await parts_.domains.find(c, ctx, p.header.srqn, of, t);
    if (ctx.failed || !is_live(c.state)) co_return;
    if (!found) {
      parts_.fetches.refuse_repetition(c, ctx.as<const hca_qpc>(), p, wire::nak_remote_access, t);
      co_return;
    }
    hca_qpc then = ctx.as<const hca_qpc>();  // a message to another SRQ may have begun
    then.pd = of.pd;
    if (right_of(request_kind::read) & ~std::uint32_t{then.access}) {  // [D4]
      parts_.fetches.refuse_repetition(c, then, p, wire::nak_invalid_request, t);
    } else {
      co_await parts_.fetches.read(c, then, p, true, t);
    }
    co_return;
  }
  auto& q = ctx.as<hca_qpc>();
  if (right_of(request_kind::read) & ~std::uint32_t{q.access}) {  // [D4] the right was there when the READ was executed
    parts_.fetches.refuse_repetition(c, q, p, wire::nak_invalid_request, t);
  } else {
    co_await parts_.fetches.read(c, q, p, true, t);
  }
}

}  // namespace hcasim
