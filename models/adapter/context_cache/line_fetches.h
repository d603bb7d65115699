// Fetches: entries on their way from ICM, or from the second level, into their lines. Misses of one index share a fetch.
#pragma once

#include <deque>

#include "models/adapter/context_cache/line_drops.h"
#include "models/adapter/context_cache/write_buffers.h"

namespace hcasim {

class line_fetches {
 public:
  struct parts {
    cache_lines& lines;
    second_level& second;
    entry_transfers& icm;
    write_buffers& writes;
    line_drops& drops;
    pending_requests& pending;
  };

  line_fetches(std::uint32_t fetches, ps second_latency, const parts& with, context_cache_counters& counters,
               context_cache_signals& signals);

  // Fetches the entry of a request into a line, which makes room.
  void begin(pending_request& p, std::size_t slot);
  // Lets a request wait for the entry of a line that is being fetched.
  void join(pending_request& p, std::size_t slot) { records_[parts_.lines.fetch_of(slot)].waiting.push(p); }

  [[nodiscard]] bool any_free() const { return !free_.empty(); }
  [[nodiscard]] std::size_t active() const { return records_.size() - free_.size(); }

 private:
  struct record {
    dma_request read;
    std::size_t slot = 0;
    std::uint16_t number = 0;
    bool from_second = false;
    bool launching = false;  // its first request is still in its call
    ps begin{0};
    fifo<pending_request> waiting;
    record* next = nullptr;
  };

  // Gives the line to the request's entry; true = its bytes come from the second level.
  bool take_line(record& f, std::uint32_t index);
  process run(record& f, write_buffers::entry* evicted, std::uint64_t operation);
  void fill(record& f, ps t);
  void count(int more, ps t);

  event_queue& queue_ = event_queue::instance();
  const ps second_latency_;
  const parts parts_;
  context_cache_counters& counters_;
  context_cache_signals& signals_;
  std::deque<record> records_;
  fifo<record> free_;
};

}  // namespace hcasim
