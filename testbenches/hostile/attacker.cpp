#include "testbenches/hostile/attacker.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>

namespace hcasim::kit {
namespace {

constexpr std::size_t kept_for_replay = 64;
constexpr std::size_t most_held = 8;
constexpr std::uint16_t good_lid = 2;

double resident_mib() {
  double all = 0;
  double resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE)) / (1 << 20);
}

template <class T>
void keep_last(std::deque<T>& d, const T& x, std::size_t most) {
  d.push_back(x);
  if (d.size() > most) d.pop_front();
}

}  // namespace

void prey::begin(std::uint32_t number, std::uint32_t peer, std::uint32_t psn) {
  qpn = number;
  here = peer;
  expected = psn;
  left = 0;
  asked.clear();
  reads.clear();
}

attacker::attacker(hcasim::system& s, const shadow& memory, std::uint64_t seed, hostile_outcome& out)
    : system_(s),
      memory_(memory),
      out_(out),
      random_(seed, "hostile"),
      wire_(s, 0),
      arrivals_(s.at(0).hca.port.responder, [this](const packet& p) { on_arrival(p); }),
      all_(s.cable(0).out.at(0), [this](const packet& p) { on_wire(p); }) {
  wire_.on_answer = [this](const packet& p) { on_answer(p); };
  wire_.on_request = [this](const packet& p) { on_request(p); };
}

attacker::~attacker() {
  wire_.stop();
  for (packet* p : held_) system_.packets().put(*p);
}

void attacker::start(std::uint64_t packets, ps apart) {
  most_ = packets;
  wire_.storm(apart, [this] { return next(); });
}

// What was held back comes last.
void attacker::stop() {
  wire_.stop();
  while (!held_.empty()) {
    wire_.put(*held_.back());
    held_.pop_back();
  }
}

packet* attacker::next() {
  if (done()) {
    out_.grown_mib = resident_mib() - resident_;
    stop();
    return nullptr;
  }
  // In bursts: nothing for a while, then several at once.
  if (random_.chance(0.3)) return nullptr;
  static constexpr attack choices[] = {attack::in_place,     attack::in_place,     attack::in_place, attack::in_place,
                                       attack::in_place,     attack::out_of_place, attack::response, attack::response,
                                       attack::stray,        attack::mutated,      attack::cut,      attack::replayed,
                                       attack::good_replayed};
  packet* last = nullptr;
  for (std::uint64_t n = 1 + random_.below(2); n != 0 && !done(); --n) {
    const attack a = choices[random_.below(std::size(choices))];
    packet* p = attack_with(a);
    if (!p) continue;
    ++out_.sent[static_cast<std::size_t>(a)];
    if (++sent_ == most_ / 4) resident_ = resident_mib();
    if (random_.chance(0.05)) {  // overtaken by what comes next
      held_.push_back(p);
      if (held_.size() <= most_held) continue;
      p = held_.front();
      held_.erase(held_.begin());
    }
    if (last) wire_.put(*last);
    last = p;
  }
  return last;
}

packet* attacker::attack_with(attack a) {
  switch (a) {
    case attack::in_place:
      return &request(some_prey(), true);
    case attack::out_of_place:
      return &request(some_prey(), false);
    case attack::response:
      return &response(some_prey());
    case attack::stray: {
      packet& p = anything();
      static constexpr std::uint32_t odd[] = {0, 1, 0x7fffff, 0xffffff};
      p.header.dest_qpn = static_cast<std::uint32_t>(random_.chance(0.1) ? odd[random_.below(4)] : random_.below(64));
      if (random_.chance(0.3)) p.header.source_lid = static_cast<std::uint16_t>(lid ^ 0xffff);
      encode(p);
      return &p;
    }
    case attack::mutated: {
      packet& p = anything();
      flip(p);
      return &p;
    }
    case attack::cut: {
      packet& p = anything();
      cut(p);
      return &p;
    }
    case attack::replayed:
      return again(own_);
    case attack::good_replayed:
      return again(good_);
  }
  return nullptr;
}

packet& attacker::anything() {
  return random_.chance(0.6) ? request(some_prey(), random_.chance(0.5)) : response(some_prey());
}

// A key and a place: mostly inside of what the key reaches, sometimes over an edge, sometimes anywhere.
void attacker::aim(packet_header& h) {
  const bait& b = baits[random_.below(baits.size())];
  h.rkey = b.key;
  if (random_.chance(0.1))
    h.rkey ^= random_.chance(0.5) ? 1U + static_cast<std::uint32_t>(random_.below(255)) : 1U << random_.below(32);
  h.dma_length = static_cast<std::uint32_t>(random_.below(std::min<std::uint64_t>(b.bytes, 3 * mtu) + 1));
  h.va = b.va + random_.below(b.bytes - h.dma_length + 1);
  if (random_.chance(0.5)) h.va = (h.va + 7) & ~7ULL;
  if (random_.chance(0.15)) h.va = (random_.chance(0.5) ? b.va : b.va + b.bytes - h.dma_length) + random_.below(17) - 8;
  if (random_.chance(0.03)) h.va = random_.next();
  if (random_.chance(0.05)) h.dma_length = static_cast<std::uint32_t>(random_.chance(0.5) ? random_.next() : 4 * mtu + 1);
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
      return q.reads.empty() ? q.expected : q.reads[random_.below(q.reads.size())].header.psn;
    default:
      return static_cast<std::uint32_t>(random_.below(wire::psn_mask + 1));
  }
}

packet& attacker::request(prey& q, bool in_place) {
  static constexpr std::uint8_t opcodes[] = {wire::send_first,   wire::send_middle,    wire::send_last,    wire::send_last_imm,
                                             wire::send_only,    wire::send_only_imm,  wire::write_first,  wire::write_middle,
                                             wire::write_last,   wire::write_last_imm, wire::write_only,   wire::write_only_imm,
                                             wire::write_only,   wire::write_first,    wire::read_request, wire::read_request,
                                             wire::read_request, wire::compare_swap,   wire::fetch_add,    wire::send_last_inv,
                                             wire::send_only_inv};
  const auto transport = static_cast<std::uint8_t>(q.type == IBV_QPT_RC   ? wire::rc
                                                   : q.type == IBV_QPT_UC ? wire::uc
                                                                          : wire::ud);
  std::uint8_t op = opcodes[random_.below(std::size(opcodes))];
  const bool goes_on = in_place && q.left != 0 && random_.chance(0.8);
  if (goes_on) {
    const bool last = q.left <= mtu;
    op = q.writing ? (last ? wire::write_last : wire::write_middle) : (last ? wire::send_last : wire::send_middle);
  } else if (q.type == IBV_QPT_UD) {
    op = random_.chance(0.8) ? wire::send_only : wire::send_only_imm;
  } else if (in_place && random_.chance(0.8)) {
    while (!wire::shape_of(op).first) op = opcodes[random_.below(std::size(opcodes))];
  }
  op |= transport;
  if (random_.chance(0.03) || !wire::shape_of(op).known) op = opcodes[random_.below(std::size(opcodes))];
  packet_header h = wire_.header(op, q.qpn, in_place ? q.expected : any_psn(q), lid);
  const wire::shape& s = h.shape();
  aim(h);
  h.qkey = random_.chance(0.9) ? qkey : static_cast<std::uint32_t>(random_.next());
  h.source_qpn = q.here;
  h.swap_add = random_.next();
  h.compare = random_.next();
  h.immediate = static_cast<std::uint32_t>(random_.next());
  h.invalidate_key = baits[random_.below(baits.size())].key;
  h.ack_request = random_.chance(0.7);
  h.solicited = random_.chance(0.1);
  if (random_.chance(0.02)) h.pkey = static_cast<std::uint16_t>(random_.next());
  if (random_.chance(0.02)) h.source_lid = static_cast<std::uint16_t>(lid ^ 0xff00);
  std::uint32_t payload = 0;
  if (s.payload) {
    if (goes_on) {
      payload = std::min(q.left, mtu);
    } else if (!s.last) {
      payload = mtu;
      h.dma_length = std::max(h.dma_length, mtu + 1);
    } else {
      payload = s.reth ? std::min(h.dma_length, mtu) : static_cast<std::uint32_t>(random_.below(600));
      h.dma_length = payload;
    }
    if (random_.chance(0.1)) payload = static_cast<std::uint32_t>(random_.below(wire::max_payload + 1));
  }
  if (in_place) {  // as if it were executed; answers put it right
    if (goes_on) {
      q.left -= std::min(q.left, payload);
    } else {
      q.left = s.last || !s.payload ? 0 : s.reth ? h.dma_length - mtu : mtu + static_cast<std::uint32_t>(random_.below(mtu));
      q.writing = s.reth;
    }
    q.expected = psn_add(q.expected, psns_of(h, 10));
  }
  packet& p = wire_.make(h, payload);
  if (random_.chance(0.2)) remember(own_, p);
  return p;
}

packet& attacker::response(prey& q) {
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
    if (to.opcode == wire::read_request && index < psns_of(to, 10) && random_.chance(0.6)) {  // the one that it waits for
      const std::uint32_t count = psns_of(to, 10);
      h.opcode = count == 1           ? wire::read_only
                 : index == 0         ? wire::read_first
                 : index + 1 == count ? wire::read_last
                                      : wire::read_middle;
      payload = std::min(mtu, to.dma_length - index * mtu);
    } else if ((to.opcode == wire::fetch_add || to.opcode == wire::compare_swap) && random_.chance(0.6)) {
      h.opcode = wire::atomic_acknowledge;
    }
  }
  h.syndrome = random_.chance(0.9) ? syndromes[random_.below(std::size(syndromes))] : static_cast<std::uint8_t>(random_.next());
  h.msn = static_cast<std::uint32_t>(random_.below(wire::psn_mask + 1));
  h.original = random_.next();
  packet& p = wire_.make(h, h.shape().payload ? payload : 0);
  if (random_.chance(0.2)) remember(own_, p);
  return p;
}

// Of the headers: what the bytes of a payload are, the shadow knows.
void attacker::flip(packet& p) {
  const std::size_t headers = wire::max_header - p.head;
  for (std::uint64_t n = 1 + random_.below(4); n != 0; --n) {
    p.raw()[p.head + random_.below(headers)] ^= static_cast<std::byte>(1U << random_.below(8));
  }
  if (random_.chance(0.8)) seal(p);
}

void attacker::cut(packet& p) {
  const std::uint32_t bytes = p.payload + p.header.pad;
  switch (random_.below(4)) {
    case 0:  // fewer bytes than its LRH says
      if (bytes != 0) p.payload -= static_cast<std::uint32_t>(random_.below(std::min(bytes, p.payload) + 1));
      break;
    case 1:  // more
      p.payload = static_cast<std::uint32_t>(std::min<std::uint64_t>(p.payload + 1 + random_.below(64), wire::max_payload));
      break;
    case 2: {  // its LRH says another length
      const std::uint64_t words = random_.below(0x800);
      p.raw()[p.head + 4] = static_cast<std::byte>(words >> 8);
      p.raw()[p.head + 5] = static_cast<std::byte>(words);
      break;
    }
    default:  // a pad that is not there
      p.raw()[p.head + wire::lrh_bytes + 1] ^= static_cast<std::byte>((1 + random_.below(3)) << 4);
      break;
  }
  if (random_.chance(0.8)) seal(p);
}

void attacker::remember(std::vector<packet>& kept, const packet& p) {
  if (kept.size() < kept_for_replay) {
    kept.push_back(p);
  } else {
    kept[random_.below(kept.size())] = p;
  }
}

packet* attacker::again(const std::vector<packet>& kept) {
  if (kept.empty()) return nullptr;
  packet& p = system_.packets().get();
  p = kept[random_.below(kept.size())];
  p.operation = 0;
  return &p;
}

void attacker::on_wire(const packet& p) {
  if (p.header.source_lid == good_lid && random_.chance(0.1)) remember(good_, p);
}

void attacker::on_arrival(const packet& p) {
  if (p.header.opcode != wire::read_request) return;
  for (prey& q : preys) {
    if (q.qpn == p.header.dest_qpn && q.qpn != 0) keep_last(q.reads, {p.header, now()}, 64);
  }
}

prey* attacker::peer_of(const packet_header& h) {
  const auto found =
      std::find_if(preys.begin(), preys.end(), [&](const prey& q) { return q.here == h.dest_qpn && q.qpn != 0; });
  return found == preys.end() ? nullptr : &*found;
}

void attacker::shown(bool ok, std::uint64_t bytes, const char* what) {
  out_.shown += bytes;
  if (ok) return;
  out_.wrongly_shown += bytes;
  if (violation_.empty()) violation_ = what;
}

void attacker::on_answer(const packet& p) {
  const packet_header& h = p.header;
  if (h.dest_lid != lid) return;
  prey* const q = peer_of(h);
  if (q && h.opcode == wire::acknowledge) {
    const bool refused = h.syndrome != wire::ack_no_credits;
    q->expected = refused ? h.psn : psn_add(h.psn, 1);
    if (refused) q->left = 0;
  }
  if (p.payload == 0) return;
  // One of the READs that have come must allow each of its bytes, and its key must have been one.
  const std::span<const std::byte> bytes(p.data(), p.payload);
  std::vector<key_ledger::use> asked;
  static const std::deque<prey::read> none;
  for (const prey::read& one : q && q->granted ? q->reads : none) {
    const packet_header& r = one.header;
    const std::int64_t offset = std::int64_t{psn_distance(r.psn, h.psn)} * mtu;
    if (offset < 0 || offset >= r.dma_length || p.payload != std::min<std::int64_t>(mtu, r.dma_length - offset)) continue;
    if (!memory_.may_show(r.va + static_cast<std::uint64_t>(offset), bytes)) continue;
    asked.push_back({r.rkey, r.va, r.dma_length, one.arrived, now()});
  }
  shown(!asked.empty(), p.payload, "a READ response carries bytes that no grant showed");
  if (!asked.empty()) keys.note(asked, p.payload);
}

void attacker::on_request(const packet& p) {
  if (p.header.dest_lid != lid) return;
  if (prey* const q = peer_of(p.header)) keep_last(q->asked, p.header, 8);
  const std::span<const std::byte> bytes(p.data(), p.payload);
  shown(std::all_of(bytes.begin(), bytes.end(), shadow::is_public), p.payload, "a request carries bytes that no L_Key showed");
}

}  // namespace hcasim::kit
