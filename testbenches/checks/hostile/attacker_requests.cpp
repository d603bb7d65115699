// Requests: with a key, a place, a PSN and an opcode that may be right or not, and repetitions.
#include <algorithm>

#include "testbenches/checks/hostile/attacker.h"

namespace hcasim::kit {
namespace {

constexpr std::uint64_t longest_read = 12 * std::uint64_t{attacker::mtu};

unsigned needs_of(std::uint8_t opcode) {
  const std::uint8_t op = opcode & static_cast<std::uint8_t>(~wire::transport_mask);
  if (op == wire::read_request) return IBV_ACCESS_REMOTE_READ;
  if (op == wire::compare_swap || op == wire::fetch_add) return IBV_ACCESS_REMOTE_ATOMIC;
  return wire::shape_of(op).reth ? IBV_ACCESS_REMOTE_WRITE : 0;
}

}  // namespace

// One that allows it, if there is one.
const bait& attacker::choose_bait(unsigned needs) {
  const std::size_t first = random_.below(baits.size());
  for (std::size_t i = 0; i < baits.size(); ++i) {
    const bait& b = baits[(first + i) % baits.size()];
    if (b.access != 0 && (needs & ~b.access) == 0) return b;
  }
  return baits[first];
}

// Mostly one that may go.
std::uint32_t attacker::key_to_invalidate() {
  const std::size_t first = random_.below(baits.size());
  if (random_.chance(0.3)) return baits[first].key;
  for (std::size_t i = 0; i < baits.size(); ++i) {
    const bait& b = baits[(first + i) % baits.size()];
    if (b.may_go) return b.key;
  }
  return baits[first].key;
}

// A key and a place inside of what it reaches.
void attacker::aim(packet_header& h, const bait& b) {
  h.rkey = b.key;
  const std::uint64_t most = is_read(h) ? longest_read : 3 * mtu;
  h.dma_length = static_cast<std::uint32_t>(random_.below(std::min<std::uint64_t>(b.bytes, most) + 1));
  h.va = b.va + random_.below(b.bytes - h.dma_length + 1);
  if (h.shape().atomic) {
    h.va = (h.va + 7) & ~7ULL;
    if (h.va + 8 > b.va + b.bytes) h.va = (b.va + 7) & ~7ULL;
  }
}

// Over an edge, anywhere, too long, by another key.
void attacker::miss(packet_header& h, const bait& b) {
  if (random_.chance(0.3))
    h.rkey ^= random_.chance(0.3)   ? 1U
              : random_.chance(0.3) ? 1U + static_cast<std::uint32_t>(random_.below(255))
                                    : 1U << random_.below(random_.chance(0.5) ? 8 : 32);
  if (random_.chance(0.3)) h.va = (random_.chance(0.5) ? b.va : b.va + b.bytes - h.dma_length) + random_.below(5) - 2;
  if (random_.chance(0.05)) h.va = random_.next();
  if (h.shape().atomic && random_.chance(0.3)) {  // of its word a part is there
    h.va = (random_.chance(0.5) ? b.va - 1 : b.va + b.bytes - 1) & ~7ULL;
  } else if (h.shape().atomic && random_.chance(0.2)) {
    h.va += 1 + random_.below(7);
  }
  if (random_.chance(0.1)) h.dma_length = static_cast<std::uint32_t>(random_.chance(0.5) ? random_.next() : 4 * mtu + 1);
  if (random_.chance(0.1)) h.pkey = static_cast<std::uint16_t>(random_.next());
  if (random_.chance(0.1)) h.source_lid = static_cast<std::uint16_t>(lid ^ 0xff00);
  if (random_.chance(0.2)) h.qkey = static_cast<std::uint32_t>(random_.next());
}

// Another key that reaches these bytes, if there is one.
std::uint32_t attacker::other_key(const packet_header& h) {
  for (const bait& b : baits) {
    if (b.access != 0 && b.key != h.rkey && h.va >= b.va && h.va - b.va < b.bytes) return b.key;
  }
  return choose_bait(IBV_ACCESS_REMOTE_READ).key;
}

// The last READ that has been answered.
packet& attacker::repetition(prey& q) {
  for (auto a = q.came.rbegin(); a != q.came.rend(); ++a) {
    if (a->life == q.here && is_read(a->header) && q.shown.contains(a->header.psn))
      return wire_.make(a->header, 0, 0, a->route);
  }
  return request(q, false);
}

// One of the last READs and atomics that have come, and mostly have been answered, as it was, or with one thing changed.
packet& attacker::variation(prey& q) {
  constexpr std::size_t last = 8;
  const bool earlier = random_.chance(0.1);  // of an earlier life
  const bool answered = !earlier && random_.chance(0.7);
  const bool atomics = random_.chance(0.4);
  std::vector<const prey::arrival*> fetches;
  for (auto a = q.came.rbegin(); a != q.came.rend() && fetches.size() < last; ++a) {
    const packet_header& h = a->header;
    if (!is_read(h) && !h.shape().atomic) continue;
    if ((a->life == q.here) == earlier || h.dma_length > longest_read) continue;
    if (answered && (h.shape().atomic != atomics || !q.shown.contains(h.psn))) continue;
    fetches.push_back(&*a);
  }
  if (fetches.empty()) return request(q, false);
  const prey::arrival& one = *fetches[random_.below(fetches.size())];
  packet_header h = one.header;
  global_route way = one.route;
  h.source_lid = lid;
  switch (random_.below(10)) {
    case 0:
      h.rkey = other_key(h);
      break;
    case 1:
      h.va += 8 * random_.below(9) - 32;
      break;
    case 2:
      h.dma_length += static_cast<std::uint32_t>(random_.below(2 * mtu));
      break;
    case 3:
      h.psn = psn_add(h.psn, 1 + static_cast<std::uint32_t>(random_.below(3)));
      break;
    case 4:
      h.opcode = (h.opcode & wire::transport_mask) | (is_read(h) ? wire::fetch_add : wire::read_request);
      h.dma_length = 8;
      break;
    case 5:
      h.source_lid = static_cast<std::uint16_t>(lid ^ 0xff00);
      break;
    case 6: {  // as one that goes on there
      const bool behind = random_.chance(0.5);
      const auto packets = behind ? psns_of(h, 10) : 1 + static_cast<std::uint32_t>(random_.below(3));
      h.psn = psn_add(h.psn, packets);
      h.va += std::uint64_t{packets} * mtu;
      if (behind && is_read(h)) h.dma_length = 1 + static_cast<std::uint32_t>(random_.below(mtu));
      break;
    }
    case 7:
      lose_way(h, way);
      break;
    default:  // as it was
      break;
  }
  return wire_.make(h, 0, 0, way);
}

std::uint32_t attacker::any_psn(const prey& q) {
  switch (random_.below(6)) {
    case 0:
      return psn_add(q.expected, wire::psn_mask);  // the last one
    case 1:
      return psn_add(q.expected, wire::psn_mask - static_cast<std::uint32_t>(random_.below(16)));
    case 2:
      return psn_add(q.expected, 1 + static_cast<std::uint32_t>(random_.below(16)));
    case 3:
      return psn_add(q.expected, 0x7ffffe + static_cast<std::uint32_t>(random_.below(4)));  // half of all away
    case 4:
      return q.came.empty() ? q.expected : q.came[random_.below(q.came.size())].header.psn;
    default:
      return static_cast<std::uint32_t>(random_.below(wire::psn_mask + 1));
  }
}

// `right`: as a peer may send it.
std::uint8_t attacker::choose_opcode(const prey& q, bool right) {
  static constexpr std::uint8_t opcodes[] = {
      wire::send_first,  wire::send_middle,  wire::send_last,    wire::send_last_imm,  wire::send_only,    wire::send_only_imm,
      wire::write_first, wire::write_middle, wire::write_last,   wire::write_last_imm, wire::write_only,   wire::write_only_imm,
      wire::write_only,  wire::write_first,  wire::read_request, wire::read_request,   wire::read_request, wire::compare_swap,
      wire::fetch_add,   wire::fetch_add,    wire::compare_swap, wire::send_last_inv,  wire::send_only_inv};
  const auto any = [&] { return opcodes[random_.below(std::size(opcodes))]; };
  const std::uint8_t transport = transport_of(q.type);
  std::uint8_t op = any();
  if (q.type == IBV_QPT_UD) {
    op = random_.chance(0.8) ? wire::send_only : wire::send_only_imm;
  } else if (right) {
    const auto usual = [&] {
      const wire::shape& s = wire::shape_of(op | transport);
      return s.known && s.first && !s.invalidate && (needs_of(op) & ~q.access()) == 0;
    };
    while (!usual()) op = any();
  }
  op |= transport;
  return wire::shape_of(op).known && (right || random_.chance(0.9)) ? op : any();
}

packet& attacker::request(prey& q, bool in_place) {
  const bool right = in_place && random_.chance(0.8);
  const bool goes_on = in_place && q.left != 0 && (right || random_.chance(0.5));
  std::uint8_t op = choose_opcode(q, right);
  const bool invalidates = in_place && !right && is_reliable(q.type) && q.left == 0 && random_.chance(0.2);
  if (invalidates) op = transport_of(q.type) | wire::send_only_inv;
  const std::uint8_t transport = op & wire::transport_mask;
  if (goes_on) {
    const bool last = q.left <= mtu;
    op =
        transport | (q.writing ? (last ? wire::write_last : wire::write_middle) : (last ? wire::send_last : wire::send_middle));
  }
  const bait& b = right || random_.chance(0.6) ? choose_bait(needs_of(op)) : baits[random_.below(baits.size())];
  const bool reaches = q.granted && (needs_of(op) & ~b.access) == 0 && b.bytes >= 8;
  if (right && !goes_on && needs_of(op) != 0 && !reaches) op = transport | wire::send_only;
  if (right && b.bytes <= mtu && wire::shape_of(op).reth && !wire::shape_of(op).last && wire::shape_of(op).payload)
    op = transport | wire::write_only;
  packet_header h = wire_.header(op, q.qpn, in_place ? q.expected : any_psn(q), lid);
  const wire::shape& s = h.shape();
  aim(h, b);
  h.qkey = qkey;
  h.source_qpn = q.here;
  h.swap_add = random_.next();
  h.compare = random_.next();
  h.immediate = static_cast<std::uint32_t>(random_.next());
  h.invalidate_key = key_to_invalidate();
  h.ack_request = random_.chance(0.8);
  h.solicited = random_.chance(0.1);
  if (s.payload && !goes_on && s.reth && !s.last && h.dma_length <= mtu) {
    h.dma_length = mtu + 1;
    h.va = b.va;
  }
  if (!right && !invalidates && random_.chance(0.7)) miss(h, b);
  std::uint32_t payload = 0;
  if (s.payload) {
    if (goes_on) {
      payload = std::min(q.left, mtu);
    } else if (!s.last) {
      payload = mtu;
    } else {
      payload = s.reth ? std::min(h.dma_length, mtu) : static_cast<std::uint32_t>(random_.below(mtu + 1));
      h.dma_length = payload;
    }
    if (!right && random_.chance(0.2)) payload = static_cast<std::uint32_t>(random_.below(wire::max_payload + 1));
  }
  if (in_place) {  // as if it were executed; answers put it right
    if (goes_on) {
      q.left -= std::min(q.left, payload);
    } else {
      const auto more = static_cast<std::uint32_t>(1 + random_.below(mtu / 2));
      q.left = s.last || !s.payload ? 0 : s.reth ? h.dma_length - std::min(h.dma_length, mtu) : more;
      q.writing = s.reth;
    }
    q.expected = psn_add(q.expected, psns_of(h, 10));
  }
  packet& p = send_to(q, h, right, payload);
  if (random_.chance(0.2)) remember(own_, p);
  return p;
}

}  // namespace hcasim::kit
