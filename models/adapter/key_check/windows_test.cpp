// Accesses through windows whose region is looked at: they belong to both keys.
#include "models/adapter/key_check/key_check_bench.h"

namespace hcasim {
namespace {

using namespace testing;

// Key index 9 is a window over region 5.
struct windowed : key_check_bench {
  windowed() : key_check_bench(orphans()) { window(9); }
  static key_check_config orphans() {
    key_check_config c;
    c.orphan_windows = true;
    return c;
  }
  hca_mrc& window(std::uint32_t index) {
    hca_mrc& w = region(index);
    w.kind = HCA_MRC_WINDOW_1;
    w.parent = hca_key_make(5, 1);
    w.table = mrcs.at<hca_mrc>(5).table;
    return w;
  }
  verdict judged(std::uint32_t index) {
    key_request& r = check(index, now());
    run_for(50_ns);
    if (r.result == verdict::granted) release(r);
    run_for(50_ns);
    EXPECT_EQ(unit_under_test.references(), 0U);
    return r.result;
  }
};

// The MRCs of the window and of the region, two hits, and the pipeline.
TEST(KeyCheckWindows, ARegionIsLookedAtBeforeThePipeline) {
  windowed b;
  key_request& r = b.check(9, 100_ns);
  run_for(200_ns);
  EXPECT_EQ(b.answered(r), 100_ns + 2_ns + 2_ns + 6_ns);
  EXPECT_EQ(r.region(), 5U);
  EXPECT_EQ(b.unit_under_test.references(), 2U);
  b.release(r);
  EXPECT_EQ(b.unit_under_test.references(), 1U);
  run_for(2_ns);
  EXPECT_EQ(b.unit_under_test.references(), 0U);
  EXPECT_EQ(b.mrcs.pins(), 0);
}

// One reference is given back a cycle, the window's first.
TEST(KeyCheckWindows, ADrainOfEitherKeyWaitsForTheAccess) {
  windowed b;
  for (const auto& [drained, later] : {std::pair{9U, 0_ns}, {5U, 1_ns}}) {
    key_request& r = b.check(9, now());
    run_for(20_ns);
    key_request& drain = b.drain(drained, now());
    key_request& other = b.drain(6, now());
    run_for(100_ns);
    EXPECT_NE(b.answered(other), never);
    EXPECT_EQ(b.answered(drain), never) << drained;
    b.release(r);
    const ps released = now();
    run_for(50_ns);
    EXPECT_EQ(b.answered(drain), released + later) << drained;
  }
}

// The region's MRC comes late; the drain begins before it, between the two, or behind it.
TEST(KeyCheckWindows, AnAccessIsOfTheRegionsEpochInWhichItsMrcWasRead) {
  windowed b;
  b.mrcs.lines[5].latency = 200_ns;
  for (const auto& [at, waits] : {std::pair{50_ns, false}, {299_ns, false}, {301_ns, true}}) {
    const ps begin = now();
    key_request& r = b.check(9, begin + 98_ns);
    key_request& drain = b.drain(5, begin + at);
    run_for(1_us);
    EXPECT_EQ(b.answered(drain) == never, waits) << at.count();
    EXPECT_EQ(r.result, verdict::granted);
    b.release(r);
    run_for(50_ns);
    EXPECT_NE(b.answered(drain), never);
  }
}

// The region may be another one by now, with the same key byte [A10].
TEST(KeyCheckWindows, AnAccessGoesThroughTheTableThatTheRegionHasNow) {
  windowed b;
  hca_mrc& w = b.mrcs.at<hca_mrc>(9);
  w.kind = HCA_MRC_WINDOW_2;
  w.qpn = 9;
  w.access |= HCA_ACCESS_ZERO_BASED;
  w.start = 0x10800;
  w.length = 0x100;
  hca_mrc& m = b.mrcs.at<hca_mrc>(5);
  m.table = 0x555000;
  m.levels = 1;
  m.page_shift = 12;
  key_request& r = b.check(9, now());
  r.va = 0x10;
  r.length = 0x20;
  run_until_idle();
  EXPECT_EQ(r.result, verdict::granted);
  EXPECT_EQ(r.map.table, 0x555000U);
  EXPECT_EQ(r.map.levels, 1U);
  EXPECT_EQ(r.map.page_shift, 12U);
  EXPECT_EQ(r.va_offset, 0x10800U);
  b.release(r);
}

TEST(KeyCheckWindows, ARegionThatIsNotWhatTheWindowWasBoundToGrantsNothing) {
  windowed b;
  const hca_mrc sound = b.mrcs.at<hca_mrc>(5);
  EXPECT_EQ(b.judged(9), verdict::granted);
  const auto with = [&](auto change) {
    hca_mrc& m = b.mrcs.at<hca_mrc>(5);
    m = sound;
    change(m);
    return b.judged(9);
  };
  EXPECT_EQ(with([](hca_mrc& m) { m.kind = HCA_MRC_FAST; }), verdict::granted);
  EXPECT_EQ(with([](hca_mrc& m) { m.kind = HCA_MRC_ADDRESS_SPACE; }), verdict::granted);
  EXPECT_EQ(with([](hca_mrc& m) { m.length = 0x1001; }), verdict::granted);
  for (const int kind : {HCA_MRC_NONE, HCA_MRC_PHYSICAL, HCA_MRC_NULL, HCA_MRC_DEVICE_MEMORY, HCA_MRC_DMABUF, HCA_MRC_WINDOW_1,
                         HCA_MRC_WINDOW_2, HCA_MRC_INDIRECT}) {
    EXPECT_EQ(with([kind](hca_mrc& m) { m.kind = static_cast<std::uint8_t>(kind); }), verdict::bad_state) << kind;
  }
  EXPECT_EQ(with([](hca_mrc& m) { m.state = HCA_MRC_FREE; }), verdict::bad_state);
  EXPECT_EQ(with([](hca_mrc& m) { m.key_byte ^= 1; }), verdict::bad_state);
  EXPECT_EQ(with([](hca_mrc& m) { m.function ^= 1; }), verdict::bad_state);
  EXPECT_EQ(with([](hca_mrc& m) { m.pd ^= 1; }), verdict::bad_state);
  EXPECT_EQ(with([](hca_mrc& m) { m.start += 1; }), verdict::bad_state);
  EXPECT_EQ(with([](hca_mrc& m) { m.length -= 1; }), verdict::bad_state);
  b.mrcs.at<hca_mrc>(5) = sound;
  b.mrcs.failing.insert(5);
  EXPECT_EQ(b.judged(9), verdict::bad_state);
}

// An access by the region's own key and one through its window.
TEST(KeyCheckWindows, AccessesByTheRegionAndThroughItsWindowsAreCountedTogether) {
  windowed b;
  b.check(9, now());
  key_request& second = b.check(5, now());
  run_for(50_ns);
  EXPECT_EQ(b.unit_under_test.references(), 3U);
  key_request& drain = b.drain(5, now());
  run_for(50_ns);
  b.release(second);
  run_for(50_ns);
  EXPECT_EQ(b.answered(drain), never);
  b.release(b.requests.front());
  run_until_idle();
  EXPECT_NE(b.answered(drain), never);
}

}  // namespace
}  // namespace hcasim
