// SQD: no WQE is begun any more, and who asked learns when those that were begun are complete.
#include "models/adapter/send_queue/send_queue.h"

namespace hcasim {

// An error that came first is in the context already; of one that comes later the requester tells.
process send_queue::pause(queue_state& q, control_request& answer, ps t) {
  ++q.busy;
  context_request c;
  c.index = q.qpn;
  co_await qpc.request(c, t);
  if (!c.failed) {
    auto& context = c.as<hca_qpc>();
    if (context.state == HCA_QP_SQD && !asked_to_stop(q.state)) {
      q.on(queue_event::pause);
      q.notify = answer.notify;
      if (is_begun(q)) q.on(queue_event::drain_begins);
      context.sq_draining = q.state.has(queue_mark::draining) ? 1 : 0;
      c.dirty = true;
    }
    qpc.release(c);
  }
  if (q.state.has(queue_mark::paused) && !q.state.has(queue_mark::draining)) tell_drained(q, t);
  // The caller may still be inside its request.
  co_await queue_.until(std::max(t, now() + ps(1)));
  target_socket<control_request>::respond(answer, now());
  --q.busy;
  check_stopped(q);
}

void send_queue::go_on(queue_state& q, ps t) {
  if (!q.state.has(queue_mark::paused) || asked_to_stop(q.state)) return;
  q.on(queue_event::go_on);
  issue(q, t);
  if (q.ci != q.pi) schedule(q, t);
}

// Something of it has been handed to the requester or to window_unit, and is not complete.
bool send_queue::is_begun(const queue_state& q) {
  return q.outstanding != 0 || q.state.any({queue_mark::changing, queue_mark::changed});
}

void send_queue::check_drained(queue_state& q, ps t) {
  if (!q.state.has(queue_mark::draining) || asked_to_stop(q.state) || is_begun(q)) return;
  q.on(queue_event::drained);
  end_drain(q, t);
}

process send_queue::end_drain(queue_state& q, ps t) {
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

void send_queue::tell_drained(queue_state& q, ps t) {
  ++drains_;
  if (!q.notify) return;
  report& r = report_pool_.get();
  r.event = true;
  r.type = HCA_EVENT_SQ_DRAINED;
  r.number = q.qpn;
  r.operation = 0;
  r.waiter = {};
  r.context = this;
  r.on_response = [](void* self, transaction& done, ps) {
    static_cast<send_queue*>(self)->report_pool_.put(static_cast<report&>(done));
  };
  if (reports.send(r, t) == tlm::TLM_COMPLETED) report_pool_.put(r);
}

}  // namespace hcasim
