#include "models/responder/responder.h"

namespace hcasim {

responder::responder(const sc_core::sc_module_name& name, const responder_config& config, const clock_domain& clock,
                     packet_pool& packets_in, std::uint16_t lid)
    : unit(name),
      config_(config),
      clock_(clock),
      packet_pool_(packets_in),
      lid_(lid),
      memory_(keys, walker, dma),
      faults_(queue_, reports, true),
      buffers_(queue_, config.buffers),
      engine_(queue_, clock.cycles(config.packet_interval)) {
  packets.on<&responder::on_packet>(this);
  bells.on<&responder::on_bell>(this);
  control.on<&responder::on_control>(this);
  peer.on<&responder::on_control>(this);

  stats_.add("packets", "1", "request packets received", packets_in_);
  stats_.add("messages", "1", "messages completed in order", messages_);
  stats_.add("payload_written", "B", "payload bytes of SEND and WRITE placed", payload_written_);
  stats_.add("payload_read", "B", "payload bytes of READ responses sent", payload_read_);
  stats_.add("acknowledges", "1", "positive acknowledges sent", acknowledges_);
  stats_.add("naks", "1", "NAKs sent, without RNR", naks_);
  stats_.add("rnr_naks", "1", "receiver-not-ready NAKs sent", rnr_naks_);
  stats_.add("out_of_order", "1", "packets ahead of the expected PSN", out_of_order_);
  stats_.add("duplicates", "1", "packets behind the expected PSN", duplicates_);
  stats_.add("duplicates_unknown", "1", "repetitions of READs and atomics that were not executed, or too long ago; dropped",
             duplicates_unknown_);
  stats_.add("dropped", "1", "packets for a QP that cannot receive", dropped_);
  stats_.add("wrong_source", "1", "packets of RC and UC that do not come from the LID of the peer", wrong_source_);
  stats_.add("bad_qkey", "1", "packets of UD whose Q_Key is not that of the QP", bad_qkey_);
  stats_.add("flushed", "1", "receives completed with WR_FLUSH_ERR", flushed_);
  stats_.add("no_receive", "1", "messages of UC and UD that found no receive posted", no_receive_);
  stats_.add("messages_dropped", "1", "messages of UC and UD dropped for an error or a gap", messages_dropped_);
  stats_.add("shared_taken", "1", "receives taken from an SRQ", shared_taken_);
  faults_.list(stats_);
  stats_.busy_time("engine_busy", "time the packet engine was busy", engine_);
  signals_.add("valid", 1, valid_probe_);
  signals_.add("qpn", 24, qpn_probe_);
  signals_.add("opcode", 8, opcode_probe_);
  signals_.add("psn", 24, psn_probe_);
  signals_.add("syndrome", 8, syndrome_probe_);
  signals_.add("inbox", 16, inbox_probe_);
}

responder::~responder() = default;

responder::connection& responder::started(std::uint32_t qpn) {
  connection* const c = connections_.find(qpn);
  return c ? *c : strangers_;
}

// Packets enter the engine one after the other; its latency is the same for all, so that they come to their QPs in that order.
tlm::tlm_sync_enum responder::on_packet(packet& p, tlm::tlm_phase, ps&) {
  ++packets_in_;
  p.holder = this;
  engine_.ask(requests, {[](void* x) {
                           auto& due = *static_cast<packet*>(x);
                           static_cast<responder*>(due.holder)->take(due);
                         },
                         &p});
  return tlm::TLM_ACCEPTED;
}

void responder::take(packet& p) {
  valid_probe_.pulse(1, now(), clock_.period());
  qpn_probe_.set(p.header.dest_qpn, now());
  opcode_probe_.set(p.header.opcode, now());
  psn_probe_.set(p.header.psn, now());
  queue_.at(now() + clock_.cycles(config_.packet_latency), {[](void* x) {
                                                              auto& due = *static_cast<packet*>(x);
                                                              static_cast<responder*>(due.holder)->arrive(due);
                                                            },
                                                            &p});
}

void responder::arrive(packet& p) {
  connection& c = started(p.header.dest_qpn);
  c.inbox.push(&p);
  inbox_probe_.set(c.inbox.size(), now());
  if (!c.serving) serve(c);
}

void responder::release_packet(packet& p) {
  target_socket<packet>::respond(p, now());
  packet_pool_.put(p);
}

tlm::tlm_sync_enum responder::on_bell(doorbell_ring& b, tlm::tlm_phase, ps& t) {
  connection& c = started(b.number);
  c.rq_pi = static_cast<std::uint16_t>(b.value);
  if (in_error(c.state) && !asked_to_stop(c.state)) flush_receives(c, nullptr, t);
  return tlm::TLM_COMPLETED;
}

tlm::tlm_sync_enum responder::on_control(control_request& r, tlm::tlm_phase, ps& t) {
  if (r.op == control_op::pages) {  // of a key, not of a QP
    faults_.answered(r);
    return tlm::TLM_COMPLETED;
  }
  connection& c = connections_.make(r.number);
  switch (r.op) {
    case control_op::stop:
      faults_.cancel(&c);
      if (c.busy != 0) {
        c.on(connection_event::stop_later);
        c.stopping = &r;
        return tlm::TLM_ACCEPTED;
      }
      c.on(connection_event::stop_now);
      break;
    case control_op::start:
      c.on(connection_event::start);
      c.rq_pi = 0;
      c.fetched_count = 0;
      c.reads = c.acks_owed = 0;
      c.last_ticket = ~0ULL;
      c.no_receive_since = never;
      faults_.forget(c.missing);
      while (!c.executed.empty()) c.executed.pop();
      break;
    case control_op::flush:
    case control_op::failed:
      c.on(connection_event::told_failed);
      faults_.cancel(&c);
      flush_receives(c, &r, t);
      return tlm::TLM_ACCEPTED;
    case control_op::resume:
    case control_op::drain:
    case control_op::go_on:
    case control_op::set_eq:
    case control_op::pages:
      break;
  }
  return tlm::TLM_COMPLETED;
}

void responder::check_stopped(connection& c) {
  if (!c.stopping || c.busy != 0) return;
  c.on(connection_event::left);
  target_socket<control_request>::respond(*std::exchange(c.stopping, nullptr), now());
}

process responder::serve(connection& c) {
  c.serving = true;
  ++c.busy;
  while (!c.inbox.empty()) {
    packet& p = *c.inbox.pop();
    ps t = c.handled_since = now();
    c.operation = p.operation;
    const bool held = co_await handle(c, p, t);
    c.operation = 0;
    if (!held) release_packet(p);
  }
  c.serving = false;
  --c.busy;
  check_stopped(c);
}

task<bool> responder::handle(connection& c, packet& p, ps& t) {
  if (!is_live(c.state)) {
    ++dropped_;
    co_return false;
  }
  context_request ctx;
  ctx.index = p.header.dest_qpn;
  ctx.operation = p.operation;
  co_await qpc.request(ctx, t);
  if (ctx.failed) {
    ++dropped_;
    co_return false;
  }
  auto& q = ctx.as<hca_qpc>();
  bool held = false;
  bool changed = false;  // what the packet does not concern stays as it is: the QP may be another's, or on its way in or out
  const bool receives = q.state == HCA_QP_RTR || q.state == HCA_QP_RTS || q.state == HCA_QP_SQD || q.state == HCA_QP_SQE;
  if (&c == &strangers_ || !receives || !of_transport(p.header.opcode, q.transport)) {
    ++dropped_;  // [D1]
  } else if (q.transport != HCA_TRANSPORT_UD && p.header.source_lid != q.dest_lid) {
    ++wrong_source_;
  } else if (q.transport != HCA_TRANSPORT_RC) {
    changed = q.transport != HCA_TRANSPORT_UD || p.header.qkey == q.qkey;
    if (unreliable_takes(q, p)) held = co_await execute(c, ctx, p, t);
    c.acks_owed = 0;
  } else {
    const std::int32_t ahead = psn_distance(q.expected_psn, p.header.psn);
    if (ahead > 0) {  // [D2]
      ++out_of_order_;
      if (!q.nak_sent) {
        changed = true;
        q.nak_sent = 1;
        acknowledge(c, route_of(c, q), q.expected_psn, wire::nak_sequence, t);
      }
    } else if (ahead < 0) {
      ++duplicates_;
      co_await duplicate(c, q, p, t);
    } else {
      changed = true;
      q.nak_sent = 0;
      held = co_await execute(c, ctx, p, t);
    }
    const bool due = c.acks_owed != 0 && (c.inbox.empty() || c.acks_owed >= config_.ack_coalesce);
    if (due && !in_error(c.state) && !ctx.failed) {
      const auto& seen = ctx.as<const hca_qpc>();
      acknowledge(c, route_of(c, seen), psn_add(seen.expected_psn, wire::psn_mask), wire::ack_no_credits, t);
    }
  }
  if (ctx.failed) co_return held;
  ctx.dirty = changed;
  qpc.release(ctx);
  co_return held;
}

// The order of the checks is [D3..D13]; returns whether the packet is held until its payload has landed. The context is let go
// while a receive is taken from an SRQ, which has one in the same cache; ctx.failed: it could not be had again.
task<bool> responder::execute(connection& c, context_request& ctx, packet& p, ps& t) {
  const packet_header& h = p.header;
  auto& before = ctx.as<hca_qpc>();
  const request_kind kind = kind_of(h.opcode);
  const wire::shape& s = h.shape();
  if (!in_sequence(before.inbound, h.opcode)) {  // [D3]
    refuse(c, before, wire::nak_invalid_request, HCA_WC_LOC_QP_OP_ERR, t);
    co_return false;
  }
  if (right_of(kind) & ~std::uint32_t{before.access}) {  // [D4]
    refuse(c, before, wire::nak_invalid_request, HCA_WC_LOC_QP_OP_ERR, t);
    co_return false;
  }
  if ((kind == request_kind::read || kind == request_kind::atomic) && c.reads >= before.max_read_in) {  // [D5]
    refuse(c, before, wire::nak_invalid_request, HCA_WC_LOC_QP_OP_ERR, t);
    co_return false;
  }
  bool ready = true;
  if (takes_receive(h.opcode)) {  // [D5]
    if (before.srqn != 0) {
      ready = co_await take_shared(c, ctx, t);
    } else {
      ready = co_await take_receive(c, before, t);
    }
    if (ctx.failed || !is_live(c.state)) co_return false;
  }
  auto& q = ctx.as<hca_qpc>();
  if (!ready) {
    if (q.transport != HCA_TRANSPORT_RC) {
      ++no_receive_;
      drop_message(c, q, HCA_WC_SUCCESS, t);
      co_return false;
    }
    q.nak_sent = 1;
    if (c.no_receive_since == never) c.no_receive_since = t;
    acknowledge(c, route_of(c, q), h.psn, static_cast<std::uint8_t>(wire::rnr_nak | (q.min_rnr_timer & 0x1f)), t);
    co_return false;
  }
  c.no_receive_since = never;
  const std::uint32_t remaining = s.reth ? h.dma_length : q.in_remaining;
  const bool misaligned = kind == request_kind::atomic && config_.atomic_align_first && !atomic_aligned(h);
  if (misaligned || !length_ok(p, q.mtu_shift, remaining)) {  // [D6]
    refuse(c, q, wire::nak_invalid_request, HCA_WC_LOC_LEN_ERR, t);
    co_return false;
  }
  switch (kind) {
    case request_kind::send:
      co_return co_await do_send(c, q, p, t);
    case request_kind::write:
      co_return co_await do_write(c, q, p, t);
    case request_kind::read:
      co_await do_read(c, q, p, false, t);
      co_return false;
    default:
      co_await do_atomic(c, q, p, t);
      co_return false;
  }
}

// UC and UD: whether the packet is looked at, as the next one of its message. Nothing is expected of the PSN of a datagram.
bool responder::unreliable_takes(hca_qpc& q, const packet& p) {
  const packet_header& h = p.header;
  if (q.transport == HCA_TRANSPORT_UD) {
    if (h.qkey != q.qkey) {
      ++bad_qkey_;
      return false;
    }
    q.expected_psn = h.psn;
    return true;
  }
  if (h.psn != q.expected_psn) ++out_of_order_;
  const bool follows = h.psn == q.expected_psn && in_sequence(q.inbound, h.opcode);
  q.expected_psn = h.psn;
  if (follows) return true;
  if (q.inbound != HCA_INBOUND_NONE) ++messages_dropped_;
  q.inbound = HCA_INBOUND_NONE;
  if (in_sequence(q.inbound, h.opcode)) return true;
  q.expected_psn = psn_add(h.psn, 1);
  return false;
}

task<> responder::duplicate(connection& c, hca_qpc& q, packet& p, ps& t) {
  const request_kind kind = kind_of(p.header.opcode);
  if (kind != request_kind::read && kind != request_kind::atomic) {
    ++c.acks_owed;
    co_return;
  }
  const executed_fetch* const e = repeated_by(c, q, p.header);
  if (!e) {
    ++duplicates_unknown_;
  } else if (kind == request_kind::atomic) {
    answer_atomic(c, q, *e);
  } else if (right_of(kind) & ~std::uint32_t{q.access}) {  // [D4] it was there when the READ was executed
    refuse_repetition(c, q, p, wire::nak_invalid_request, t);
  } else {
    co_await do_read(c, q, p, true, t);
  }
}

}  // namespace hcasim
