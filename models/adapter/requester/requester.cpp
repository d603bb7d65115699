#include "models/adapter/requester/requester.h"

namespace hcasim {

requester::requester(const sc_core::sc_module_name& name, const requester_config& config, const clock_domain& clock,
                     packet_pool& packets_in, const port_addresses& ports, bool has_processing_units)
    : unit(name),
      packets(socket_of_each_port<target_socket<packet>>("packets", ports.count())),
      egress(socket_of_each_port<initiator_socket<packet>>("egress", ports.count())),
      steps(has_processing_units),
      config_(config),
      clock_(clock),
      memory_(keys, walker, dma),
      faults_(queue_, reports, false),
      gather_(memory_, faults_, ports, config.ack_every),
      completion_({qpc, reports, peer_out, queue_out}, faults_, counters_, shown_),
      sending_({qpc, egress}, config_, clock_, packets_in, {steps, gather_, completion_}, counters_, shown_),
      repeats_(sending_, completion_, counters_),
      records_(repeats_),
      responses_(clock_, clock.cycles(config.response_latency), packets_in, refetch, memory_, faults_,
                 {steps, records_, sending_, completion_, repeats_}, counters_) {
  work.on<&requester::on_work>(this);
  for (auto& from : packets) from.on<&response_intake::on_packet>(&responses_);
  control.on<&requester::on_control>(this);
  peer.on<&requester::on_control>(this);
  pages.on<&page_faults::on_answer>(&faults_);
  counters_.list(stats_);
  faults_.list(stats_);
  stats_.busy_time("buffers_busy", "share of `buffers` in use, times the time", sending_.buffers());
  stats_.busy_time("message_engine_busy", "time the message engine was starting messages", sending_.message_engine());
  stats_.busy_time("response_engine_busy", "time the response engine was taking responses in", responses_.engine());
  stats_.busy_time("packet_engine_busy", "time the packet engine was issuing", sending_.packet_engine());
  shown_.list(signals_);
}

requester::~requester() = default;

tlm::tlm_sync_enum requester::on_work(work_request& w, tlm::tlm_phase, ps& t) {
  send_qp& f = records_.make(w.qpn);
  ++counters_.messages;
  send_operation& op = completion_.begin(f, w, t);
  const wqe_fault fault = parse_wqe(std::span(w.bytes).first(std::size_t{w.blocks} * HCA_WQE_BLOCK), op.view);
  if (fault == wqe_fault::atomic_length) {
    op.status = HCA_WC_LOC_LEN_ERR;
  } else if (fault != wqe_fault::none) {
    op.status = HCA_WC_LOC_QP_OP_ERR;
  } else {
    op.status = w.status;
  }
  if (in_error(f.state)) {
    completion_.flush_when_known(f, t);
  } else {
    sending_.run(f, t);
  }
  return tlm::TLM_ACCEPTED;
}

tlm::tlm_sync_enum requester::on_control(requester_control& c, tlm::tlm_phase, ps& t) {
  send_qp& f = records_.make(c.qpn);
  switch (c.op) {
    case requester_op::start:
      start(f);
      break;
    case requester_op::stop:
      return completion_.stop(f, c) ? tlm::TLM_COMPLETED : tlm::TLM_ACCEPTED;
    case requester_op::flush:
      completion_.fail(f, t);
      break;
    case requester_op::resume:
      resume(f);
      break;
  }
  return tlm::TLM_COMPLETED;
}

void requester::start(send_qp& f) {
  f.on(send_qp_event::start);
  f.qp = {};
  f.failed = ~0ULL;
  f.retries = f.rnr_retries = 0;
  f.read_psns = 0;
  f.timer.clear();
  f.rewind();
}

void requester::resume(send_qp& f) {
  f.on(send_qp_event::resume);
  f.failed = ~0ULL;
  f.rewind();
  f.una_psn = f.sent_psn = f.next_psn;
}

}  // namespace hcasim
