#include "models/machine/fabric/ib_switch.h"

#include <string>

#include "models/machine/fabric/link.h"
#include "tlm/base/delegate.h"

namespace hcasim {
namespace {

constexpr std::uint16_t no_port = 0xffff;
constexpr std::size_t unicast_lids = HCA_MULTICAST_LID;
constexpr std::size_t multicast_lids = HCA_PERMISSIVE_LID - HCA_MULTICAST_LID;

// Returns the destination LID from the LRH on the wire.
std::uint16_t dest_lid(const packet& p) {
  const auto lrh = p.lrh();
  return static_cast<std::uint16_t>(std::to_integer<unsigned>(lrh[2]) << 8 | std::to_integer<unsigned>(lrh[3]));
}
unsigned service_level(const packet& p) {
  return std::to_integer<unsigned>(p.lrh()[1] >> 4);
}

}  // namespace

ib_switch::ib_switch(const sc_core::sc_module_name& module_name, const switch_config& config, unsigned ports,
                     packet_pool& packets)
    : unit(module_name), config_(config), packets_(packets), routes_(unicast_lids, no_port) {
  for (unsigned i = 0; i < ports; ++i) {
    const std::string n = std::to_string(i);
    input& from = inputs_.emplace_back();
    from.self = this;
    from.port = i;
    in.emplace_back(("in_" + n).c_str()).on<&input::take>(&from);
    out.emplace_back(("out_" + n).c_str());
    output& o = outputs_.emplace_back();
    o.self = this;
    o.port = i;
    o.lanes.resize(config_.virtual_lanes);
    for (lane& l : o.lanes) {
      l.self = this;
      l.owner = &o;
    }
    describe(o);
  }
  stats_.add("forwarded", "packets", "Packets passed on to an output.", forwarded_);
  stats_.add("dropped_no_route", "packets", "Packets dropped because no route leads to their destination LID.", no_route_);
  stats_.add("replicated", "packets", "Copies made of multicast packets.", replicated_);
  stats_.add("held", "packets", "Packets that waited in an input buffer because their output queue was full.", held_packets_);
  signals_.add("dropped_lid", 16, dropped_lid_);
}

void ib_switch::attach(unsigned port, link& l, unsigned end) {
  out[port].bind(l.in[end]);
  l.out[end].bind(in[port]);
  if (config_.mode == forwarding::cut_through) l.deliver_early(end);
}

void ib_switch::set_route(std::uint16_t lid, unsigned port) {
  if (lid >= unicast_lids || port >= outputs_.size())
    SC_REPORT_FATAL(name(), "a route needs a unicast LID and a port that exists");
  routes_[lid] = static_cast<std::uint16_t>(port);
}

void ib_switch::set_member(std::uint16_t lid, unsigned port, bool joins) {
  if (!hca_lid_is_group(lid) || port >= outputs_.size())
    SC_REPORT_FATAL(name(), "a member needs a multicast LID and a port that exists");
  if (members_.empty()) members_.resize(multicast_lids);
  std::vector<std::uint32_t>& groups = members_[lid - HCA_MULTICAST_LID];
  if (groups.empty()) groups.resize(outputs_.size());
  if (joins) {
    ++groups[port];
  } else if (groups[port] != 0) {
    --groups[port];
  }
}

tlm::tlm_sync_enum ib_switch::drop(packet& p, std::uint16_t lid, ps t) {
  ++no_route_;
  dropped_lid_.pulse(lid, t, 1_ns);
  p.last_bit = ps(0);
  packets_.put(p);
  return tlm::TLM_COMPLETED;
}

tlm::tlm_sync_enum ib_switch::take(packet& p, unsigned from, tlm::tlm_phase, ps& t) {
  const std::uint16_t lid = dest_lid(p);
  if (lid >= unicast_lids) [[unlikely]]
    return replicate(p, from, t);
  const std::uint16_t port = routes_[lid];
  if (port == no_port) return drop(p, lid, t);
  return forward(outputs_[port], p, t, nullptr) ? tlm::TLM_COMPLETED : tlm::TLM_ACCEPTED;
}

tlm::tlm_sync_enum ib_switch::replicate(packet& p, unsigned from, ps& t) {
  const std::uint16_t lid = dest_lid(p);
  const bool known = hca_lid_is_group(lid) && !members_.empty() && !members_[lid - HCA_MULTICAST_LID].empty();
  replication& r = replications_.get();
  r = {&p, 1};  // 1: outputs are still to be tried
  const ps begin = t;
  const ps whole = std::max(t, p.last_bit);
  bool any = false;
  for (unsigned port = 0; known && port < outputs_.size(); ++port) {
    if (port == from || members_[lid - HCA_MULTICAST_LID][port] == 0) continue;
    packet& copied = packets_.get();
    copy(p, copied);
    ++replicated_;
    ++r.left;
    any = true;
    ps at = begin;
    if (forward(outputs_[port], copied, at, &r)) --r.left;
  }
  if (--r.left != 0) return tlm::TLM_ACCEPTED;
  replications_.put(r);
  if (!any) return drop(p, lid, t);
  p.last_bit = ps(0);
  packets_.put(p);
  t = whole;
  return tlm::TLM_COMPLETED;
}

// Puts the packet into an output queue; false = the queue is full, and the packet stays in its input buffer.
bool ib_switch::forward(output& o, packet& p, ps& t, replication* copy_of) {
  const unsigned vl = service_level(p) % config_.virtual_lanes;
  p.set_lane(vl);
  lane& l = o.lanes[vl];
  const ps whole = std::max(t, p.last_bit);
  const ps ready = (config_.mode == forwarding::cut_through ? t : whole) + config_.latency;
  p.last_bit = whole + config_.latency;
  const queued q{&p, ready, t, p.wire_bytes(), copy_of};
  o.queue_level.add(1, now());
  if (!l.held.empty() || !fits(l, q.bytes)) {
    ++held_packets_;
    l.held.push(q);
    return false;
  }
  enqueue(o, l, q);
  t = whole;
  return true;
}

bool ib_switch::fits(const lane& l, std::uint32_t bytes) const {
  return config_.queue == 0 || l.bytes == 0 || l.bytes + bytes <= config_.queue;
}

void ib_switch::enqueue(output& o, lane& l, const queued& q) {
  l.queue.push(q);
  l.bytes += q.bytes;
  ++o.packets_queued;
  o.occupancy.set(o.packets_queued, now());
  if (!l.blocked) arm(o, std::max({o.free_at, l.queue.front().ready, now()}));
}

// Lanes take turns; a lane whose front packet is not ready or has no credits is skipped.
void ib_switch::arbitrate(output& o) {
  while (o.packets_queued != 0) {
    if (o.free_at > now()) return arm(o, o.free_at);
    ps next = never;
    lane* chosen = nullptr;
    const auto lanes = static_cast<unsigned>(o.lanes.size());
    for (unsigned i = 0; i < lanes && !chosen; ++i) {
      lane& l = o.lanes[(o.turn + i) % lanes];
      if (l.queue.empty() || l.blocked) continue;
      if (l.queue.front().ready <= now()) {
        chosen = &l;
        o.turn = (o.turn + i + 1) % lanes;
      } else {
        next = std::min(next, l.queue.front().ready);
      }
    }
    if (!chosen) {
      if (next != never) arm(o, next);
      return;
    }
    send(o, *chosen);
  }
}

void ib_switch::send(output& o, lane& l) {
  const ps start = now();
  const queued& q = l.queue.front();
  packet& p = *q.p;
  p.waiter = {};
  call_on_response<&lane::self, &ib_switch::sent>(p, l);
  ++forwarded_;
  ++o.packets;
  o.bytes += q.bytes;
  ps t = start;
  if (out[o.port].send_ahead(p, t) == tlm::TLM_COMPLETED) {
    o.free_at = t;
    o.busy.pulse(1, start, t - start);
    leave(l);
  } else {
    l.blocked = true;
  }
}

// The link had no credits at first and has taken the front packet now; its last byte leaves at `t`.
void ib_switch::sent(lane& l, ps t) {
  output& o = *l.owner;
  l.blocked = false;
  o.free_at = std::max(o.free_at, t);
  leave(l);
  arbitrate(o);
}

void ib_switch::leave(lane& l) {
  output& o = *l.owner;
  const queued q = l.queue.pop();
  l.bytes -= q.bytes;
  --o.packets_queued;
  o.wait.add(now() - q.entered);
  o.queue_level.add(-1, now());
  o.occupancy.set(o.packets_queued, now());
  if (!l.held.empty()) admit(l);
}

void ib_switch::admit(lane& l) {
  while (!l.held.empty() && fits(l, l.held.front().bytes)) {
    // The answer comes first: the packet is on one binding at a time. The packet stays listed meanwhile, so no other overtakes
    // it.
    const queued q = l.held.front();
    moved(q);
    l.held.pop();
    enqueue(*l.owner, l, q);
  }
}

// The packet has left the input buffer.
void ib_switch::moved(const queued& q) {
  const ps when = std::max({now(), q.entered, q.p->last_bit - config_.latency});
  if (!q.copy_of) return target_socket<packet>::respond_ahead(*q.p, when);
  if (--q.copy_of->left != 0) return;
  packet& original = *q.copy_of->original;
  replications_.put(*q.copy_of);
  original.last_bit = ps(0);
  target_socket<packet>::respond_ahead(original, when);
  packets_.put(original);
}

void ib_switch::wake(output& o) {
  o.armed = never;
  arbitrate(o);
}

void ib_switch::arm(output& o, ps when) {
  if (when >= o.armed) return;
  o.armed = when;
  queue_.at(when, call_holder<&output::self, &ib_switch::wake>(o));
}

void ib_switch::describe(output& o) {
  const std::string n = "port" + std::to_string(o.port) + "_";
  const std::string at = " at output " + std::to_string(o.port);
  stats_.add(n + "packets", "packets", "Packets sent" + at + ".", o.packets);
  stats_.add(n + "bytes", "bytes", "Bytes sent" + at + ": LRH to VCRC.", o.bytes);
  stats_.add(n + "queue", "packets", "Packets waiting" + at + ".", o.queue_level);
  stats_.add(n + "wait", "ps", "Time from its arrival to the first byte on the wire" + at + ".", o.wait);
  signals_.add(n + "queue", 16, o.occupancy);
  signals_.add(n + "busy", 1, o.busy);
}

}  // namespace hcasim
