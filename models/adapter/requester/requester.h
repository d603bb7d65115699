// The send side: turns WQEs into packets, keeps those of RC until they are acknowledged, sends again what was lost (go-back-N),
// places READ and atomic responses, and completes WQEs in order. UC and UD are done with a message when the last byte of its
// last packet has left the adapter.
//
// A page of an on-demand region that is missing: sending of the QP stops until the driver has put it in; a response that finds
// none is dropped and asked for again then. A page that there is none of is LOC_PROT_ERR [E9].
//
// Errors: a bad L_Key is LOC_PROT_ERR (reported when every earlier message has completed), a NAK the status it stands for,
// silence RETRY_EXC_ERR; each puts the QP into ERR - of UC and UD only its send side, into SQE - and flushes the rest in order
// [D.1, D.2].
#pragma once

#include "firmware/abi/context.h"
#include "models/adapter/requester/flow_rules.h"
#include "models/adapter/requester/requester_config.h"
#include "models/adapter/requester/response_rules.h"
#include "tlm/base/alarm.h"
#include "tlm/base/by_number.h"
#include "tlm/base/clock_domain.h"
#include "tlm/base/process.h"
#include "tlm/base/reorder.h"
#include "tlm/base/ring.h"
#include "tlm/base/server.h"
#include "tlm/base/unit.h"
#include "tlm/base/wait.h"
#include "tlm/context.h"
#include "tlm/control.h"
#include "tlm/memory_access.h"
#include "tlm/packet.h"
#include "tlm/page_faults.h"
#include "tlm/work.h"
#include "tlm/wqe.h"

namespace hcasim {

class requester : public unit {
 public:
  target_socket<work_request> work{"work"};
  target_socket<packet> packets{"packets"};
  target_socket<control_request> control{"control"};
  target_socket<control_request> peer{"peer"};
  initiator_socket<context_request> qpc{"qpc"};
  initiator_socket<key_request> keys{"keys"};
  initiator_socket<translate_request> walker{"walker"};
  initiator_socket<dma_request> dma{"dma"};
  initiator_socket<report> reports{"reports"};
  initiator_socket<packet> egress{"egress"};
  initiator_socket<control_request> peer_out{"peer_out"};
  initiator_socket<control_request> queue_out{"queue_out"};

  requester(const sc_core::sc_module_name& name, const requester_config& config, const clock_domain& clock,
            packet_pool& packets, std::uint16_t lid);
  ~requester() override;

  void list_waiting(waiting_list& list) const override;
  [[nodiscard]] std::uint64_t completed() const override;

 private:
  // One WQE from its arrival to its CQE.
  struct operation {
    work_request* work = nullptr;
    wqe_view view;
    std::uint64_t number = 0;  // in its flow
    std::uint32_t first_psn = 0;
    std::uint32_t psns = 0;       // 0 = not started yet
    std::uint32_t responses = 0;  // response packets placed (READ, atomic)
    std::uint32_t pins = 0;       // gathers that still look at the WQE
    std::uint8_t status = HCA_WC_SUCCESS;
    bool completed = false;
    bool departed = false;  // of UC and UD: its last packet is on the wire
    ps arrived{0};

    [[nodiscard]] std::uint32_t last_psn() const { return psn_add(first_psn, psns - 1); }
  };
  // The part of a context that packets and completions need, as of the last fetch.
  struct settings {
    settings() = default;
    settings(const hca_qpc& q, std::uint32_t qpn)
        : owner(owner_of(q, qpn)),
          send_cqn(q.send_cqn),
          dest_qpn(q.dest_qpn),
          qkey(q.qkey),
          dest_lid(q.dest_lid),
          service_level(q.service_level),
          transport(q.transport),
          mtu_shift(q.mtu_shift),
          retry_count(q.retry_count),
          rnr_retry(q.rnr_retry),
          timeout(q.timeout),
          signal_all(q.signal_all != 0),
          route(q.route) {}
    access_owner owner;
    std::uint32_t send_cqn = 0;
    std::uint32_t dest_qpn = 0;
    std::uint32_t qkey = 0;
    std::uint16_t dest_lid = 0;
    std::uint8_t service_level = 0;
    std::uint8_t transport = 0;
    std::uint8_t mtu_shift = 0;
    std::uint8_t retry_count = 0;
    std::uint8_t rnr_retry = 0;
    std::uint8_t timeout = 0;
    bool signal_all = false;
    hca_route route{};

    [[nodiscard]] bool unreliable() const { return hca_transport_reliable(transport) == 0; }
  };
  // One QP's send side. What every packet needs comes first and together: with thousands of QPs it is not in the host's caches.
  struct alignas(64) flow {
    flow(std::uint32_t n, requester* r)
        : qpn(n),
          timer({[](void* f) { static_cast<flow*>(f)->owner->on_timer(*static_cast<flow*>(f)); }, this}),
          rest({[](void* f) { static_cast<flow*>(f)->owner->rested(*static_cast<flow*>(f)); }, this}),
          owner(r) {}
    std::uint32_t qpn;
    flow_state state;
    bool pumping = false;  // these three: a coroutine does it already
    bool emitting = false;
    bool serving = false;
    std::uint32_t busy = 0;  // coroutines that use this flow
    std::uint32_t pass = 0;  // counts go-backs: packets of an older pass are not sent
    settings qp;
    ring<operation*> operations;
    std::uint64_t cursor = 0;         // operation to send next
    std::uint32_t cursor_packet = 0;  // packet of it
    std::uint32_t next_psn = 0;
    std::uint32_t una_psn = 0;   // oldest PSN not acknowledged
    std::uint32_t sent_psn = 0;  // behind the last one that was sent, or asked for
    reorder_queue<packet> out;
    ring<packet*> inbox;
    std::uint32_t waiting = 0;     // gathers that wait for a page: not 0 while paging
    std::uint64_t read_psns = 0;   // PSNs of responses that are still to come
    std::uint64_t failed = ~0ULL;  // number of the first operation that failed locally
    unsigned retries = 0;
    unsigned rnr_retries = 0;
    alarm timer;  // of the oldest PSN that is not acknowledged (RC)
    alarm rest;   // of an RNR NAK
    control_request* stopping = nullptr;
    requester* owner;

    void on(flow_event e) {
      state = flow_table.step(state, e);
      if (!is_live(state)) timer.clear();
    }
  };

  // The port's token for the last packet of a message of UC or UD.
  struct departure {
    flow* of = nullptr;
    std::uint64_t number = 0;  // of the operation
  };

  tlm::tlm_sync_enum on_work(work_request& w, tlm::tlm_phase phase, ps& t);
  tlm::tlm_sync_enum on_packet(packet& p, tlm::tlm_phase phase, ps& t);
  tlm::tlm_sync_enum on_control(control_request& c, tlm::tlm_phase phase, ps& t);

  // send.cpp
  process pump(flow& f, ps t);
  process gather(flow& f, operation& op, std::uint32_t index, std::uint64_t ticket, std::uint32_t pass, ps t);
  task<verdict> gather_payload(flow& f, operation& op, std::uint64_t offset, packet& p, ps& t);
  task<verdict> gather_once(flow& f, operation& op, std::uint64_t offset, packet& p, missing_page& page, ps& t);
  void fill_header(const flow& f, const operation& op, std::uint32_t index, packet& p);
  void emit(flow& f);
  void tell_departure(flow& f, packet& p);
  void on_departure(flow& f, std::uint64_t number);
  [[nodiscard]] static bool may_go_on(const flow& f);

  // responses.cpp
  void arrive(packet& p);
  process serve(flow& f);
  response_action react(flow& f, const packet& p, ps t);
  response_arrival arrival_of(flow& f, const packet& p);
  response_place place_of(flow& f, std::uint32_t psn);
  void on_nak(flow& f, const packet& p, ps t);
  // True = the packet is held until its payload has landed.
  task<bool> on_data(flow& f, packet& p, ps& t);
  task<std::uint8_t> place(flow& f, operation& op, packet& p, memory_access::transfer& tr, ps& t);
  process ask_again(flow& f, std::uint64_t number, missing_page page, ps t);
  void release_packet(packet& p);
  // Completes what a PSN acknowledges; false = a lost response was found and is asked for again.
  bool progress_to(flow& f, std::uint32_t psn, ps t);
  operation* operation_at(flow& f, std::uint32_t psn);

  // recovery.cpp
  void go_back(flow& f, ps t);
  void retry(flow& f, ps t);
  void restart_timer(flow& f, ps t);
  void on_timer(flow& f);
  void rest_for(flow& f, ps t, std::uint8_t timer);
  void rested(flow& f);
  void end_rest(flow& f);
  void complete(flow& f, std::uint8_t status, ps t);
  void unpin(operation& op, ps t);
  void fail_front(flow& f, std::uint8_t status, ps t);
  process enter_error(flow& f, ps t);
  void flush(flow& f, ps t);
  process flush_when_known(flow& f, ps t);
  void tell_queue(const flow& f);
  // Completes what needs no answer: NOPs, and the first operation that failed here once it is the oldest.
  void settle(flow& f, ps t);
  void made_progress(flow& f, ps t);
  void check_stopped(flow& f);
  void report_cqe(const flow& f, const operation& op, std::uint8_t status, ps t);

  const requester_config config_;
  const clock_domain clock_;
  packet_pool& packet_pool_;
  const std::uint16_t lid_;
  const hca_gid gid_;
  memory_access memory_;
  page_faults faults_;
  credits buffers_;
  server message_engine_;
  server packet_engine_;
  server response_engine_;
  by_number<flow> flows_;
  flow strangers_{0, this};  // takes the packets for QPs that were never started, so that they leave no trace
  pool<operation> operations_;
  pool<departure> departures_;
  pool<report> report_pool_;
  pool<control_request> control_pool_;

  counter messages_;
  counter packets_sent_;
  counter payload_sent_;
  counter payload_received_;
  counter acknowledges_;
  counter naks_;
  counter rnr_naks_;
  counter go_backs_;
  counter timeouts_;
  counter discarded_;
  counter errors_;
  counter flushed_;
  std::uint64_t advances_ = 0;  // times that a flow's oldest outstanding PSN moved on
  histogram latency_;
  probe psn_probe_;
  probe valid_probe_;
  probe qpn_probe_;
  probe opcode_probe_;
  probe in_flight_probe_;
  probe buffers_probe_;
};

}  // namespace hcasim
