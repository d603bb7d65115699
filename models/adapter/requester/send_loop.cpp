#include "models/adapter/requester/send_loop.h"

#include "models/adapter/requester/requester_rules.h"
#include "tlm/base/delegate.h"

namespace hcasim {

// The begin and the end of the loop leave the timer alone: a QP stays as live as it is.
process send_loop::loop(send_qp& f, ps t) {
  f.state = send_qp_table.step(f.state, send_qp_event::loop_begins);
  ++f.busy;
  while (f.may_go_on()) {
    send_operation* op = f.operations.at_number(f.cursor);
    const std::uint32_t pass = f.pass;
    const std::uint64_t number = f.cursor;
    const std::uint32_t packet_index = f.cursor_packet;
    // After a wait the operation may have been completed, or be repeated from another packet on.
    const auto still_here = [&] {
      return f.may_go_on() && f.pass == pass && f.cursor == number && f.cursor_packet == packet_index;
    };
    const std::uint32_t next = op->psns == 0 ? f.next_psn : psn_add(op->first_psn, f.cursor_packet);
    if (f.state.has(send_qp_mark::numbered) && !op->view.fetches() &&
        static_cast<std::uint64_t>(psn_distance(f.una_psn, next)) >= config_.window + f.read_psns) {
      break;
    }
    if (f.cursor_packet == 0) {
      t = message_engine_.start(now(), clock_.cycles(config_.message_interval));
      if (parts_.steps.used()) {
        co_await parts_.steps.done({f.qpn, processing_step::wqe, 0, op->work->operation});
        t = std::max(t, now());
        if (!still_here()) continue;
      }
      context_request c;
      c.index = f.qpn;
      c.operation = op->work->operation;
      co_await ports_.qpc.request(c, t);
      const bool current = still_here();
      if (c.failed) {
        if (current) {
          op->status = HCA_WC_LOC_QP_OP_ERR;
          f.failed = number;
        }
        continue;
      }
      if (current) start(f, *op, c);
      ports_.qpc.release(c);
      if (!current || f.cursor >= f.failed) continue;
      if (op->view.is_local()) {
        ++f.cursor;
        continue;
      }
    }
    co_await buffers_.take();
    if (!still_here()) {
      buffers_.give();
      continue;
    }
    signals_.buffers.set(buffers_.in_use(), now());
    co_await queue_.until(packet_engine_.start(now(), clock_.cycles(config_.packet_interval)));
    if (!still_here()) {
      buffers_.give();
      continue;
    }
    const std::uint64_t ticket = f.out.reserve();
    const std::uint32_t count = op->view.fetches() ? 1 : op->psns;
    if (++f.cursor_packet >= count) {
      ++f.cursor;
      f.cursor_packet = 0;
    }
    ++op->pins;
    ++f.busy;
    gather(f, *op, packet_index, ticket, pass, now() + clock_.cycles(config_.packet_latency));
  }
  f.state = send_qp_table.step(f.state, send_qp_event::loop_ends);
  --f.busy;
  ended(f);
}

void send_loop::start(send_qp& f, send_operation& op, context_request& c) {
  auto& q = c.as<hca_qpc>();
  f.qp = send_settings(q, f.qpn);
  if (!f.state.has(send_qp_mark::numbered)) f.next_psn = f.una_psn = f.sent_psn = q.next_psn & wire::psn_mask;
  f.on(send_qp_event::context_read);
  if (q.state != HCA_QP_RTS && q.state != HCA_QP_SQD && op.status == HCA_WC_SUCCESS) op.status = HCA_WC_LOC_QP_OP_ERR;
  if (op.status == HCA_WC_SUCCESS) op.status = transport_status(op.view, q.transport, q.mtu_shift);
  if (op.status != HCA_WC_SUCCESS) {
    f.failed = f.cursor;
    return;
  }
  if (op.psns != 0 || op.view.is_local()) return;
  op.first_psn = f.next_psn;
  op.psns = psns_of(op.view, q.mtu_shift);
  f.next_psn = psn_add(f.next_psn, op.psns);
  if (op.view.fetches()) f.read_psns += op.psns;
  q.next_psn = f.next_psn;
  c.dirty = true;
}

process send_loop::gather(send_qp& f, send_operation& op, std::uint32_t index, std::uint64_t ticket, std::uint32_t pass, ps t) {
  co_await queue_.until(t);
  packet& p = packet_pool_.get();
  parts_.gather.fill_header(f, op, index, p);
  verdict v = verdict::granted;
  if (p.payload != 0) {
    const std::uint64_t offset = std::uint64_t{index} << f.qp.mtu_shift;
    v = co_await parts_.gather.payload(f, op, offset, p, t);
  }
  // The last response may have come since its turn: then nothing is left to ask for, and the PSN is the next operation's.
  const bool answered = op.completed && op.view.fetches();
  const bool current = pass == f.pass && is_live(f.state) && !answered;
  if (current && v != verdict::granted && op.number < f.failed) {
    op.status = HCA_WC_LOC_PROT_ERR;
    f.failed = op.number;
  }
  if (current && op.number < f.failed) {
    encode(p);
    f.out.complete(ticket, &p, t);
  } else {
    packet_pool_.put(p);
    f.out.complete(ticket, nullptr, t);
    buffers_.give();
  }
  parts_.completion.unpin(op, t);
  emit(f);
  --f.busy;
  if (f.failed != ~0ULL) parts_.completion.complete_in_order(f, t);
  const bool had_waited = f.state.has(send_qp_mark::resumed);
  if (f.qp.unreliable() || had_waited) {
    if (had_waited && f.waiting == 0) f.on(send_qp_event::gather_ends);
    run(f, std::max(t, now()));
  }
  parts_.completion.check_stopped(f);
}

void send_loop::emit(send_qp& f) {
  f.out.drain([this, &f](packet& p, ps at) {
    if (is_live(f.state) && p.tag < f.failed) {
      send(f, p, std::max(at, now()));
    } else {
      packet_pool_.put(p);
      buffers_.give();
    }
  });
}

void send_loop::send(send_qp& f, packet& p, ps t) {
  ++counters_.packets_sent;
  counters_.payload_sent += p.payload;
  signals_.valid.pulse(1, t, clock_.period());
  signals_.qpn.set(f.qpn, t);
  signals_.opcode.set(p.header.opcode, t);
  signals_.psn.set(p.header.psn, t);
  if (!f.timer.is_set()) f.restart_timer(t);
  const std::uint32_t end = psn_add(p.header.psn, psns_of(p.header, f.qp.mtu_shift));
  if (psn_distance(f.sent_psn, end) > 0) f.sent_psn = end;
  p.waiter = {};
  call_on_response<&send_loop::on_taken>(p, this);
  if (f.qp.unreliable()) {  // nothing will be acknowledged
    f.una_psn = end;
    ++counters_.advances;
    if (p.header.shape().last) tell_departure(f, p);
  }
  if (ports_.egress[p.port].send(p, t) == tlm::TLM_COMPLETED) buffers_.give();
}

void send_loop::on_taken(packet& p) {
  p.on_response = nullptr;
  buffers_.give();
}

void send_loop::tell_departure(send_qp& f, packet& p) {
  departure& d = departures_.get();
  d = {this, &f, p.tag};
  p.departed = call_holder<&departure::loop, &send_loop::on_departure>(d);
}

// Datagrams of different lanes may leave out of order; they complete in the order of posting.
void send_loop::on_departure(departure& d) {
  send_qp& f = *d.of;
  const std::uint64_t number = d.number;
  departures_.put(d);
  if (asked_to_stop(f.state) || number < f.operations.begin_number()) return;
  f.operations.at_number(number)->departed = true;
  const ps t = now();
  while (!f.operations.empty() && f.operations.front()->departed) {
    parts_.completion.complete(f, HCA_WC_SUCCESS, t);
    parts_.completion.complete_in_order(f, t);
  }
}

}  // namespace hcasim
