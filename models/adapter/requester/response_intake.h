// Takes responses in: acknowledges and NAKs, and the data of READs and atomics, whose place in memory needs LOCAL_WRITE.
//
// A response that finds its page missing is dropped, and asked for again when the page is there [E9].
#pragma once

#include "models/adapter/requester/response_rules.h"
#include "models/adapter/requester/retransmission.h"
#include "models/adapter/requester/send_records.h"

namespace hcasim {

class response_intake {
 public:
  struct parts {
    processing_steps& steps;
    send_records& records;
    send_loop& sending;
    send_completion& completion;
    retransmission& repeats;
  };

  // `latency`: of a response in the engine.
  response_intake(const clock_domain& clock, ps latency, packet_pool& packets, initiator_socket<wqe_refetch>& refetch,
                  memory_access& memory, page_faults& faults, const parts& with, requester_counters& counters)
      : clock_(clock),
        latency_(latency),
        packet_pool_(packets),
        refetch_(refetch),
        memory_(memory),
        faults_(faults),
        parts_(with),
        counters_(counters) {}

  tlm::tlm_sync_enum on_packet(packet& p, tlm::tlm_phase phase, ps& t);

  [[nodiscard]] const server& engine() const { return engine_; }

 private:
  void arrive(packet& p);
  void take(packet& p);
  void release(packet& p);
  process serve(send_qp& f);
  response_action react(send_qp& f, const packet& p, ps t);
  response_arrival arrival_of(send_qp& f, const packet& p);
  response_place place_of(send_qp& f, std::uint32_t psn);
  void on_nak(send_qp& f, const packet& p, ps t);
  // Places the data of a response; true = the packet is held until its payload has landed.
  task<bool> on_data(send_qp& f, packet& p, ps& t);
  task<std::uint8_t> place(send_qp& f, send_operation& op, packet& p, memory_access::transfer& tr, ps& t);
  process ask_again(send_qp& f, std::uint64_t number, missing_page page, ps t);
  // Has the WQE of an operation on the chip again; false = it cannot be read, or is another one now.
  task<bool> have_wqe(send_operation& op, ps& t);
  // Completes what a PSN acknowledges; false = a lost response was found and is asked for again.
  bool progress_to(send_qp& f, std::uint32_t psn, ps t);
  send_operation* operation_at(send_qp& f, std::uint32_t psn);

  event_queue& queue_ = event_queue::instance();
  const clock_domain& clock_;
  const ps latency_;
  packet_pool& packet_pool_;
  initiator_socket<wqe_refetch>& refetch_;
  memory_access& memory_;
  page_faults& faults_;
  const parts parts_;
  requester_counters& counters_;
  server engine_;
};

}  // namespace hcasim
