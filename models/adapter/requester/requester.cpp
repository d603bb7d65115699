#include "models/adapter/requester/requester.h"

namespace hcasim {

requester::requester(const sc_core::sc_module_name& name, const requester_config& config, const clock_domain& clock,
                     packet_pool& packets_in, std::uint16_t lid)
    : unit(name),
      config_(config),
      clock_(clock),
      packet_pool_(packets_in),
      lid_(lid),
      gid_(hca_port_gid(lid)),
      memory_(keys, walker, dma),
      faults_(queue_, reports, false),
      buffers_(queue_, config.buffers) {
  work.on<&requester::on_work>(this);
  packets.on<&requester::on_packet>(this);
  control.on<&requester::on_control>(this);
  peer.on<&requester::on_control>(this);

  stats_.add("operations", "1", "work requests taken from the send queue", messages_);
  stats_.add("packets", "1", "request packets handed to the port", packets_sent_);
  stats_.add("payload_sent", "B", "payload bytes in request packets, repeats included", payload_sent_);
  stats_.add("payload_received", "B", "bytes of READ and atomic responses placed", payload_received_);
  stats_.add("acknowledges", "1", "acknowledge packets that were not discarded", acknowledges_);
  stats_.add("naks", "1", "negative acknowledges, without RNR", naks_);
  stats_.add("rnr_naks", "1", "receiver-not-ready NAKs", rnr_naks_);
  stats_.add("go_backs", "1", "times sending went back to the oldest unacknowledged packet", go_backs_);
  stats_.add("timeouts", "1", "acknowledge timers that ran out", timeouts_);
  stats_.add("discarded", "1", "response packets that fitted nothing outstanding", discarded_);
  stats_.add("errors", "1", "QPs that went into error here", errors_);
  stats_.add("flushed", "1", "work requests completed with WR_FLUSH_ERR", flushed_);
  stats_.add("latency", "ps", "from a work request's arrival to its completion", latency_);
  faults_.list(stats_);
  stats_.busy_time("buffers_busy", "share of `buffers` in use, times the time", buffers_);
  stats_.busy_time("message_engine_busy", "time the message engine was starting messages", message_engine_);
  stats_.busy_time("response_engine_busy", "time the response engine was taking responses in", response_engine_);
  stats_.busy_time("packet_engine_busy", "time the packet engine was issuing", packet_engine_);
  signals_.add("valid", 1, valid_probe_);
  signals_.add("qpn", 24, qpn_probe_);
  signals_.add("opcode", 8, opcode_probe_);
  signals_.add("psn", 24, psn_probe_);
  signals_.add("in_flight", 16, in_flight_probe_);
  signals_.add("buffers", 16, buffers_probe_);
}

requester::~requester() = default;

tlm::tlm_sync_enum requester::on_work(work_request& w, tlm::tlm_phase, ps& t) {
  send_qp& f = send_qps_.make(w.qpn, this);
  ++messages_;
  operation& op = operations_.get();
  op = {};
  op.work = &w;
  op.arrived = t;
  op.number = f.operations.end_number();
  const wqe_fault fault = parse_wqe(std::span(w.bytes).first(std::size_t{w.blocks} * HCA_WQE_BLOCK), op.view);
  if (fault == wqe_fault::atomic_length) {
    op.status = HCA_WC_LOC_LEN_ERR;
  } else if (fault != wqe_fault::none) {
    op.status = HCA_WC_LOC_QP_OP_ERR;
  } else {
    op.status = w.status;
  }
  f.operations.push(&op);
  in_flight_probe_.set(f.operations.size(), t);
  if (in_error(f.state)) {
    flush_when_known(f, t);
  } else {
    send_loop(f, t);
  }
  return tlm::TLM_ACCEPTED;
}

// Packets enter the engine one after the other. Its latency is the same for all, so packets reach their QPs in the same order.
tlm::tlm_sync_enum requester::on_packet(packet& p, tlm::tlm_phase, ps&) {
  const ps t = response_engine_.start(now(), clock_.period()) + clock_.cycles(config_.response_latency);
  p.holder = this;
  queue_.at(t, {[](void* x) {
                  auto& due = *static_cast<packet*>(x);
                  static_cast<requester*>(due.holder)->arrive(due);
                },
                &p});
  return tlm::TLM_ACCEPTED;
}

void requester::arrive(packet& p) {
  send_qp* const known = send_qps_.find(p.header.dest_qpn);
  send_qp& f = known ? *known : strangers_;
  f.inbox.push(&p);
  if (!f.serving) serve(f);
}

void requester::release_packet(packet& p) {
  target_socket<packet>::respond(p, now());
  packet_pool_.put(p);
}

tlm::tlm_sync_enum requester::on_control(control_request& c, tlm::tlm_phase, ps& t) {
  if (c.op == control_op::pages) {  // of a key, not of a QP
    faults_.answered(c);
    return tlm::TLM_COMPLETED;
  }
  send_qp& f = send_qps_.make(c.number, this);
  switch (c.op) {
    case control_op::stop:
      ++f.pass;
      faults_.cancel(&f);
      end_rest(f);
      if (f.busy != 0) {
        f.on(send_qp_event::stop_later);
        f.stopping = &c;
        return tlm::TLM_ACCEPTED;
      }
      f.on(send_qp_event::stop_now);
      check_stopped(f);
      break;
    case control_op::start:
      f.on(send_qp_event::start);
      f.qp = {};
      f.failed = ~0ULL;
      f.retries = f.rnr_retries = 0;
      f.read_psns = 0;
      f.timer.clear();
      f.cursor = f.operations.begin_number();
      f.cursor_packet = 0;
      break;
    case control_op::resume:
      f.on(send_qp_event::resume);
      f.failed = ~0ULL;
      f.cursor = f.operations.begin_number();
      f.cursor_packet = 0;
      f.una_psn = f.sent_psn = f.next_psn;
      break;
    case control_op::flush:
    case control_op::failed:
      f.on(send_qp_event::told_failed);
      end_rest(f);
      ++f.pass;
      faults_.cancel(&f);
      flush_when_known(f, t);
      tell_queue(f);
      break;
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

void requester::check_stopped(send_qp& f) {
  if (!asked_to_stop(f.state) || f.busy != 0) return;
  // A reset queue forgets its work without completions.
  while (!f.operations.empty()) {
    operation& op = *f.operations.pop();
    op.completed = true;
    op.work->status = HCA_WC_WR_FLUSH_ERR;
    if (op.pins == 0) {
      target_socket<work_request>::respond(*op.work, now());
      operations_.put(op);
    }
  }
  if (!f.stopping) return;
  f.on(send_qp_event::left);
  target_socket<control_request>::respond(*std::exchange(f.stopping, nullptr), now());
}

}  // namespace hcasim
