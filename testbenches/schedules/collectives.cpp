#include "testbenches/schedules/collectives.h"

#include <bit>

namespace hcasim::schedules {
namespace {

constexpr std::uint32_t none = ~std::uint32_t{0};

// Appends to the schedule of one rank. An operation follows the given one, or the end of the repetition before.
class rank_builder {
 public:
  rank_builder(rank_schedule& r, const collective_options& o) : r_(r), options_(o) {}

  std::uint32_t send(std::uint32_t to, std::uint64_t bytes, std::uint32_t after = none) {
    return put({.what = action::send, .peer = to, .tag = tag_, .bytes = bytes}, after);
  }
  std::uint32_t receive(std::uint32_t from, std::uint64_t bytes, std::uint32_t after = none) {
    return put({.what = action::receive, .peer = from, .tag = tag_, .bytes = bytes}, after);
  }
  // Adds received bytes to the rank's own; the receive itself where this takes no time.
  std::uint32_t reduce(std::uint64_t bytes, std::uint32_t received) {
    if (options_.reduce_per_kib == ps(0)) return received;
    const ps time(
        static_cast<std::int64_t>(static_cast<double>(options_.reduce_per_kib.count()) * static_cast<double>(bytes) / 1024));
    return put({.what = action::calculate, .time = time}, received);
  }
  void require(std::uint32_t after, std::uint32_t before) {
    if (before != none) r_.require(after, before);
  }
  // Ends a repetition: the next one's first operations follow all of this one's.
  void end_repetition() {
    end_ = put({.what = action::calculate}, none);
    for (std::uint32_t i = begin_; i < end_; ++i) r_.require(end_, i);
    begin_ = end_ + 1;
    ++tag_;
  }

 private:
  std::uint32_t put(operation o, std::uint32_t after) {
    const std::uint32_t i = r_.add(o);
    if (after != none) {
      r_.require(i, after);
    } else if (end_ != none && i > end_) {
      r_.require(i, end_);
    }
    return i;
  }

  rank_schedule& r_;
  const collective_options& options_;
  std::uint32_t tag_ = 0;
  std::uint32_t begin_ = 0;
  std::uint32_t end_ = none;
};

// Bytes of part `part` of a vector; all parts together are the whole.
std::uint64_t part_of(const collective_options& o, std::uint32_t part) {
  return o.bytes * (part + 1) / o.ranks - o.bytes * part / o.ranks;
}

// Parts go around the ring for `steps` steps; `adding`: each is added to the receiver's own before it goes on. Returns the last
// operation. The first part to leave is `first`, and follows `after`.
std::uint32_t ring(rank_builder& b, const collective_options& o, std::uint32_t rank, std::uint32_t first, bool adding,
                   std::uint32_t after) {
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

std::uint32_t tree_reduce(rank_builder& b, const collective_options& o, std::uint32_t rank) {
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

void tree_broadcast(rank_builder& b, const collective_options& o, std::uint32_t rank, std::uint32_t after) {
  if (rank != 0) after = b.receive(parent_of(rank), o.bytes, after);
  for (const std::uint32_t c : children_of(rank, o.ranks)) b.send(c, o.bytes, after);
}

void all_to_all(rank_builder& b, const collective_options& o, std::uint32_t rank) {
  for (std::uint32_t i = 1; i < o.ranks; ++i) {
    const std::uint32_t from = (rank + o.ranks - i) % o.ranks;
    const std::uint32_t to = (rank + i) % o.ranks;
    b.receive(from, part_of(o, rank));
    b.send(to, part_of(o, to));
  }
}

void repetition(rank_builder& b, collective what, const collective_options& o, std::uint32_t rank) {
  switch (what) {
    case collective::ring_all_reduce:
      ring(b, o, rank, (rank + 1) % o.ranks, false, ring(b, o, rank, rank, true, none));
      break;
    case collective::tree_all_reduce:
      tree_broadcast(b, o, rank, tree_reduce(b, o, rank));
      break;
    case collective::all_gather:
      ring(b, o, rank, rank, false, none);
      break;
    case collective::reduce_scatter:
      ring(b, o, rank, rank, true, none);
      break;
    case collective::all_to_all:
      all_to_all(b, o, rank);
      break;
    case collective::broadcast:
      tree_broadcast(b, o, rank, none);
      break;
  }
  b.end_repetition();
}

}  // namespace

schedule make(collective what, const collective_options& o) {
  schedule s;
  s.ranks.resize(o.ranks);
  for (std::uint32_t rank = 0; rank < o.ranks; ++rank) {
    rank_builder b(s.ranks[rank], o);
    for (std::uint32_t i = 0; i < o.repetitions; ++i) repetition(b, what, o, rank);
  }
  return s;
}

double bus_factor(collective what, std::uint32_t ranks) {
  const double others = static_cast<double>(ranks - 1) / ranks;
  switch (what) {
    case collective::ring_all_reduce:
    case collective::tree_all_reduce:
      return 2 * others;
    case collective::broadcast:
      return 1;
    default:
      return others;
  }
}

}  // namespace hcasim::schedules
