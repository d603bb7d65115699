// Responses and acknowledges, to requests that were sent and to none.
#include <algorithm>

#include "testbenches/checks/hostile/attacker.h"

namespace hcasim::kit {

// The next response that it waits for, as it should be or with one thing wrong.
packet& attacker::due(prey& q) {
  const packet_header to = q.due.front();
  const bool atomic = to.shape().atomic;
  const std::uint32_t count = psns_of(to, 10);
  const std::uint32_t index = q.due_index;
  if (++q.due_index >= count) {
    q.due.pop_front();
    q.due_index = 0;
  }
  const std::uint8_t op = atomic ? wire::atomic_acknowledge : read_response(index, count);
  packet_header h = wire_.header(op, q.qpn, psn_add(to.psn, index), lid);
  h.syndrome = wire::ack_no_credits;
  h.original = random_.next();
  std::uint32_t payload = atomic ? 0 : std::min(mtu, to.dma_length - index * mtu);
  switch (random_.below(16)) {
    case 0:
      h.source_lid = static_cast<std::uint16_t>(lid ^ 0xff00);
      break;
    case 1:
      if (!atomic) payload = static_cast<std::uint32_t>(random_.below(payload + 1));
      break;
    case 2:
      h.psn = psn_add(h.psn, 1);
      break;
    case 3:
    case 4:
      h.opcode = read_response(static_cast<std::uint32_t>(random_.below(count)), count);
      if (atomic) payload = 8;
      break;
    default:
      break;
  }
  return answer_to(q, h, payload);
}

packet& attacker::response(prey& q) {
  if (!q.due.empty() && random_.chance(0.5)) return due(q);
  static constexpr std::uint8_t opcodes[] = {wire::acknowledge, wire::acknowledge, wire::acknowledge, wire::read_first,
                                             wire::read_middle, wire::read_last,   wire::read_only,   wire::atomic_acknowledge};
  static constexpr std::uint8_t syndromes[] = {
      wire::ack_no_credits,      wire::ack_no_credits,    wire::ack_no_credits,      0x00, wire::rnr_nak, wire::nak_sequence,
      wire::nak_invalid_request, wire::nak_remote_access, wire::nak_remote_operation};
  packet_header h = wire_.header(opcodes[random_.below(std::size(opcodes))], q.qpn, 0, lid);
  std::uint32_t payload = static_cast<std::uint32_t>(random_.chance(0.6) ? mtu : random_.below(wire::max_payload + 1));
  if (q.asked.empty() || random_.chance(0.1)) {
    h.psn = any_psn(q);
  } else {
    const packet_header& to = q.asked[random_.below(q.asked.size())];
    h.psn =
        psn_add(to.psn, static_cast<std::uint32_t>(random_.chance(0.7) ? random_.below(psns_of(to, 10)) : random_.below(8)));
    const std::uint32_t index = h.psn - to.psn;
    if (is_read(to) && index < psns_of(to, 10) && random_.chance(0.6)) {  // the one that it waits for
      const std::uint32_t count = psns_of(to, 10);
      h.opcode = read_response(index, count);
      if (random_.chance(0.8)) payload = std::min(mtu, to.dma_length - index * mtu);
    } else if (to.shape().atomic && random_.chance(0.6)) {
      h.opcode = wire::atomic_acknowledge;
    }
  }
  h.syndrome = random_.chance(0.9) ? syndromes[random_.below(std::size(syndromes))] : static_cast<std::uint8_t>(random_.next());
  h.msn = static_cast<std::uint32_t>(random_.below(wire::psn_mask + 1));
  h.original = random_.next();
  if (random_.chance(0.05)) h.source_lid = static_cast<std::uint16_t>(lid ^ 0xff00);
  packet& p = answer_to(q, h, h.shape().payload ? payload : 0);
  if (random_.chance(0.2)) remember(own_, p);
  return p;
}

}  // namespace hcasim::kit
