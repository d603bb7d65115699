// The steps of which collective operations consist: operations of a rank, the ring and the binomial tree. Plain C++.
#pragma once

#include <cstdint>

#include "testbenches/schedules/schedule.h"

namespace hcasim::schedules {

struct collective_options {
  std::uint32_t ranks = 8;        // 2 or more
  std::uint64_t bytes = 1 << 20;  // of the whole vector of a rank, as nccl-tests counts it
  std::uint32_t repetitions = 1;  // a rank begins one when its own part of the one before is done
  ps reduce_per_kib{0};           // time to add 1 KiB to another
};

inline constexpr std::uint32_t none = ~std::uint32_t{0};  // no operation

// Appends to the schedule of one rank. An operation follows the given one, or the end of the repetition before.
class rank_builder {
 public:
  rank_builder(rank_schedule& r, const collective_options& o) : r_(r), options_(o) {}

  [[nodiscard]] const collective_options& options() const { return options_; }
  std::uint32_t send(std::uint32_t to, std::uint64_t bytes, std::uint32_t after = none) {
    return put({.what = action::send, .peer = to, .tag = tag_, .bytes = bytes}, after);
  }
  std::uint32_t receive(std::uint32_t from, std::uint64_t bytes, std::uint32_t after = none) {
    return put({.what = action::receive, .peer = from, .tag = tag_, .bytes = bytes}, after);
  }
  // Adds received bytes to the rank's own; the receive itself where this takes no time.
  std::uint32_t reduce(std::uint64_t bytes, std::uint32_t received);
  void require(std::uint32_t after, std::uint32_t before) {
    if (before != none) r_.require(after, before);
  }
  // Ends a repetition: the next one's first operations follow all of this one's.
  void end_repetition();

 private:
  std::uint32_t put(operation o, std::uint32_t after);

  rank_schedule& r_;
  const collective_options& options_;
  std::uint32_t tag_ = 0;
  std::uint32_t begin_ = 0;
  std::uint32_t end_ = none;
};

// Returns the bytes of part `part` of a vector; all parts together are the whole.
std::uint64_t part_of(const collective_options& o, std::uint32_t part);

// Passes parts around the ring; `adding`: each is added to the receiver's own before it goes on. The first part to leave is
// `first`, and follows `after`. Returns the last operation.
std::uint32_t pass_around_ring(rank_builder& b, std::uint32_t rank, std::uint32_t first, bool adding, std::uint32_t after);

// Adds the vectors of all ranks, towards rank 0. Returns the last operation.
std::uint32_t reduce_up_tree(rank_builder& b, std::uint32_t rank);
void broadcast_down_tree(rank_builder& b, std::uint32_t rank, std::uint32_t after);

}  // namespace hcasim::schedules
