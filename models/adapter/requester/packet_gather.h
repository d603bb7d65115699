// One request packet from its WQE: headers, and payload from memory. Each packet gathers its payload anew.
//
// A missing page of an on-demand region stops sending of the QP until the driver has put it in. A page that cannot be had is
// LOC_PROT_ERR [E9].
#pragma once

#include "models/adapter/requester/send_qp.h"
#include "tlm/base/process.h"
#include "tlm/page_faults.h"
#include "tlm/port_addresses.h"

namespace hcasim {

class packet_gather {
 public:
  // `ack_every`: packets of a long message between two acknowledge requests.
  packet_gather(memory_access& memory, page_faults& faults, const port_addresses& ports, std::uint32_t ack_every)
      : memory_(memory), faults_(faults), ports_(ports), ack_every_(ack_every) {}

  void fill_header(const send_qp& f, const send_operation& op, std::uint32_t index, packet& p) const;
  // Gathers the payload from `offset` of the message on.
  task<verdict> payload(send_qp& f, send_operation& op, std::uint64_t offset, packet& p, ps& t);

 private:
  task<verdict> payload_once(send_qp& f, send_operation& op, std::uint64_t offset, packet& p, missing_page& page, ps& t);

  memory_access& memory_;
  page_faults& faults_;
  const port_addresses ports_;
  const std::uint32_t ack_every_;
};

}  // namespace hcasim
