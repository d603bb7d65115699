// The responder's decisions about a request packet, without time: message sequence, rights, lengths [D.1, D3..D6].
#pragma once

#include <cstdint>

#include "firmware/abi/access.h"
#include "firmware/abi/context.h"
#include "tlm/packet.h"

namespace hcasim {

enum class request_kind : std::uint8_t { send, write, read, atomic, other };
request_kind kind_of(std::uint8_t opcode);

// [D1] a request of this QP's transport (enum hca_transport).
bool of_transport(std::uint8_t opcode, std::uint8_t transport);
inline bool is_fetch(std::uint8_t opcode) {
  const request_kind kind = kind_of(opcode);
  return kind == request_kind::read || kind == request_kind::atomic;
}
// [D3] may `opcode` come while the message `inbound` (send_first, write_first or HCA_INBOUND_NONE) is in progress?
bool in_sequence(std::uint8_t inbound, std::uint8_t opcode);
// [D4] the QP right that a request needs; 0 for SEND.
std::uint32_t right_of(request_kind kind);
// [D6] an atomic works on 8 aligned bytes.
inline bool atomic_aligned(const packet_header& h) {
  return h.va % 8 == 0;
}
// [D6] payload length against MTU, opcode and what is left of the message.
bool length_ok(const packet& p, unsigned mtu_shift, std::uint32_t remaining);
// Opcode of READ response `index` of `count`.
std::uint8_t response_opcode(std::uint32_t index, std::uint32_t count);
// The record of a READ or an atomic that was executed, for a repeated request [D2].
struct executed_fetch {
  std::uint32_t psn = 0;  // of its first response
  std::uint32_t key = 0;
  std::uint32_t length = 0;
  std::uint32_t srqn = 0;  // XRC
  std::uint8_t opcode = 0;
  std::uint64_t va = 0;
  std::uint64_t original = 0;  // of an atomic: what it answered
};
// Whether `h` asks for this again: the atomic, or of the READ the responses from one of them on, or some of those.
bool repeats(const executed_fetch& e, const packet_header& h, unsigned mtu_shift);
// Whether a receive WQE is consumed when this packet arrives at the start (SEND) or the end (immediate) of a message.
bool takes_receive(std::uint8_t opcode);

}  // namespace hcasim
