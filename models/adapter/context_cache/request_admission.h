// Decides on a request that is no plain hit: an answer, a queue in which the request waits, or the reason of a stall.
#pragma once

#include "models/adapter/context_cache/line_cells.h"
#include "models/adapter/context_cache/line_fetches.h"

namespace hcasim {

class request_admission {
 public:
  struct parts {
    cache_lines& lines;
    second_level& second;
    entry_transfers& icm;
    pending_requests& pending;
    write_buffers& writes;
    line_drops& drops;
    line_fetches& fetches;
    line_cells& cells;
  };

  request_admission(const parts& with, context_cache_counters& counters) : parts_(with), counters_(counters) {}

  [[nodiscard]] admission admit(pending_request& p);
  [[nodiscard]] std::uint32_t set_of(const pending_request& p) const { return parts_.lines.set_of(p.request->index); }
  // Returns whether no entry is held or under way, and no request waits for one.
  [[nodiscard]] bool idle() const;

 private:
  admission fetch(pending_request& p);
  admission begin_fetch(pending_request& p);
  admission drop(pending_request& p);
  admission set_area(pending_request& p);

  const parts parts_;
  context_cache_counters& counters_;
};

}  // namespace hcasim
