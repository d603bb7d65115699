#include "models/adapter/responder/responder.h"

namespace hcasim {

responder::responder(const sc_core::sc_module_name& name, const responder_config& config, const clock_domain& clock,
                     packet_pool& packets_in, std::uint16_t lid)
    : unit(name),
      config_(config),
      clock_(clock),
      packet_pool_(packets_in),
      lid_(lid),
      gid_(hca_port_gid(lid)),
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
  stats_.add("group_packets", "1", "multicast packets for groups with QPs here", group_packets_);
  stats_.add("group_copies", "1", "copies of them, one for each QP", group_copies_);
  stats_.add("wrong_route", "1",
             "packets of connected QPs with a GRH that is not the peer's, or without the one that they should have",
             wrong_route_);
  stats_.add("wrong_domain", "1", "XRC requests that name no SRQ of the QP's domain", wrong_domain_);
  faults_.list(stats_);
  stats_.busy_time("buffers_busy", "share of `buffers` in use, times the time", buffers_);
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
  if (p.header.dest_qpn == wire::group_qpn) [[unlikely]] {
    if (!hca_lid_is_group(p.header.dest_lid)) {
      ++dropped_;
      return release_packet(p);
    }
    group_inbox_.push(&p);
    if (!serving_groups_) serve_groups();
    return;
  }
  connection& c = started(p.header.dest_qpn);
  c.inbox.push(&p);
  inbox_probe_.set(c.inbox.size(), now());
  if (!c.serving) serve(c);
}

void responder::release_packet(packet& p) {
  if (!p.via) [[unlikely]]
    return copy_done(p);
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
  if (r.op == control_op::group) {
    groups_.at(r.first) = r.number;
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
      c.shared = r.shared;
      ++c.life;
      c.lost = false;
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
    case control_op::set_cq:
    case control_op::pages:
    case control_op::reset:
    case control_op::settle:
    case control_op::group:
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
    if (&c != &strangers_) lose(c, t);
    co_return false;
  }
  auto& q = ctx.as<hca_qpc>();
  const bool reliable = hca_transport_reliable(q.transport) != 0;
  const executed_fetch* kept = nullptr;
  const request_answer answer = answer_to(arrival_of(c, q, p, kept));
  bool held = false;
  switch (answer) {
    case request_answer::drop:
      ++dropped_;
      break;
    case request_answer::drop_foreign:
      ++(q.transport == HCA_TRANSPORT_UD ? bad_qkey_ : p.header.source_lid != q.dest_lid ? wrong_source_ : wrong_route_);
      break;
    case request_answer::drop_unknown:
      ++duplicates_;
      ++duplicates_unknown_;
      break;
    case request_answer::execute:
    case request_answer::begin:
    case request_answer::skip:
      take_place(q, p, answer);
      if (answer != request_answer::skip) held = co_await execute(c, ctx, p, t);
      if (!reliable) c.acks_owed = 0;
      break;
    case request_answer::refuse:
      q.nak_sent = 0;
      refuse(c, q, wire::nak_invalid_request, HCA_WC_LOC_QP_OP_ERR, t);
      break;
    case request_answer::acknowledge:
      ++duplicates_;
      ++c.acks_owed;
      break;
    case request_answer::repeat_read:
      ++duplicates_;
      co_await repeat_read(c, ctx, p, t);
      break;
    case request_answer::repeat_atomic:
      ++duplicates_;
      answer_atomic(c, q, *kept);
      break;
    case request_answer::ask_again:
      ++out_of_order_;
      q.nak_sent = 1;
      acknowledge(c, route_of(c, q), q.expected_psn, wire::nak_sequence, t);
      break;
    case request_answer::wait:
      ++out_of_order_;
      break;
  }
  if (ctx.failed) co_return held;
  const bool due = c.acks_owed != 0 && (c.inbox.empty() || c.acks_owed >= config_.ack_coalesce);
  if (due && !in_error(c.state)) {
    const auto& seen = ctx.as<const hca_qpc>();
    acknowledge(c, route_of(c, seen), psn_add(seen.expected_psn, wire::psn_mask), wire::ack_no_credits, t);
  }
  ctx.dirty = changes_context(answer);
  qpc.release(ctx);
  co_return held;
}

request_arrival responder::arrival_of(const connection& c, const hca_qpc& q, const packet& p,
                                      const executed_fetch*& kept) const {
  const packet_header& h = p.header;
  request_arrival a{.started = &c != &strangers_,
                    .from_peer = q.transport == HCA_TRANSPORT_UD
                                     ? h.qkey == q.qkey
                                     : h.source_lid == q.dest_lid && comes_from(q.route, h.global, p.grh),  // [H2]
                    .state = q.state,
                    .transport = q.transport,
                    .opcode = h.opcode,
                    .inbound = q.inbound};
  const std::int32_t ahead = psn_distance(q.expected_psn, h.psn);
  if (ahead == 0) return a;
  if (ahead > 0) {
    a.psn = q.nak_sent ? psn_class::noticed : psn_class::ahead;
  } else {
    kept = is_fetch(h.opcode) ? repeated_by(c, q, h) : nullptr;
    a.psn = kept ? psn_class::executed : psn_class::older;
  }
  return a;
}

// Moves the QP to its place in the sequence when it looks at the packet; of UC and UD also when it has lost its place.
void responder::take_place(hca_qpc& q, const packet& p, request_answer answer) {
  const std::uint32_t psn = p.header.psn;
  if (hca_transport_reliable(q.transport)) {
    q.nak_sent = 0;
    return;
  }
  if (answer != request_answer::execute) {
    if (psn != q.expected_psn) ++out_of_order_;
    if (q.inbound != HCA_INBOUND_NONE) ++messages_dropped_;
    q.inbound = HCA_INBOUND_NONE;
  }
  q.expected_psn = answer == request_answer::skip ? psn_add(psn, 1) : psn;
}

// The order of the checks is [D4..D13]; returns whether the packet is held until its payload has landed. The context is let go
// while a receive is taken from an SRQ, which has one in the same cache; ctx.failed: it could not be had again.
task<bool> responder::execute(connection& c, context_request& ctx, packet& p, ps& t) {
  const packet_header& h = p.header;
  const request_kind kind = kind_of(h.opcode);
  const wire::shape& s = h.shape();
  if (auto& q = ctx.as<hca_qpc>(); right_of(kind) & ~std::uint32_t{q.access}) {  // [D4]
    refuse(c, q, wire::nak_invalid_request, HCA_WC_LOC_QP_OP_ERR, t);
    co_return false;
  }
  if (ctx.as<const hca_qpc>().transport == HCA_TRANSPORT_XRC_TGT) [[unlikely]] {
    const bool entered = co_await enter_domain(c, ctx, h, t);
    if (ctx.failed || !is_live(c.state)) co_return false;
    if (!entered) {
      ++wrong_domain_;
      refuse(c, ctx.as<hca_qpc>(), wire::nak_remote_access, HCA_WC_LOC_QP_OP_ERR, t);
      co_return false;
    }
  }
  auto& before = ctx.as<hca_qpc>();
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
    if (!hca_transport_reliable(q.transport)) {
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

task<> responder::repeat_read(connection& c, context_request& ctx, packet& p, ps& t) {
  domain of;
  const bool xrc = ctx.as<const hca_qpc>().transport == HCA_TRANSPORT_XRC_TGT;
  if (xrc) {
    const bool found = co_await find_domain(c, ctx, p.header.srqn, of, t);
    if (ctx.failed || !is_live(c.state)) co_return;
    if (!found) {
      refuse_repetition(c, ctx.as<const hca_qpc>(), p, wire::nak_remote_access, t);
      co_return;
    }
    hca_qpc then = ctx.as<const hca_qpc>();  // a message to another SRQ may have begun
    then.pd = of.pd;
    if (right_of(request_kind::read) & ~std::uint32_t{then.access}) {  // [D4]
      refuse_repetition(c, then, p, wire::nak_invalid_request, t);
    } else {
      co_await do_read(c, then, p, true, t);
    }
    co_return;
  }
  auto& q = ctx.as<hca_qpc>();
  if (right_of(request_kind::read) & ~std::uint32_t{q.access}) {  // [D4] it was there when the READ was executed
    refuse_repetition(c, q, p, wire::nak_invalid_request, t);
  } else {
    co_await do_read(c, q, p, true, t);
  }
}

}  // namespace hcasim
