// Patterns: which hosts of one group send to which of another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace hcasim::traffic {

// An error whose text tells the fault and the mend.
class pattern_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

enum class pattern_kind : std::uint8_t { pairs, all_to_all, incast, outcast, ring, permutation, random, hot_spot };

struct pattern {
  pattern_kind kind = pattern_kind::pairs;
  double hot_share = 0;  // hot_spot: share of all messages that go to the first target

  // Reads "incast" or "hot_spot 0.5". Throws pattern_error.
  static pattern parse(std::string_view text);
  // Returns whether each message chooses its target, instead of every target having messages under way.
  [[nodiscard]] bool per_message() const { return kind == pattern_kind::random || kind == pattern_kind::hot_spot; }
};

struct host_pair {
  std::size_t from;
  std::size_t to;
  double weight = 1;  // of the sender's messages; only their ratio counts
};

using host_list = std::vector<std::size_t>;

// Reads "0-7" or "0-3, 8". Throws pattern_error.
host_list parse_hosts(std::string_view text);

// Returns the pairs, sorted by sender. No host sends to itself. Throws pattern_error.
//   pairs        the n-th source to the n-th target
//   all_to_all   every source to every target
//   incast       every source to the one target; outcast: the one source to every target
//   ring         each host of one group to the next
//   permutation  every source to a target of its own, drawn from the seed
//   random       every source to every target, each message to a random one
//   hot_spot S   likewise, the share S of each source's messages to the first target
std::vector<host_pair> pairs_of(const pattern& p, const host_list& from, const host_list& to, std::uint64_t seed);

}  // namespace hcasim::traffic
