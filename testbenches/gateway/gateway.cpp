#include "testbenches/gateway/gateway.h"

#include <string>

#include "tlm/roce/crossing.h"

namespace hcasim::gateway {
namespace {

constexpr ps ask_again = 10_ms;
constexpr ps patience = 1'000_ms;           // for a host that does not answer ARP
constexpr std::size_t most_unheard = 1024;  // packets waiting for ARP
constexpr int most_frames = 256;            // between two looks at the clock
constexpr std::uint8_t level_shift = 4;     // the service level stands in the type of service's upper half

std::uint16_t source_port(const packet_header& h) {
  constexpr std::uint16_t dynamic = 0xc000;
  return static_cast<std::uint16_t>(dynamic | ((h.dest_qpn ^ h.source_lid) & 0x3fff));
}

}  // namespace

router::router(const sc_core::sc_module_name& n, const gateway_config& config, const network& hosts, unsigned lanes,
               outside& world, packet_pool& packets)
    : unit(n), config_(config), hosts_(hosts), lanes_(lanes), world_(world), packets_(packets), pacer_(config.pace) {
  in.on<&router::take>(this);
  stats_.add("left", "packets", "packets of the fabric that left as frames", left_);
  stats_.add("left_bytes", "B", "bytes of these frames", left_bytes_);
  stats_.add("entered", "packets", "frames that entered the fabric as packets", entered_);
  stats_.add("entered_bytes", "B", "bytes of these frames", entered_bytes_);
  stats_.add("arp_answers", "frames", "ARP requests for a node's address that were answered", arp_answers_);
  for (std::size_t k = 0; k < kinds; ++k) {
    const std::string name(to_text(static_cast<frame_kind>(k)));
    stats_.add("frames_" + name, "frames", "frames from outside that were read as: " + name, frames_[k]);
  }
  stats_.add("lost_no_host", "packets", "packets to an LID that stands for no host outside", no_host_);
  stats_.add("lost_unresolved", "packets", "packets to a host that did not answer when asked for its address", unresolved_);
  stats_.add("lost_damaged", "packets", "packets of the fabric whose ICRC was wrong", damaged_);
  stats_.add("lost_leaving", "packets", "packets that found the queue to the outside full", overflow_out_);
  stats_.add("lost_refused", "packets", "frames that the system did not take", refused_);
  stats_.add("lost_not_ours", "frames", "packets from outside to no node, or to the wrong address of one", not_ours_);
  stats_.add("lost_no_peer", "frames", "packets from outside that come from no host of the network", no_peer_);
  stats_.add("lost_malformed", "frames", "packets from outside, intact, that no adapter could have sent", malformed_);
  stats_.add("lost_entering", "frames", "packets from outside that found the queue to the fabric full", overflow_in_);
  stats_.total("lost_socket", "frames", "frames that the socket had no room for",
               [this](ps) { return static_cast<double>(world_.overflowed()); });
  stats_.add("lag", "ps", "how far simulated time was behind the wall clock, at each look outside", lag_);
  stats_.total("slipped", "ps", "wall-clock time that simulated time gave up catching up",
               [this](ps) { return static_cast<double>(pacer_.slipped().count()); });
  signals_.add("entering", 16, entering_packets_);
  signals_.add("leaving", 16, leaving_packets_);
}

std::uint64_t router::frames() const {
  std::uint64_t all = 0;
  for (const counter& c : frames_) all += c.value();
  return all;
}

std::uint64_t router::lost_in() const {
  return not_ours_.value() + no_peer_.value() + malformed_.value() + overflow_in_.value();
}
std::uint64_t router::lost_out() const {
  return no_host_.value() + unresolved_.value() + damaged_.value() + overflow_out_.value() + refused_.value();
}

void router::list_waiting(waiting_list& list) const {
  if (entering_.empty()) return;
  list.add({.kind = "frame at the gateway",
            .text = "for the fabric, " + std::to_string(entering_.size() - 1) + " behind it",
            .since = never,
            .at = spot("entry"),
            .waits_for = {out.target()}});
}

void router::begin(std::function<bool()> turn) {
  turn_ = std::move(turn);
  queue_.soon({[](void* self) { static_cast<router*>(self)->step(); }, this});
}

void router::step() {
  for (int i = 0; i < most_frames; ++i) {
    const auto arrival = world_.receive();
    if (!arrival) break;
    receive(*arrival);
  }
  forget_old();
  if (!turn_()) return;
  const ps rest = pacer_.wait_at_most(now(), world_.wall(), std::exchange(busy_, false));
  lag_.add(pacer_.lag());
  if (rest > ps(0)) world_.wait(rest);
  queue_.at(pacer_.next_step(now(), world_.wall()), {[](void* self) { static_cast<router*>(self)->step(); }, this});
}

void router::receive(const outside::arrival& a) {
  const parsed p = read_frame(a.frame);
  ++frames_[static_cast<std::size_t>(p.what)];
  if (p.what == frame_kind::roce) enter(p, a.from);
  if (p.what == frame_kind::arp_request || p.what == frame_kind::arp_reply) hear_arp(p, a.from);
}

void router::hear_arp(const parsed& p, outside::remote from) {
  if (!hosts_.contains(p.from.ip) || hosts_.is_node(p.from.ip)) return;
  const bool about_node = hosts_.is_node(p.to.ip);
  if (about_node) learn(p.from, from);
  if (p.what != frame_kind::arp_request || !about_node) return;
  std::array<std::byte, arp_bytes> answer;
  write_arp(answer, false, {hosts_.mac_of(p.to.ip), p.to.ip}, p.from);
  if (world_.send(answer, from)) ++arp_answers_;
}

void router::learn(const endpoint& who, outside::remote from) {
  const bool news = !neighbours_.of(who.ip).known;
  neighbours_.learn(who.ip, who.mac, from);
  if (news) release(who.ip);
}

void router::ask_for(ip_address who) {
  neighbours::host& h = neighbours_.of(who);
  if (h.asked != never && now() - h.asked < ask_again) return;
  h.asked = now();
  const ip_address node = hosts_.node(0);
  std::array<std::byte, arp_bytes> question;
  write_arp(question, true, {hosts_.mac_of(node), node}, {{}, who});
  for (outside::remote r = 0; r < world_.remotes(); ++r) world_.send(question, r);
}

void router::enter(const parsed& p, outside::remote from) {
  if (!hosts_.is_node(p.to.ip) || p.to.mac != hosts_.mac_of(p.to.ip)) {
    ++not_ours_;
    return;
  }
  const std::uint16_t lid = hosts_.lid_of(p.from.ip);
  if (lid == 0 || hosts_.is_node(p.from.ip)) {
    ++no_peer_;
    return;
  }
  learn(p.from, from);
  const std::uint64_t bytes = p.transport.size();
  if (entering_bytes_ + bytes > config_.queue) {
    ++overflow_in_;
    return;
  }
  packet& q = packets_.get();
  const auto level = static_cast<std::uint8_t>(p.service >> level_shift);
  if (!to_fabric(q, {lid, hosts_.lid_of(p.to.ip), level, static_cast<std::uint8_t>(level % lanes_)}, p.transport)) {
    ++malformed_;
    packets_.put(q);
    return;
  }
  busy_ = true;
  entering_.push(&q);
  entering_bytes_ += bytes;
  entered_bytes_ += front_bytes + bytes + crc_bytes;
  entering_packets_.set(entering_.size(), now());
  if (!sending_) send_next();
}

// The link answers when it has taken the packet, which may be later than now.
void router::send_next() {
  constexpr auto taken = [](void* self, transaction&, ps t) {
    auto& r = *static_cast<router*>(self);
    event_queue::instance().at(std::max(t, now()), {[](void* again) { static_cast<router*>(again)->send_next(); }, &r});
  };
  sending_ = !entering_.empty();
  if (!sending_) return;
  packet& p = *entering_.pop();
  entering_bytes_ -= transport_of(p).size();
  entering_packets_.set(entering_.size(), now());
  ++entered_;
  p.last_bit = ps(0);
  p.operation = 0;
  p.tag = 0;
  p.holder = nullptr;
  p.departed = {};
  p.waiter = {};
  p.context = this;
  p.on_response = taken;
  ps t = now();
  if (out.send_ahead(p, t) == tlm::TLM_COMPLETED) taken(this, p, t);
}

tlm::tlm_sync_enum router::take(packet& p, tlm::tlm_phase, ps&) {
  busy_ = true;
  if (!icrc_ok(p, p.on_wire().size())) {
    ++damaged_;
    packets_.put(p);
    return tlm::TLM_COMPLETED;
  }
  if (leaving_bytes_ + p.wire_bytes() > config_.queue) {
    ++overflow_out_;
    packets_.put(p);
    return tlm::TLM_COMPLETED;
  }
  leaving_.push(&p);
  leaving_bytes_ += p.wire_bytes();
  leaving_packets_.set(leaving_.size(), now());
  if (leaving_.size() == 1 && !serving_) serve();
  return tlm::TLM_ACCEPTED;
}

void router::serve() {
  serving_ = true;
  const std::uint64_t bytes = front_bytes + transport_of(*leaving_.front()).size() + crc_bytes;
  queue_.at(now() + config_.rate.time_for(bytes), {[](void* self) { static_cast<router*>(self)->leave(); }, this});
}

void router::leave() {
  serving_ = false;
  packet& p = *leaving_.pop();
  leaving_bytes_ -= p.wire_bytes();
  leaving_packets_.set(leaving_.size(), now());
  target_socket<packet>::respond(p, now());  // the gateway owns the packet from here on
  if (emit(p)) {
    packets_.put(p);
  } else {
    hold(p);
  }
  if (!leaving_.empty() && !serving_) serve();  // the answer may have brought the next one, and begun with it
}

bool router::emit(const packet& p) {
  const auto from = hosts_.ip_of(p.header.source_lid);
  const auto to = hosts_.ip_of(p.header.dest_lid);
  const std::span<const std::byte> transport = transport_of(p);
  if (!from || !to || hosts_.is_node(*to) || transport.empty()) {
    ++no_host_;
    return true;
  }
  const neighbours::host& h = neighbours_.of(*to);
  if (!h.known) return false;
  const auto service = static_cast<std::uint8_t>(p.header.service_level << level_shift);
  const std::size_t n =
      write_roce(frame_, {{hosts_.mac_of(*from), *from}, {h.mac, *to}, service, source_port(p.header)}, transport);
  if (!world_.send(std::span(frame_).first(n), h.at)) {
    ++refused_;
    return true;
  }
  ++left_;
  left_bytes_ += n;
  return true;
}

void router::hold(packet& p) {
  const ip_address to = hosts_.ip_of(p.header.dest_lid).value();
  ask_for(to);
  if (unheard_.size() < most_unheard) return unheard_.push({&p, to, now()});
  ++unresolved_;
  packets_.put(p);
}

void router::release(ip_address who) {
  for (std::size_t left = unheard_.size(); left > 0; --left) {
    const held h = unheard_.pop();
    if (h.to != who) {
      unheard_.push(h);
      continue;
    }
    emit(*h.p);
    packets_.put(*h.p);
  }
}

void router::forget_old() {
  while (!unheard_.empty() && now() - unheard_.front().since > patience) {
    ++unresolved_;
    packets_.put(*unheard_.pop().p);
  }
  if (!unheard_.empty()) ask_for(unheard_.front().to);
}

}  // namespace hcasim::gateway
