// Peer memory for programs: a node's peer device with its driver, its memory registered, and a monitor at the device's port.
#pragma once

#include <map>
#include <string>

#include "models/driver/peer/memory_owner.h"
#include "testbenches/kit/endpoint.h"
#include "testbenches/kit/world.h"

namespace hcasim::kit {

// Revoked bytes of the device's memory, and accesses to them. Monitors the device's port: it sees a burst of any unit when the
// bytes move.
class port_monitor final : public peer_monitor {
 public:
  explicit port_monitor(peer_device& device) : device_(device) { device_.observe(this); }
  ~port_monitor() override { device_.observe(nullptr); }
  port_monitor(const port_monitor&) = delete;
  port_monitor& operator=(const port_monitor&) = delete;

  void forbid(std::uint64_t offset, std::uint64_t bytes);
  void allow(std::uint64_t offset, std::uint64_t bytes);
  [[nodiscard]] std::uint64_t late_bytes() const { return late_; }
  [[nodiscard]] std::uint64_t bytes_written() const { return written_; }
  [[nodiscard]] std::uint64_t bytes_read() const { return read_; }
  [[nodiscard]] ps last_access() const { return last_; }
  [[nodiscard]] const std::string& violation() const { return violation_; }

 private:
  void peer_access(bool write, std::uint64_t offset, std::uint64_t bytes, ps t) override;

  peer_device& device_;
  std::map<std::uint64_t, std::uint64_t> forbidden_;  // offset -> end, apart from each other
  std::uint64_t late_ = 0;
  std::uint64_t written_ = 0;
  std::uint64_t read_ = 0;
  ps last_{0};
  std::string violation_;
};

// [va, va + bytes) of an allocation, piece by piece.
template <class F>
void for_each_piece(const driver::peer::memory_owner& owner, std::uint64_t va, std::uint64_t bytes, F f) {
  for (std::uint64_t done = 0; done < bytes;) {
    const auto piece = owner.place(va + done);
    if (!piece) return;
    const std::uint64_t n = std::min(piece->bytes, bytes - done);
    f(piece->offset, n, done);
    done += n;
  }
}

// Returns bytes of the device, without simulated time.
std::vector<std::uint8_t> peer_bytes(peer_device& device, const driver::peer::memory_owner& owner, std::uint64_t va,
                                     std::uint64_t bytes);
void fill_peer(peer_device& device, const driver::peer::memory_owner& owner, std::uint64_t va, std::uint64_t bytes,
               std::uint8_t seed);

system_config with_peers(system_config c, bool nvme = false);

}  // namespace hcasim::kit
