// The send side of a QP. Each part of the requester has its fields of the record.
#pragma once

#include "firmware/abi/context.h"
#include "models/adapter/requester/send_qp_rules.h"
#include "tlm/base/alarm.h"
#include "tlm/base/reorder.h"
#include "tlm/base/ring.h"
#include "tlm/base/served_queue.h"
#include "tlm/control.h"
#include "tlm/memory_access.h"
#include "tlm/packet.h"
#include "tlm/work.h"
#include "tlm/wqe.h"

namespace hcasim {

class retransmission;

// One WQE from its arrival to its CQE.
struct send_operation {
  work_request* work = nullptr;
  wqe_view view;
  std::uint64_t number = 0;  // in its QP
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
struct send_settings {
  send_settings() = default;
  send_settings(const hca_qpc& q, std::uint32_t qpn)
      : owner(owner_of(q, qpn)),
        send_cqn(q.send_cqn),
        dest_qpn(q.dest_qpn),
        qkey(q.qkey),
        dest_lid(q.dest_lid),
        service_level(q.service_level),
        port(q.port),
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
  std::uint8_t port = 0;
  std::uint8_t transport = 0;
  std::uint8_t mtu_shift = 0;
  std::uint8_t retry_count = 0;
  std::uint8_t rnr_retry = 0;
  std::uint8_t timeout = 0;
  bool signal_all = false;
  hca_route route{};

  [[nodiscard]] bool unreliable() const { return hca_transport_reliable(transport) == 0; }
};

// The fields that every packet needs come first and together: with thousands of QPs they are not in the host's caches.
struct alignas(64) send_qp {
  // `r`: acts when a timer of the QP rings.
  send_qp(std::uint32_t n, retransmission& r);

  std::uint32_t qpn;
  send_qp_state state;
  std::uint32_t busy = 0;                 // coroutines that use this QP
  requester_control* stopping = nullptr;  // a stop that is owed an answer
  send_settings qp;
  ring<send_operation*> operations;
  std::uint64_t failed = ~0ULL;  // number of the first operation that failed locally

  // send_loop
  std::uint32_t pass = 0;           // counts go-backs: packets of an older pass are not sent
  std::uint32_t cursor_packet = 0;  // packet of the operation at the cursor
  std::uint64_t cursor = 0;         // operation to send next
  std::uint32_t next_psn = 0;
  std::uint32_t una_psn = 0;   // oldest PSN not acknowledged
  std::uint32_t sent_psn = 0;  // behind the last one that was sent, or asked for
  std::uint32_t waiting = 0;   // gathers that wait for a page: not 0 while paging
  reorder_queue<packet> out;

  // response_intake
  served_queue<packet> inbox;
  std::uint64_t read_psns = 0;  // PSNs of responses that are still to come

  // retransmission
  retransmission* owner;
  unsigned retries = 0;
  unsigned rnr_retries = 0;
  alarm timer;      // of the oldest PSN that is not acknowledged (RC)
  alarm rnr_timer;  // of an RNR NAK

  void on(send_qp_event e) {
    state = send_qp_table.step(state, e);
    if (!is_live(state)) timer.clear();
  }
  [[nodiscard]] bool may_go_on() const { return may_send(state) && cursor != operations.end_number() && cursor < failed; }
  // Sends again from the oldest operation on.
  void rewind() {
    cursor = operations.begin_number();
    cursor_packet = 0;
  }
  void restart_timer(ps t);
  // Ends the delay of an RNR NAK, of a failed or stopped QP: the peer chooses its length, up to 0.66 s.
  void end_rnr_delay() {
    if (!rnr_timer.is_set()) return;
    rnr_timer.clear();
    on(send_qp_event::rnr_over);
  }
};

}  // namespace hcasim
