// Streams of the context cache whose latencies are equal to the cycle. Hits come as fast as possible. Misses, drops and
// requests that wait come between them, each at a time of its own.
//
// Left out are two cases in which RTL is a cycle later than the model. One is a request in the cycle in which its entry comes.
// The other is a further try after a drop or write of the entry.
#pragma once

#include <array>
#include <map>
#include <set>

#include "testbenches/coverification/lockstep/context_cache/context_cache_stimulus.h"
#include "testbenches/coverification/lockstep/context_cache/context_cache_twins.h"
#include "tlm/base/random.h"

namespace hcasim::lockstep {

class context_pipelines {
 public:
  // With twins between them, whose misses take longer, or without.
  context_pipelines(random_stream& r, bool twins) : r_(r), with_twins_(twins) {}
  void warm_up(item_stream& s);
  void go_on(item_stream& s);

 private:
  // Entries of quiet sets are always cached, entries of busy sets come and go. The set between them belongs to a twin.
  static constexpr std::uint32_t quiet_sets = 31;
  static constexpr std::uint32_t busy_sets = 32;  // from this one on
  static constexpr std::uint32_t ways = 4;
  // Cycles from the request for an entry that is not cached to its answer.
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
  void requests_of_one();
  void full_set();
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
  std::set<std::uint64_t> answers_at_;                // cycles of the answers to requests that wait
  std::array<std::vector<std::uint32_t>, 64> there_;  // the last used first; then entries that may have left
  std::array<bool, 64> is_known_{};
};

}  // namespace hcasim::lockstep
