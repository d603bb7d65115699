#include "testbenches/kit/peer.h"

#include <algorithm>

namespace hcasim::kit {

void port_monitor::forbid(std::uint64_t offset, std::uint64_t bytes) {
  allow(offset, bytes);
  forbidden_[offset] = offset + bytes;
}

void port_monitor::allow(std::uint64_t offset, std::uint64_t bytes) {
  const std::uint64_t end = offset + bytes;
  auto it = forbidden_.upper_bound(offset);
  if (it != forbidden_.begin()) --it;
  while (it != forbidden_.end() && it->first < end) {
    const auto [first, last] = *it;
    if (last <= offset) {
      ++it;
      continue;
    }
    it = forbidden_.erase(it);
    if (first < offset) forbidden_[first] = offset;
    if (last > end) it = forbidden_.emplace(end, last).first;
  }
}

void port_monitor::peer_access(bool write, std::uint64_t offset, std::uint64_t bytes, ps t) {
  (write ? written_ : read_) += bytes;
  last_ = std::max(last_, t);
  auto it = forbidden_.upper_bound(offset);
  if (it != forbidden_.begin()) --it;
  for (; it != forbidden_.end() && it->first < offset + bytes; ++it) {
    const std::uint64_t from = std::max(it->first, offset);
    const std::uint64_t to = std::min(it->second, offset + bytes);
    if (from >= to) continue;
    late_ += to - from;
    if (!violation_.empty()) continue;
    violation_ = std::string(write ? "a write" : "a read") + " of byte " + std::to_string(from) + " of peer memory at " +
                 std::to_string(t.count()) + " ps, which had been taken away";
  }
}

std::vector<std::uint8_t> peer_bytes(peer_device& device, const driver::peer::memory_owner& owner, std::uint64_t va,
                                     std::uint64_t bytes) {
  std::vector<std::uint8_t> v(bytes);
  for_each_piece(owner, va, bytes, [&](std::uint64_t offset, std::uint64_t n, std::uint64_t at) {
    device.memory().read(offset, std::as_writable_bytes(std::span(v).subspan(at, n)));
  });
  return v;
}

void fill_peer(peer_device& device, const driver::peer::memory_owner& owner, std::uint64_t va, std::uint64_t bytes,
               std::uint8_t seed) {
  std::vector<std::byte> v(bytes);
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = static_cast<std::byte>(seed + i * 7 + (i >> 8));
  for_each_piece(owner, va, bytes, [&](std::uint64_t offset, std::uint64_t n, std::uint64_t at) {
    device.memory().write(offset, std::span(v).subspan(at, n));
  });
}

system_config with_peers(system_config c, bool nvme) {
  for (node_config& n : c.nodes) {
    n.peer[0] = peer_device_config::gpu();
    if (nvme) n.peer[1] = peer_device_config::nvme();
  }
  return c;
}

}  // namespace hcasim::kit
