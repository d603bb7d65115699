#include "models/adapter/responder/responder.h"

namespace hcasim {

responder::responder(const sc_core::sc_module_name& name, const responder_config& config, const clock_domain& clock,
                     packet_pool& packets_in, const port_addresses& ports, bool has_processing_units)
    : unit(name),
      packets(socket_of_each_port<target_socket<packet>>("packets", ports.count())),
      egress(socket_of_each_port<initiator_socket<packet>>("egress", ports.count())),
      steps(has_processing_units),
      config_(config),
      clock_(clock),
      memory_(keys, walker, dma),
      faults_(queue_, reports, true),
      engine_(queue_, clock.cycles(config.packet_interval)),
      held_(packets_in),
      reports_(reports, records_),
      responses_(egress, packets_in, {queue_, config.buffers}, ports, counters_, shown_),
      errors_(qpc, peer_out, faults_, reports_, responses_, config_, counters_),
      receives_(qpc, memory_, config.receive_prefetch, records_, errors_, reports_, counters_),
      domains_(qpc, records_, errors_),
      placement_(memory_, windows, config.class_j, {held_, errors_, reports_, responses_}, counters_),
      fetches_(memory_, faults_, engine_, steps, errors_, responses_, counters_),
      groups_(qpc, engine_, held_, counters_),
      execution_(qpc, config_, records_, counters_, {receives_, domains_, placement_, fetches_, errors_, responses_}),
      arrivals_(queue_, clock_, clock.cycles(config.packet_latency), {engine_, steps, records_, groups_, execution_, held_},
                counters_, shown_) {
  for (auto& from : packets) from.on<&request_arrivals::on_packet>(&arrivals_);
  bells.on<&responder::on_doorbell>(this);
  control.on<&responder::on_control>(this);
  peer.on<&responder::on_control>(this);
  pages.on<&page_faults::on_answer>(&faults_);
  counters_.list(stats_);
  faults_.list(stats_);
  stats_.busy_time("buffers_busy", "share of `buffers` in use, times the time", responses_.buffers());
  stats_.busy_time("engine_busy", "time the packet engine was busy", engine_);
  shown_.list(signals_);
}

responder::~responder() = default;

tlm::tlm_sync_enum responder::on_doorbell(doorbell_ring& b, tlm::tlm_phase, ps& t) {
  const auto end = static_cast<std::uint16_t>(b.value);
  if (shared_queue* const s = records_.srq(b.number)) {
    s->posted.end = end;
    return tlm::TLM_COMPLETED;
  }
  receive_qp& c = records_.started(b.number);
  c.posted.end = end;
  if (in_error(c.state) && !asked_to_stop(c.state)) errors_.flush_receives(c, nullptr, t);
  return tlm::TLM_COMPLETED;
}

tlm::tlm_sync_enum responder::on_control(responder_control& r, tlm::tlm_phase, ps& t) {
  switch (r.op) {
    case responder_op::start:
      start(r.number);
      break;
    case responder_op::start_srq:
      start_shared(r.number);
      break;
    case responder_op::stop:
      return stop(r) ? tlm::TLM_COMPLETED : tlm::TLM_ACCEPTED;
    case responder_op::flush: {
      receive_qp& c = records_.qps.make(r.number);
      c.on(receive_qp_event::told_failed);
      faults_.cancel(&c);
      errors_.flush_receives(c, &r, t);
      return tlm::TLM_ACCEPTED;
    }
    case responder_op::set_group:
      groups_.set_first(r.hash, r.number);
      break;
  }
  return tlm::TLM_COMPLETED;
}

// Returns whether the stop is answered at once.
bool responder::stop(responder_control& r) {
  receive_qp& c = records_.qps.make(r.number);
  faults_.cancel(&c);
  return c.stop(r);
}

void responder::start(std::uint32_t qpn) {
  receive_qp& c = records_.qps.make(qpn);
  if (shared_queue* const s = records_.srq(qpn)) s->on(shared_queue_event::end);
  c.on(receive_qp_event::start);
  c.posted.end = 0;
  c.posted.count = 0;
  c.reads = c.acks_owed = 0;
  c.last_ticket = ~0ULL;
  c.no_receive_since = never;
  faults_.forget(c.missing);
  while (!c.executed.empty()) c.executed.pop();
}

void responder::start_shared(std::uint32_t number) {
  start(number);
  shared_queue& s = records_.srqs.make(number, records_.qps.make(number));
  s.on(shared_queue_event::start);
  ++s.life;
  s.posted.end = 0;
  s.posted.count = 0;
}

}  // namespace hcasim
