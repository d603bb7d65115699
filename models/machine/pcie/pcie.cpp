#include "models/machine/pcie/pcie.h"

#include <algorithm>
#include <bit>
#include <stdexcept>

#include "tlm/base/border.h"

namespace hcasim {
namespace {

void check(const pcie_config& c) {
  const auto power = [](std::uint64_t v) { return std::has_single_bit(v); };
  if (!power(c.mps) || !power(c.mrrs) || !power(c.rcb) || (c.completion_payload && !power(c.completion_payload)))
    throw std::invalid_argument("pcie: mps, mrrs, rcb and completion_payload must be powers of two");
  if (c.generation < 1 || c.generation > 6 || c.lanes < 1) throw std::invalid_argument("pcie: no such generation or width");
  if (c.completion_payload && (c.completion_payload < c.rcb || c.completion_payload > c.mps))
    throw std::invalid_argument("pcie: completion_payload must lie between rcb and mps");
  if (c.posted_data * credit_bytes < c.mps || c.device_posted_data * credit_bytes < c.mps)
    throw std::invalid_argument("pcie: data credits must hold one TLP of mps");
}

}  // namespace

pcie::lane::lane(const pcie_config& c, const char* up_name, const char* down_name)
    : sockets(up_name, down_name),
      posted_headers(c.posted_headers),
      posted_data(c.posted_data),
      nonposted_headers(c.nonposted_headers),
      device_posted_headers(c.device_posted_headers),
      device_posted_data(c.device_posted_data),
      device_nonposted_headers(c.device_nonposted_headers),
      completion_room(c.completion_bytes) {}

pcie::pcie(const sc_core::sc_module_name& n, const pcie_config& config, unsigned devices)
    : unit(n), config_(config), map_(config.memory_top) {
  check(config);
  rate_ = config.rate();
  most_ = config.most_of_a_completion();
  cpu.register_nb_transport_fw(this, &pcie::from_host);
  cpu.register_transport_dbg(this, &pcie::host_debug);
  memory.register_nb_transport_bw(this, &pcie::backward);
  interrupts.register_nb_transport_bw(this, &pcie::backward);
  for (unsigned i = 0; i < devices; ++i) {
    const std::string base = "device" + std::to_string(i);
    lanes_.push_back(std::make_unique<lane>(config, (base + "_up").c_str(), (base + "_down").c_str()));
    lanes_.back()->owner = this;
    port& p = lanes_.back()->sockets;
    p.up.register_nb_transport_fw(this, &pcie::from_device, static_cast<int>(i));
    p.up.register_transport_dbg(this, &pcie::device_debug, static_cast<int>(i));
    p.down.register_nb_transport_bw(this, &pcie::device_backward, static_cast<int>(i));
    own(p.up);
    own(p.down);
    describe(i);
  }
  own(cpu);
  own(memory);
  own(interrupts);
  if (config.has_switch) {
    describe_direction("root_up", root_up_);
    describe_direction("root_down", root_down_);
  }
  stats_.add("mmio_writes", "1", "register writes by host software", mmio_writes_);
  stats_.add("mmio_reads", "1", "register reads by host software", mmio_reads_);
  stats_.add("mmio_errors", "1", "register accesses to no device", mmio_errors_);
}

pcie::~pcie() = default;

void pcie::end_of_elaboration() {
  memory_abroad_ = leads_abroad(memory);
  for (const auto& l : lanes_) {
    l->up_abroad = leads_abroad(l->sockets.up);
    l->down_abroad = leads_abroad(l->sockets.down);
  }
}

void pcie::map_bar(unsigned device, std::uint64_t base, std::uint64_t size, std::uint64_t offset) {
  if (device >= devices() || !map_.add(device, base, size, offset))
    throw std::invalid_argument("pcie: a BAR is empty, overlaps another one or has no device");
}

// ---- from the initiators

pcie::burst& pcie::begin_burst(tlm::tlm_generic_payload& p, const pcie_extension* extension, unsigned source,
                               const pcie_route& r, ps t) {
  burst& b = bursts_.get();
  b.owner = this;
  b.next = nullptr;
  b.route = r;
  b.source = source;
  b.read = p.is_read();
  b.relaxed = extension && extension->relaxed_ordering;
  b.address = p.get_address();
  b.bytes = p.get_data_length();
  b.empty = b.bytes == 0 && extension && extension->message != pcie_message::none;
  b.begun = t;
  b.fate = pcie_fate::ordinary;
  b.get_on(p);
  return b;
}

tlm::tlm_sync_enum pcie::from_device(int i, tlm::tlm_generic_payload& p, tlm::tlm_phase& phase, sc_core::sc_time& delay) {
  if (phase != tlm::BEGIN_REQ) return tlm::TLM_COMPLETED;
  const auto source = static_cast<unsigned>(i);
  const ps t = std::max(from_delay(delay), now());
  lane& l = *lanes_[source];
  const pcie_extension* extension = p.get_extension<pcie_extension>();
  const bool message = extension && extension->message != pcie_message::none;
  const pcie_route route = message ? pcie_route{pcie_place::memory, 0, p.get_address()}
                                   : map_.of_device(p.get_address(), p.get_data_length(), p.is_write());
  burst& b = begin_burst(p, extension, source, route, t);
  if (b.route.place == pcie_place::nowhere) ++l.unreachable;
  if (b.route.place == pcie_place::device) ++l.peer_bursts;
  if (b.route.place == pcie_place::interrupts) ++l.messages;
  phase = tlm::END_REQ;
  if (t > now()) {
    later<&pcie::enter>(b, t);
  } else {
    enter(b);
  }
  return tlm::TLM_UPDATED;
}

void pcie::enter(burst& b) {
  lane& l = *lanes_[b.source];
  if (l.disturbed && disturb(l, b)) [[unlikely]] {
    return refuse(b);
  }
  if (!b.read) return send_write(b);
  const bool room =
      config_.completion_bytes == 0 || l.outstanding_bytes == 0 || l.outstanding_bytes + b.bytes <= config_.completion_bytes;
  if (room && !l.waiting) return send_read(b);
  ++l.completion_stalls;
  (l.waiting ? l.waiting_last->next : l.waiting) = &b;
  l.waiting_last = &b;
  l.waiting_reads.add(1, now());
  l.waiting_probe.set(l.waiting_reads.value(), now());
}

tlm::tlm_sync_enum pcie::from_host(tlm::tlm_generic_payload& p, tlm::tlm_phase& phase, sc_core::sc_time& delay) {
  if (phase != tlm::BEGIN_REQ) return tlm::TLM_COMPLETED;
  const pcie_extension* extension = p.get_extension<pcie_extension>();
  const bool message = extension && extension->message != pcie_message::none;
  const pcie_route r = message ? to_requester(extension->requester) : map_.of_cpu(p.get_address(), p.get_data_length());
  if (r.place != pcie_place::device || lanes_[r.device]->down_now) {
    if (const auto answer = config_access(p)) {
      const lane& l = *lanes_[answer->device];
      if (l.memory_writes == l.memory_writes_done) {
        delay += to_sc(answer->way);
        return tlm::TLM_COMPLETED;
      }
      burst& b = begin_burst(p, nullptr, from_cpu, {pcie_place::device, answer->device, 0}, now());
      b.behind = l.memory_writes;
      later<&pcie::answer_software>(b, std::max(from_delay(delay), now()) + answer->way);
      phase = tlm::END_REQ;
      return tlm::TLM_UPDATED;
    }
    ++mmio_errors_;
    delay += to_sc(2 * config_.root_mmio_latency);
    p.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
    return tlm::TLM_COMPLETED;
  }
  const ps t = std::max(from_delay(delay), now());
  later<&pcie::send_mmio>(begin_burst(p, extension, from_cpu, r, t), t + config_.root_mmio_latency);
  phase = tlm::END_REQ;
  return tlm::TLM_UPDATED;
}

pcie_route pcie::to_requester(std::uint16_t requester) const {
  for (unsigned i = 0; i < devices(); ++i) {
    if (lanes_[i]->requester == requester) return {pcie_place::device, i, 0};
  }
  return {};
}

// ---- the links

// A message without data is a header; that it takes a data credit is the only difference from the specification.
tlp_shape pcie::shape_of_write(const burst& b, std::uint64_t mps) {
  return b.empty ? tlp_shape{1, 0, 1} : split_write(b.address, b.bytes, mps);
}

ps pcie::wire_time(const tlp_shape& shape, std::uint64_t header) const {
  return rate_.time_for(shape.payload + shape.tlps * header);
}

pcie::stream pcie::book(direction& d, ps t, const tlp_shape& shape, std::uint64_t header) {
  const ps work = wire_time(shape, header);
  const bool again = (d.garbled | d.unacknowledged) != 0;
  const link_schedule::span s = again ? replay(d, t, work) : d.link.book(t, work, now());
  d.tlps += shape.tlps;
  d.header_bytes += shape.tlps * header;
  d.payload_bytes += shape.payload;
  d.busy.set(1, s.begin);
  d.busy.set(0, s.end);
  return {s.begin, s.end, work / static_cast<std::int64_t>(shape.tlps)};
}

// On to the next link: every TLP is taken whole before it goes on, but a burst streams through.
pcie::stream pcie::cross(direction& d, const stream& in, ps latency, const tlp_shape& shape, std::uint64_t header) {
  stream out = book(d, in.begin + in.each + latency, shape, header);
  out.end = std::max(out.end, in.end + latency + out.each);
  return out;
}

void pcie::count_stall(lane& l, ps wanted, ps start) {
  if (start <= wanted) return;
  ++l.credit_stalls;
  l.credit_stall_time.add(start - wanted);
}

pcie::stream pcie::write_stream(lane& l, ps t, const tlp_shape& shape) {
  const auto n = static_cast<std::int64_t>(shape.tlps);
  const ps each = wire_time(shape, config_.request_header) / n;
  const ps round = each + config_.link_latency + config_.credit_latency;
  const std::uint64_t units = ceil_div(shape.units, shape.tlps);
  // A burst of more TLPs than there are credits goes as fast as its own come back.
  const std::uint64_t window = std::min(l.posted_headers.total(), l.posted_data.total() / units);
  const ps interval = window < shape.tlps ? std::max(each, round / static_cast<std::int64_t>(window)) : each;
  const credit_loop::grant header = l.posted_headers.take(t, shape.tlps, 1, interval);
  const credit_loop::grant data = l.posted_data.take(header.start, shape.tlps, units, interval);
  count_stall(l, t, data.start);
  stream s = book(l.up, data.start, shape, config_.request_header);
  s.end = std::max(s.end, s.begin + interval * n);
  const ps pace = (s.end - s.begin) / n;
  const auto back = [&](std::uint64_t tlps) { return s.begin + round + pace * static_cast<std::int64_t>(shape.tlps - tlps); };
  l.posted_headers.give(back(header.tlps), pace, header.tlps, 1);
  l.posted_data.give(back(data.tlps), pace, data.tlps, units);
  if (l.credits_probe.watched()) l.credits_probe.set(l.posted_headers.free_at(s.begin), s.begin);
  return s;
}

pcie::stream pcie::up_to_root(const stream& s, const tlp_shape& shape, std::uint64_t header) {
  return config_.has_switch ? cross(root_up_, s, config_.link_latency + config_.switch_latency, shape, header) : s;
}

pcie::stream pcie::down_from_root(lane& l, const stream& s, const tlp_shape& shape, std::uint64_t header) {
  return config_.has_switch ? cross(l.down, s, config_.link_latency + config_.switch_latency, shape, header) : s;
}

// When the last TLP has reached the peer, coming from another device's link.
ps pcie::to_peer(lane& l, const stream& s, const tlp_shape& shape, std::uint64_t header) {
  const ps hop = config_.link_latency + (config_.has_switch ? config_.switch_latency : config_.root_forward_latency);
  return cross(l.down, s, hop, shape, header).end + config_.link_latency;
}

void pcie::send_write(burst& b) {
  const ps t = now();
  lane& l = *lanes_[b.source];
  ++l.writes;
  l.writes_in_flight.add(1, t);
  const tlp_shape shape = shape_of_write(b, config_.mps);
  const stream s = write_stream(l, b.relaxed ? t : std::max(t, l.posted_end), shape);
  l.posted_end = std::max(l.posted_end, s.end);
  ps land;
  if (b.route.place == pcie_place::device) {
    land = to_peer(*lanes_[b.route.device], s, shape, config_.request_header);
  } else {
    const stream at_root = up_to_root(s, shape, config_.request_header);
    land = at_root.end + config_.link_latency + config_.root_write_latency;
  }
  if (!b.relaxed) {
    land = std::max(land, l.landed);
    l.memory_writes += b.route.place == pcie_place::memory;
  }
  l.landed = std::max(l.landed, land);
  later<&pcie::arrive>(b, land);
}

void pcie::send_read(burst& b) {
  const ps t = now();
  lane& l = *lanes_[b.source];
  ++l.reads;
  l.outstanding_bytes += b.bytes;
  l.completion_room.add(static_cast<std::int64_t>(b.bytes), t);
  l.outstanding.add(1, t);
  l.outstanding_probe.set(l.outstanding.value(), t);
  const tlp_shape shape = split_read(b.address, b.bytes, config_.mrrs);
  const ps each = wire_time(shape, config_.request_header) / static_cast<std::int64_t>(shape.tlps);
  const ps wanted = std::max(t, l.posted_end);
  const credit_loop::grant credit = l.nonposted_headers.take(wanted, shape.tlps, 1, each);
  count_stall(l, wanted, credit.start);
  const stream s = book(l.up, credit.start, shape, config_.request_header);
  const ps pace = std::max((s.end - s.begin) / static_cast<std::int64_t>(shape.tlps), each);
  const ps back = s.begin + s.each + config_.link_latency + config_.credit_latency;
  l.nonposted_headers.give(back + pace * static_cast<std::int64_t>(shape.tlps - credit.tlps), pace, credit.tlps, 1);
  // The data of the first request is on its way back while the others still arrive.
  ps at;
  if (b.route.place == pcie_place::device) {
    at = to_peer(*lanes_[b.route.device], s, shape, config_.request_header);
  } else {
    const stream at_root = up_to_root(s, shape, config_.request_header);
    at = at_root.begin + at_root.each + config_.link_latency + config_.root_read_latency;
  }
  later<&pcie::arrive>(b, std::max(at, l.landed));
}

void pcie::send_mmio(burst& b) {
  lane& l = *lanes_[b.route.device];
  ++(b.read ? mmio_reads_ : mmio_writes_);
  const tlp_shape shape = b.read ? split_read(b.address, b.bytes, combining_line) : shape_of_write(b, combining_line);
  const ps each = wire_time(shape, config_.request_header) / static_cast<std::int64_t>(shape.tlps);
  const ps wanted = std::max(now(), l.down_posted_end);
  credit_loop& headers = b.read ? l.device_nonposted_headers : l.device_posted_headers;
  const credit_loop::grant header = headers.take(wanted, shape.tlps, 1, each);
  credit_loop::grant data = header;
  const std::uint64_t units = ceil_div(shape.units, shape.tlps);
  if (!b.read) data = l.device_posted_data.take(header.start, shape.tlps, units, each);
  count_stall(l, wanted, data.start);
  const stream first = book(config_.has_switch ? root_down_ : l.down, data.start, shape, config_.request_header);
  if (!b.read) l.down_posted_end = std::max(l.down_posted_end, first.end);
  const stream s = down_from_root(l, first, shape, config_.request_header);
  const ps pace = (s.end - s.begin) / static_cast<std::int64_t>(shape.tlps);
  const ps back = s.begin + s.each + config_.link_latency + config_.credit_latency;
  headers.give(back + pace * static_cast<std::int64_t>(shape.tlps - header.tlps), pace, header.tlps, 1);
  if (!b.read)
    l.device_posted_data.give(back + pace * static_cast<std::int64_t>(shape.tlps - data.tlps), pace, data.tlps, units);
  const ps arrival = std::max(s.end + config_.link_latency, l.down_arrived);
  if (!b.read) l.down_arrived = arrival;
  later<&pcie::arrive>(b, arrival);
}

}  // namespace hcasim
