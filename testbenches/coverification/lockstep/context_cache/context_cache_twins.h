// Pairs of entries for the context cache whose indices differ in one bit. Each bit meets an entry in each state: cached, on its
// way, held and dropped, being written, or waiting to be written. Some entries are renewed during a read.
//
// The entries of a pair lie anywhere in the area and were never used before.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "testbenches/coverification/lockstep/context_cache/context_cache_stimulus.h"
#include "tlm/base/random.h"

namespace hcasim::lockstep {

class context_twins {
 public:
  // Uses sets from `sets_from` on, and the one before. Lower sets belong to other streams.
  explicit context_twins(std::uint32_t sets_from = 0) : sets_from_(sets_from) {}

  // Appends the items of the next pair. Without stalls each event comes in its exact cycle.
  void next(std::deque<item>& to, random_stream& r);
  // Returns the cycles from the first to the last item, and the sets that the pair is in.
  [[nodiscard]] std::uint64_t cycles() const { return now_ - first_; }
  [[nodiscard]] const std::vector<std::uint32_t>& sets() const { return sets_; }

 private:
  enum class meeting : std::uint8_t {
    cached,
    dropped,
    on_its_way,
    comes,
    held_and_dropped,
    given_up,
    written,
    lands,
    drop_lands,
    waits_for_a_buffer,
    both_held_and_dropped,
    no_room,
    ages,
    taken,
    waits_for_a_write
  };
  struct timed {
    std::uint64_t at;
    item what;
  };
  static constexpr unsigned meetings = 15;
  static constexpr unsigned index_bits = 32;
  static constexpr unsigned set_bits = 6;
  static constexpr unsigned ways = 4;
  // Cycles from a request to its answer, for a cached entry and for one that is read.
  static constexpr std::uint64_t hit = 2;
  static constexpr std::uint64_t miss = 22;

  void draw(random_stream& r, unsigned bit);
  void add(std::uint64_t at, context_item kind, std::uint32_t index, unsigned hold = 2);
  void push(std::deque<item>& to);
  std::uint64_t age(std::uint64_t at, std::uint32_t index, random_stream& r);
  [[nodiscard]] std::uint32_t fresh(random_stream& r, std::uint32_t set) const;
  void play(meeting m, random_stream& r);
  void meet_writes(meeting m, random_stream& r);
  void meet_without_room(random_stream& r);
  void meet_ages(random_stream& r);
  void meet_releases(random_stream& r);
  void meet_a_waiting_one(random_stream& r);

  const std::uint32_t sets_from_;
  std::uint64_t turn_ = 0;
  std::uint32_t index_ = 0;
  std::uint32_t twin_ = 0;
  std::uint64_t value_ = 0;
  std::vector<timed> script_;
  std::vector<std::uint32_t> sets_;
  std::uint64_t first_ = 0;
  std::uint64_t now_ = 0;
};

}  // namespace hcasim::lockstep
