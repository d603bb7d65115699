#include "testbenches/traffic/flow_memory.h"

#include <stdexcept>

#include "testbenches/kit/peer.h"

namespace hcasim::traffic {
namespace {

using namespace kit;  // NOLINT(google-build-using-namespace): verbs

// Returns the rights that memory of the kind bears among `access`.
int rights_in(memory_kind kind, int access) {
  constexpr int windows = IBV_ACCESS_MW_BIND;
  switch (kind) {
    case memory_kind::on_demand:
      return (access & ~windows) | IBV_ACCESS_ON_DEMAND;
    case memory_kind::device:
      return (access & ~windows) | IBV_ACCESS_ZERO_BASED;
    default:
      return access;
  }
}

}  // namespace

driver::peer::memory_owner& flow_memory::gpu(cpu& c) {
  if (!owner_) {
    owner_ = std::make_unique<driver::peer::memory_owner>(node_.host, node::peer_bar(gpu_.value()), "gpu");
    if (owner_->open(c) != 0 || !owner_->join(node_.device().peers()))
      throw std::runtime_error("the driver of the GPU cannot give its memory to the adapter (driver.peer_memory)");
  }
  return *owner_;
}

memory_piece flow_memory::allocate(process_context& p, memory_kind kind, std::uint64_t bytes, page_policy pages) {
  memory_piece m{kind, 0, nullptr, bytes};
  if (kind == memory_kind::device) {
    m.chip = ibv_alloc_dm(p.c, p.context, align_up(bytes, virtual_memory::page));
    if (!m.chip) throw std::runtime_error("the adapter has too little memory of its own (hca.device_memory.size)");
  } else {
    m.address = kind == memory_kind::gpu ? gpu(p.c).allocate(p.c, p.memory, bytes) : p.memory.allocate(bytes, pages);
    if (m.address == 0)
      throw std::runtime_error(kind == memory_kind::gpu ? "the GPU has too little memory (peer0.memory)"
                                                        : "the host has too little memory");
  }
  return m;
}

ibv_mr* flow_memory::enter(cpu& c, ibv_pd* pd, const memory_piece& m, std::uint64_t offset, std::uint64_t bytes, int access) {
  const int rights = rights_in(m.kind, access);
  return m.chip ? ibv_reg_dm_mr(c, pd, m.chip, offset, bytes, rights) : ibv_reg_mr(c, pd, m.address + offset, bytes, rights);
}

region flow_memory::region(process_context& p, memory_kind kind, std::uint64_t bytes, page_policy pages) {
  const memory_piece m = allocate(p, kind, bytes, pages);
  return {address_in(m, 0, 0), bytes, made(enter(p.c, p.pd, m, 0, bytes, all_rights))};
}

std::vector<std::uint8_t> flow_memory::bytes(process_context& p, memory_kind kind, std::uint64_t address, std::uint64_t n) {
  return kind == memory_kind::gpu ? peer_bytes(node_.peer(gpu_.value()), *owner_, address, n) : p.bytes(address, n);
}

void flow_memory::leave(cpu& c) {
  if (owner_) owner_->leave(c);
}

}  // namespace hcasim::traffic
