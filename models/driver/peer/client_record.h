// A registered client and its counters.
#pragma once

#include "models/driver/peer/peer_core.h"

namespace hcasim::driver::peer {

struct client_record {
  const peer_memory_client* client = nullptr;
  const peer_memory_client_v1* v1 = nullptr;
  std::unique_ptr<peer_memory_client> translated;  // of v1: target of `client`
  std::string name;
  std::string version;
  bool needs_invalidation = false;
  bool unmaps = false;  // PEER_MEM_INVALIDATE_UNMAPS
  bool leaving = false;
  std::uint64_t users = 0;  // registrations
  wait_queue idle;

  std::uint64_t num_alloc_mrs = 0;
  std::uint64_t num_dealloc_mrs = 0;
  std::uint64_t num_reg_pages = 0;
  std::uint64_t num_dereg_pages = 0;
  std::uint64_t num_reg_bytes = 0;
  std::uint64_t num_dereg_bytes = 0;
  std::uint64_t num_free_callbacks = 0;
};

}  // namespace hcasim::driver::peer
