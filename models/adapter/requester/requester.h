// The send side: its sockets, and how its parts are joined. It turns WQEs into packets and completes them in order. RC packets
// are kept until they are acknowledged.
//
//   send_loop, packet_gather   WQEs to packets at the port
//   response_intake            acknowledges, NAKs, and the data of READs and atomics
//   retransmission             go-back-N and its timers
//   send_completion            completions in order, and errors
#pragma once

#include "models/adapter/requester/response_intake.h"
#include "tlm/base/unit.h"

namespace hcasim {

class requester : public unit {
 public:
  target_socket<work_request> work{"work"};
  std::deque<target_socket<packet>> packets;  // from each port
  target_socket<requester_control> control{"control"};
  target_socket<requester_control> peer{"peer"};
  target_socket<page_answer> pages{"pages"};
  initiator_socket<context_request> qpc{"qpc"};
  initiator_socket<key_request> keys{"keys"};
  initiator_socket<translate_request> walker{"walker"};
  initiator_socket<dma_request> dma{"dma"};
  initiator_socket<report> reports{"reports"};
  std::deque<initiator_socket<packet>> egress;  // to each port
  initiator_socket<responder_control> peer_out{"peer_out"};
  initiator_socket<send_queue_control> queue_out{"queue_out"};
  processing_steps steps;  // its socket, on adapters with processing units
  initiator_socket<wqe_refetch> refetch{"refetch"};

  requester(const sc_core::sc_module_name& name, const requester_config& config, const clock_domain& clock,
            packet_pool& packets, const port_addresses& ports, bool has_processing_units);
  ~requester() override;

  void list_waiting(waiting_list& list) const override;
  [[nodiscard]] std::uint64_t completed() const override { return counters_.completed(); }

 private:
  tlm::tlm_sync_enum on_work(work_request& w, tlm::tlm_phase phase, ps& t);
  tlm::tlm_sync_enum on_control(requester_control& c, tlm::tlm_phase phase, ps& t);
  static void start(send_qp& f);
  static void resume(send_qp& f);

  const requester_config config_;
  const clock_domain clock_;
  requester_counters counters_;
  requester_signals shown_;
  memory_access memory_;
  page_faults faults_;
  packet_gather gather_;
  send_completion completion_;
  send_loop sending_;
  retransmission repeats_;
  send_records records_;
  response_intake responses_;
};

}  // namespace hcasim
