// An allocation of a peer device as a dma-buf. Its owner may evict the memory to the host by the copy engine, and bring it
// back; importers get the current place.
#pragma once

#include "models/driver/peer/dma_buf.h"
#include "models/driver/peer/memory_owner.h"

namespace hcasim::driver::peer {

class peer_buffer final : public dma_buf {
 public:
  // [va, va + bytes) is an allocation of `owner` and stays one; whole pages.
  peer_buffer(memory_owner& owner, host& machine, std::uint64_t va, std::uint64_t bytes);

  // Moves the memory to the host. Returns 0; EBUSY: it is pinned; ENOMEM: no host memory; EIO: the copy failed, or the adapter
  // does not answer. On return the bytes are at their new place.
  int evict(cpu& c) { return move(c, true); }
  int bring_back(cpu& c) { return move(c, false); }
  // Takes the memory back from all importers. Returns 0 or EBUSY.
  int take_back(cpu& c);

  [[nodiscard]] bool on_host() const { return on_host_; }
  [[nodiscard]] std::uint64_t host_address() const { return host_; }
  [[nodiscard]] std::uint32_t pins() const { return pins_; }
  [[nodiscard]] std::uint32_t maps() const { return maps_; }

 private:
  int move(cpu& c, bool to_host);
  int map(cpu& c, sg_table& sg) override;
  void unmap(cpu& c, sg_table& sg) override;
  int pin(cpu& c) override;
  void unpin(cpu& c) override;

  memory_owner& owner_;
  host& machine_;
  std::uint64_t va_;
  std::uint64_t host_ = 0;
  bool on_host_ = false;
  std::uint32_t pins_ = 0;
  std::uint32_t maps_ = 0;
};

}  // namespace hcasim::driver::peer
