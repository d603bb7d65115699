// SQD: no WQE is begun any more, and the driver learns when the begun ones are complete.
#include "models/adapter/send_queue/send_queue.h"
#include "tlm/base/delegate.h"

namespace hcasim {

// An earlier error is in the context already; a later one comes from the requester.
process send_queue::pause(scheduled_qp& q, send_queue_control& answer, ps t) {
  ++q.busy;
  context_request c;
  c.index = q.qpn;
  co_await qpc.request(c, t);
  if (!c.failed) {
    auto& context = c.as<hca_qpc>();
    if (context.state == HCA_QP_SQD && !asked_to_stop(q.state)) {
      q.on(scheduled_qp_event::pause);
      q.notify = answer.notify;
      if (is_begun(q)) q.on(scheduled_qp_event::drain_begins);
      context.sq_draining = q.state.has(scheduled_qp_mark::draining) ? 1 : 0;
      c.dirty = true;
    }
    qpc.release(c);
  }
  if (q.state.has(scheduled_qp_mark::paused) && !q.state.has(scheduled_qp_mark::draining)) tell_drained(q, t);
  // The caller may still be inside its request.
  co_await queue_.until(std::max(t, now() + ps(1)));
  target_socket<send_queue_control>::respond(answer, now());
  --q.busy;
  check_stopped(q);
}

void send_queue::resume(scheduled_qp& q, ps t) {
  if (!q.state.has(scheduled_qp_mark::paused) || asked_to_stop(q.state)) return;
  q.on(scheduled_qp_event::resume);
  issue(q, t);
  if (q.ci != q.pi) schedule(q, t);
}

// A WQE is at the requester or window_unit, and not complete.
bool send_queue::is_begun(const scheduled_qp& q) {
  return q.outstanding != 0 || q.state.any({scheduled_qp_mark::changing, scheduled_qp_mark::changed});
}

void send_queue::check_drained(scheduled_qp& q, ps t) {
  if (!q.state.has(scheduled_qp_mark::draining) || asked_to_stop(q.state) || is_begun(q)) return;
  q.on(scheduled_qp_event::drained);
  end_drain(q, t);
}

process send_queue::end_drain(scheduled_qp& q, ps t) {
  ++q.busy;
  context_request c;
  c.index = q.qpn;
  co_await qpc.request(c, t);
  if (!c.failed) {
    auto& context = c.as<hca_qpc>();
    if (context.state == HCA_QP_SQD) {
      context.sq_draining = 0;
      c.dirty = true;
      tell_drained(q, t);
    }
    qpc.release(c);
  }
  --q.busy;
  check_stopped(q);
}

void send_queue::tell_drained(scheduled_qp& q, ps t) {
  ++drains_;
  if (!q.notify) return;
  report& r = report_pool_.get();
  r.event = true;
  r.type = HCA_EVENT_SQ_DRAINED;
  r.number = q.qpn;
  r.operation = 0;
  r.waiter = {};
  call_on_response<&pool<report>::put>(r, &report_pool_);
  if (reports.send(r, t) == tlm::TLM_COMPLETED) report_pool_.put(r);
}

}  // namespace hcasim
