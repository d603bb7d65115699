// SEND and WRITE: their bytes into memory. Each packet is judged when it is placed [O8a, O8b].
//
// SEND_WITH_INV invalidates after its bytes were handed to the DMA engine and before its receive completes [C6.8].
#pragma once

#include "models/adapter/responder/held_packets.h"
#include "models/adapter/responder/receive_errors.h"
#include "tlm/window.h"

namespace hcasim {

class payload_placement {
 public:
  struct parts {
    held_packets& held;
    receive_errors& errors;
    receive_reports& reports;
    response_sender& responses;
  };

  payload_placement(memory_access& memory, initiator_socket<window_request>& windows, class_j_answer class_j, const parts& p,
                    responder_counters& counters)
      : memory_(memory), windows_(windows), class_j_(class_j), parts_(p), counters_(counters) {}

  // Places a packet of a SEND; true = the packet is held until its payload has landed.
  task<bool> send(receive_qp& c, hca_qpc& q, packet& p, ps& t);
  // Places a packet of a WRITE, likewise.
  task<bool> write(receive_qp& c, hca_qpc& q, packet& p, ps& t);

 private:
  // The bytes of a SEND packet on their way into the receive: a datagram's GRH or its blank place, then the payload.
  struct placed_bytes {
    std::uint32_t header = 0;
    std::uint32_t whole = 0;   // header and payload
    std::uint32_t placed = 0;  // of it
    std::uint64_t blank = 0;   // still to be judged, and to stay unchanged
    std::uint64_t offset = 0;  // of the next byte in the receive

    [[nodiscard]] bool all() const { return placed >= whole && blank == 0; }
  };

  task<verdict> scatter(memory_access::transfer& tr, receive_qp& c, access_owner owner, placed_bytes& at, packet& p, ps& t);
  // Invalidates the key that came with a SEND. False = the key could not be invalidated and the QP is in error [C6.9], or the
  // QP is being stopped.
  task<bool> invalidate(receive_qp& c, hca_qpc& q, const packet& p, ps& t);
  // Ends a packet that was executed: PSN, completion of a receive, acknowledge.
  void end_message(receive_qp& c, hca_qpc& q, const packet& p, ps t);
  void release_when_landed(memory_access::transfer& tr, packet& p, ps t);

  memory_access& memory_;
  initiator_socket<window_request>& windows_;
  const class_j_answer class_j_;
  const parts parts_;
  responder_counters& counters_;
};

}  // namespace hcasim
