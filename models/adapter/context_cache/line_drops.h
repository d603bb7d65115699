// Entries that the command unit drops or takes. Each leaves its line when no request holds the entry any more; a dirty one goes
// to ICM. A taken entry stays here until it is given.
#pragma once

#include <vector>

#include "models/adapter/context_cache/cache_lines.h"
#include "models/adapter/context_cache/entry_transfers.h"
#include "models/adapter/context_cache/pending_requests.h"
#include "tlm/base/process.h"

namespace hcasim {

class line_drops {
 public:
  line_drops(cache_lines& lines, entry_transfers& icm, pending_requests& pending, context_cache_counters& counters)
      : lines_(lines), icm_(icm), pending_(pending), counters_(counters) {}

  // Drops or takes the entry of a line.
  void begin(pending_request& p, std::size_t slot);
  // Takes an entry that is in no line.
  void take(std::uint32_t index) { add(nullptr, index, cache_lines::nowhere); }
  void give(std::uint32_t index);
  // Lets a request wait behind the drop of its index; false = there is none.
  bool queue(pending_request& p);

  // Reacts to the last holder's return of an entry, and to a fetch that has failed.
  void on_release(std::uint32_t index) { wake(*of(index)); }
  void on_fetch_failed(std::uint32_t index);

  [[nodiscard]] bool has(std::uint32_t index) const { return of(index) != nullptr; }
  [[nodiscard]] bool empty() const { return dropping_.empty(); }

 private:
  struct drop {
    dma_request write;
    pending_request* request = nullptr;  // null = taken
    std::uint32_t index = 0;
    std::size_t slot = 0;
    std::coroutine_handle<> sleeper;
    bool launching = false;
    fifo<pending_request> waiting;
  };

  drop& add(pending_request* p, std::uint32_t index, std::size_t slot);
  [[nodiscard]] drop* of(std::uint32_t index) const;
  fifo<pending_request> remove(drop& d);
  process run(drop& d);
  [[nodiscard]] bool in_use(const drop& d) const;
  void wake(drop& d);

  event_queue& queue_ = event_queue::instance();
  cache_lines& lines_;
  entry_transfers& icm_;
  pending_requests& pending_;
  context_cache_counters& counters_;
  std::vector<drop*> dropping_;
  pool<drop> pool_;
};

}  // namespace hcasim
