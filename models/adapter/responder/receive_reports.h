// Reports of the receive side: completions of receives, and events.
#pragma once

#include "models/adapter/responder/receive_records.h"
#include "tlm/base/pool.h"
#include "tlm/work.h"

namespace hcasim {

class receive_reports {
 public:
  receive_reports(initiator_socket<report>& port, const receive_records& records) : port_(port), records_(records) {}

  // Completes a receive; `p`: the last packet of its message, null = there is none. Returns false without a report if the SRQ
  // of the receive has ended.
  bool complete(const receive_qp& c, const hca_qpc& q, std::uint16_t index, std::uint8_t status, const packet* p,
                std::uint64_t operation, ps t);
  // Raises an event of this type (enum hca_event).
  void raise(std::uint32_t type, std::uint32_t number, std::uint64_t operation, ps t);

 private:
  void send(report& r, ps t);

  initiator_socket<report>& port_;
  const receive_records& records_;
  pool<report> pool_;
};

}  // namespace hcasim
