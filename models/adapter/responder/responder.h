// The receive side: judges each request packet of RC in PSN order [O6] (PSN, sequence, QP rights, resources, lengths, key),
// places or fetches its bytes, acknowledges, and completes receives. Duplicates are answered again without being executed
// again. A READ or an atomic is repeated only when it is one of the last that were executed, as many as the QP may have
// outstanding: an atomic from its result, a READ judged anew [D2, O8d]. What then refuses it is its requester's to hear, not an
// error of the QP, which has done nothing wrong.
//
// UC takes what comes: a gap ends the message that it is in, and a message with an error is dropped to its end, while the QP
// goes on. UD takes single packets whose Q_Key is the QP's and puts them 40 bytes into the receive buffer. Nothing is answered
// [D.1: UC, UD]. A receive WQE of a dropped message is the next one's; from an SRQ it completes with the error.
//
// A receive of an SRQ is judged by the PD of the SRQ [D.1].
//
// XRC: each request names the SRQ that it is for, whose PD judges its keys and whose CQ its receives complete to [H8, H9].
//
// Multicast: each QP that is attached to the group has a copy, and judges it as any datagram [H5].
//
// SEND_WITH_INV invalidates after its bytes were handed to the DMA engine and before its receive completes [C6.8].
//
// A page of an on-demand region that is missing raises an event; the request is asked to come back later with an RNR NAK and is
// refused as for a bad key when there is no such page. READ responses under way, and duplicates, wait for their pages; of UC
// and UD the message is dropped [E9].
//
// Errors: a bad R_Key is NAK remote access, a bad request NAK invalid request, a bad receive buffer NAK remote operation; each
// puts the QP into ERR, completes the receive in use with the matching status and flushes the rest [D.1].
#pragma once

#include <array>
#include <vector>

#include "firmware/abi/context.h"
#include "models/adapter/responder/arrival_rules.h"
#include "models/adapter/responder/connection_rules.h"
#include "models/adapter/responder/responder_config.h"
#include "tlm/base/by_number.h"
#include "tlm/base/clock_domain.h"
#include "tlm/base/process.h"
#include "tlm/base/reorder.h"
#include "tlm/base/ring.h"
#include "tlm/base/taking_turns.h"
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
  // The way of a connection's responses.
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
  // The next answer of a connection: the responses of a READ, or a packet.
  struct owed_answer {
    packet* response = nullptr;
    read_job read;
  };
  // On whose behalf an XRC request is executed: what the SRQ is of that it names.
  struct domain {
    std::uint32_t pd = 0;
    std::uint32_t cqn = 0;
    std::uint32_t xrcd = 0;
    std::uint16_t function = 0;
    std::uint32_t life = 0;  // of the SRQ; 0 = it has not been looked up
  };
  // One QP's receive side. What every packet needs comes first and together: with thousands of QPs it is not in the host's
  // caches.
  struct alignas(64) connection {
    explicit connection(std::uint32_t n) : qpn(n) {}
    std::uint32_t qpn;
    std::uint32_t busy = 0;
    connection_state state;
    bool serving = false;  // these two: a coroutine does it already
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
    std::uint16_t fetched_posted = 0;  // of an SRQ: so many of its list, from the next one on, were posted when they were read
    bool shared = false;               // an SRQ
    bool lost = false;                 // its context could not be had or believed, and software knows
    std::uint32_t receive_pd = 0;      // by which the keys of the receive in use are judged
    std::vector<std::byte> fetched;
    std::vector<std::byte> receive;    // the receive WQE in use, without the link of an SRQ
    ring<executed_fetch> executed;     // READs and atomics, the last ones
    std::uint32_t repetitions = 0;     // of READs
    std::uint32_t refused = 0;         // the last repetition that was refused while it was answered
    std::uint64_t refused_ticket = 0;  // and from which response on
    page_faults::request missing;      // the page that a request was asked to come back for (RNR)
    wait_list takers;                  // of an SRQ: connections that wait for its list
    ps no_receive_since = never;       // a message has come, and none was posted
    ps handled_since{0};               // the packet in hand
    std::uint64_t operation = 0;       // of it; 0 = there is none
    std::uint32_t life = 0;            // how often it was started
    std::uint32_t srq_life = 0;        // XRC: that of the SRQ that the message names
    domain domain_of;                  // an SRQ's

    void on(connection_event e) { state = connection_table.step(state, e); }
  };
  enum engine_user : unsigned { requests, responses };
  // A packet of a group, and how many copies of it are not done with.
  struct replication {
    responder* self = nullptr;
    packet* original = nullptr;
    std::uint32_t left = 0;
  };
  tlm::tlm_sync_enum on_packet(packet& p, tlm::tlm_phase phase, ps& t);
  tlm::tlm_sync_enum on_bell(doorbell_ring& b, tlm::tlm_phase phase, ps& t);
  tlm::tlm_sync_enum on_control(control_request& c, tlm::tlm_phase phase, ps& t);
  connection& started(std::uint32_t qpn);
  void release_packet(packet& p);
  void check_stopped(connection& c);

  void take(packet& p);
  void arrive(packet& p);
  process serve(connection& c);
  task<bool> handle(connection& c, packet& p, ps& t);
  task<bool> execute(connection& c, context_request& ctx, packet& p, ps& t);
  [[nodiscard]] request_arrival arrival_of(const connection& c, const hca_qpc& q, const packet& p,
                                           const executed_fetch*& kept) const;
  void take_place(hca_qpc& q, const packet& p, request_answer answer);
  task<> repeat_read(connection& c, context_request& ctx, packet& p, ps& t);

  // groups.cpp
  task<bool> find_group(const packet& p, hca_group& g, ps& t);
  process serve_groups();
  void replicate(packet& p, const hca_group& g);
  void copy_done(packet& p);

  // domains.cpp
  task<bool> find_domain(connection& c, context_request& ctx, std::uint32_t srqn, domain& out, ps& t);
  task<bool> enter_domain(connection& c, context_request& ctx, const packet_header& h, ps& t);
  task<> look_up_domain(connection& s, const connection& c, ps& t);
  [[nodiscard]] connection* live_srq(std::uint32_t srqn);
  [[nodiscard]] bool srq_ended(const connection& c, const hca_qpc& q);

  // place.cpp
  task<bool> do_send(connection& c, hca_qpc& q, packet& p, ps& t);
  task<bool> invalidate(connection& c, hca_qpc& q, const packet& p, ps& t);
  task<bool> do_write(connection& c, hca_qpc& q, packet& p, ps& t);
  task<bool> take_receive(connection& c, hca_qpc& q, ps& t);
  task<bool> read_receives(connection& c, const hca_qpc& q, std::uint32_t slot, std::uint32_t count, ps& t);
  static bool is_fetched(const connection& s, const hca_qpc& q, std::uint16_t slot);
  task<bool> read_around(connection& s, const hca_qpc& q, std::uint16_t slot, ps& t);
  task<bool> take_shared(connection& c, context_request& ctx, ps& t);
  struct taken_receive {
    bool found = false;
    bool broken = false;  // the SRQ, its context or its buffer
    std::uint16_t slot = 0;
  };
  task<taken_receive> take_from(connection& s, connection& c, ps& t);
  void hold_until_landed(memory_access::transfer& tr, packet& p, ps t);
  void end_message(connection& c, hca_qpc& q, const packet& p, ps t);
  void page_missing(connection& c, hca_qpc& q, const packet& p, const missing_page& page, std::uint8_t receive_status, ps t);

  // read.cpp
  task<> do_read(connection& c, hca_qpc& q, packet& p, bool again, ps& t);
  static void remember(connection& c, const hca_qpc& q, const executed_fetch& e);
  static const executed_fetch* repeated_by(const connection& c, const hca_qpc& q, const packet_header& h);
  void refuse_repetition(connection& c, const hca_qpc& q, const packet& p, std::uint8_t syndrome, ps t);
  process answer_owed(connection& c);
  void answer(connection& c, packet& p);
  void send_response(connection& c, packet& p);
  [[nodiscard]] static bool may_answer(const connection& c);
  void forget_owed(connection& c);
  static void read_ended(connection& c, const read_job& job);
  process read_response(connection& c, read_job job, std::uint64_t ticket, ps t);
  bool tells_refusal(connection& c, const read_job& job, std::uint64_t ticket, ps t);
  task<verdict> fetch_response(connection& c, memory_range range, packet& p, ps& t);
  task<> do_atomic(connection& c, hca_qpc& q, packet& p, ps& t);
  void answer_atomic(connection& c, const hca_qpc& q, const executed_fetch& e);

  // answers.cpp
  packet& new_response(const route& to, std::uint8_t opcode, std::uint32_t psn);
  static route route_of(const connection& c, const hca_qpc& q);
  void acknowledge(connection& c, const route& to, std::uint32_t psn, std::uint8_t syndrome, ps t);
  void emit(connection& c);
  void refuse(connection& c, hca_qpc& q, std::uint8_t syndrome, std::uint8_t receive_status, ps t);
  void drop_message(connection& c, hca_qpc& q, std::uint8_t receive_status, ps t);
  void fatal(connection& c, hca_qpc& q, std::uint8_t syndrome, std::uint8_t receive_status, ps t);
  void lose(connection& c, ps t);
  void put_into_error(connection& c, hca_qpc& q, std::uint8_t receive_status, std::uint32_t event, ps t);
  process fail_later(connection& c, std::uint32_t event, ps t);
  process tell_requester(connection& c, ps t);
  process flush_receives(connection& c, control_request* answer, ps t);
  void flush_with(connection& c, hca_qpc& q, ps t);
  // Returns false without a report if the SRQ of the receive has ended.
  bool report_receive(const connection& c, const hca_qpc& q, std::uint16_t index, std::uint8_t status, const packet* p,
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
  taking_turns engine_;
  by_number<connection> connections_;
  connection strangers_{0};  // takes the packets for QPs that were never started, so that they leave no trace
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
