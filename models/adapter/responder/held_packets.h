// Request packets in hand. Each holds its receive buffer in the port until it is released. Copies made for a multicast group
// hold the buffer of their original until the last copy is released.
#pragma once

#include "tlm/base/pool.h"
#include "tlm/packet.h"

namespace hcasim {

class held_packets {
 public:
  explicit held_packets(packet_pool& packets) : pool_(packets) {}

  void release(packet& p) {
    if (!p.via) [[unlikely]]
      return release_copy(p);
    target_socket<packet>::respond(p, now());
    pool_.put(p);
  }

  // Begins to replicate a packet into `copies` copies, each made by `copy_of`.
  struct replication {
    packet* original = nullptr;
    std::uint32_t left = 0;  // unreleased copies
  };
  replication& replicate(packet& original, std::uint32_t copies) {
    replication& r = replications_.get();
    r = {&original, copies};
    return r;
  }
  packet& copy_of(replication& r);

 private:
  void release_copy(packet& p);

  packet_pool& pool_;
  pool<replication> replications_;
};

}  // namespace hcasim
