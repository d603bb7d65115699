// The receive side: its sockets, and how its parts are joined. Each part has one duty.
//
//   request_arrivals, multicast_groups   packets from the port to their QPs
//   request_execution                    judges each packet and has it executed
//   receive_queues, xrc_domains          receive WQEs of QPs and SRQs, and the SRQs of XRC
//   payload_placement, fetch_answers     bytes of SEND and WRITE into memory, of READ and atomics out of it
//   response_sender                      responses in the order of their requests
//   receive_errors, receive_reports      refusals and flushes, completions and events
//
// A missing page of an on-demand region raises an event, and an RNR NAK asks the request to come back later. The request is
// refused as for a bad key when there is no such page. READ responses under way, and duplicates, wait for their pages; of UC
// and UD the message is dropped [E9].
#pragma once

#include "models/adapter/responder/request_arrivals.h"
#include "tlm/base/unit.h"

namespace hcasim {

class responder : public unit {
 public:
  std::deque<target_socket<packet>> packets;  // from each port
  target_socket<doorbell_ring> bells{"bells"};
  target_socket<responder_control> control{"control"};
  target_socket<responder_control> peer{"peer"};
  target_socket<page_answer> pages{"pages"};
  initiator_socket<context_request> qpc{"qpc"};
  initiator_socket<key_request> keys{"keys"};
  initiator_socket<translate_request> walker{"walker"};
  initiator_socket<dma_request> dma{"dma"};
  initiator_socket<window_request> windows{"windows"};
  initiator_socket<report> reports{"reports"};
  std::deque<initiator_socket<packet>> egress;  // to each port
  initiator_socket<requester_control> peer_out{"peer_out"};
  processing_steps steps;  // its socket, on adapters with processing units

  responder(const sc_core::sc_module_name& name, const responder_config& config, const clock_domain& clock,
            packet_pool& packets, const port_addresses& ports, bool has_processing_units);
  ~responder() override;

  void list_waiting(waiting_list& list) const override;

 private:
  tlm::tlm_sync_enum on_doorbell(doorbell_ring& b, tlm::tlm_phase phase, ps& t);
  tlm::tlm_sync_enum on_control(responder_control& r, tlm::tlm_phase phase, ps& t);
  bool stop(responder_control& r);
  void start(std::uint32_t qpn);
  void start_shared(std::uint32_t number);

  const responder_config config_;
  const clock_domain clock_;
  responder_counters counters_;
  responder_signals shown_;
  receive_records records_;
  memory_access memory_;
  page_faults faults_;
  packet_engine engine_;
  held_packets held_;
  receive_reports reports_;
  response_sender responses_;
  receive_errors errors_;
  receive_queues receives_;
  xrc_domains domains_;
  payload_placement placement_;
  fetch_answers fetches_;
  multicast_groups groups_;
  request_execution execution_;
  request_arrivals arrivals_;
};

}  // namespace hcasim
