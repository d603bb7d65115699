#include "models/key_check/key_check.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <map>
#include <set>

#include "tlm/base/random.h"
#include "tlm/testing/simulate.h"

namespace hcasim {
namespace {

using testing::fake_initiator;
using testing::run_for;
using testing::run_until_idle;

// Stands for a context cache: entries by index, each with its own latency; 0 answers in the call after 2 ns.
class store : public unit {
 public:
  target_socket<context_request> in{"in"};
  struct line {
    alignas(64) std::byte bytes[64]{};
    ps latency{0};
    int pins = 0;
  };
  std::map<std::uint32_t, line> lines;
  std::set<std::uint32_t> failing;
  std::uint32_t entries = 1 << 20;
  unsigned fetches = 0;

  explicit store(const sc_core::sc_module_name& n) : unit(n) { in.on<&store::handle>(this); }

  template <class T>
  T& at(std::uint32_t index) {
    return *reinterpret_cast<T*>(lines[index].bytes);
  }
  int pins() const {
    int n = 0;
    for (const auto& [index, l] : lines) n += l.pins;
    return n;
  }

 private:
  struct job {
    store* self;
    context_request* r;
  };
  tlm::tlm_sync_enum handle(context_request& r, tlm::tlm_phase phase, ps& t) {
    if (phase == tlm::END_RESP) {
      --lines[r.index].pins;
      return tlm::TLM_COMPLETED;
    }
    ++fetches;
    const auto found = lines.find(r.index);
    const ps latency = found == lines.end() ? 0_ps : found->second.latency;
    if (latency == 0_ps) {
      t += 2_ns;
      answer(r);
      return tlm::TLM_COMPLETED;
    }
    jobs_.push_back({this, &r});
    queue_.at(t + latency, {[](void* j) {
                              auto [self, request] = *static_cast<job*>(j);
                              self->answer(*request);
                              target_socket<context_request>::respond(*request, now());
                            },
                            &jobs_.back()});
    return tlm::TLM_ACCEPTED;
  }
  void answer(context_request& r) {
    r.area_entries = entries;
    r.failed = r.index >= entries || failing.contains(r.index);
    if (r.failed) return;
    line& l = lines[r.index];
    ++l.pins;
    r.entry = l.bytes;
  }
  std::deque<job> jobs_;
};

struct bench {
  clock_domain clock{frequency{1e9}};
  key_check unit_under_test;
  store mrcs{"mrcs"};
  store extents{"extents"};
  fake_initiator<key_request> local{"local"};
  fake_initiator<key_request> remote{"remote"};
  fake_initiator<key_request> control{"control"};
  fake_initiator<key_request> windows{"windows"};
  std::deque<key_request> requests;

  explicit bench(const key_check_config& c = {}) : unit_under_test("key_check", c, clock) {
    local.out.bind(unit_under_test.local);
    remote.out.bind(unit_under_test.remote);
    control.out.bind(unit_under_test.control);
    windows.out.bind(unit_under_test.windows);
    unit_under_test.mrc.bind(mrcs.in);
    unit_under_test.extent.bind(extents.in);
    for (std::uint32_t i : {5U, 6U, 7U}) region(i);
    run_for(1_ns);
  }
  hca_mrc& region(std::uint32_t index) {
    hca_mrc& m = mrcs.at<hca_mrc>(index);
    m = {};
    m.kind = HCA_MRC_REGION;
    m.state = HCA_MRC_VALID;
    m.key_byte = 1;
    m.page_shift = 21;
    m.levels = 2;
    m.access = HCA_ACCESS_LOCAL_WRITE | HCA_ACCESS_REMOTE_READ | HCA_ACCESS_REMOTE_WRITE;
    m.pd = 3;
    m.qpn = HCA_QPN_ANY;
    m.start = 0x10000;
    m.length = 0x1000;
    m.table = 0xabc000 + index * 64;
    m.table_va = 0xf000;
    return m;
  }
  key_request& check(std::uint32_t index, ps at, bool is_remote = true) {
    key_request& r = requests.emplace_back();
    r.key = hca_key_make(index, 1);
    r.remote = is_remote;
    r.rights = is_remote ? HCA_ACCESS_REMOTE_READ : 0;
    r.pd = 3;
    r.qpn = 9;
    r.va = 0x10000;
    r.length = 0x1000;
    (is_remote ? remote : local).send(r, at);
    return r;
  }
  key_request& drain(std::uint32_t index, ps at) {
    key_request& r = requests.emplace_back();
    r.op = key_op::drain;
    r.key = hca_key_make(index, 0);
    control.send(r, at);
    return r;
  }
  void release(key_request& r) { (r.remote ? remote : local).out.release(r); }
  ps answered(const key_request& r) const {
    for (const auto* from : {&local, &remote, &control}) {
      for (const auto& a : from->answers) {
        if (a.payload == &r) return a.at;
      }
    }
    return never;
  }
  double count(const std::string& name) const {
    for (const statistic& s : unit_under_test.stats().all()) {
      if (s.name == name) {
        if (const auto* c = std::get_if<const counter*>(&s.value)) return static_cast<double>((*c)->value());
      }
    }
    ADD_FAILURE() << "no counter " << name;
    return -1;
  }
};

TEST(KeyCheck, HitTakesCacheAndPipeline) {
  bench b;
  key_request& r = b.check(5, 100_ns);
  run_for(200_ns);
  EXPECT_EQ(b.answered(r), 100_ns + 2_ns + 6_ns);
  EXPECT_EQ(r.result, verdict::granted);
  EXPECT_EQ(r.map.index, 5U);
  EXPECT_EQ(r.map.levels, 2);
  EXPECT_EQ(r.map.page_shift, 21);
  EXPECT_EQ(r.map.table, 0xabc000U + 5 * 64);
  EXPECT_EQ(r.map.table_va, 0xf000U);
  EXPECT_EQ(b.unit_under_test.references(), 1U);
  EXPECT_EQ(b.mrcs.pins(), 0);
  b.release(r);
  EXPECT_EQ(b.unit_under_test.references(), 0U);
}

TEST(KeyCheck, MissTakesItsFetchAndPipeline) {
  bench b;
  b.mrcs.lines[5].latency = 500_ns;
  key_request& r = b.check(5, 100_ns);
  run_until_idle();
  EXPECT_EQ(b.answered(r), 600_ns + 6_ns);
  EXPECT_EQ(b.mrcs.pins(), 0);
}

TEST(KeyCheck, OneVerdictPerCycle) {
  bench b;
  constexpr int n = 10000;
  for (int i = 0; i < n; ++i) b.check(5 + static_cast<std::uint32_t>(i % 3), 100_ns, i % 2);
  run_until_idle();
  const ps last = b.answered(b.requests.back());
  EXPECT_EQ(last, 100_ns + ps((n - 1) * 1000) + 8_ns);
  EXPECT_NEAR(n / to_seconds(last - 100_ns), 1e9, 0.02 * 1e9);
  EXPECT_EQ(b.count("local_granted") + b.count("remote_granted"), n);
}

TEST(KeyCheck, HitsPassAMissByDefault) {
  bench b;
  b.mrcs.lines[5].latency = 500_ns;
  b.check(5, 100_ns);
  key_request& hit = b.check(6, 110_ns);
  run_until_idle();
  EXPECT_EQ(b.answered(hit), 118_ns);
}

TEST(KeyCheck, BlockingMissKeepsTheOrder) {
  key_check_config c;
  c.blocking_miss = true;
  bench b(c);
  b.mrcs.lines[5].latency = 500_ns;
  key_request& miss = b.check(5, 100_ns);
  key_request& hit = b.check(6, 110_ns);
  key_request& second = b.check(5, 120_ns);
  key_request& last = b.check(7, 130_ns);
  run_until_idle();
  EXPECT_EQ(b.answered(miss), 606_ns);
  EXPECT_EQ(b.answered(hit), 608_ns);
  EXPECT_EQ(b.answered(second), 601_ns + 500_ns + 6_ns);
  EXPECT_EQ(b.answered(last), 1101_ns + 8_ns);
  EXPECT_EQ(b.count("blocked"), 3);
}

TEST(KeyCheck, CountsEachVerdictOfEachSide) {
  bench b;
  b.mrcs.entries = 1000;
  b.mrcs.failing.insert(42);
  key_request& index = b.check(8, 100_ns);
  key_request& key = b.check(5, 200_ns);
  key.key ^= 2;
  b.region(9).state = HCA_MRC_FREE;
  key_request& state = b.check(9, 300_ns);
  key_request& association = b.check(5, 400_ns, false);
  association.pd = 4;
  key_request& rights = b.check(5, 500_ns);
  rights.rights = HCA_ACCESS_REMOTE_ATOMIC;
  key_request& bounds = b.check(5, 600_ns, false);
  bounds.length += 1;
  key_request& beyond = b.check(1000, 700_ns);
  key_request& broken = b.check(42, 800_ns);
  run_until_idle();
  EXPECT_EQ(index.result, verdict::bad_index);
  EXPECT_EQ(key.result, verdict::bad_key);
  EXPECT_EQ(state.result, verdict::bad_state);
  EXPECT_EQ(association.result, verdict::bad_association);
  EXPECT_EQ(rights.result, verdict::bad_rights);
  EXPECT_EQ(bounds.result, verdict::bad_bounds);
  EXPECT_EQ(beyond.result, verdict::bad_index);
  EXPECT_EQ(broken.result, verdict::table_error);
  EXPECT_EQ(b.count("remote_bad_index"), 2);
  EXPECT_EQ(b.count("remote_bad_key"), 1);
  EXPECT_EQ(b.count("remote_bad_state"), 1);
  EXPECT_EQ(b.count("local_bad_association"), 1);
  EXPECT_EQ(b.count("remote_bad_rights"), 1);
  EXPECT_EQ(b.count("local_bad_bounds"), 1);
  EXPECT_EQ(b.count("remote_table_error"), 1);
  EXPECT_EQ(b.unit_under_test.references(), 0U);
  EXPECT_EQ(b.mrcs.pins(), 0);
  for (key_request& r : b.requests) b.release(r);  // holds nothing: harmless
  EXPECT_EQ(b.unit_under_test.references(), 0U);
}

// 10 extents in 3 lines: the search looks at line 1, then at one of the others.
TEST(KeyCheck, ExtentsAreSearchedLineByLine) {
  bench b;
  hca_mrc& m = b.region(5);
  m.kind = HCA_MRC_ADDRESS_SPACE;
  m.start = 0x1000;
  m.length = 0x14000;
  m.extent = 40;
  m.extent_count = 10;
  for (std::uint32_t i = 0; i < 10; ++i) {
    b.extents.at<hca_extent[4]>(10 + i / 4)[i % 4] = {0x1000 + i * 0x2000ULL, 0x1000};
  }
  const ps gap = 1_us;
  ps at = 1_us;
  for (std::uint32_t i = 0; i < 10; ++i) {
    key_request& good = b.check(5, at);
    good.va = 0x1000 + i * 0x2000ULL;
    key_request& hole = b.check(5, at + gap / 2);
    hole.va = good.va;
    hole.length = 0x1001;
    run_for(at + gap - now());
    EXPECT_EQ(good.result, verdict::granted) << i;
    // MRC 2 ns, per line 2 ns and one cycle, pipeline 6 ns.
    EXPECT_EQ(b.answered(good) - at, i >= 4 && i < 8 ? 11_ns : 14_ns) << i;
    EXPECT_NE(hole.result, verdict::granted) << i;
    EXPECT_EQ(hole.epoch, 0U);
    at += gap;
  }
  EXPECT_EQ(b.unit_under_test.references(), 10U);
  EXPECT_EQ(b.extents.pins() + b.mrcs.pins(), 0);
}

TEST(KeyCheck, ExtentMissesSuspendAndFailuresAreTableErrors) {
  bench b;
  hca_mrc& m = b.region(5);
  m.kind = HCA_MRC_ADDRESS_SPACE;
  m.start = 0x1000;
  m.length = 0x14000;
  m.extent_count = 10;
  for (std::uint32_t i = 0; i < 10; ++i) {
    b.extents.at<hca_extent[4]>(i / 4)[i % 4] = {0x1000 + i * 0x2000ULL, 0x1000};
    b.extents.lines[i / 4].latency = 300_ns;
  }
  key_request& good = b.check(5, 100_ns);
  good.va = 0x1000;
  b.extents.failing.insert(2);
  key_request& bad = b.check(5, 10_us);
  bad.va = 0x1000 + 9 * 0x2000;
  run_for(300_ns);
  EXPECT_EQ(b.mrcs.pins(), 1);  // held until judged
  run_until_idle();
  EXPECT_EQ(b.answered(good), 102_ns + 2 * 301_ns + 6_ns);
  EXPECT_EQ(good.result, verdict::granted);
  EXPECT_EQ(bad.result, verdict::table_error);
  EXPECT_EQ(b.unit_under_test.references(), 1U);
  EXPECT_EQ(b.extents.pins() + b.mrcs.pins(), 0);
}

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
  m.extent_count = 2;
  b.extents.at<hca_extent[4]>(0)[0] = {0x10000, 0x1000};
  b.extents.at<hca_extent[4]>(0)[1] = {0x20000, 0x1000};
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

// And if such a check is refused, the drain goes on with the verdict.
TEST(KeyCheck, RefusedOlderCheckEndsTheDrain) {
  bench b;
  hca_mrc& m = b.region(5);
  m.kind = HCA_MRC_ADDRESS_SPACE;
  m.extent_count = 2;
  b.extents.at<hca_extent[4]>(0)[0] = {0x10000, 0x800};
  b.extents.at<hca_extent[4]>(0)[1] = {0x20000, 0x1000};
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
  double mean = 0;
  for (const statistic& s : b.unit_under_test.stats().all()) {
    if (s.name == "references") mean = std::get<level*>(s.value)->mean(now()) * to_ns(now()) / to_ns(now() - t0);
  }
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

TEST(KeyCheck, HitIsFast) {
  bench b;
  key_request r;
  r.key = hca_key_make(5, 1);
  r.remote = true;
  r.rights = HCA_ACCESS_REMOTE_READ;
  r.pd = 3;
  r.va = 0x10000;
  r.length = 64;
  constexpr unsigned n = testing::optimised ? 3'000'000 : 50'000;
  ps t = now();
  unsigned granted = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (unsigned i = 0; i < n; ++i) {
    b.remote.out.send(r, t);
    granted += r.result == verdict::granted;
    b.remote.out.release(r);
  }
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
  std::printf("%.1f ns per check with release and a fake cache\n", took.count() / n);
  EXPECT_EQ(granted, n);
  if (testing::optimised) {
    EXPECT_LT(took.count() / n, 5000);
  }
}

}  // namespace
}  // namespace hcasim
