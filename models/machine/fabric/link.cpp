#include "models/machine/fabric/link.h"

#include <algorithm>
#include <string>
#include <utility>

#include "tlm/base/delegate.h"

namespace hcasim {
namespace {

constexpr std::uint64_t block = 64;
// The ICRC does not cover the lane (LRH) and the congestion bits (BTH), which are among the first bytes on the wire. VCRC does,
// but is not carried. Flips there are not drawn, so the receiver can tell every corrupted packet.
constexpr std::size_t congestion_byte = wire::lrh_bytes + 4;

std::uint32_t blocks_of(const packet& p) {
  return static_cast<std::uint32_t>(ceil_div(p.wire_bytes(), block));
}

unsigned lane_of(const packet& p, unsigned lanes) {
  return p.lane() % lanes;
}

}  // namespace

link::direction::direction(const link_config& config, std::uint64_t seed, const std::string& name)
    : buffer(config.buffer / block * config.virtual_lanes),
      lanes(config.virtual_lanes),
      loss(seed, name + ".loss"),
      corruption(seed, name + ".corruption"),
      duplication(seed, name + ".duplication"),
      delay(seed, name + ".delay") {}

link::link(const sc_core::sc_module_name& module_name, const link_config& config, packet_pool& packets, std::uint64_t seed)
    : unit(module_name),
      config_(config),
      packets_(packets),
      directions_{direction(config, seed, std::string(name()) + ".0"), direction(config, seed, std::string(name()) + ".1")} {
  for (unsigned end = 0; end < 2; ++end) {
    in[end].on<&link::take>(this);
    for (unsigned vl = 0; vl < config_.virtual_lanes; ++vl) {
      lane& l = directions_[end].lanes[vl];
      l.free = static_cast<std::int64_t>(config_.buffer / block);
      l.credits.begin(config_.buffer / block);
      lane_events_.push_back({this, end, vl});
    }
    describe(end);
  }
}

std::uint64_t link::free_blocks(unsigned end, unsigned vl, ps at) const {
  const lane& l = directions_[end].lanes[vl];
  std::int64_t n = l.free;
  for (std::size_t i = 0; i < l.returning.size() && l.returning[i].at <= at; ++i) n += l.returning[i].blocks;
  return static_cast<std::uint64_t>(std::max<std::int64_t>(n, 0));
}

double link::utilisation(unsigned end) const {
  return now().count() == 0 ? 0
                            : static_cast<double>(directions_[end].wire.busy().count()) / static_cast<double>(now().count());
}

tlm::tlm_sync_enum link::take(packet& p, tlm::tlm_phase, ps& t) {
  const unsigned end = p.via == &in[0] ? 0 : 1;
  direction& d = directions_[end];
  const unsigned vl = lane_of(p, config_.virtual_lanes);
  lane& l = d.lanes[vl];
  const std::uint32_t blocks = blocks_of(p);
  if (config_.buffer != 0 && blocks > config_.buffer / block) {
    SC_REPORT_FATAL(name(), "a packet is larger than the lane's receive buffer");
  }
  if (l.queue.empty() && may_start(d, l, blocks, t)) {
    t = transmit(end, vl, p, t);
    return tlm::TLM_COMPLETED;
  }
  l.queue.push({&p, t});
  ++d.stalls;
  d.waiting_packets.set(l.queue.size(), t);
  if (l.queue.size() == 1) wake_for_credits(end, vl);
  return tlm::TLM_ACCEPTED;
}

// Credits that come back while the wire is busy anyway cost nothing. A start that would leave the wire idle for want of credits
// waits instead: other lanes may go first.
bool link::may_start(const direction& d, const lane& l, std::uint32_t blocks, ps t) const {
  return config_.buffer == 0 || credits_at(l, blocks) <= std::max(t, d.wire.free_at());
}

// Returns when the sender will hold `blocks` credits; never = not known yet.
ps link::credits_at(const lane& l, std::uint32_t blocks) const {
  std::int64_t sum = l.free;
  if (sum >= blocks) return ps(0);
  for (std::size_t i = 0; i < l.returning.size(); ++i) {
    sum += l.returning[i].blocks;
    if (sum >= blocks) return l.returning[i].at;
  }
  return never;
}

ps link::transmit(unsigned end, unsigned vl, packet& p, ps t) {
  direction& d = directions_[end];
  lane& l = d.lanes[vl];
  const std::uint32_t blocks = blocks_of(p);
  if (config_.buffer != 0) {
    while (l.free < blocks) l.free += l.returning.pop().blocks;
    l.free -= blocks;
  }
  const ps duration = config_.rate.time_for(p.wire_bytes());
  // A packet that is still arriving must not run dry on its way out.
  const ps start = d.wire.start(t, duration, p.last_bit - duration);
  if (config_.buffer != 0) {
    d.buffer.add(blocks, start);
    l.credits.add(-std::int64_t{blocks}, start);
  }
  d.busy.pulse(vl + 1, start, duration);
  ++d.packets;
  d.bytes += p.wire_bytes();

  const fault asked = filter_ ? filter_(p, end) : fault::none;
  const bool lose = d.loss.chance(config_.loss) || asked == fault::loss || (disturbed_ && swallow());
  const bool flip = d.corruption.chance(config_.corruption) || asked == fault::corruption;
  const bool twice = d.duplication.chance(config_.duplication) || asked == fault::duplication;
  const bool hold = d.delay.chance(config_.delay) || asked == fault::delay;

  ps first = start + config_.propagation;
  ps last = first + duration;
  if (lose) {
    ++d.lost;
    // The next flow control packet tells the receiver's credit counter.
    give_back(d, end, vl, blocks, last + config_.propagation);
    p.last_bit = ps(0);
    packets_.put(p);
    return start + duration;
  }
  if (flip) corrupt(d, p);
  if (twice) {
    ++d.duplicated;
    packet& copy = packets_.get();
    copy = p;
    const ps again = d.wire.start(t, duration);
    d.busy.pulse(vl + 1, again, duration);
    launch(end, vl, copy, 0, again + config_.propagation, again + duration + config_.propagation);
  }
  if (hold) {
    ++d.delayed;
    const ps extra(static_cast<std::int64_t>(d.delay.below(static_cast<std::uint64_t>(config_.max_delay.count()))) + 1);
    first += extra;
    last += extra;
  }
  launch(end, vl, p, blocks, first, last);
  return d.wire.free_at();
}

bool link::swallow() {
  if (down_ != 0 || sides_[0].dark || sides_[1].dark) {
    ++lost_to_faults_;
    return true;
  }
  if (to_lose_ == 0) return false;
  --to_lose_;
  ++lost_to_faults_;
  look();
  return true;
}

void link::end_of_fault() {
  --down_;
  tell();
}

void link::inject(std::size_t kind, const fault_request& r) {
  const std::string_view what = link_fault_kinds.at(kind).name;
  const ps length = r.length > 0_ps ? r.length : config_.retraining;
  if (what == "loss_burst") {
    to_lose_ += r.count;
    look();
  } else if (what == "link_down") {
    ++down_;
    tell();
    queue_.at(now() + length, call<&link::end_of_fault>(this));
  } else if (config_.buffer != 0) {
    for (direction& d : directions_) {
      for (lane& l : d.lanes) lose_credits(l, r, length);
    }
  }
}

// The lane owes the credits: free ones are gone, and ones that come back pay the rest, until the next update has the true
// count.
void link::lose_credits(lane& l, const fault_request& r, ps length) const {
  const auto lost = static_cast<std::uint32_t>(std::min<std::uint64_t>(config_.buffer / block, r.count));
  l.free -= lost;
  l.credits.add(-std::int64_t{lost}, now());
  return_at(l, lost, now() + length);
}

std::uint64_t link::to_come(std::size_t kind) const {
  return link_fault_kinds.at(kind).name == "loss_burst" ? to_lose_ : 0;
}

void link::withdraw() {
  to_lose_ = 0;
  look();
}

void link::power(unsigned end, bool on) {
  if (sides_[end].dark == !on) return;
  sides_[end].dark = !on;
  if (!on) {
    flights_.each_in_use([&](flight& f) { f.cut |= f.end != end || f.p->last_bit > now() + config_.propagation; });
    lose_waiting(end);
  }
  tell();
}

// Loses the packets that wait for credits.
void link::lose_waiting(unsigned end) {
  direction& d = directions_[end];
  for (lane& l : d.lanes) {
    while (!l.queue.empty()) {
      packet& p = *l.queue.pop().p;
      ++d.lost;
      ++lost_to_faults_;
      p.last_bit = ps(0);
      packets_.put(p);
      target_socket<packet>::respond_ahead(p, now());
    }
    d.waiting_packets.set(0, now());
  }
}

// Tells each end whether it sees the link up.
void link::tell() {
  look();
  for (unsigned end = 0; end < 2; ++end) {
    side& s = sides_[end];
    const bool up = down_ == 0 && !sides_[1 - end].dark;
    if (std::exchange(s.told_up, up) == up) continue;
    for (const auto& told : s.listeners) told(up);
  }
}

void link::launch(unsigned end, unsigned vl, packet& p, std::uint32_t blocks, ps first, ps last) {
  p.last_bit = last;
  flight& f = flights_.get();
  f = {this, &p, end, vl, blocks, false};
  queue_.at(early_[1 - end] ? first : last, call_holder<&flight::self, &link::arrive>(f));
}

void link::corrupt(direction& d, packet& p) const {
  ++d.corrupted;
  const std::span<std::byte> bytes = p.raw().subspan(p.head, p.on_wire().size());
  for (;;) {
    const std::uint64_t bit = d.corruption.below(8 * bytes.size());
    const std::size_t at = static_cast<std::size_t>(bit / 8);
    if (at == congestion_byte || (at == 0 && bit >= 4)) continue;
    bytes[at] ^= static_cast<std::byte>(1U << (bit % 8));
    return;
  }
}

void link::arrive(flight& f) {
  packet& p = *f.p;
  if (f.cut) [[unlikely]] {
    ++directions_[f.end].lost;
    ++lost_to_faults_;
    p.last_bit = ps(0);
    packets_.put(p);
    return received(f, now());
  }
  p.waiter = {};
  call_on_response<&flight::self, &link::received>(p, f);
  ps t = now();
  if (out[1 - f.end].send_ahead(p, t) == tlm::TLM_COMPLETED) received(f, t);
}

void link::received(flight& f, ps t) {
  const flight done = f;
  flights_.put(f);
  give_back(directions_[done.end], done.end, done.vl, done.blocks, t + config_.propagation);
}

void link::give_back(direction& d, unsigned end, unsigned vl, std::uint32_t blocks, ps at) {
  if (config_.buffer == 0 || blocks == 0) return;
  lane& l = d.lanes[vl];
  d.buffer.add(-std::int64_t{blocks}, at);
  return_at(l, blocks, at);
  if (!l.queue.empty()) serve(end, vl);
}

void link::return_at(lane& l, std::uint32_t blocks, ps at) {
  l.returning.push({at, blocks});
  l.credits.add(blocks, at);
  for (std::size_t i = l.returning.size() - 1; i > 0 && l.returning[i - 1].at > l.returning[i].at; --i) {
    std::swap(l.returning[i - 1], l.returning[i]);
  }
}

void link::serve(unsigned end, unsigned vl) {
  direction& d = directions_[end];
  lane& l = d.lanes[vl];
  while (!l.queue.empty()) {
    const waiting w = l.queue.front();
    const ps t = now();
    const std::uint32_t blocks = blocks_of(*w.p);
    if (!may_start(d, l, blocks, t)) return wake_for_credits(end, vl);
    l.queue.pop();
    d.waiting_packets.set(l.queue.size(), t);
    d.stall.add(t - w.since);
    const ps sent = transmit(end, vl, *w.p, t);
    target_socket<packet>::respond_ahead(*w.p, sent);
  }
}

void link::on_credits(const lane_event& e) {
  directions_[e.end].lanes[e.vl].armed = never;
  serve(e.end, e.vl);
}

// Serves the lane when the credits for its oldest packet are back, if the time is known.
void link::wake_for_credits(unsigned end, unsigned vl) {
  lane& l = directions_[end].lanes[vl];
  const ps when = credits_at(l, blocks_of(*l.queue.front().p));
  if (when >= l.armed) return;
  l.armed = when;
  queue_.at(when, call_holder<&lane_event::self, &link::on_credits>(lane_events_[end * config_.virtual_lanes + vl]));
}

void link::describe(unsigned end) {
  direction& d = directions_[end];
  const std::string e = "end" + std::to_string(end) + "_";
  const std::string from = " sent from end " + std::to_string(end);
  stats_.add(e + "packets", "packets", "Packets" + from + ", lost ones included.", d.packets);
  stats_.add(e + "bytes", "bytes", "Bytes on the wire" + from + ": LRH to VCRC.", d.bytes);
  stats_.add(e + "lost", "packets", "Packets" + from + " that were lost on purpose.", d.lost);
  stats_.add(e + "corrupted", "packets", "Packets" + from + " that had a bit flipped on purpose.", d.corrupted);
  stats_.add(e + "duplicated", "packets", "Packets" + from + " that arrived twice on purpose.", d.duplicated);
  stats_.add(e + "delayed", "packets", "Packets" + from + " that were held back on purpose.", d.delayed);
  stats_.add(e + "credit_stalls", "packets", "Packets" + from + " that had to wait for credits.", d.stalls);
  stats_.add(e + "credit_stall_time", "ps", "Time that such a packet waited for credits.", d.stall);
  stats_.share(e + "utilisation", "Share of the time that the wire carried packets" + from + ".", d.wire);
  stats_.share(e + "buffer_utilisation", "Share of the receive buffer at the other end that packets" + from + " had taken.",
               d.buffer);
  signals_.add(e + "busy", 4, d.busy);
  signals_.add(e + "waiting", 16, d.waiting_packets);
  for (unsigned vl = 0; vl < config_.virtual_lanes; ++vl) {
    signals_.add(e + "credits_vl" + std::to_string(vl), 24, d.lanes[vl].credits);
  }
}

}  // namespace hcasim
