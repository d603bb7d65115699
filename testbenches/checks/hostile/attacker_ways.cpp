// Targets and senders in a packet: LID and GRH, a group, an SRQ.
#include "testbenches/checks/hostile/attacker.h"

namespace hcasim::kit {

global_route attacker::way_to(const hca_gid& dest) {
  return {.source = hca_port_gid(lid),
          .dest = dest,
          .flow = static_cast<std::uint32_t>(random_.next()) & 0xfffffff,
          .hop_limit = static_cast<std::uint8_t>(random_.next())};
}

// A request: as its QP hears it, if it is to be right.
packet& attacker::send_to(prey& q, packet_header h, bool right, std::uint32_t payload) {
  global_route way = way_to(victim_);
  h.global = q.type == IBV_QPT_UD ? random_.chance(0.5) : q.global;
  // All packets of a message name the same; what WRITEs, READs and atomics reach is of the first one's PD.
  const bool keyed = h.shape().reth || h.shape().atomic;
  if (h.shape().first) q.srqn = q.srqns[keyed && (right || random_.chance(0.7)) ? 0 : random_.below(2)];
  h.srqn = q.srqn;
  if (q.type == IBV_QPT_UD && random_.chance(0.5)) {
    const std::size_t group = random_.below(groups);
    h.dest_lid = group_lids[group];
    h.dest_qpn = wire::group_qpn;
    h.global = true;
    way.dest = group_gid(group);
  }
  if (!right && h.shape().xrc && random_.chance(0.3)) h.srqn = preys_[random_.below(preys_.size())].srqns[0];
  if (!right && random_.chance(0.3)) lose_way(h, way);
  return wire_.make(h, payload, random_.next(), way);
}

packet& attacker::answer_to(const prey& q, packet_header h, std::uint32_t payload) {
  global_route way = way_to(victim_);
  h.global = q.global;
  if (random_.chance(0.95)) h.opcode |= transport_of(q.type);
  if (random_.chance(0.05)) lose_way(h, way);
  return wire_.make(h, payload, random_.next(), way);
}

void attacker::lose_way(packet_header& h, global_route& way) {
  hca_gid& one = random_.chance(0.5) ? way.source : way.dest;
  switch (random_.below(8)) {
    case 0:
      h.global = !h.global;
      break;
    case 1:  // a bit, or what it has besides its prefix
      one.byte[random_.below(16)] ^= static_cast<std::uint8_t>(1U << random_.below(8));
      break;
    case 2:
      one = random_.chance(0.5) ? group_gid(random_.below(groups)) : hca_port_gid(1);
      break;
    case 3:
      h.dest_lid = random_.chance(0.5) ? group_lids[random_.below(groups)] : static_cast<std::uint16_t>(random_.next());
      break;
    case 4:
      h.dest_qpn = wire::group_qpn;
      break;
    case 5:  // any, or none
      h.srqn = static_cast<std::uint32_t>(random_.below(64));
      break;
    case 6:
      h.opcode ^= static_cast<std::uint8_t>(random_.chance(0.5) ? wire::xrc : wire::uc);
      break;
    default:
      h.source_lid = static_cast<std::uint16_t>(random_.next());
      break;
  }
}

}  // namespace hcasim::kit
