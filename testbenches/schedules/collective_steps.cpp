#include "testbenches/schedules/collective_steps.h"

#include <bit>

namespace hcasim::schedules {

std::uint32_t rank_builder::reduce(std::uint64_t bytes, std::uint32_t received) {
  if (options_.reduce_per_kib == ps(0)) return received;
  const ps time(
      static_cast<std::int64_t>(static_cast<double>(options_.reduce_per_kib.count()) * static_cast<double>(bytes) / 1024));
  return put({.what = action::calculate, .time = time}, received);
}

void rank_builder::end_repetition() {
  end_ = put({.what = action::calculate}, none);
  for (std::uint32_t i = begin_; i < end_; ++i) r_.require(end_, i);
  begin_ = end_ + 1;
  ++tag_;
}

std::uint32_t rank_builder::put(operation o, std::uint32_t after) {
  const std::uint32_t i = r_.add(o);
  if (after != none) {
    r_.require(i, after);
  } else if (end_ != none && i > end_) {
    r_.require(i, end_);
  }
  return i;
}

std::uint64_t part_of(const collective_options& o, std::uint32_t part) {
  return o.bytes * (part + 1) / o.ranks - o.bytes * part / o.ranks;
}

std::uint32_t pass_around_ring(rank_builder& b, std::uint32_t rank, std::uint32_t first, bool adding, std::uint32_t after) {
  const collective_options& o = b.options();
  const std::uint32_t n = o.ranks;
  for (std::uint32_t step = 0; step + 1 < n; ++step) {
    const std::uint32_t leaving = (first + n - step) % n;
    const std::uint32_t coming = (leaving + n - 1) % n;
    b.send((rank + 1) % n, part_of(o, leaving), after);
    const std::uint32_t received = b.receive((rank + n - 1) % n, part_of(o, coming), after);
    after = adding ? b.reduce(part_of(o, coming), received) : received;
  }
  return after;
}

namespace {

// The binomial tree's parent of a rank is the rank without its lowest bit that is set.
std::uint32_t parent_of(std::uint32_t rank) {
  return rank & (rank - 1);
}
// Children of `rank`, the one with the largest subtree first.
std::vector<std::uint32_t> children_of(std::uint32_t rank, std::uint32_t ranks) {
  std::vector<std::uint32_t> c;
  const std::uint32_t below = rank == 0 ? std::bit_ceil(ranks) : rank & -rank;
  for (std::uint32_t bit = below >> 1; bit != 0; bit >>= 1) {
    if ((rank | bit) < ranks) c.push_back(rank | bit);
  }
  return c;
}

}  // namespace

std::uint32_t reduce_up_tree(rank_builder& b, std::uint32_t rank) {
  const collective_options& o = b.options();
  std::uint32_t after = none;
  const std::vector<std::uint32_t> children = children_of(rank, o.ranks);
  for (auto c = children.rbegin(); c != children.rend(); ++c) {
    const std::uint32_t received = b.receive(*c, o.bytes);
    b.require(received, after);
    after = b.reduce(o.bytes, received);
  }
  if (rank != 0) after = b.send(parent_of(rank), o.bytes, after);
  return after;
}

void broadcast_down_tree(rank_builder& b, std::uint32_t rank, std::uint32_t after) {
  const collective_options& o = b.options();
  if (rank != 0) after = b.receive(parent_of(rank), o.bytes, after);
  for (const std::uint32_t c : children_of(rank, o.ranks)) b.send(c, o.bytes, after);
}

}  // namespace hcasim::schedules
