// The requester's decisions, without time: how a message becomes packets, what an acknowledge means, how long timers run.
#pragma once

#include <cstdint>

#include "firmware/abi/context.h"
#include "firmware/abi/cqe.h"
#include "tlm/base/units.h"
#include "tlm/packet.h"
#include "tlm/wqe.h"

namespace hcasim {

// PSNs that a message takes: its request packets, or for a READ its response packets (IBA 9.7.2).
inline std::uint32_t psns_of(const wqe_view& w, unsigned mtu_shift) {
  return w.is_atomic() ? 1 : packets_of(w.length, mtu_shift);
}

// Returns the fault of a request on a QP of this transport (enum hca_transport); HCA_WC_SUCCESS = none. UC has no READs and
// atomics, UD only SENDs of one packet [D.2].
std::uint8_t transport_status(const wqe_view& w, std::uint8_t transport, unsigned mtu_shift);
// Bits 7..5 of its opcodes.
std::uint8_t transport_bits(std::uint8_t transport);

// RC BTH opcode of packet `index` of `count`.
std::uint8_t opcode_of(const wqe_view& w, std::uint32_t index, std::uint32_t count);

// May response `index` of `count` of a READ have this opcode? A repeated request begins its responses anew, so FIRST and ONLY
// may come in the middle of the message; it ends where it ends.
bool answers_read(std::uint8_t opcode, std::uint32_t index, std::uint32_t count);

// Local ACK timeout: 4.096 us * 2^code; 0 = no timer (IBA 9.7.6.1.3).
ps ack_timeout(unsigned code);
// RNR NAK timer field (IBA table 45).
ps rnr_delay(unsigned code);

enum class response_kind : std::uint8_t { ack, rnr, sequence, fatal };
struct response_meaning {
  response_kind kind = response_kind::ack;
  std::uint8_t status = HCA_WC_SUCCESS;  // of the request it names, when fatal
  std::uint8_t timer = 0;                // rnr
};
// Returns the meaning of an AETH syndrome (IBA table 44); an unknown one is a bad response.
response_meaning meaning_of(std::uint8_t syndrome);

}  // namespace hcasim
