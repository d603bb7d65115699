// Streams of the context cache whose latencies are equal to the cycle: hits as fast as they go, and between them misses, drops
// and requests that wait, each beside hits and at a time of its own.
//
// Left out is what RTL does a cycle later than the model: a request for an entry in the cycle it comes, and another try after
// a drop or a write of the entry.
#pragma once

#include <array>
#include <map>
#include <set>

#include "testbenches/coverification/lockstep/context_cache_stimulus.h"
#include "testbenches/coverification/lockstep/context_cache_twins.h"
#include "tlm/base/random.h"

namespace hcasim::lockstep {

class context_pipelines {
 public:
  // With twins between them, whose misses take longer, or without.
  context_pipelines(random_stream& r, bool twins) : r_(r), with_twins_(twins) {}
  void warm_up(item_stream& s);
  void go_on(item_stream& s);

 private:
  // Sets of entries that are always there, and sets in which they come and go. The one between them is that of a twin.
  static constexpr std::uint32_t quiet_sets = 31;
  static constexpr std::uint32_t busy_sets = 32;  // from this one on
  static constexpr std::uint32_t ways = 4;
  // From the request for an entry that is not there until it comes.
  static constexpr std::uint64_t miss = 22;

  void add(context_item kind, std::uint32_t number, unsigned gap, unsigned hold);
  void hit(unsigned gap);
  void hits(std::uint64_t cycles, unsigned most_gap);
  unsigned held(std::uint64_t from, unsigned hold);
  void begin(unsigned gap = 150);
  [[nodiscard]] std::uint32_t quiet();
  std::uint32_t busy_set();
  void renew(std::uint32_t set);
  [[nodiscard]] std::uint32_t absent(std::uint32_t set);
  [[nodiscard]] std::uint32_t present(std::uint32_t set) { return there_[set][r_.below(ways)]; }
  [[nodiscard]] std::uint32_t failing();
  void came(std::uint32_t number);
  static std::uint32_t number_of(std::uint64_t set, std::uint64_t n) { return static_cast<std::uint32_t>(set + 64 * n); }

  void run_of_hits();
  void uses();
  void crowd();
  void siege();
  void elsewhere(std::uint32_t set, std::uint32_t other);
  void evictions();
  void drops();
  void pair_of_twins();

  random_stream& r_;
  const bool with_twins_;
  context_twins twins_{busy_sets};
  item_stream* to_ = nullptr;
  std::uint64_t time_ = 0;
  std::map<std::uint32_t, std::uint64_t> asked_at_;
  std::set<std::uint64_t> given_at_;
  std::set<std::uint64_t> answers_at_;                // of those that wait
  std::array<std::vector<std::uint32_t>, 64> there_;  // used last first; what was there before may be behind
  std::array<bool, 64> is_known_{};
};

}  // namespace hcasim::lockstep
