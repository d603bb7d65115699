// Receive WQEs, of QPs and of SRQs: those on chip, and the one in use of each QP. A receive of an SRQ is judged by the PD of
// the SRQ [D.1].
#pragma once

#include "models/adapter/responder/receive_errors.h"
#include "models/adapter/responder/receive_records.h"

namespace hcasim {

class receive_queues {
 public:
  // `prefetch`: receive WQEs that one DMA read fetches.
  receive_queues(initiator_socket<context_request>& qpc, memory_access& memory, std::uint32_t prefetch,
                 receive_records& records, receive_errors& errors, receive_reports& reports, responder_counters& counters)
      : qpc_(qpc),
        memory_(memory),
        prefetch_(prefetch),
        records_(records),
        errors_(errors),
        reports_(reports),
        counters_(counters) {}

  // Makes the QP's next receive WQE the one in use; false = none is posted, or the QP is in error.
  task<bool> take(receive_qp& c, hca_qpc& q, ps& t);
  // Makes the next receive WQE of the QP's SRQ the one in use. The context of the QP is released meanwhile: the SRQ's is in the
  // same cache. Then ctx.failed = the context could not be fetched again.
  task<bool> take_shared(receive_qp& c, context_request& ctx, ps& t);

 private:
  // A queue whose WQEs are read.
  struct queue_at {
    std::uint32_t number;
    const hca_qpc& context;
    std::uint64_t operation;
  };
  // The next WQE of an SRQ.
  struct taken {
    bool found = false;
    bool broken = false;  // the SRQ, its context or its buffer
    std::uint16_t slot = 0;
  };

  task<bool> read(receive_ring& ring, const queue_at& of, std::uint32_t slot, std::uint32_t count, ps& t);
  static bool is_fetched(const shared_queue& s, const hca_qpc& q, std::uint16_t slot);
  task<bool> read_around(shared_queue& s, const queue_at& of, std::uint16_t slot, ps& t);
  task<taken> take_from(shared_queue& s, receive_qp& c, ps& t);
  void use(shared_queue& s, hca_qpc& q, std::uint16_t slot, receive_qp& c, ps t);

  initiator_socket<context_request>& qpc_;
  memory_access& memory_;
  const std::uint32_t prefetch_;
  receive_records& records_;
  receive_errors& errors_;
  receive_reports& reports_;
  responder_counters& counters_;
};

}  // namespace hcasim
