#include "testbenches/checks/hostile/attacker.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <tuple>

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

}  // namespace

attacker::attacker(hcasim::system& s, std::vector<prey>& preys, std::uint64_t seed, hostile_outcome& out)
    : system_(s),
      preys_(preys),
      out_(out),
      random_(seed, "hostile"),
      wire_(s, 0),
      victim_(hca_port_gid(static_cast<std::uint16_t>(s.config().nodes[0].hca.port.lid))),
      all_(s.cable(0).out.at(0), [this](const packet& p) { on_wire(p); }) {
  wire_.on_answer = [this](const packet& p) { on_answer(p); };
  wire_.on_request = [](const packet&) {};
}

attacker::~attacker() {
  wire_.stop();
  for (packet* p : held_) system_.packets().put(*p);
}

void attacker::start(std::uint64_t packets, ps apart) {
  most_ = packets;
  wire_.storm(apart, [this] { return next(); });
}

// Packets that were held back come last.
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
                                       attack::out_of_place, attack::out_of_place, attack::response, attack::response,
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

// Mostly one that hears what is sent, and answers.
prey& attacker::some_prey() {
  const std::size_t first = random_.below(preys_.size());
  if (random_.chance(0.2)) return preys_[first];
  for (std::size_t i = 0; i < preys_.size(); ++i) {
    prey& q = preys_[(first + i) % preys_.size()];
    if (q.connected() && !q.broken && is_reliable(q.type)) return q;
  }
  return preys_[first];
}

packet* attacker::attack_with(attack a) {
  switch (a) {
    case attack::in_place:
      return &request(some_prey(), true);
    case attack::out_of_place:
      for (prey& q : preys_) {
        if (q.nudges != 0) return --q.nudges, &repetition(q);
      }
      return random_.chance(0.6) ? &variation(some_prey()) : &request(some_prey(), false);
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
  prey& q = some_prey();
  if (random_.chance(0.4)) return response(q);
  const auto before = std::tuple(q.expected, q.left, q.writing);  // it does not come as it is
  packet& p = request(q, random_.chance(0.5));
  std::tie(q.expected, q.left, q.writing) = before;
  return p;
}

// Flips bits of the headers only: the shadow knows the bytes of a payload.
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

void attacker::on_answer(const packet& p) {
  const packet_header& h = p.header;
  if (h.dest_lid != lid || kind_bits(h.opcode) != wire::acknowledge) return;
  for (prey& q : preys_) {
    if (q.here != h.dest_qpn || q.here == 0) continue;
    const bool refused = h.syndrome != wire::ack_no_credits;
    q.expected = refused ? h.psn : psn_add(h.psn, 1);
    if (refused) q.left = 0;
    q.broken |= h.syndrome == wire::nak_invalid_request || h.syndrome == wire::nak_remote_access ||
                h.syndrome == wire::nak_remote_operation;
  }
}

}  // namespace hcasim::kit
