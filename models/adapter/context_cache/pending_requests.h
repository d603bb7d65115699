// Requests that were not answered in the call, and the order in which they go on.
//
// A stalled request waits for a fetch or a victim: first come, first served per set. The gate holds all requests back: behind a
// change of the area, or behind a miss without hit_under_miss.
#pragma once

#include "models/adapter/context_cache/context_cache_config.h"
#include "models/adapter/context_cache/context_cache_statistics.h"
#include "tlm/base/event_queue.h"
#include "tlm/base/fifo.h"
#include "tlm/base/lazy_array.h"
#include "tlm/base/pool.h"
#include "tlm/base/server.h"
#include "tlm/base/waiting.h"
#include "tlm/context.h"

namespace hcasim {

class line_fetches;
class request_admission;

enum class admission : std::uint8_t { answered, queued, no_fetch, no_victim };

struct pending_request {
  context_request* request = nullptr;
  ps t{0};                                // earliest answer
  admission stall = admission::answered;  // the reason, while stalled
  pending_request* next = nullptr;
};

class pending_requests {
 public:
  struct lookup_port {
    server turns;
    ps interval;
    ps cycle;
  };

  struct parts {
    request_admission& admission;
    line_fetches& fetches;
  };

  pending_requests(const context_cache_config& config, lookup_port& port, const parts& with, context_cache_counters& counters,
                   context_cache_signals& signals)
      : config_(config), port_(port), parts_(with), counters_(counters), signals_(signals), stalled_in_set_(config.sets) {}

  // Takes a request in; returns whether it is answered at once.
  bool take(context_request& r, ps t);
  // Answers, queues or stalls the request.
  void settle(pending_request& p);
  void settle_all(fifo<pending_request> list);
  void answer(pending_request& p);
  void change_area(pending_request& p) { area_change_ = &p; }

  // Retries stalled requests in the next cycle: a line or a fetch is free.
  void on_room() {
    if (stalled_count_ > 0) poke();
  }
  // Changes the area, if nothing is under way any more.
  void on_end() {
    if (area_change_) progress();
  }
  void on_fetch_end() {
    on_room();
    if (area_change_ || !gate_.empty()) progress();
  }
  // Goes on when the call that has given a line back is over.
  void on_release();

  [[nodiscard]] bool gated() const { return !gate_.empty() || area_change_ || (!config_.hit_under_miss && missing()); }
  [[nodiscard]] bool any_stalled() const { return stalled_count_ > 0; }
  [[nodiscard]] bool wants_room() const { return any_stalled() || area_change_; }
  [[nodiscard]] bool stalled_for_fetch() const { return stalled_for_fetch_ > 0; }
  [[nodiscard]] bool stalled_in(std::uint32_t set) const { return stalled_in_set_[set] > 0; }

  void list_waiting(waiting_list& list, const std::string& at, const std::string& target, std::uint64_t pinned) const;

 private:
  [[nodiscard]] bool missing() const;
  void stall(pending_request& p, admission why);
  void count_stall(pending_request& p, admission why);
  void end_stall(const pending_request& p);
  void retry_stalled();
  void poke();
  void on_poke();
  void progress();
  void note_waiting() { counters_.waiting.set(pool_.in_use(), now()); }

  event_queue& queue_ = event_queue::instance();
  const context_cache_config& config_;
  lookup_port& port_;
  const parts parts_;
  context_cache_counters& counters_;
  context_cache_signals& signals_;
  pool<pending_request> pool_;
  fifo<pending_request> stalled_;
  std::uint64_t stalled_count_ = 0;
  std::uint64_t stalled_for_fetch_ = 0;
  lazy_array<std::uint32_t> stalled_in_set_;
  fifo<pending_request> gate_;
  pending_request* area_change_ = nullptr;
  bool poked_ = false;
  bool progressing_ = false;
  bool again_ = false;
};

}  // namespace hcasim
