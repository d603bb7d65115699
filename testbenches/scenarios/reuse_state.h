// The messages between the host and the targets of one run of rkey_reuse, and their counts.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "testbenches/kit/world.h"
#include "testbenches/scenarios/rkey_reuse.h"

namespace hcasim::kit {

// A grant of the host to a target, as the bytes of a SEND: stream positions [from, to) go to VAs from `va` on, under `key`. An
// empty range tells the key alone.
enum class grant_kind : std::uint32_t { stream, probe, done };  // probe: one message into it, at once
struct grant {
  std::uint64_t from = 0;
  std::uint64_t to = 0;
  std::uint64_t va = 0;
  std::uint32_t key = 0;
  grant_kind kind = grant_kind::stream;
};

struct node_counts {
  explicit node_counts(node& n);
  double commands, pcie, mrc;
  double walks = 0;
};

struct reuse_state {
  // The two ends of one connection, before it is there.
  struct link {
    out_of_band<address> to_host;
    out_of_band<address> to_target;
    out_of_band<ps> ready;
    out_of_band<ps> finished;
  };
  reuse_state(const reuse_options& options_in, const std::vector<std::uint8_t>& stream_in, std::vector<reuse_mode> modes_in,
              std::vector<reuse_outcome>& outcomes_in)
      : o(options_in), stream(stream_in), modes(std::move(modes_in)), outcomes(&outcomes_in), links(o.targets) {}

  [[nodiscard]] std::uint32_t owner_of(std::uint64_t buffer) const { return static_cast<std::uint32_t>(buffer % o.targets); }
  [[nodiscard]] std::uint64_t total() const { return ceil_div(stream.size(), o.buffer); }
  [[nodiscard]] qp_options qp() const;
  // A target has written its part; with the last one the measured part ends.
  void target_finished(cpu& c, link& l);

  reuse_options o;
  const std::vector<std::uint8_t>& stream;
  std::vector<reuse_mode> modes;
  std::vector<reuse_outcome>* outcomes;
  std::deque<link> links;  // of each target
  node* host = nullptr;
  std::uint32_t finished = 0;        // targets that have written all of theirs
  std::optional<node_counts> after;  // of the host, when the last target has
};

// Counts the host's work between the two.
void count(reuse_outcome& out, const node_counts& before, const node_counts& after);

void reuse_host(reuse_state& s, cpu& c, node& n, std::size_t way);
void reuse_target(reuse_state& s, cpu& c, node& n, std::size_t way, std::uint32_t number);
void tcp_host(reuse_state& s, cpu& c, node& n, std::size_t way);
void tcp_target(reuse_state& s, cpu& c, node& n, std::size_t way, std::uint32_t number);

}  // namespace hcasim::kit
