#include "models/machine/pcie/pcie_device.h"

#include <algorithm>

namespace hcasim {

// The answer pushes the device's writes before it: software goes on when memory has them.
bool pushed_writes::hold(pcie_burst& b) {
  if (b.behind <= done_) return false;
  pcie_burst** at = &waiting_;
  while (*at) at = &(*at)->next;
  b.next = nullptr;
  *at = &b;
  return true;
}

bool read_window::admit(pcie_burst& b) {
  if (waiting_.empty() && has_room(b)) return true;
  ++stalls;
  waiting_.push(b);
  waiting_reads.add(1, now());
  waiting_probe.set(waiting_reads.value(), now());
  return false;
}

void read_window::begin(const pcie_burst& b) {
  outstanding_bytes_ += b.bytes;
  use_.add(static_cast<std::int64_t>(b.bytes), now());
  outstanding.add(1, now());
  outstanding_probe.set(outstanding.value(), now());
}

void read_window::end(const pcie_burst& b) {
  outstanding_bytes_ -= b.bytes;
  use_.add(-static_cast<std::int64_t>(b.bytes), now());
  outstanding.add(-1, now());
  outstanding_probe.set(outstanding.value(), now());
}

pcie_burst* read_window::next() {
  if (waiting_.empty() || !has_room(waiting_.front())) return nullptr;
  pcie_burst& b = waiting_.pop();
  waiting_reads.add(-1, now());
  waiting_probe.set(waiting_reads.value(), now());
  return &b;
}

pcie_device::pcie_device(const pcie_timing& timing, unsigned of)
    : number(of),
      sockets(("device" + std::to_string(of) + "_up").c_str(), ("device" + std::to_string(of) + "_down").c_str()),
      up(timing),
      down(timing),
      posted_headers(timing.config.posted_headers),
      posted_data(timing.config.posted_data),
      nonposted_headers(timing.config.nonposted_headers),
      device_posted_headers(timing.config.device_posted_headers),
      device_posted_data(timing.config.device_posted_data),
      device_nonposted_headers(timing.config.device_nonposted_headers),
      window(timing.config.completion_bytes) {}

void pcie_device::list(statistics& s, probes& p) {
  const std::string base = "device" + std::to_string(number) + "_";
  up.list(base + "up", s, p);
  down.list(base + "down", s, p);
  s.add(base + "reads", "1", "DMA read bursts", reads);
  s.add(base + "writes", "1", "DMA write bursts, interrupt messages included", writes);
  s.add(base + "messages", "1", "interrupt messages", messages);
  s.add(base + "peer_bursts", "1", "bursts to another device's BAR", peer_bursts);
  s.add(base + "unreachable", "1", "bursts to an unreachable address", unreachable);
  s.add(base + "credit_stalls", "1", "bursts to or from the device that waited for header or data credits", credit_stalls);
  s.add(base + "credit_stall_time", "ps", "how long each of those waited", credit_stall_time);
  const auto pool = [&](const char* name, const auto& of) {
    s.share(base + name + "_utilisation", "share of `" + std::string(name) + "` in use", of);
  };
  pool("posted_headers", posted_headers);
  pool("posted_data", posted_data);
  pool("nonposted_headers", nonposted_headers);
  pool("device_posted_headers", device_posted_headers);
  pool("device_posted_data", device_posted_data);
  pool("device_nonposted_headers", device_nonposted_headers);
  pool("completion_bytes", window.use());
  s.add(base + "completion_stalls", "1", "reads that waited for room for their completions", window.stalls);
  s.add(base + "read_time", "ps", "read burst: request at the port until its last completion has arrived", read_time);
  s.add(base + "write_time", "ps", "write burst: at the port until it has landed", write_time);
  s.add(base + "outstanding_reads", "1", "read bursts under way", window.outstanding);
  s.add(base + "faults", "1", "bursts that a fault was asked for", function.faults);
  s.add(base + "blocked", "1", "bursts that did not leave: no bus mastering, or no link", function.blocked);
  s.add(base + "waiting_reads", "1", "read bursts that wait for room for their completions", window.waiting_reads);
  s.add(base + "writes_in_flight", "1", "write bursts that have not landed", writes_in_flight);
  p.add(base + "posted_credits", 16, credits_probe);
  p.add(base + "outstanding_reads", 16, window.outstanding_probe);
  p.add(base + "waiting_reads", 16, window.waiting_probe);
}

}  // namespace hcasim
