// A peer client to begin from: memory of the host that its owner lends, at addresses of the owner's choice. Scattered pages, so
// that dma_map has a list to give; taken back while it is registered, so that the invalidation has something to end.
#pragma once

#include <map>

#include "models/driver/device/device.h"
#include "models/driver/peer/peer_core.h"
#include "testbenches/kit/endpoint.h"

namespace hcasim::kit {

class sample_client {
 public:
  // Lends `bytes` at [va, va + bytes), out of the pages of `memory`.
  sample_client(virtual_memory& memory, std::uint64_t va, std::uint64_t bytes);

  bool join(driver::peer::peer_core& core);
  void leave(cpu& c);
  // Takes the memory back: from its return on no registration reaches it.
  int take_back(cpu& c);

  [[nodiscard]] std::uint64_t va() const { return va_; }
  [[nodiscard]] std::vector<std::uint8_t> bytes(std::uint64_t at, std::uint64_t n) const;
  // Registrations that are acquired, pinned, mapped.
  [[nodiscard]] bool idle() const { return lent_.empty() && pins_ == 0 && maps_ == 0; }

 private:
  static constexpr std::uint64_t page = 4096;
  struct range {
    std::uint64_t addr;
    std::uint64_t size;
    std::uint64_t ticket = 0;
  };

  virtual_memory& memory_;
  const std::uint64_t va_;
  const std::uint64_t length_;
  const std::uint64_t pages_;  // where they lie in the owner's process
  driver::peer::peer_memory_client client_;
  driver::peer::invalidate_peer_memory invalidate_;
  driver::peer::peer_core* core_ = nullptr;
  void* handle_ = nullptr;
  std::map<std::uint64_t, range> lent_;  // by a number that is the client's context
  std::uint64_t next_ = 1;
  int pins_ = 0;
  int maps_ = 0;
};

}  // namespace hcasim::kit
