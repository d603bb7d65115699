// Between a unit and a context cache (QPC, CQC, MRC, extent lines).
//
// fetch:   answered with the entry pinned: `entry` stays valid until END_RESP gives it back. END_RESP with `dirty` set reports
//          a write to the entry. Several units may hold one entry.
// drop:    (command unit) write back if dirty, forget; answered when no unit holds the entry any more. Fetches that come while
//          a drop waits are answered after the drop, from ICM.
// take:    (command unit) a drop after which fetches and drops of the index go on waiting, until give. Meanwhile the command
//          unit owns the entry, in ICM alone, and may change it there word by word.
// give:    (command unit) ends take; answered at once.
// set_area: (command unit) where the entries lie; forgets everything.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "tlm/socket.h"

namespace hcasim {

enum class context_op : std::uint8_t { fetch, drop, set_area, take, give };
inline constexpr std::array context_op_names{"fetch", "drop", "set_area", "take", "give"};

struct context_request : transaction {
  context_op op = context_op::fetch;
  // A fetch failed: index out of the area (area_entries in the answer), or ICM could not be read; nothing is pinned. A drop or
  // a take failed: the cache has lost an entry that was newer than ICM, and cannot tell which.
  bool failed = false;
  bool dirty = false;  // set by the holder before END_RESP
  std::uint32_t index = 0;
  std::uint64_t area_base = 0;
  std::uint64_t area_entries = 0;
  std::byte* entry = nullptr;

  template <class T>
  [[nodiscard]] T& as() const {
    return *reinterpret_cast<T*>(entry);
  }
};

}  // namespace hcasim
