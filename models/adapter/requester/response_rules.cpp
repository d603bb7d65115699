#include "models/adapter/requester/response_rules.h"

namespace hcasim {

response_class class_of(const packet_header& h) {
  if (kind_bits(h.opcode) != wire::acknowledge) return response_class::data;
  switch (meaning_of(h.syndrome).kind) {
    case response_kind::ack:
      return response_class::acknowledge;
    case response_kind::rnr:
      return response_class::rnr_nak;
    case response_kind::sequence:
      return response_class::sequence_nak;
    default:
      return response_class::fatal_nak;
  }
}

response_action reaction_to(const response_arrival& a) {
  if (!a.waits || !a.from_peer) return response_action::discard;
  const bool data = a.what == response_class::data;
  switch (a.place) {
    case response_place::behind:
    case response_place::unsent:
      return response_action::discard;
    case response_place::past:
      return a.landing ? response_action::discard : response_action::ask_again;
    case response_place::past_message:
      return a.landing || data ? response_action::discard : response_action::ask_again;
    case response_place::due:
      if (a.landing) return response_action::discard;
      if (data) return response_action::place;
      if (a.what == response_class::acknowledge) return response_action::ask_again;  // instead of the response (IBA 9.7.5.1.1)
      break;
    case response_place::message:
      if (data) return response_action::discard;
      break;
  }
  switch (a.what) {
    case response_class::rnr_nak:
      return response_action::rest;
    case response_class::sequence_nak:
      return response_action::go_back;
    case response_class::fatal_nak:
      return response_action::fail;
    default:
      return response_action::complete;
  }
}

}  // namespace hcasim
