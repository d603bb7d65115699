// From a burst's arrival at its destination to the answer, and its counters.
#include <algorithm>

#include "models/machine/pcie/pcie.h"

namespace hcasim {
void pcie::arrive(burst& b) {
  tlm::tlm_generic_payload& p = b.payload();
  if (auto* extension = p.get_extension<pcie_extension>()) extension->memory_at = now();
  tlm::tlm_phase phase = tlm::BEGIN_REQ;
  sc_core::sc_time delay;
  tlm::tlm_sync_enum status = tlm::TLM_COMPLETED;
  if (b.fate != pcie_fate::ordinary && spoil_arrival(b)) [[unlikely]] {
    return answered(b, now());
  }
  const auto forward = [&](auto& socket, bool abroad) {
    if (socket.get_base_port().size() == 0) {
      p.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
      return;
    }
    delay = to_delay(now(), abroad);
    status = socket->nb_transport_fw(p, phase, delay);
    if (status != tlm::TLM_UPDATED || phase != tlm::BEGIN_RESP) return;
    tlm::tlm_phase end = tlm::END_RESP;
    sc_core::sc_time end_delay = delay;
    socket->nb_transport_fw(p, end, end_delay);
    status = tlm::TLM_COMPLETED;
  };
  switch (b.route.place) {
    case pcie_place::memory:
      forward(memory, memory_abroad_);
      break;
    case pcie_place::interrupts:
      forward(interrupts, true);
      break;
    case pcie_place::device:
      p.set_address(b.route.offset);
      forward(lanes_[b.route.device]->sockets.down, lanes_[b.route.device]->down_abroad);
      break;
    case pcie_place::nowhere:
      p.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
      break;
  }
  if (status == tlm::TLM_COMPLETED) answered(b, from_delay(delay));
}

tlm::tlm_sync_enum pcie::backward(tlm::tlm_generic_payload& p, tlm::tlm_phase& phase, sc_core::sc_time& delay) {
  if (phase != tlm::BEGIN_RESP) return tlm::TLM_ACCEPTED;
  answered(*p.get_extension<burst>(), from_delay(delay));
  return tlm::TLM_COMPLETED;
}

tlm::tlm_sync_enum pcie::device_backward(int, tlm::tlm_generic_payload& p, tlm::tlm_phase& phase, sc_core::sc_time& delay) {
  return backward(p, phase, delay);
}

// Takes the destination's answer at its time.
void pcie::answered(burst& b, ps t) {
  if (t > now()) {
    later<&pcie::come_back>(b, t);
  } else {
    come_back(b);
  }
}

void pcie::come_back(burst& b) {
  if (b.read) return send_completion(b);
  if (b.source != from_cpu) {
    lane& l = *lanes_[b.source];
    l.writes_in_flight.add(-1, now());
    l.write_time.add(now() - b.begun);
    if (b.route.place == pcie_place::memory && !b.relaxed) write_done(l);
  }
  respond(b);
}

void pcie::write_done(lane& l) {
  ++l.memory_writes_done;
  for (burst** at = &l.pushing; *at;) {
    burst& b = **at;
    if (b.behind > l.memory_writes_done) {
      at = &b.next;
      continue;
    }
    *at = b.next;
    later<&pcie::respond>(b, now());
  }
}

// The answer pushes the device's writes before it: software goes on when memory has them.
void pcie::answer_software(burst& b) {
  lane& l = *lanes_[b.route.device];
  if (b.behind <= l.memory_writes_done) return respond(b);
  burst** at = &l.pushing;
  while (*at) at = &(*at)->next;
  b.next = nullptr;
  *at = &b;
}

// Completions of different requests pass each other: the link carries them in the order of their data.
void pcie::send_completion(burst& b) {
  if (b.fate != pcie_fate::ordinary && spoil_completion(b)) [[unlikely]] {
    return;
  }
  const ps t = now();
  const std::uint64_t request = b.source == from_cpu ? combining_line : config_.mrrs;
  // An unsupported request is answered without data.
  const tlp_shape shape = b.payload().get_response_status() == tlm::TLM_OK_RESPONSE
                              ? split_completions(b.address, b.bytes, request, config_.rcb, most_)
                              : tlp_shape{1, 0, 0};
  const std::uint64_t header = config_.completion_header;
  if (b.source == from_cpu) {
    lane& from = *lanes_[b.route.device];
    const stream s = up_to_root(book(from.up, std::max(t, from.posted_end), shape, header), shape, header);
    b.behind = from.memory_writes;
    return later<&pcie::answer_software>(b, std::max(s.end + config_.link_latency + config_.root_mmio_latency, from.landed));
  }
  lane& to = *lanes_[b.source];
  stream s;
  if (b.route.place == pcie_place::device) {
    lane& from = *lanes_[b.route.device];
    const ps hop = config_.link_latency + (config_.has_switch ? config_.switch_latency : config_.root_forward_latency);
    s = cross(to.down, book(from.up, std::max(t, from.posted_end), shape, header), hop, shape, header);
  } else {
    s = down_from_root(to, book(config_.has_switch ? root_down_ : to.down, std::max(t, to.down_posted_end), shape, header),
                       shape, header);
  }
  later<&pcie::complete>(b, s.end + config_.link_latency);
}

void pcie::complete(burst& b) {
  lane& l = *lanes_[b.source];
  const ps t = now();
  l.outstanding_bytes -= b.bytes;
  l.completion_room.add(-static_cast<std::int64_t>(b.bytes), t);
  l.outstanding.add(-1, t);
  l.outstanding_probe.set(l.outstanding.value(), t);
  l.read_time.add(t - b.begun);
  pump_reads(l);
  respond(b);
}

void pcie::pump_reads(lane& l) {
  while (l.waiting) {
    burst& b = *l.waiting;
    if (l.outstanding_bytes != 0 && l.outstanding_bytes + b.bytes > config_.completion_bytes) return;
    l.waiting = b.next;
    l.waiting_reads.add(-1, now());
    l.waiting_probe.set(l.waiting_reads.value(), now());
    send_read(b);
  }
}

// The burst is finished before its answer: the initiator may send the next one from inside the call.
void pcie::respond(burst& b) {
  tlm::tlm_generic_payload& p = b.payload();
  const unsigned source = b.source;
  p.set_address(b.address);
  b.get_off();
  bursts_.put(b);
  tlm::tlm_phase phase = tlm::BEGIN_RESP;
  sc_core::sc_time delay = to_delay(now(), source == from_cpu || lanes_[source]->up_abroad);
  if (source == from_cpu) {
    cpu->nb_transport_bw(p, phase, delay);
  } else {
    lanes_[source]->sockets.up->nb_transport_bw(p, phase, delay);
  }
}

unsigned pcie::debug(const pcie_route& r, tlm::tlm_generic_payload& p) {
  if (r.place == pcie_place::memory) return memory->transport_dbg(p);
  if (r.place != pcie_place::device) return 0;
  const std::uint64_t address = p.get_address();
  p.set_address(r.offset);
  const unsigned n = lanes_[r.device]->sockets.down->transport_dbg(p);
  p.set_address(address);
  return n;
}

unsigned pcie::device_debug(int, tlm::tlm_generic_payload& p) {
  return debug(map_.of_device(p.get_address(), p.get_data_length(), p.is_write()), p);
}

unsigned pcie::host_debug(tlm::tlm_generic_payload& p) {
  return debug(map_.of_cpu(p.get_address(), p.get_data_length()), p);
}

bit_rate pcie::write_limit(std::uint64_t address, std::uint64_t bytes) const {
  const ps t = wire_time(split_write(address, bytes, config_.mps), config_.request_header);
  return {static_cast<double>(bytes) * 8e12 / static_cast<double>(t.count())};
}

bit_rate pcie::read_limit(std::uint64_t address, std::uint64_t bytes) const {
  const ps up = wire_time(split_read(address, bytes, config_.mrrs), config_.request_header);
  const ps down = wire_time(split_completions(address, bytes, config_.mrrs, config_.rcb, most_), config_.completion_header);
  return {static_cast<double>(bytes) * 8e12 / static_cast<double>(std::max(up, down).count())};
}

void pcie::describe_direction(const std::string& name, direction& d) {
  stats_.add(name + "_tlps", "1", "TLPs on this direction of the link", d.tlps);
  stats_.add(name + "_header_bytes", "B", "bytes around the payloads: framing, sequence number, header, LCRC", d.header_bytes);
  stats_.add(name + "_payload_bytes", "B", "payload bytes, in whole doublewords", d.payload_bytes);
  stats_.add(name + "_replays", "1", "bursts that were sent again", d.replays);
  stats_.share(name + "_utilisation", "share of the time that TLPs were on this direction of the link", d.link);
  signals_.add(name + "_busy", 1, d.busy);
}

void pcie::describe(unsigned i) {
  lane& l = *lanes_[i];
  const std::string base = "device" + std::to_string(i) + "_";
  describe_direction(base + "up", l.up);
  describe_direction(base + "down", l.down);
  stats_.add(base + "reads", "1", "DMA read bursts", l.reads);
  stats_.add(base + "writes", "1", "DMA write bursts, interrupt messages included", l.writes);
  stats_.add(base + "messages", "1", "interrupt messages", l.messages);
  stats_.add(base + "peer_bursts", "1", "bursts to another device's BAR", l.peer_bursts);
  stats_.add(base + "unreachable", "1", "bursts to an unreachable address", l.unreachable);
  stats_.add(base + "credit_stalls", "1", "bursts to or from the device that waited for header or data credits",
             l.credit_stalls);
  stats_.add(base + "credit_stall_time", "ps", "how long each of those waited", l.credit_stall_time);
  const auto pool = [&](const char* name, const auto& p) {
    stats_.share(base + name + "_utilisation", "share of `" + std::string(name) + "` in use", p);
  };
  pool("posted_headers", l.posted_headers);
  pool("posted_data", l.posted_data);
  pool("nonposted_headers", l.nonposted_headers);
  pool("device_posted_headers", l.device_posted_headers);
  pool("device_posted_data", l.device_posted_data);
  pool("device_nonposted_headers", l.device_nonposted_headers);
  pool("completion_bytes", l.completion_room);
  stats_.add(base + "completion_stalls", "1", "reads that waited for room for their completions", l.completion_stalls);
  stats_.add(base + "read_time", "ps", "read burst: request at the port until its last completion has arrived", l.read_time);
  stats_.add(base + "write_time", "ps", "write burst: at the port until it has landed", l.write_time);
  stats_.add(base + "outstanding_reads", "1", "read bursts under way", l.outstanding);
  stats_.add(base + "faults", "1", "bursts that a fault was asked for", l.faults);
  stats_.add(base + "blocked", "1", "bursts that did not leave: no bus mastering, or no link", l.blocked);
  stats_.add(base + "waiting_reads", "1", "read bursts that wait for room for their completions", l.waiting_reads);
  stats_.add(base + "writes_in_flight", "1", "write bursts that have not landed", l.writes_in_flight);
  signals_.add(base + "posted_credits", 16, l.credits_probe);
  signals_.add(base + "outstanding_reads", 16, l.outstanding_probe);
  signals_.add(base + "waiting_reads", 16, l.waiting_probe);
}

}  // namespace hcasim
