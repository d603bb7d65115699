#include "models/adapter/requester/send_completion.h"

#include "tlm/base/delegate.h"

namespace hcasim {

void send_completion::complete(send_qp& f, std::uint8_t status, ps t) {
  send_operation& op = *f.operations.pop();
  if (f.cursor < f.operations.begin_number()) f.rewind();
  if (op.view.fetches() && op.psns != 0) f.read_psns -= op.psns - op.responses;
  if (status == HCA_WC_SUCCESS) counters_.latency.add(t - op.arrived);
  if (status == HCA_WC_WR_FLUSH_ERR) ++counters_.flushed;
  signals_.in_flight.set(f.operations.size(), t);
  if (status != HCA_WC_SUCCESS) f.failed = std::min(f.failed, op.number);
  if (status != HCA_WC_SUCCESS || f.qp.signal_all || (op.view.control.flags & HCA_WQE_SIGNALED)) report_cqe(f, op, status, t);
  op.completed = true;
  op.work->status = status;
  ++op.pins;
  unpin(op, t);
}

void send_completion::report_cqe(const send_qp& f, const send_operation& op, std::uint8_t status, ps t) {
  if (f.qp.send_cqn == 0) return;  // its context could never be read: the CQ is not known
  report& r = report_pool_.get();
  r.operation = op.work->operation;
  r.event = false;
  r.cqn = f.qp.send_cqn;
  r.cqe = {};
  r.cqe.qpn = f.qpn;
  r.cqe.byte_count = static_cast<std::uint32_t>(op.view.length);
  r.cqe.index = op.work->index;
  r.cqe.opcode = op.view.control.opcode;
  r.cqe.status = status;
  r.cqe.vendor_error = op.work->vendor_error;
  r.waiter = {};
  call_on_response<&pool<report>::put>(r, &report_pool_);
  if (ports_.reports.send(r, t) == tlm::TLM_COMPLETED) report_pool_.put(r);
}

void send_completion::unpin(send_operation& op, ps t) {
  if (--op.pins != 0 || !op.completed) return;
  work_request& w = *op.work;
  operations_.put(op);
  target_socket<work_request>::respond(w, t);
}

void send_completion::complete_in_order(send_qp& f, ps t) {
  while (!in_error(f.state) && !f.operations.empty()) {
    const send_operation& op = *f.operations.front();
    if (op.status != HCA_WC_SUCCESS && op.number >= f.failed) {
      fail_front(f, op.status, t);
    } else if (op.psns == 0 && op.view.is_local() && f.cursor > op.number) {
      complete(f, HCA_WC_SUCCESS, t);
    } else {
      return;
    }
  }
}

void send_completion::fail_front(send_qp& f, std::uint8_t status, ps t) {
  ++counters_.errors;
  f.on(send_qp_event::fails);
  f.end_rnr_delay();
  ++f.pass;
  faults_.cancel(&f);
  complete(f, status, t);
  enter_error(f, t);
}

process send_completion::enter_error(send_qp& f, ps t) {
  ++f.busy;
  context_request c;
  c.index = f.qpn;
  co_await ports_.qpc.request(c, t);
  if (!c.failed) {
    c.as<hca_qpc>().state = f.qp.unreliable() ? HCA_QP_SQE : HCA_QP_ERR;
    c.dirty = true;
    ports_.qpc.release(c);
  }
  flush(f, t);
  tell_queue(f);
  if (!f.qp.unreliable() || c.failed) {
    responder_control tell;
    tell.op = responder_op::flush;
    tell.number = f.qpn;
    co_await ports_.responder.request(tell, t);
  }
  leave(f);
}

void send_completion::fail(send_qp& f, ps t) {
  f.on(send_qp_event::told_failed);
  f.end_rnr_delay();
  ++f.pass;
  faults_.cancel(&f);
  flush_when_known(f, t);
  tell_queue(f);
}

// A WQE whose change was made completes as done while nothing before it failed: no other WQE can have made the change [C6.10].
void send_completion::flush(send_qp& f, ps t) {
  while (!f.operations.empty()) {
    const send_operation& op = *f.operations.front();
    complete(f, op.work->changed && op.number < f.failed ? HCA_WC_SUCCESS : HCA_WC_WR_FLUSH_ERR, t);
  }
}

// In SQD, the send queue now hands over what it has held back, to be flushed.
void send_completion::tell_queue(const send_qp& f) {
  send_queue_control tell;
  tell.op = send_queue_op::resume;
  tell.qpn = f.qpn;
  ps t = now();
  ports_.send_queue.access(tell, t);
}

process send_completion::flush_when_known(send_qp& f, ps t) {
  if (f.state.life == send_qp_life::error_unread && !f.operations.empty()) {
    ++f.busy;
    context_request c;
    c.index = f.qpn;
    co_await ports_.qpc.request(c, t);
    if (!c.failed) {
      f.qp = send_settings(c.as<const hca_qpc>(), f.qpn);
      f.on(send_qp_event::settings_read);
      ports_.qpc.release(c);
    }
    --f.busy;
  }
  if (!asked_to_stop(f.state)) flush(f, t);
  check_stopped(f);
}

bool send_completion::stop(send_qp& f, requester_control& c) {
  ++f.pass;
  faults_.cancel(&f);
  f.end_rnr_delay();
  if (f.busy != 0) {
    f.on(send_qp_event::stop_later);
    f.stopping = &c;
    return false;
  }
  f.on(send_qp_event::stop_now);
  end_stopped(f);
  return true;
}

// A reset queue forgets its work without completions.
void send_completion::end_stopped(send_qp& f) {
  while (!f.operations.empty()) {
    send_operation& op = *f.operations.pop();
    op.completed = true;
    op.work->status = HCA_WC_WR_FLUSH_ERR;
    if (op.pins == 0) {
      target_socket<work_request>::respond(*op.work, now());
      operations_.put(op);
    }
  }
  if (!f.stopping) return;
  f.on(send_qp_event::left);
  target_socket<requester_control>::respond(*std::exchange(f.stopping, nullptr), now());
}

}  // namespace hcasim
