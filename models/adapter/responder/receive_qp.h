// The receive side of a QP. Each part of the responder has its fields of the record.
#pragma once

#include <vector>

#include "models/adapter/responder/receive_qp_rules.h"
#include "models/adapter/responder/responder_rules.h"
#include "tlm/base/reorder.h"
#include "tlm/base/ring.h"
#include "tlm/base/served_queue.h"
#include "tlm/memory_access.h"
#include "tlm/packet.h"
#include "tlm/page_faults.h"

namespace hcasim {

// The receive WQEs of a QP or an SRQ: how far they are posted, and those on chip.
struct receive_ring {
  std::uint16_t end = 0;    // behind the last posted one
  std::uint16_t first = 0;  // on chip
  std::uint16_t count = 0;
  std::uint8_t stride = 0;  // log2 of their bytes
  std::vector<std::byte> bytes;
};

// The way of a QP's responses.
struct response_route {
  access_owner owner;
  std::uint64_t operation = 0;
  std::uint32_t dest_qpn = 0;
  std::uint32_t msn = 0;
  std::uint16_t dest_lid = 0;
  std::uint8_t service_level = 0;
  std::uint8_t mtu_shift = 0;
  std::uint8_t port = 0;
  std::uint8_t transport_bits = 0;  // of the opcode
  hca_route global{};
};

// A READ whose responses leave in their turn.
struct read_job {
  response_route to;
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

// The fields that every packet needs come first and together: with thousands of QPs they are not in the host's caches.
struct alignas(64) receive_qp {
  explicit receive_qp(std::uint32_t n) : qpn(n) {}

  void on(receive_qp_event e) { state = receive_qp_table.step(state, e); }
  void enter() { ++busy; }
  void leave() {
    --busy;
    if (stopping && busy == 0) end_stop();
  }
  // Returns whether the stop is answered at once: no coroutine uses the record.
  bool stop(responder_control& r) {
    if (busy == 0) {
      on(receive_qp_event::stop_now);
      return true;
    }
    on(receive_qp_event::stop_later);
    stopping = &r;
    return false;
  }
  void end_stop() {
    on(receive_qp_event::left);
    target_socket<responder_control>::respond(*std::exchange(stopping, nullptr), now());
  }

  std::uint32_t busy = 0;  // coroutines that use the record
  receive_qp_state state;
  responder_control* stopping = nullptr;  // a stop that is owed an answer
  std::uint32_t qpn;

  // request_arrivals
  served_queue<packet> inbox;
  ps handled_since{0};          // the packet in hand
  std::uint64_t operation = 0;  // of it; 0 = there is none
  ps no_receive_since = never;  // a message has come, and none was posted

  // responses
  reorder_queue<packet> out;
  std::uint64_t last_ticket = ~0ULL;  // nothing behind this response may leave
  std::uint32_t acks_owed = 0;
  ring<owed_answer> owed;  // behind the responses of a READ that is being answered

  // receive_queues
  receive_ring posted;
  std::uint32_t receive_pd = 0;    // PD for the keys of the receive in use
  std::vector<std::byte> receive;  // the receive WQE in use, without the link of an SRQ
  std::uint32_t srq_life = 0;      // XRC: life of the SRQ that the message names

  // fetches
  std::uint32_t reads = 0;           // READs whose responses have not all left, repetitions apart
  ring<executed_fetch> executed;     // READs and atomics, the last ones
  std::uint32_t repetitions = 0;     // of READs
  std::uint32_t refused = 0;         // the last repetition refused during its responses
  std::uint64_t refused_ticket = 0;  // and its first refused response

  page_faults::request missing;  // the page that a request was asked to come back for (RNR)
};

}  // namespace hcasim
