// Completion of operations in the order of the queue, and the errors that end a send side.
//
// A bad L_Key is LOC_PROT_ERR, reported when every earlier message has completed. A NAK is the status it stands for, silence is
// RETRY_EXC_ERR. Each puts the QP into ERR - of UC and UD only its send side, into SQE - and flushes the rest in order
// [D.1, D.2].
#pragma once

#include "models/adapter/requester/requester_statistics.h"
#include "models/adapter/requester/send_qp.h"
#include "tlm/base/pool.h"
#include "tlm/base/process.h"
#include "tlm/context.h"
#include "tlm/page_faults.h"

namespace hcasim {

class send_completion {
 public:
  struct ports {
    initiator_socket<context_request>& qpc;
    initiator_socket<report>& reports;
    initiator_socket<responder_control>& responder;
    initiator_socket<send_queue_control>& send_queue;
  };

  send_completion(const ports& p, page_faults& faults, requester_counters& counters, requester_signals& signals)
      : ports_(p), faults_(faults), counters_(counters), signals_(signals) {}

  // Appends a WQE that arrived at t.
  send_operation& begin(send_qp& f, work_request& w, ps t) {
    send_operation& op = operations_.get();
    op = {};
    op.work = &w;
    op.arrived = t;
    op.number = f.operations.end_number();
    f.operations.push(&op);
    signals_.in_flight.set(f.operations.size(), t);
    return op;
  }
  // Completes the oldest operation.
  void complete(send_qp& f, std::uint8_t status, ps t);
  // Completes operations without a response: NOPs, and the first failed one once it is the oldest.
  void complete_in_order(send_qp& f, ps t);
  // Fails the oldest operation, and with it the QP.
  void fail_front(send_qp& f, std::uint8_t status, ps t);
  // Gives up what an operation lends to a gather or a placement; the last one ends a completed operation.
  void unpin(send_operation& op, ps t);

  // Puts the QP into error on behalf of the responder or a command.
  void fail(send_qp& f, ps t);
  // Flushes what a QP in error has; a QP that has not sent anything does not know its CQ yet.
  process flush_when_known(send_qp& f, ps t);
  // Returns whether the stop is answered at once.
  bool stop(send_qp& f, requester_control& c);
  // Ends a coroutine's use of the QP; the last one answers a stop.
  void leave(send_qp& f) {
    --f.busy;
    check_stopped(f);
  }
  void check_stopped(send_qp& f) {
    if (asked_to_stop(f.state) && f.busy == 0) end_stopped(f);
  }

 private:
  void report_cqe(const send_qp& f, const send_operation& op, std::uint8_t status, ps t);
  process enter_error(send_qp& f, ps t);
  void flush(send_qp& f, ps t);
  void tell_queue(const send_qp& f);
  void end_stopped(send_qp& f);

  const ports ports_;
  page_faults& faults_;
  requester_counters& counters_;
  requester_signals& signals_;
  pool<send_operation> operations_;
  pool<report> report_pool_;
};

}  // namespace hcasim
