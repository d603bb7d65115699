// References and drains: a drain waits for the older accesses to end, and for no other.
#include "models/adapter/key_check/key_check_bench.h"
#include "tlm/base/random.h"

namespace hcasim {
namespace {

using namespace testing;
using bench = key_check_bench;

TEST(KeyCheck, DrainWithoutReferencesIsAnsweredAtOnce) {
  bench b;
  key_request& d = b.drain(5, 100_ns);
  run_for(200_ns);
  EXPECT_EQ(b.answered(d), 106_ns);
}

TEST(KeyCheck, DrainWaitsForOlderReferencesOnly) {
  bench b;
  key_request& old1 = b.check(5, 100_ns);
  key_request& old2 = b.check(5, 110_ns, false);
  key_request& other = b.check(6, 120_ns);
  key_request& d = b.drain(5, 200_ns);
  key_request& young = b.check(5, 300_ns);
  run_for(1_us);
  EXPECT_EQ(b.answered(d), never);
  EXPECT_NE(young.epoch, old1.epoch);
  b.release(other);
  b.release(young);
  b.release(old1);
  run_for(1_us);
  EXPECT_EQ(b.answered(d), never);
  const ps at = now();
  b.release(old2);
  run_until_idle();
  EXPECT_EQ(b.answered(d), at);
  EXPECT_EQ(b.unit_under_test.references(), 0U);
}

TEST(KeyCheck, DrainIsAnsweredWithTheLastRelease) {
  bench b;
  key_request& r = b.check(5, 100_ns);
  key_request& d = b.drain(5, 200_ns);
  run_for(1_us);
  const ps last = now();
  b.remote.out.release(r);
  run_until_idle();
  EXPECT_EQ(b.answered(d), last);
}

// The MRC is read before the drain, the extents come long after it: the check is of the older epoch.
TEST(KeyCheck, CheckWhoseMrcWasReadBeforeTheDrainIsOlder) {
  bench b;
  hca_mrc& m = b.region(5);
  m.kind = HCA_MRC_ADDRESS_SPACE;
  m.extent_count = 1;
  b.extents.at<hca_extent[4]>(0)[0] = {0x1000, 0x1000};
  b.extents.at<hca_extent[4]>(0)[1] = {0x11000, 0x1000};
  b.extents.lines[0].latency = 2_us;
  key_request& r = b.check(5, 100_ns);
  key_request& d = b.drain(5, 200_ns);
  run_for(10_us);
  EXPECT_EQ(r.result, verdict::granted);
  EXPECT_EQ(b.answered(r), 102_ns + 2_us + 7_ns);
  EXPECT_EQ(b.answered(d), never);
  const ps at = now();
  b.release(r);
  run_until_idle();
  EXPECT_EQ(b.answered(d), at);
}

// A drain goes on with the verdict of the older check, if the check is refused.
TEST(KeyCheck, RefusedOlderCheckEndsTheDrain) {
  bench b;
  hca_mrc& m = b.region(5);
  m.kind = HCA_MRC_ADDRESS_SPACE;
  m.extent_count = 1;
  b.extents.at<hca_extent[4]>(0)[0] = {0x1000, 0x800};
  b.extents.at<hca_extent[4]>(0)[1] = {0x11000, 0x1000};
  b.extents.lines[0].latency = 2_us;
  key_request& r = b.check(5, 100_ns);
  key_request& d = b.drain(5, 200_ns);
  run_until_idle();
  EXPECT_EQ(r.result, verdict::bad_bounds);
  EXPECT_EQ(b.answered(d), b.answered(r));
}

// The MRC comes after the drain: the check is of the new epoch, and the drain does not wait for it.
TEST(KeyCheck, CheckWhoseMrcComesAfterTheDrainIsYounger) {
  bench b;
  b.mrcs.lines[5].latency = 500_ns;
  key_request& r = b.check(5, 100_ns);
  key_request& d = b.drain(5, 200_ns);
  run_until_idle();
  EXPECT_EQ(b.answered(d), 206_ns);
  EXPECT_EQ(b.answered(r), 606_ns);
  EXPECT_EQ(b.unit_under_test.references(), 1U);
}

// Little: references in flight = rate * time held.
TEST(KeyCheck, ReferencesFollowLittlesLaw) {
  bench b;
  constexpr int n = 2000;
  constexpr std::int64_t period = 50;
  constexpr std::int64_t held = 700;
  const ps t0 = 1_us;
  for (int i = 0; i < n; ++i) b.check(5, t0 + ps(i * period * 1000));
  int released = 0;
  for (ps t = t0; released < n; t += ps(period * 1000)) {
    run_for(t - now());
    while (released < n && b.answered(b.requests[static_cast<std::size_t>(released)]) != never &&
           now() - (t0 + ps(released * period * 1000)) >= ps(held * 1000)) {
      b.release(b.requests[static_cast<std::size_t>(released++)]);
    }
  }
  const double mean = b.count("references") * to_ns(now()) / to_ns(now() - t0);
  EXPECT_NEAR(mean, static_cast<double>(held) / period * n * period / (n * period + held), 0.02 * held / period);
}

TEST(Epochs, EqualAReferenceModel) {
  epoch_table table(2);  // grows on the way
  random_stream random(3, "epochs");
  struct reference {
    std::uint32_t index;
    std::uint64_t epoch;
  };
  std::vector<reference> held;
  std::map<std::uint32_t, std::uint64_t> newest;  // of the held ones' indices
  auto older = [&](std::uint32_t index) {
    std::size_t n = 0;
    for (const auto& r : held) n += r.index == index && r.epoch < newest[index];
    return n;
  };
  for (int i = 0; i < 60000; ++i) {
    const auto index = static_cast<std::uint32_t>(random.below(300) * 64);
    const double what = random.unit();
    if (what < 0.1) {
      std::uint64_t latest = 0;
      for (const auto& r : held) latest = std::max(latest, r.epoch);
      newest[index] = std::max(latest, newest[index]) + 1;
      ASSERT_EQ(table.renew(index), older(index) > 0);
    } else if (what < 0.55 || held.empty()) {
      const std::uint64_t e = table.take(index);
      for (const auto& r : held) {
        if (r.index == index) {
          ASSERT_GE(e, r.epoch);
        }
      }
      newest[index] = e;
      held.push_back({index, e});
    } else {
      const std::size_t k = random.below(held.size());
      const reference r = held[k];
      const bool was_older = r.epoch < newest[r.index];
      held[k] = held.back();
      held.pop_back();
      ASSERT_EQ(table.give(r.index, r.epoch), was_older && older(r.index) == 0);
    }
    ASSERT_EQ(table.references(), held.size());
    std::set<std::uint32_t> indices;
    if (i % 500 == 0) {
      for (const auto& r : held) indices.insert(r.index);
      ASSERT_EQ(table.indices(), indices.size());
    }
  }
}

}  // namespace
}  // namespace hcasim
