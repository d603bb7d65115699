// The receive side: judges each request packet of RC in PSN order [O6] (PSN, sequence, QP rights, resources, lengths, key). It
// places or fetches the bytes, acknowledges, and completes receives. Duplicates are answered again without being executed
// again. A READ or an atomic is repeated only if it is among the last executed, as many as the QP may have outstanding. An
// atomic is answered from its result, a READ is judged anew [D2, O8d]. A refusal of this READ is an error of its requester
// alone, not of the QP.
//
// UC accepts losses: a gap ends the message in progress. A message with an error is dropped to its end, while the QP goes on.
// UD takes single packets whose Q_Key is the QP's and puts them 40 bytes into the receive buffer. Neither is answered
// [D.1: UC, UD]. A receive WQE of a dropped message is the next one's; from an SRQ it completes with the error.
//
// A receive of an SRQ is judged by the PD of the SRQ [D.1].
//
// XRC: each request names an SRQ. The PD of the SRQ judges the keys; its CQ gets the completions of the receives [H8, H9].
//
// Multicast: each QP attached to the group has a copy, judged as any datagram [H5].
//
// SEND_WITH_INV invalidates after its bytes were handed to the DMA engine and before its receive completes [C6.8].
//
// A missing page of an on-demand region raises an event, and an RNR NAK asks the request to come back later. The request is
// refused as for a bad key when there is no such page. READ responses under way, and duplicates, wait for their pages; of UC
// and UD the message is dropped [E9].
//
// Errors: a bad R_Key is NAK remote access, a bad request NAK invalid request, a bad receive buffer NAK remote operation. Each
// puts the QP into ERR, completes the receive in use with the matching status and flushes the rest [D.1].
#pragma once

#include <array>
#include <vector>

#include "firmware/abi/context.h"
#include "models/adapter/responder/arrival_rules.h"
#include "models/adapter/responder/receive_qp_rules.h"
#include "models/adapter/responder/responder_config.h"
#include "tlm/base/clock_domain.h"
#include "tlm/base/process.h"
#include "tlm/base/record_table.h"
#include "tlm/base/reorder.h"
#include "tlm/base/ring.h"
#include "tlm/base/two_class_arbiter.h"
#include "tlm/base/unit.h"
#include "tlm/base/wait.h"
#include "tlm/context.h"
#include "tlm/control.h"
#include "tlm/memory_access.h"
#include "tlm/packet.h"
#include "tlm/page_faults.h"
#include "tlm/window.h"
#include "tlm/work.h"

namespace hcasim {

class responder : public unit {
 public:
  target_socket<packet> packets{"packets"};
  target_socket<doorbell_ring> bells{"bells"};
  target_socket<control_request> control{"control"};
  target_socket<control_request> peer{"peer"};
  initiator_socket<context_request> qpc{"qpc"};
  initiator_socket<key_request> keys{"keys"};
  initiator_socket<translate_request> walker{"walker"};
  initiator_socket<dma_request> dma{"dma"};
  initiator_socket<window_request> windows{"windows"};
  initiator_socket<report> reports{"reports"};
  initiator_socket<packet> egress{"egress"};
  initiator_socket<control_request> peer_out{"peer_out"};

  responder(const sc_core::sc_module_name& name, const responder_config& config, const clock_domain& clock,
            packet_pool& packets, std::uint16_t lid);
  ~responder() override;

  void list_waiting(waiting_list& list) const override;

 private:
  // The way of a QP's responses.
  struct route {
    access_owner owner;
    std::uint64_t operation = 0;
    std::uint32_t dest_qpn = 0;
    std::uint32_t msn = 0;
    std::uint16_t dest_lid = 0;
    std::uint8_t service_level = 0;
    std::uint8_t mtu_shift = 0;
    std::uint8_t transport_bits = 0;  // of the opcode
    hca_route global{};
  };
  struct read_job {
    route to;
    std::uint32_t psn = 0;
    std::uint32_t key = 0;
    std::uint32_t length = 0;
    std::uint32_t index = 0;
    std::uint32_t count = 0;
    std::uint32_t repetition = 0;  // its number; the requester may have all its READs under way beside it. 0 = the first time
    std::uint64_t va = 0;
    ps since{0};
  };
  // The next response of a QP: the responses of a READ, or a packet.
  struct owed_answer {
    packet* response = nullptr;
    read_job read;
  };
  // The owner of an XRC request: the PD, CQ and domain of the SRQ named by the request.
  struct domain {
    std::uint32_t pd = 0;
    std::uint32_t cqn = 0;
    std::uint32_t xrcd = 0;
    std::uint16_t function = 0;
    std::uint32_t life = 0;  // of the SRQ; 0 = it has not been looked up
  };
  // One QP's receive side. The fields that every packet needs come first and together: with thousands of QPs they are not in
  // the host's caches.
  struct alignas(64) receive_qp {
    explicit receive_qp(std::uint32_t n) : qpn(n) {}
    std::uint32_t qpn;
    std::uint32_t busy = 0;
    receive_qp_state state;
    bool serving = false;  // these two: true = the coroutine runs
    bool emitting = false;
    std::uint16_t rq_pi = 0;
    control_request* stopping = nullptr;
    ring<packet*> inbox;
    reorder_queue<packet> out;
    std::uint64_t last_ticket = ~0ULL;  // nothing behind this response may leave
    std::uint32_t acks_owed = 0;
    std::uint32_t reads = 0;          // READs whose responses have not all left, repetitions apart
    ring<owed_answer> owed;           // behind the responses of a READ that is being answered
    std::uint16_t fetched_first = 0;  // receive WQEs on chip
    std::uint16_t fetched_count = 0;
    std::uint8_t fetched_stride = 0;   // log2 of their bytes
    std::uint16_t fetched_posted = 0;  // of an SRQ: WQEs of its list, from the next one on, posted at the time of the read
    bool shared = false;               // an SRQ
    bool lost = false;                 // its context is unreadable or damaged, and software knows
    std::uint32_t receive_pd = 0;      // PD for the keys of the receive in use
    std::vector<std::byte> fetched;
    std::vector<std::byte> receive;    // the receive WQE in use, without the link of an SRQ
    ring<executed_fetch> executed;     // READs and atomics, the last ones
    std::uint32_t repetitions = 0;     // of READs
    std::uint32_t refused = 0;         // the last repetition refused during its responses
    std::uint64_t refused_ticket = 0;  // and its first refused response
    page_faults::request missing;      // the page that a request was asked to come back for (RNR)
    wait_list takers;                  // of an SRQ: QPs that wait for its list
    ps no_receive_since = never;       // a message has come, and none was posted
    ps handled_since{0};               // the packet in hand
    std::uint64_t operation = 0;       // of it; 0 = there is none
    std::uint32_t life = 0;            // how often it was started
    std::uint32_t srq_life = 0;        // XRC: life of the SRQ that the message names
    domain domain_of;                  // an SRQ's

    void on(receive_qp_event e) { state = receive_qp_table.step(state, e); }
  };
  enum engine_user : unsigned { requests, responses };
  // A packet of a group, and the number of its unfinished copies.
  struct replication {
    responder* self = nullptr;
    packet* original = nullptr;
    std::uint32_t left = 0;
  };
  tlm::tlm_sync_enum on_packet(packet& p, tlm::tlm_phase phase, ps& t);
  tlm::tlm_sync_enum on_doorbell(doorbell_ring& b, tlm::tlm_phase phase, ps& t);
  tlm::tlm_sync_enum on_control(control_request& c, tlm::tlm_phase phase, ps& t);
  receive_qp& started(std::uint32_t qpn);
  void release_packet(packet& p);
  void check_stopped(receive_qp& c);

  void take(packet& p);
  void arrive(packet& p);
  process serve(receive_qp& c);
  task<bool> handle(receive_qp& c, packet& p, ps& t);
  task<bool> execute(receive_qp& c, context_request& ctx, packet& p, ps& t);
  [[nodiscard]] request_arrival arrival_of(const receive_qp& c, const hca_qpc& q, const packet& p,
                                           const executed_fetch*& kept) const;
  void advance_psn(hca_qpc& q, const packet& p, request_answer answer);
  task<> repeat_read(receive_qp& c, context_request& ctx, packet& p, ps& t);

  // Serves multicast groups (groups.cpp).
  task<bool> find_group(const packet& p, hca_group& g, ps& t);
  process serve_groups();
  void replicate(packet& p, const hca_group& g);
  void copy_done(packet& p);

  // Serves domains of XRC (domains.cpp).
  task<bool> find_domain(receive_qp& c, context_request& ctx, std::uint32_t srqn, domain& out, ps& t);
  task<bool> enter_domain(receive_qp& c, context_request& ctx, const packet_header& h, ps& t);
  task<> look_up_domain(receive_qp& s, const receive_qp& c, ps& t);
  [[nodiscard]] receive_qp* live_srq(std::uint32_t srqn);
  [[nodiscard]] bool srq_ended(const receive_qp& c, const hca_qpc& q);

  // Places bytes and takes receives (place.cpp).
  task<bool> do_send(receive_qp& c, hca_qpc& q, packet& p, ps& t);
  task<bool> invalidate(receive_qp& c, hca_qpc& q, const packet& p, ps& t);
  task<bool> do_write(receive_qp& c, hca_qpc& q, packet& p, ps& t);
  task<bool> take_receive(receive_qp& c, hca_qpc& q, ps& t);
  task<bool> read_receives(receive_qp& c, const hca_qpc& q, std::uint32_t slot, std::uint32_t count, ps& t);
  static bool is_fetched(const receive_qp& s, const hca_qpc& q, std::uint16_t slot);
  task<bool> read_around(receive_qp& s, const hca_qpc& q, std::uint16_t slot, ps& t);
  task<bool> take_shared(receive_qp& c, context_request& ctx, ps& t);
  struct taken_receive {
    bool found = false;
    bool broken = false;  // the SRQ, its context or its buffer
    std::uint16_t slot = 0;
  };
  task<taken_receive> take_from(receive_qp& s, receive_qp& c, ps& t);
  void hold_until_landed(memory_access::transfer& tr, packet& p, ps t);
  void end_message(receive_qp& c, hca_qpc& q, const packet& p, ps t);
  void page_missing(receive_qp& c, hca_qpc& q, const packet& p, const missing_page& page, std::uint8_t receive_status, ps t);

  // Answers READs and atomics (read.cpp).
  task<> do_read(receive_qp& c, hca_qpc& q, packet& p, bool again, ps& t);
  static void remember(receive_qp& c, const hca_qpc& q, const executed_fetch& e);
  static const executed_fetch* repeated_by(const receive_qp& c, const hca_qpc& q, const packet_header& h);
  void refuse_repetition(receive_qp& c, const hca_qpc& q, const packet& p, std::uint8_t syndrome, ps t);
  process answer_owed(receive_qp& c);
  void answer(receive_qp& c, packet& p);
  void send_response(receive_qp& c, packet& p);
  [[nodiscard]] static bool may_answer(const receive_qp& c);
  void forget_owed(receive_qp& c);
  static void read_ended(receive_qp& c, const read_job& job);
  process read_response(receive_qp& c, read_job job, std::uint64_t ticket, ps t);
  bool tells_refusal(receive_qp& c, const read_job& job, std::uint64_t ticket, ps t);
  task<verdict> fetch_response(receive_qp& c, memory_range range, packet& p, ps& t);
  task<> do_atomic(receive_qp& c, hca_qpc& q, packet& p, ps& t);
  void answer_atomic(receive_qp& c, const hca_qpc& q, const executed_fetch& e);

  // Answers and refuses requests (answers.cpp).
  packet& new_response(const route& to, std::uint8_t opcode, std::uint32_t psn);
  static route route_of(const receive_qp& c, const hca_qpc& q);
  void acknowledge(receive_qp& c, const route& to, std::uint32_t psn, std::uint8_t syndrome, ps t);
  void emit(receive_qp& c);
  void refuse(receive_qp& c, hca_qpc& q, std::uint8_t syndrome, std::uint8_t receive_status, ps t);
  void drop_message(receive_qp& c, hca_qpc& q, std::uint8_t receive_status, ps t);
  void fatal(receive_qp& c, hca_qpc& q, std::uint8_t syndrome, std::uint8_t receive_status, ps t);
  void report_unreadable(receive_qp& c, ps t);
  void put_into_error(receive_qp& c, hca_qpc& q, std::uint8_t receive_status, std::uint32_t event, ps t);
  process fail_later(receive_qp& c, std::uint32_t event, ps t);
  process tell_requester(receive_qp& c, ps t);
  process flush_receives(receive_qp& c, control_request* answer, ps t);
  void flush_with(receive_qp& c, hca_qpc& q, ps t);
  // Returns false without a report if the SRQ of the receive has ended.
  bool report_receive(const receive_qp& c, const hca_qpc& q, std::uint16_t index, std::uint8_t status, const packet* p,
                      std::uint64_t operation, ps t);
  void raise(std::uint32_t type, std::uint32_t number, std::uint64_t operation, ps t);
  void send_report(report& r, ps t);

  const responder_config config_;
  const clock_domain clock_;
  packet_pool& packet_pool_;
  const std::uint16_t lid_;
  const hca_gid gid_;
  memory_access memory_;
  page_faults faults_;
  credits buffers_;
  two_class_arbiter engine_;
  record_table<receive_qp> receive_qps_;
  receive_qp strangers_{0};  // takes the packets for QPs that were never started: no trace of them stays
  pool<report> report_pool_;
  std::array<std::uint32_t, HCA_GROUP_HASHES> groups_{};  // by hash: the number of the first one
  ring<packet*> group_inbox_;
  bool serving_groups_ = false;
  pool<replication> replications_;

  counter packets_in_;
  counter payload_written_;
  counter payload_read_;
  counter acknowledges_;
  counter naks_;
  counter rnr_naks_;
  counter out_of_order_;
  counter duplicates_;
  counter duplicates_unknown_;
  counter dropped_;
  counter wrong_source_;
  counter bad_qkey_;
  counter messages_;
  counter flushed_;
  counter no_receive_;
  counter messages_dropped_;
  counter shared_taken_;
  counter group_packets_;
  counter group_copies_;
  counter wrong_route_;
  counter wrong_domain_;
  probe valid_probe_;
  probe qpn_probe_;
  probe opcode_probe_;
  probe psn_probe_;
  probe syndrome_probe_;
  probe inbox_probe_;
};

}  // namespace hcasim
