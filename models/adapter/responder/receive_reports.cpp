#include "models/adapter/responder/receive_reports.h"

#include "tlm/base/delegate.h"

namespace hcasim {

bool receive_reports::complete(const receive_qp& c, const hca_qpc& q, std::uint16_t index, std::uint8_t status, const packet* p,
                               std::uint64_t operation, ps t) {
  const bool xrc = q.transport == HCA_TRANSPORT_XRC_TGT;
  if (xrc && records_.srq_ended(c, q)) return false;
  report& r = pool_.get();
  r.operation = operation;
  r.event = false;
  r.cqn = q.recv_cqn;
  r.cqe = {};
  r.cqe.qpn = c.qpn;
  r.cqe.index = index;
  r.cqe.status = status;
  r.cqe.flags = HCA_CQE_RECEIVE;
  r.cqe.opcode = HCA_WQE_SEND;
  if (xrc) r.cqe.srqn = q.srqn;
  if (p) {
    const packet_header& h = p->header;
    r.cqe.byte_count = q.in_received;
    if (kind_of(h.opcode) == request_kind::write) r.cqe.opcode = HCA_WQE_WRITE_IMM;
    if (h.shape().immediate) {
      r.cqe.flags |= HCA_CQE_WITH_IMM;
      r.cqe.immediate = h.immediate;
    }
    if (h.shape().invalidate) {
      r.cqe.flags |= HCA_CQE_WITH_INV;
      r.cqe.immediate = h.invalidate_key;
    }
    if (h.solicited) r.cqe.flags |= HCA_CQE_SOLICITED;
    if (h.global && h.shape().datagram) r.cqe.flags |= HCA_CQE_GRH;
    r.cqe.source_qpn = h.shape().datagram ? h.source_qpn : q.dest_qpn;
    r.cqe.source_lid = h.source_lid;
    r.cqe.service_level = h.service_level;
  }
  send(r, t);
  return true;
}

void receive_reports::raise(std::uint32_t type, std::uint32_t number, std::uint64_t operation, ps t) {
  report& r = pool_.get();
  r.operation = operation;
  r.event = true;
  r.type = type;
  r.number = number;
  send(r, t);
}

void receive_reports::send(report& r, ps t) {
  r.waiter = {};
  call_on_response<&pool<report>::put>(r, &pool_);
  if (port_.send(r, t) == tlm::TLM_COMPLETED) pool_.put(r);
}

}  // namespace hcasim
