// The responder's answer to a request packet, by the state of the QP, the packet's place in its sequence and the message under
// way [D1..D3]. Later checks - rights, resources, lengths, key [D4..D14] - are of packets that are executed.
#pragma once

#include <array>
#include <string_view>

#include "models/adapter/responder/responder_rules.h"

namespace hcasim {

// The place of a PSN. executed: behind, and the packet asks for what was executed and is kept; noticed: ahead, and a NAK is
// out.
enum class psn_class : std::uint8_t { expected, executed, older, ahead, noticed };

enum class request_answer : std::uint8_t {
  drop,           // without an answer
  drop_foreign,   // not from the peer, or without the QP's Q_Key
  drop_unknown,   // asks for a READ or an atomic again that is not kept
  execute,        // as the next packet of its message
  begin,          // the message under way ends here, unfinished; this is the first packet of the next
  skip,           // of a message that began unheard
  refuse,         // NAK invalid request; the QP is in error
  acknowledge,    // again
  repeat_read,    // judged anew
  repeat_atomic,  // from its result
  ask_again,      // sequence NAK
  wait,           // for what the NAK that is out asked for
};

struct request_arrival {
  bool started = false;  // the QP was given to the responder, which has not seen an error of it
  bool from_peer = false;
  std::uint8_t state = HCA_QP_RESET;
  std::uint8_t transport = HCA_TRANSPORT_RC;
  std::uint8_t opcode = wire::send_only;
  std::uint8_t inbound = HCA_INBOUND_NONE;  // the message under way: send_first, write_first
  psn_class psn = psn_class::expected;
};

// A QP in this state hears requests.
constexpr bool receives(std::uint8_t state) {
  return state == HCA_QP_RTR || state == HCA_QP_RTS || state == HCA_QP_SQD || state == HCA_QP_SQE;
}

request_answer answer_to(const request_arrival& a);

// Whether the context of the QP is another one then.
constexpr bool changes_context(request_answer a) {
  switch (a) {
    case request_answer::execute:
    case request_answer::begin:
    case request_answer::skip:
    case request_answer::refuse:
    case request_answer::ask_again:
      return true;
    default:
      return false;
  }
}

inline constexpr std::array<std::string_view, 12> request_answer_names = {
    "drop",   "drop: not the peer's", "drop: not kept",      "execute",           "begin anew",   "skip",
    "refuse", "acknowledge again",    "repeat, judged anew", "repeat the result", "NAK sequence", "wait"};

}  // namespace hcasim
