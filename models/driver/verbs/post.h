// Posting send requests, for the verbs that do it.
#pragma once

#include <algorithm>
#include <span>

#include "models/driver/objects/objects.h"
#include "models/machine/host/cpu.h"

namespace hcasim::driver {

// Writes bytes of a queue, which may lie in frames that are not adjacent.
inline void store_blocks(cpu& c, const queue_buffer& buffer, std::uint64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const std::uint64_t room = host_page - (offset & (host_page - 1));
    const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(room, bytes.size()));
    c.store(buffer.physical(offset), bytes.first(n));
    bytes = bytes.subspan(n);
    offset += n;
  }
}

// Posts a list as ibv_post_send; `windows`: the type that IBV_WR_BIND_MW may name.
int post_sends(cpu& c, queue_pair& qp, verbs::ibv_send_wr* wr, verbs::ibv_send_wr** bad_wr, verbs::ibv_mw_type windows);

}  // namespace hcasim::driver
