#include "models/machine/pcie/pcie_requests.h"

#include <algorithm>

namespace hcasim {

void pcie_requests::enter(pcie_burst& b) {
  if (b.from->function.disturb(b)) [[unlikely]] {
    return bursts_.refuse(b);
  }
  if (!b.read) return send_write(b);
  if (b.from->window.admit(b)) send_read(b);
}

pcie_requests::stream pcie_requests::write_stream(pcie_device& d, ps t, const tlp_shape& shape) {
  const pcie_config& config = timing_.config;
  const auto n = static_cast<std::int64_t>(shape.tlps);
  const ps each = timing_.wire_time(shape, config.request_header) / n;
  const ps round = each + config.link_latency + config.credit_latency;
  const std::uint64_t units = ceil_div(shape.units, shape.tlps);
  // A burst of more TLPs than credits goes as fast as its own credits come back.
  const std::uint64_t window = std::min(d.posted_headers.total(), d.posted_data.total() / units);
  const ps interval = window < shape.tlps ? std::max(each, round / static_cast<std::int64_t>(window)) : each;
  const credit_loop::grant header = d.posted_headers.take(t, shape.tlps, 1, interval);
  const credit_loop::grant data = d.posted_data.take(header.start, shape.tlps, units, interval);
  d.count_stall(t, data.start);
  stream s = d.up.book(data.start, shape, config.request_header);
  s.end = std::max(s.end, s.begin + interval * n);
  const ps pace = (s.end - s.begin) / n;
  const auto back = [&](std::uint64_t tlps) { return s.begin + round + pace * static_cast<std::int64_t>(shape.tlps - tlps); };
  d.posted_headers.give(back(header.tlps), pace, header.tlps, 1);
  d.posted_data.give(back(data.tlps), pace, data.tlps, units);
  if (d.credits_probe.watched()) d.credits_probe.set(d.posted_headers.free_at(s.begin), s.begin);
  return s;
}

void pcie_requests::send_write(pcie_burst& b) {
  const pcie_config& config = timing_.config;
  const ps t = now();
  pcie_device& d = *b.from;
  ++d.writes;
  d.writes_in_flight.add(1, t);
  const tlp_shape shape = b.shape_of_write(config.mps);
  const stream s = write_stream(d, b.relaxed ? t : std::max(t, d.posted_end), shape);
  d.posted_end = std::max(d.posted_end, s.end);
  ps land;
  if (b.place == pcie_place::device) {
    land = tree_.to_peer(*b.to, s, shape, config.request_header);
  } else {
    land = tree_.to_root(s, shape, config.request_header).end + config.link_latency + config.root_write_latency;
  }
  if (!b.relaxed) {
    land = std::max(land, d.landed);
    if (b.place == pcie_place::memory) d.pushed.begin();
  }
  d.landed = std::max(d.landed, land);
  deliver(b, land);
}

void pcie_requests::send_read(pcie_burst& b) {
  const pcie_config& config = timing_.config;
  pcie_device& d = *b.from;
  ++d.reads;
  d.window.begin(b);
  const tlp_shape shape = split_read(b.address, b.bytes, config.mrrs);
  const auto n = static_cast<std::int64_t>(shape.tlps);
  const ps each = timing_.wire_time(shape, config.request_header) / n;
  const ps wanted = std::max(now(), d.posted_end);
  const credit_loop::grant credit = d.nonposted_headers.take(wanted, shape.tlps, 1, each);
  d.count_stall(wanted, credit.start);
  const stream s = d.up.book(credit.start, shape, config.request_header);
  const ps pace = std::max((s.end - s.begin) / n, each);
  const ps back = s.begin + s.each + config.link_latency + config.credit_latency;
  d.nonposted_headers.give(back + pace * static_cast<std::int64_t>(shape.tlps - credit.tlps), pace, credit.tlps, 1);
  // The data of the first request is on its way back while the others still arrive.
  ps at;
  if (b.place == pcie_place::device) {
    at = tree_.to_peer(*b.to, s, shape, config.request_header);
  } else {
    const stream at_root = tree_.to_root(s, shape, config.request_header);
    at = at_root.begin + at_root.each + config.link_latency + config.root_read_latency;
  }
  deliver(b, std::max(at, d.landed));
}

void pcie_requests::send_mmio(pcie_burst& b) {
  const pcie_config& config = timing_.config;
  pcie_device& d = *b.to;
  ++(b.read ? mmio_reads : mmio_writes);
  const tlp_shape shape = b.read ? split_read(b.address, b.bytes, combining_line) : b.shape_of_write(combining_line);
  const ps each = timing_.wire_time(shape, config.request_header) / static_cast<std::int64_t>(shape.tlps);
  const ps wanted = std::max(now(), d.down_posted_end);
  credit_loop& headers = b.read ? d.device_nonposted_headers : d.device_posted_headers;
  const credit_loop::grant header = headers.take(wanted, shape.tlps, 1, each);
  credit_loop::grant data = header;
  const std::uint64_t units = ceil_div(shape.units, shape.tlps);
  if (!b.read) data = d.device_posted_data.take(header.start, shape.tlps, units, each);
  d.count_stall(wanted, data.start);
  const stream first = tree_.first_down(d).book(data.start, shape, config.request_header);
  if (!b.read) d.down_posted_end = std::max(d.down_posted_end, first.end);
  if (!b.read) bursts_.take(b, first.end);
  const stream s = tree_.from_root(d, first, shape, config.request_header);
  const ps pace = (s.end - s.begin) / static_cast<std::int64_t>(shape.tlps);
  const ps back = s.begin + s.each + config.link_latency + config.credit_latency;
  headers.give(back + pace * static_cast<std::int64_t>(shape.tlps - header.tlps), pace, header.tlps, 1);
  if (!b.read)
    d.device_posted_data.give(back + pace * static_cast<std::int64_t>(shape.tlps - data.tlps), pace, data.tlps, units);
  const ps arrival = std::max(s.end + config.link_latency, d.down_arrived);
  if (!b.read) d.down_arrived = arrival;
  deliver(b, arrival);
}

}  // namespace hcasim
