#include "models/adapter/port/port.h"

#include <string>
#include <utility>

#include "tlm/base/delegate.h"

namespace hcasim {

port::port(const sc_core::sc_module_name& module_name, const port_config& config, unsigned number, const clock_domain& clock,
           unsigned senders, packet_pool& packets)
    : unit(module_name),
      config_(config),
      number_(number),
      lid_(number == 0 ? config.lid : config.second_lid),
      clock_(clock),
      gid_(hca_port_gid(static_cast<std::uint16_t>(lid_))),
      packets_(packets),
      lanes_(config.virtual_lanes),
      egress_use_(std::uint64_t{config.egress_packets} * config.virtual_lanes) {
  for (unsigned i = 0; i < senders; ++i) {
    sender& s = senders_.emplace_back();
    s.self = this;
    s.index = i;
    egress.emplace_back(("egress_" + std::to_string(i)).c_str()).on<&sender::take>(&s);
  }
  for (lane& l : lanes_) {
    l.self = this;
    l.queues.resize(senders);
  }
  link_in.on<&port::receive>(this);
  describe();
}

tlm::tlm_sync_enum port::send(unsigned from, packet& p, ps& t) {
  const unsigned vl = p.header.service_level % config_.virtual_lanes;
  p.set_lane(vl);
  p.last_bit = ps(0);
  lane& l = lanes_[vl];
  if (l.waiting_packets == 0 && occupancy(l) < config_.egress_packets && egress_pipe_.free_at() <= now()) {
    take(l, p);
    return tlm::TLM_COMPLETED;
  }
  ++egress_waits_;
  ++l.waiting_packets;
  l.queues[from].push({&p, t});
  egress_waiting_.set(l.waiting_packets, t);
  admit_later(l);
  return tlm::TLM_ACCEPTED;
}

std::size_t port::occupancy(lane& l) const {
  while (!l.leaving.empty() && l.leaving.front() <= now()) l.leaving.pop();
  return l.leaving.size() + l.unanswered;
}

// The packet is the port's now; its way to the link takes the latency.
void port::take(lane& l, packet& p) {
  const ps t = egress_pipe_.start(now(), clock_.cycles(config_.egress_interval));
  ++egress_packets_;
  egress_bytes_ += p.wire_bytes();
  egress_opcode_.pulse(p.header.opcode + 1U, t, clock_.period());
  egress_psn_.set(p.header.psn, t);
  ++l.unanswered;
  egress_use_.add(1, t);
  passing& r = passing_.get();
  r = {this, &p, &l, std::exchange(p.departed, {})};
  queue_.at(t + clock_.cycles(config_.egress_latency), call_holder<&passing::self, &port::launch>(r));
}

void port::power(bool on) {
  if (dark_ == !on) return;
  dark_ = !on;
  if (on_power_) on_power_(on);
}

void port::lose(passing& r) {
  packets_.put(*r.p);
  gone(r, now());
}

void port::launch(passing& r) {
  if (dark_) [[unlikely]]
    return lose(r);
  packet& p = *r.p;
  ps t = now();
  if (p.header.dest_lid == lid_) {
    ++loopback_packets_;
    lane& l = *r.from;
    if (r.departed.run) queue_.soon(r.departed);
    passing_.put(r);
    if (deliver(p, t, &l) == tlm::TLM_COMPLETED) sent(l, t);
    return;
  }
  if (p.header.dest_lid >= HCA_MULTICAST_LID) [[unlikely]]
    turn_around(p, t);
  p.waiter = {};
  call_on_response<&passing::self, &port::gone>(p, r);
  if (link_out.send_ahead(p, t) == tlm::TLM_COMPLETED) gone(r, t);
}

void port::turn_around(const packet& p, ps t) {
  ++loopback_packets_;
  packet& own = packets_.get();
  copy(p, own);
  own.last_bit = ps(0);
  deliver(own, t, nullptr, true);
}

// The link has taken a packet, whose last byte leaves at `t`.
void port::gone(passing& r, ps t) {
  if (r.departed.run) queue_.at(t, r.departed);
  lane& l = *r.from;
  passing_.put(r);
  sent(l, t);
}

// Times come in order from the link; packets that turned around may come between.
void port::leave_at(lane& l, ps t) {
  l.leaving.push(t);
  for (std::size_t i = l.leaving.size() - 1; i > 0 && l.leaving[i - 1] > t; --i) std::swap(l.leaving[i - 1], l.leaving[i]);
}

// The link has taken a packet, or its consumer has it; its last byte leaves at `t`.
void port::sent(lane& l, ps t) {
  --l.unanswered;
  leave_at(l, t);
  egress_use_.add(-1, t);
  if (l.waiting_packets != 0) admit_later(l);
}

// Takes waiting packets in while there is room, senders in turns.
void port::admit(lane& l) {
  l.armed = never;
  while (l.waiting_packets != 0 && occupancy(l) < config_.egress_packets && egress_pipe_.free_at() <= now()) {
    while (l.queues[l.turn].empty()) l.turn = (l.turn + 1) % static_cast<unsigned>(l.queues.size());
    const waiting w = l.queues[l.turn].pop();
    l.turn = (l.turn + 1) % static_cast<unsigned>(l.queues.size());
    egress_wait_.add(now() - w.since);
    take(l, *w.p);
    // The packet counts as waiting during the answer: the sender's next packet must not overtake it.
    target_socket<packet>::respond(*w.p, now());
    --l.waiting_packets;
    egress_waiting_.set(l.waiting_packets, now());
  }
  if (l.waiting_packets != 0) admit_later(l);
}

// Looks again when there may be room, and a turn, for the next waiting packet; not at all if only an answer can tell.
void port::admit_later(lane& l) {
  ps when = std::max(egress_pipe_.free_at(), now());
  if (when >= l.armed) return;
  if (occupancy(l) >= config_.egress_packets) {
    if (l.leaving.empty()) return;
    when = std::max(when, l.leaving.front());
  }
  if (when >= l.armed) return;
  l.armed = when;
  queue_.at(when, call_holder<&lane::self, &port::admit>(l));
}

tlm::tlm_sync_enum port::receive(packet& p, tlm::tlm_phase, ps& t) {
  return deliver(p, t, nullptr);
}

// Returns whether the GRH is for this port [H1]; a packet to a group needs a group's LID, GID, GRH and QPN [H4].
bool port::is_for_us(const packet& p) const {
  const packet_header& h = p.header;
  if (!hca_lid_is_group(h.dest_lid)) return p.grh.dest == gid_;
  return h.global && hca_gid_is_group(&p.grh.dest) && h.shape().datagram && h.dest_qpn == wire::group_qpn;
}

port::drop port::check(packet& p, bool from_link) const {
  const std::size_t total = p.sealed_bytes();
  if (!icrc_ok(p, total)) return drop::icrc;
  if (!parse(p, total)) return drop::malformed;
  const packet_header& h = p.header;
  if (h.dest_lid != lid_) {
    const bool own = from_link && h.source_lid == lid_;
    if (own || !hca_lid_is_group(h.dest_lid)) [[unlikely]]
      return drop::wrong_lid;
  }
  if ((h.global || h.dest_lid != lid_) && !is_for_us(p)) [[unlikely]]
    return drop::wrong_gid;
  // The table has one entry, the default partition with full membership: a limited member may talk to it [D1].
  return ((p.header.pkey ^ wire::default_pkey) & 0x7fff) == 0 ? drop::none : drop::bad_pkey;
}

tlm::tlm_sync_enum port::deliver(packet& p, ps& t, lane* looped, bool copied) {
  const ps whole = std::exchange(p.last_bit, ps(0));
  t = ingress_pipe_.start(now(), clock_.cycles(config_.ingress_interval), whole) + clock_.cycles(config_.ingress_latency);
  ++ingress_packets_;
  ingress_bytes_ += p.wire_bytes();
  const drop cause = check(p, !looped && !copied);
  if (cause != drop::none) {
    ++(cause == drop::icrc        ? bad_icrc_
       : cause == drop::malformed ? malformed_
       : cause == drop::wrong_lid ? wrong_lid_
       : cause == drop::wrong_gid ? wrong_gid_
                                  : bad_pkey_);
    drop_cause_.pulse(static_cast<std::uint64_t>(cause), t, clock_.period());
    packets_.put(p);
    return tlm::TLM_COMPLETED;
  }
  ingress_opcode_.pulse(p.header.opcode + 1U, t, clock_.period());
  ingress_psn_.set(p.header.psn, t);
  ingress_qpn_.set(p.header.dest_qpn, t);

  held& h = held_.get();
  h.self = this;
  h.upstream = static_cast<const transaction&>(p);
  h.looped = looped;
  h.copied = copied;
  h.since = never;
  p.port = number_;
  p.waiter = {};
  call_on_response<&held::self, &port::consumed>(p, h);
  h.p = &p;
  queue_.at(t, call_holder<&held::self, &port::hand_over>(h));
  return tlm::TLM_ACCEPTED;
}

void port::hand_over(held& h) {
  packet& p = *h.p;
  h.since = now();
  const bool response = p.header.shape().response;
  ++(response ? to_requester_ : to_responder_);
  held_level_.add(1, now());
  ingress_held_.set(held_level_.value(), now());
  ps t = now();
  if ((response ? requester : responder).send(p, t) == tlm::TLM_COMPLETED) consumed(h, t);
}

// A consumer has answered a packet kept in the receive buffer.
void port::consumed(held& h, ps t) {
  packet& p = *h.p;
  const transaction upstream = h.upstream;
  lane* const looped = h.looped;
  const bool copied = h.copied;
  held_.put(h);
  held_level_.add(-1, t);
  ingress_held_.set(held_level_.value(), t);
  if (looped) return sent(*looped, t);
  if (copied) return;
  static_cast<transaction&>(p) = upstream;
  target_socket<packet>::respond(p, t);
}

void port::describe() {
  stats_.add("egress_packets", "packets", "Packets taken from requester and responder.", egress_packets_);
  stats_.add("egress_bytes", "bytes", "Bytes of these packets on the wire: LRH to VCRC.", egress_bytes_);
  stats_.add("egress_waits", "packets", "Packets that their sender had to keep because their lane was full.", egress_waits_);
  stats_.add("egress_wait", "ps", "Time that such a packet waited to be taken.", egress_wait_);
  stats_.add("loopback_packets", "packets", "Packets to the port's own LID, turned around without the link.",
             loopback_packets_);
  stats_.add("ingress_packets", "packets", "Packets received, bad ones included.", ingress_packets_);
  stats_.add("ingress_bytes", "bytes", "Bytes of these packets on the wire: LRH to VCRC.", ingress_bytes_);
  stats_.add("to_requester", "packets", "Responses handed to the requester.", to_requester_);
  stats_.add("to_responder", "packets", "Requests handed to the responder.", to_responder_);
  stats_.add("dropped_icrc", "packets", "Packets dropped because of their ICRC.", bad_icrc_);
  stats_.add("dropped_malformed", "packets", "Packets dropped because of an unknown opcode or a length that does not fit.",
             malformed_);
  stats_.add("dropped_wrong_lid", "packets", "Packets dropped because they are for another LID.", wrong_lid_);
  stats_.add("dropped_wrong_gid", "packets", "Packets dropped because their GRH is for another port, or for no group.",
             wrong_gid_);
  stats_.add("dropped_bad_pkey", "packets", "Packets dropped because of their P_Key.", bad_pkey_);
  stats_.busy_time("egress_packets_busy", "Share of `egress_packets` of all lanes in use, times the time.", egress_use_);
  stats_.busy_time("egress_busy", "Time that packets were being taken in.", egress_pipe_);
  stats_.busy_time("ingress_busy", "Time that received packets were being checked.", ingress_pipe_);
  stats_.add("held", "packets", "Packets in the receive buffer that requester or responder have not answered.", held_level_,
             "ingress_held");
  signals_.add("egress_opcode_plus_1", 9, egress_opcode_);
  signals_.add("egress_psn", 24, egress_psn_);
  signals_.add("egress_waiting", 16, egress_waiting_);
  signals_.add("ingress_opcode_plus_1", 9, ingress_opcode_);
  signals_.add("ingress_psn", 24, ingress_psn_);
  signals_.add("ingress_qpn", 24, ingress_qpn_);
  signals_.add("ingress_held", 16, ingress_held_);
  signals_.add("drop", 3, drop_cause_, {"none", "icrc", "malformed", "wrong_lid", "bad_pkey", "wrong_gid"});
}

}  // namespace hcasim
