// Memory of flows on one host: its own, on-demand, of its GPU, or of its adapter.
#pragma once

#include <memory>
#include <optional>

#include "models/driver/peer/memory_owner.h"
#include "testbenches/kit/endpoint.h"
#include "testbenches/traffic/options.h"

namespace hcasim::traffic {

// A piece of memory. Its registrations begin on pages of 4 KiB.
struct memory_piece {
  memory_kind kind = memory_kind::host;
  std::uint64_t address = 0;    // of the process; unused for the adapter's memory
  kit::ibv_dm* chip = nullptr;  // the adapter's memory
  std::uint64_t bytes = 0;
};

class flow_memory {
 public:
  // `gpu`: number of the node's peer device that is a GPU.
  flow_memory(node& n, std::optional<std::size_t> gpu) : node_(n), gpu_(gpu) {}

  // Allocates a piece; throws std::runtime_error without room.
  memory_piece allocate(kit::process_context& p, memory_kind kind, std::uint64_t bytes, page_policy pages);
  // Registers [offset, offset + bytes) of a piece; nullptr with errno on failure.
  static kit::ibv_mr* enter(cpu& c, kit::ibv_pd* pd, const memory_piece& m, std::uint64_t offset, std::uint64_t bytes,
                            int access);
  // Allocates and registers a piece of its own.
  kit::region region(kit::process_context& p, memory_kind kind, std::uint64_t bytes, page_policy pages);
  // Returns bytes of memory of the kind, which is not the adapter's, without simulated time.
  std::vector<std::uint8_t> bytes(kit::process_context& p, memory_kind kind, std::uint64_t address, std::uint64_t n);
  // Waits until the GPU's driver has no registration left; after the process has closed.
  void leave(cpu& c);

 private:
  driver::peer::memory_owner& gpu(cpu& c);

  node& node_;
  std::optional<std::size_t> gpu_;
  std::unique_ptr<driver::peer::memory_owner> owner_;
};

// Returns the address that a peer names for byte `offset` of a registered piece.
constexpr std::uint64_t address_in(const memory_piece& m, std::uint64_t begin, std::uint64_t offset) {
  return (m.kind == memory_kind::device ? offset - begin : m.address + offset);
}

}  // namespace hcasim::traffic
