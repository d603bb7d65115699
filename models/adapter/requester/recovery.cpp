// Repeating what was lost, timers, completing and failing operations.
#include "models/adapter/requester/requester.h"
#include "models/adapter/requester/requester_rules.h"

namespace hcasim {

void requester::go_back(flow& f, ps t) {
  ++go_backs_;
  ++f.pass;
  f.on(flow_event::go_back);
  f.cursor = f.operations.begin_number();
  f.cursor_packet = 0;
  if (!f.operations.empty()) {
    const operation& op = *f.operations.front();
    if (op.psns != 0 && !op.view.fetches()) {
      f.cursor_packet = static_cast<std::uint32_t>(std::max(psn_distance(op.first_psn, f.una_psn), 0));
    }
  }
  pump(f, t);
}

void requester::retry(flow& f, ps t) {
  if (f.retries >= f.qp.retry_count) {
    fail_front(f, HCA_WC_RETRY_EXC_ERR, t);
    return;
  }
  ++f.retries;
  restart_timer(f, t);
  go_back(f, t);
}

void requester::made_progress(flow& f, ps t) {
  f.retries = f.rnr_retries = 0;
  ++advances_;
  f.on(flow_event::progress);
  if (psn_distance(f.una_psn, f.next_psn) > 0) {
    restart_timer(f, t);
  } else {
    f.timer.clear();
  }
}

void requester::restart_timer(flow& f, ps t) {
  const ps timeout = f.qp.unreliable() ? never : ack_timeout(f.qp.timeout);
  f.timer.set(timeout == never ? never : t + timeout);
}

void requester::on_timer(flow& f) {
  if (f.state.has(flow_mark::resting)) return;
  if (f.state.any({flow_mark::paging, flow_mark::landing})) {  // nothing of this is the peer's fault
    restart_timer(f, now());
    return;
  }
  if (f.operations.empty()) return;
  ++timeouts_;
  retry(f, now());
}

void requester::rest_for(flow& f, ps t, std::uint8_t timer) {
  f.on(flow_event::rnr_nak);
  f.timer.clear();
  go_back(f, t);
  if (!f.rest.is_set()) f.rest.set(t + rnr_delay(timer));
}

void requester::rested(flow& f) {
  f.on(flow_event::rnr_over);
  pump(f, now());
}

// A QP that fails or is stopped does not rest: the peer chooses for how long, up to 0.66 s.
void requester::end_rest(flow& f) {
  if (!f.rest.is_set()) return;
  f.rest.clear();
  f.on(flow_event::rnr_over);
}

void requester::report_cqe(const flow& f, const operation& op, std::uint8_t status, ps t) {
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
  r.context = this;
  r.on_response = [](void* self, transaction& done, ps) {
    static_cast<requester*>(self)->report_pool_.put(static_cast<report&>(done));
  };
  if (reports.send(r, t) == tlm::TLM_COMPLETED) report_pool_.put(r);
}

void requester::complete(flow& f, std::uint8_t status, ps t) {
  operation& op = *f.operations.pop();
  if (f.cursor < f.operations.begin_number()) {
    f.cursor = f.operations.begin_number();
    f.cursor_packet = 0;
  }
  if (op.view.fetches() && op.psns != 0) f.read_psns -= op.psns - op.responses;
  if (status == HCA_WC_SUCCESS) latency_.add(t - op.arrived);
  if (status == HCA_WC_WR_FLUSH_ERR) ++flushed_;
  in_flight_probe_.set(f.operations.size(), t);
  if (status != HCA_WC_SUCCESS) f.failed = std::min(f.failed, op.number);
  if (status != HCA_WC_SUCCESS || f.qp.signal_all || (op.view.control.flags & HCA_WQE_SIGNALED)) report_cqe(f, op, status, t);
  op.completed = true;
  op.work->status = status;
  ++op.pins;
  unpin(op, t);
}

void requester::unpin(operation& op, ps t) {
  if (--op.pins != 0 || !op.completed) return;
  work_request& w = *op.work;
  operations_.put(op);
  target_socket<work_request>::respond(w, t);
}

void requester::settle(flow& f, ps t) {
  while (!in_error(f.state) && !f.operations.empty()) {
    const operation& op = *f.operations.front();
    if (op.status != HCA_WC_SUCCESS && op.number >= f.failed) {
      fail_front(f, op.status, t);
    } else if (op.psns == 0 && op.view.is_local() && f.cursor > op.number) {
      complete(f, HCA_WC_SUCCESS, t);
    } else {
      return;
    }
  }
}

void requester::fail_front(flow& f, std::uint8_t status, ps t) {
  ++errors_;
  f.on(flow_event::fails);
  end_rest(f);
  ++f.pass;
  faults_.cancel(&f);
  complete(f, status, t);
  enter_error(f, t);
}

process requester::enter_error(flow& f, ps t) {
  ++f.busy;
  context_request c;
  c.index = f.qpn;
  co_await qpc.request(c, t);
  if (!c.failed) {
    c.as<hca_qpc>().state = f.qp.unreliable() ? HCA_QP_SQE : HCA_QP_ERR;
    c.dirty = true;
    qpc.release(c);
  }
  flush(f, t);
  tell_queue(f);
  if (f.qp.unreliable() && !c.failed) {
    --f.busy;
    check_stopped(f);
    co_return;
  }
  control_request tell;
  tell.op = control_op::failed;
  tell.number = f.qpn;
  co_await peer_out.request(tell, t);
  --f.busy;
  check_stopped(f);
}

// A WQE that has made its change completes as done while nothing before it failed: no other WQE can have made the change
// [C6.10].
void requester::flush(flow& f, ps t) {
  while (!f.operations.empty()) {
    const operation& op = *f.operations.front();
    complete(f, op.work->changed && op.number < f.failed ? HCA_WC_SUCCESS : HCA_WC_WR_FLUSH_ERR, t);
  }
}

// In SQD, the send queue now hands over what it has held back, to be flushed.
void requester::tell_queue(const flow& f) {
  control_request tell;
  tell.op = control_op::failed;
  tell.number = f.qpn;
  ps t = now();
  queue_out.access(tell, t);
}

// A QP that has not sent anything does not know its CQ yet.
process requester::flush_when_known(flow& f, ps t) {
  if (f.state.life == flow_life::error_unread && !f.operations.empty()) {
    ++f.busy;
    context_request c;
    c.index = f.qpn;
    co_await qpc.request(c, t);
    if (!c.failed) {
      f.qp = settings(c.as<const hca_qpc>(), f.qpn);
      f.on(flow_event::settings_read);
      qpc.release(c);
    }
    --f.busy;
  }
  if (!asked_to_stop(f.state)) flush(f, t);
  check_stopped(f);
}

}  // namespace hcasim
