// The responder's decisions about a request packet, without time: message sequence, rights, lengths [D.1, D3..D6].
#pragma once

#include <cstdint>

#include "firmware/abi/access.h"
#include "firmware/abi/context.h"
#include "tlm/packet.h"

namespace hcasim {

enum class request_kind : std::uint8_t { send, write, read, atomic, other };
request_kind kind_of(std::uint8_t opcode);

// Checks [D1]: a request of this QP's transport (enum hca_transport).
bool of_transport(std::uint8_t opcode, std::uint8_t transport);
inline bool is_fetch(std::uint8_t opcode) {
  const request_kind kind = kind_of(opcode);
  return kind == request_kind::read || kind == request_kind::atomic;
}
// Checks [D3]: `opcode` may come while the message `inbound` (send_first, write_first or HCA_INBOUND_NONE) is in progress.
bool in_sequence(std::uint8_t inbound, std::uint8_t opcode);
// Returns the QP right that a request needs [D4]; 0 for SEND.
std::uint32_t right_of(request_kind kind);
// Checks [D6]: an atomic works on 8 aligned bytes.
inline bool atomic_aligned(const packet_header& h) {
  return h.va % 8 == 0;
}
// Checks [D6]: the payload length fits the MTU, the opcode and the rest of the message.
bool length_ok(const packet& p, unsigned mtu_shift, std::uint32_t remaining);
// Returns the opcode of READ response `index` of `count`.
std::uint8_t response_opcode(std::uint32_t index, std::uint32_t count);
// The record of a READ or an atomic that was executed, for a repeated request [D2].
struct executed_fetch {
  std::uint32_t psn = 0;  // of its first response
  std::uint32_t key = 0;
  std::uint32_t length = 0;
  std::uint32_t srqn = 0;  // XRC
  std::uint8_t opcode = 0;
  std::uint64_t va = 0;
  std::uint64_t original = 0;  // of an atomic: the value it returned
};
// Returns whether `h` repeats the atomic, or all or some of the responses of the READ.
bool repeats(const executed_fetch& e, const packet_header& h, unsigned mtu_shift);
// Returns whether this packet, at the start (SEND) or the end (immediate) of a message, consumes a receive WQE.
bool takes_receive(std::uint8_t opcode);

}  // namespace hcasim
