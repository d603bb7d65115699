// Schedules of collectives: every rank ends with what the operation promises, and each link carries what its bus factor says.
#include <deque>
#include <map>
#include <tuple>

#include <gtest/gtest.h>

#include "testbenches/schedules/collectives.h"
#include "testbenches/schedules/loggp.h"

namespace hcasim::schedules {
namespace {

class collectives : public testing::TestWithParam<std::tuple<collective, std::uint32_t>> {
 protected:
  [[nodiscard]] static collective what() { return std::get<0>(GetParam()); }
  [[nodiscard]] static std::uint32_t ranks() { return std::get<1>(GetParam()); }
  [[nodiscard]] static schedule made(std::uint64_t bytes, std::uint32_t repetitions = 1) {
    return make(what(), {.ranks = ranks(), .bytes = bytes, .repetitions = repetitions, .reduce_per_kib = 1_ns});
  }
  [[nodiscard]] static std::vector<std::uint64_t> sent_by_rank(const schedule& s) {
    std::vector<std::uint64_t> sent;
    for (const rank_schedule& r : s.ranks) {
      sent.push_back(0);
      for (const operation& o : r.operations) sent.back() += o.what == action::send ? o.bytes : 0;
    }
    return sent;
  }
};

TEST_P(collectives, can_end) {
  EXPECT_NO_THROW(check(made(1000, 3)));
}

TEST_P(collectives, repetitions_follow_each_other) {
  const loggp p{.latency = 1_us, .o_send = 100_ns, .o_receive = 100_ns, .gap = 50_ns};
  const ps one = completion_time(made(64, 1), p);
  const ps four = completion_time(made(64, 4), p);
  EXPECT_GT(one, ps(0));
  // The root of a broadcast goes on when it has sent.
  const ps more = what() == collective::broadcast ? ps(0) : 3 * p.latency;
  EXPECT_GE(four, one + more);
  EXPECT_LE(four, 4 * one);
}

TEST_P(collectives, ranks_send_what_the_bus_factor_says) {
  constexpr std::uint64_t bytes = 1 << 20;
  const std::vector<std::uint64_t> sent = sent_by_rank(made(bytes));
  std::uint64_t all = 0;
  for (const std::uint64_t b : sent) all += b;
  const bool tree = what() == collective::tree_all_reduce || what() == collective::broadcast;
  if (tree) {  // each edge of the tree carries the whole vector, once in each direction
    EXPECT_EQ(all, bytes * (ranks() - 1) * (what() == collective::broadcast ? 1 : 2));
  } else {
    for (const std::uint64_t b : sent) EXPECT_NEAR(static_cast<double>(b), bus_factor(what(), ranks()) * bytes, 2.0 * ranks());
  }
}

// Follows the data. An operation knows what its required operations know, and a receive what its send does.
class knowledge {
 public:
  explicit knowledge(const schedule& s) : s_(s), known_(s.ranks.size()) {
    for (std::uint32_t r = 0; r < s.ranks.size(); ++r) {
      ranks_.emplace_back(s.ranks[r]);
      waits_.push_back(ranks_.back().waits());
      known_[r].assign(waits_[r].size(), std::uint64_t{1} << r);
    }
    for (bool more = true; more;) more = pass();
  }
  [[nodiscard]] std::uint64_t of(std::uint32_t rank) const { return known_[rank].back(); }

 private:
  bool pass() {
    bool more = false;
    for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
      for (std::uint32_t i = 0; i < waits_[r].size(); ++i) {
        if (waits_[r][i] != 0 || !exchange(r, i)) continue;
        waits_[r][i] = ~0U;
        more = true;
        for (const order::follower& f : ranks_[r].followers(i)) {
          known_[r][f.operation] |= known_[r][i];
          --waits_[r][f.operation];
        }
      }
    }
    return more;
  }
  bool exchange(std::uint32_t r, std::uint32_t i) {
    const operation& o = s_.ranks[r].operations[i];
    if (o.what == action::send) under_way_[{r, o.peer, o.tag}].push_back(known_[r][i]);
    if (o.what != action::receive) return true;
    auto& coming = under_way_[{o.peer, r, o.tag}];
    if (coming.empty()) return false;
    known_[r][i] |= coming.front();
    coming.pop_front();
    return true;
  }

  const schedule& s_;
  std::vector<order> ranks_;
  std::vector<std::vector<std::uint32_t>> waits_;
  std::vector<std::vector<std::uint64_t>> known_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::deque<std::uint64_t>> under_way_;
};

TEST_P(collectives, give_every_rank_what_they_promise) {
  const schedule s = made(1000);
  const knowledge k(s);
  const std::uint64_t all = ~std::uint64_t{0} >> (64 - ranks());
  for (std::uint32_t r = 0; r < ranks(); ++r) {
    EXPECT_EQ(k.of(r) & (what() == collective::broadcast ? 1 : all), what() == collective::broadcast ? 1 : all) << "rank " << r;
  }
}

INSTANTIATE_TEST_SUITE_P(all, collectives,
                         testing::Combine(testing::Values(collective::ring_all_reduce, collective::tree_all_reduce,
                                                          collective::all_gather, collective::reduce_scatter,
                                                          collective::all_to_all, collective::broadcast),
                                          testing::Values(2U, 3U, 5U, 8U, 64U)));

}  // namespace
}  // namespace hcasim::schedules
