// The record of one flow's messages: counts, latencies, rates over time. Its memory depends on neither their number nor the
// length of the run.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "testbenches/kit/latency_histogram.h"

namespace hcasim::traffic {

using kit::latency_histogram;

// Bytes over time, in steps that double when there are too many.
class rate_series {
 public:
  static constexpr std::size_t most_steps = 128;

  struct step {
    ps begin;
    ps end;
    std::uint64_t bytes;
  };

  // Adds bytes at the time `t` after the begin of the series.
  void add(ps t, std::uint64_t bytes);
  // Returns the steps until `end`; the last one ends there.
  [[nodiscard]] std::vector<step> steps(ps end) const;

 private:
  ps width_{100'000};
  std::array<std::uint64_t, most_steps> bytes_{};
};

class flow_record {
 public:
  struct pair_count {
    std::uint64_t messages = 0;
    std::uint64_t pushed = 0;  // bytes to the target
    std::uint64_t pulled = 0;  // bytes to the source: READs, atomics
  };
  struct done_message {
    std::size_t pair = 0;
    std::uint32_t bytes = 0;
    bool pulls = false;
    ps posted{0};
    ps due = never;  // intended arrival; never = of a closed loop
  };

  // Makes the record of pairs with these sending hosts.
  explicit flow_record(const std::vector<std::size_t>& source_of);

  // Sets the measured time; `end` never = until the last completion.
  void measure(ps begin, ps end) {
    begin_ = begin;
    end_ = end;
  }
  void posted(ps t) { first_post_ = std::min(first_post_, t); }
  void completed(const done_message& m, ps done);
  // Counts a message that arrives at an open loop.
  void offered(ps due, std::uint32_t bytes);
  // Counts a completed receive at a target host.
  void received(ps t, std::size_t host, std::uint64_t bytes);
  void fail(std::string why) {
    if (failure_.empty()) failure_ = std::move(why);
  }

  [[nodiscard]] const std::vector<pair_count>& pairs() const { return pairs_; }
  [[nodiscard]] const latency_histogram& latency() const { return latency_; }
  [[nodiscard]] const latency_histogram& response() const { return response_; }  // from the intended arrival
  // Returns the latencies of a host's messages: from the arrival in an open loop, else from the post. nullptr = it posts none.
  [[nodiscard]] const latency_histogram* of_host(std::size_t host) const;
  [[nodiscard]] const rate_series& over_time() const { return over_time_; }
  [[nodiscard]] std::uint64_t messages() const { return latency_.count(); }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  [[nodiscard]] std::uint64_t offered_messages() const { return offered_messages_; }
  [[nodiscard]] std::uint64_t offered_bytes() const { return offered_bytes_; }
  [[nodiscard]] std::uint64_t receives() const { return received_; }
  // Returns the payload of a host's completed receives, in bytes.
  [[nodiscard]] std::uint64_t arrived(std::size_t host) const { return host < arrived_.size() ? arrived_[host] : 0; }
  [[nodiscard]] std::uint64_t all_messages() const { return all_; }  // warm-up and what came late, too
  [[nodiscard]] ps first_post() const { return first_post_; }
  [[nodiscard]] ps last_done() const { return last_done_; }
  [[nodiscard]] ps begin() const { return begin_; }
  [[nodiscard]] ps end() const { return end_ == never ? last_done_ : end_; }
  [[nodiscard]] const std::string& failure() const { return failure_; }

 private:
  [[nodiscard]] bool within(ps t) const { return t >= begin_ && t < end_; }

  struct source {
    std::size_t host;
    latency_histogram times;
  };

  std::vector<pair_count> pairs_;
  std::vector<source> sources_;
  std::vector<std::size_t> source_of_;  // by pair, in sources_
  latency_histogram latency_;
  latency_histogram response_;
  rate_series over_time_;
  std::uint64_t bytes_ = 0;
  std::uint64_t all_ = 0;
  std::uint64_t offered_messages_ = 0;
  std::uint64_t offered_bytes_ = 0;
  std::uint64_t received_ = 0;
  std::vector<std::uint64_t> arrived_;  // by host
  ps begin_{0};
  ps end_ = never;
  ps first_post_ = never;
  ps last_done_{0};
  std::string failure_;
};

// Returns Jain's index of fairness, 1/n to 1; 1 = all are equal, or there is nothing.
double jain_index(const std::vector<double>& rates);

// Returns the share of [begin, end) in which all records of a phase were between their first post and their last completion.
double overlap(const std::vector<std::vector<const flow_record*>>& phases, ps begin, ps end);

}  // namespace hcasim::traffic
