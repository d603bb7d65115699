// Between a unit and the page walker: one VA to one physical piece.
//
// walk: answered with the physical address of `va` and how many bytes from there lie in the same page (at most `length`).
// drop: (command unit) forget cached entries of key index `map.index` for VAs in [va, last]; walks of them that are under way
//       do not leave anything behind in the caches. Answered at once.
#pragma once

#include <cstdint>

#include "tlm/protection.h"
#include "tlm/socket.h"

namespace hcasim {

enum class translate_op : std::uint8_t { walk, drop };
enum class translate_status : std::uint8_t { ok, not_present, table_error };

struct translate_request : transaction {
  translate_op op = translate_op::walk;
  translate_status status = translate_status::ok;
  bool write = false;  // a read-only entry is not_present
  translation map;
  std::uint64_t va = 0;
  std::uint64_t last = 0;    // drop only
  std::uint64_t length = 0;  // wanted
  std::uint64_t physical = 0;
  std::uint64_t bytes = 0;  // contiguous from there, 1..length
};

}  // namespace hcasim
