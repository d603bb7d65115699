#include "models/adapter/responder/arrival_rules.h"

namespace hcasim {
namespace {

request_answer reliable(const request_arrival& a) {
  const request_kind kind = kind_of(a.opcode);
  switch (a.psn) {
    case psn_class::expected:
      return in_sequence(a.inbound, a.opcode) ? request_answer::execute : request_answer::refuse;  // [D3]
    case psn_class::ahead:
      return request_answer::ask_again;
    case psn_class::noticed:
      return request_answer::wait;
    case psn_class::executed:
      if (kind == request_kind::read) return request_answer::repeat_read;
      if (kind == request_kind::atomic) return request_answer::repeat_atomic;
      return request_answer::acknowledge;
    case psn_class::older:
      break;
  }
  return is_fetch(a.opcode) ? request_answer::drop_unknown : request_answer::acknowledge;
}

// A gap ends the message that it is in; the next one begins with its first packet.
request_answer unreliable(const request_arrival& a) {
  if (a.psn == psn_class::expected && in_sequence(a.inbound, a.opcode)) return request_answer::execute;
  return in_sequence(HCA_INBOUND_NONE, a.opcode) ? request_answer::begin : request_answer::skip;
}

}  // namespace

request_answer answer_to(const request_arrival& a) {
  if (!a.started || !receives(a.state) || !of_transport(a.opcode, a.transport)) return request_answer::drop;  // [D1]
  if (!a.from_peer) return request_answer::drop_foreign;
  switch (a.transport) {
    case HCA_TRANSPORT_RC:
    case HCA_TRANSPORT_XRC_TGT:
      return reliable(a);  // [D2]
    case HCA_TRANSPORT_UC:
      return unreliable(a);
    default:
      return request_answer::execute;  // nothing is expected of the PSN of a datagram
  }
}

}  // namespace hcasim
