// The peer client interface as first proposed (2014). `acquire` gets the name of the client that the process gives for its
// memory; a registration is known by a pointer. Clients of this interface need driver.peer_semantics: legacy.
#pragma once

#include "models/driver/peer/peer_client.h"

namespace hcasim::driver::peer {

struct peer_memory_client_v1 {
  char name[IB_PEER_MEMORY_NAME_MAX] = {};
  char version[IB_PEER_MEMORY_VER_MAX] = {};
  // The name and the data are the process's, ibv_context::peer_mem_name and peer_mem_private_data; nullptr = not set.
  std::function<int(cpu&, const virtual_memory& mm, std::uint64_t addr, std::uint64_t size, void* peer_mem_private_data,
                    const char* peer_mem_name, void** client_context)>
      acquire;
  std::function<int(cpu&, std::uint64_t addr, std::uint64_t size, bool write, bool force, sg_table& sg, void* client_context,
                    void* core_context)>
      get_pages;
  std::function<int(cpu&, sg_table& sg, void* client_context, const device& dma_device, int dmasync, int* nmap)> dma_map;
  std::function<int(cpu&, sg_table& sg, void* client_context, const device& dma_device)> dma_unmap;
  std::function<void(cpu&, sg_table& sg, void* client_context)> put_pages;
  std::function<std::uint64_t(cpu&, void* client_context)> get_page_size;
  std::function<void(cpu&, void* client_context)> release;  // optional
};

using invalidate_peer_memory_v1 = std::function<int(cpu&, void* reg_handle, void* core_context)>;

}  // namespace hcasim::driver::peer
