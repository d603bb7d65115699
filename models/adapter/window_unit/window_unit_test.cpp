#include "models/adapter/window_unit/window_unit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>

#include "tlm/testing/simulate.h"

namespace hcasim {
namespace {

using testing::fake_initiator;
using testing::fake_target;

constexpr std::uint32_t region_index = 5;
constexpr std::uint32_t window_index = 6;
constexpr std::uint64_t page = 4096;

// The unit at 1 GHz (12 cycles to a change) among contexts that are there at once and drains that take as long as the test
// says.
struct bench {
  clock_domain clock{frequency{1e9}};
  window_unit unit_under_test;
  fake_initiator<window_request> local{"local"};
  fake_initiator<window_request> remote{"remote"};
  fake_initiator<window_request> control{"control"};
  fake_target<context_request> mrcs{"mrcs"};
  fake_target<context_request> extents{"extents"};
  fake_target<context_request> qpcs{"qpcs"};
  fake_target<key_request> keys{"keys"};
  fake_target<translate_request> walker{"walker"};
  std::map<std::uint32_t, hca_mrc> entries;
  std::array<hca_extent, 4> line{{{8 * page, page}, {10 * page, page}, {}, {}}};
  hca_qpc qpc{};
  int pinned = 0;
  int most_pinned = 0;

  explicit bench(window_association type2 = window_association::qp_and_pd)
      : unit_under_test("window_unit", window_unit_config{}, clock, type2) {
    local.out.bind(unit_under_test.local);
    remote.out.bind(unit_under_test.remote);
    control.out.bind(unit_under_test.control);
    unit_under_test.mrc.bind(mrcs.in);
    unit_under_test.extent.bind(extents.in);
    unit_under_test.qpc.bind(qpcs.in);
    unit_under_test.keys.bind(keys.in);
    unit_under_test.walker.bind(walker.in);
    mrcs.serve = [this](context_request& c, tlm::tlm_phase phase, ps) {
      pinned += phase == tlm::BEGIN_REQ ? 1 : -1;
      most_pinned = std::max(most_pinned, pinned);
      c.entry = reinterpret_cast<std::byte*>(&entries[c.index]);
    };
    extents.serve = [this](context_request& c, tlm::tlm_phase, ps) { c.entry = reinterpret_cast<std::byte*>(line.data()); };
    qpcs.serve = [this](context_request& c, tlm::tlm_phase, ps) { c.entry = reinterpret_cast<std::byte*>(&qpc); };
    hca_mrc& r = entries[region_index];
    r.kind = HCA_MRC_REGION;
    r.state = HCA_MRC_VALID;
    r.key_byte = 1;
    r.pd = 3;
    r.access = 0x1f;
    r.page_shift = 12;
    r.levels = 1;
    r.start = 8 * page;
    r.length = 4 * page;
    window(HCA_MRC_WINDOW_2);
  }
  ~bench() { EXPECT_EQ(pinned, 0) << "contexts were not given back"; }

  void window(std::uint8_t kind) {
    hca_mrc& w = entries[window_index];
    w = {};
    w.kind = kind;
    w.state = kind == HCA_MRC_WINDOW_1 ? HCA_MRC_VALID : HCA_MRC_FREE;
    w.flags = kind == HCA_MRC_WINDOW_1 ? 0 : HCA_MRC_REMOTE_INVALIDATE;
    w.key_byte = 2;
    w.pd = 3;
  }
  window_request bind(std::uint8_t type, std::uint64_t va = 8 * page, std::uint64_t length = page) {
    window_request r;
    r.op = window_op::bind;
    r.type = type;
    r.pd = 3;
    r.qpn = 21;
    r.key = hca_key_make(window_index, entries[window_index].key_byte);
    r.new_key = entries[window_index].key_byte + 1U;
    r.region_key = hca_key_make(region_index, 1);
    r.access = HCA_ACCESS_REMOTE_READ;
    r.va = va;
    r.length = length;
    return r;
  }
  window_request order(window_op op, std::uint32_t key) {
    window_request r;
    r.op = op;
    r.pd = 3;
    r.qpn = 21;
    r.key = key;
    return r;
  }
  const hca_mrc& w() { return entries[window_index]; }
  const hca_mrc& r() { return entries[region_index]; }
};

// Nothing at 11 cycles, everything at 12.
TEST(WindowUnit, BindTakesEffectAfterItsLatency) {
  bench b;
  window_request r = b.bind(2);
  b.local.send(r, 100_ns);
  testing::run_for(111_ns + ps(999));
  EXPECT_EQ(b.w().state, HCA_MRC_FREE);
  testing::run_for(ps(1));
  testing::run_until_idle();
  EXPECT_EQ(b.w().state, HCA_MRC_VALID);
  EXPECT_EQ(b.w().key_byte, 3);
  EXPECT_EQ(b.w().qpn, 21U);
  EXPECT_EQ(b.r().parent, 1U);
  ASSERT_EQ(b.local.answers.size(), 1U);
  EXPECT_EQ(b.local.answers[0].at, 112_ns);
  EXPECT_EQ(r.fault, window_fault::none);
}

// One change enters every 4 cycles.
TEST(WindowUnit, ChangesFollowEachOther) {
  bench b;
  b.entries[7] = b.entries[window_index];
  window_request first = b.bind(2);
  window_request second = b.bind(2);
  second.key = hca_key_make(7, 2);
  b.local.send(first, 100_ns);
  b.local.send(second, 100_ns);
  testing::run_until_idle();
  ASSERT_EQ(b.local.answers.size(), 2U);
  EXPECT_EQ(b.local.answers[0].at, 112_ns);
  EXPECT_EQ(b.local.answers[1].at, 116_ns);
}

TEST(WindowUnit, AFaultChangesNothing) {
  bench b;
  window_request r = b.bind(2, 12 * page);
  const hca_mrc window = b.w();
  b.local.send(r, 0_ns);
  testing::run_until_idle();
  EXPECT_EQ(r.fault, window_fault::out_of_range);
  EXPECT_EQ(std::memcmp(&window, &b.w(), sizeof window), 0);
  EXPECT_EQ(b.r().parent, 0U);
}

// A type 1 rebind is complete when the last access under the old key is; only then the old region loses its window.
TEST(WindowUnit, RebindWaitsForOlderAccesses) {
  bench b;
  b.window(HCA_MRC_WINDOW_1);
  b.entries[7] = b.r();
  b.entries[7].parent = 1;
  b.entries[window_index].parent = hca_key_make(7, 1);
  b.keys.inline_answers = false;
  b.keys.latency = 500_ns;
  window_request r = b.bind(1);
  b.local.send(r, 100_ns);
  testing::run_for(300_ns);
  EXPECT_EQ(b.w().key_byte, 3) << "the new key is valid at once";
  EXPECT_EQ(b.r().parent, 1U);
  EXPECT_EQ(b.entries[7].parent, 1U) << "the old region still counts it";
  EXPECT_TRUE(b.local.answers.empty());
  testing::run_until_idle();
  EXPECT_EQ(b.entries[7].parent, 0U);
  ASSERT_EQ(b.local.answers.size(), 1U);
  EXPECT_EQ(b.local.answers[0].at, 612_ns);
}

TEST(WindowUnit, InvalidateWaitsForOlderAccesses) {
  bench b;
  window_request bound = b.bind(2);
  b.local.send(bound, 0_ns);
  testing::run_for(50_ns);
  b.keys.inline_answers = false;
  b.keys.latency = 300_ns;
  window_request inv = b.order(window_op::invalidate, hca_key_make(window_index, 3));
  inv.remote = true;
  b.remote.send(inv, 100_ns);
  testing::run_for(200_ns);
  EXPECT_EQ(b.w().state, HCA_MRC_FREE) << "no new access";
  EXPECT_EQ(b.r().parent, 1U) << "but the older ones may still be under way";
  EXPECT_TRUE(b.remote.answers.empty());
  testing::run_until_idle();
  EXPECT_EQ(b.r().parent, 0U);
  EXPECT_EQ(b.remote.answers.at(0).at, 412_ns);
}

TEST(WindowUnit, ALockedKeyIsLeftAlone) {
  bench b;
  window_request lock = b.order(window_op::lock, region_index << 8);
  window_request unlock = b.order(window_op::unlock, region_index << 8);
  window_request r = b.bind(2);
  b.control.send(lock, 10_ns);
  b.local.send(r, 20_ns);
  b.control.send(unlock, 900_ns);
  testing::run_for(899_ns);
  EXPECT_EQ(b.w().state, HCA_MRC_FREE);
  EXPECT_EQ(b.pinned, 0) << "nor is it held, so that the firmware can have it";
  testing::run_until_idle();
  EXPECT_EQ(r.fault, window_fault::none);
  EXPECT_EQ(b.local.answers.at(0).at, 912_ns);
}

// However small the cache is, changes do not wait for each other in it.
TEST(WindowUnit, AChangeHoldsOneContextAtATime) {
  bench b;
  window_request r = b.bind(2);
  window_request refused = b.bind(2, 12 * page);
  b.local.send(r, 0_ns);
  b.local.send(refused, 100_ns);
  testing::run_for(200_ns);
  window_request close = b.order(window_op::close, hca_key_make(window_index, 3));
  b.control.send(close, 200_ns);
  testing::run_until_idle();
  EXPECT_EQ(r.fault, window_fault::none);
  EXPECT_NE(refused.fault, window_fault::none);
  EXPECT_EQ(b.most_pinned, 1);
}

// The firmware has the region when the bind that looked at it is done, and it is counted by then.
TEST(WindowUnit, ALockWaitsForABindOfItsRegion) {
  bench b;
  window_request r = b.bind(2);
  window_request lock = b.order(window_op::lock, region_index << 8);
  b.local.send(r, 100_ns);
  b.control.send(lock, 105_ns);
  testing::run_until_idle();
  EXPECT_EQ(b.control.answers.at(0).at, 112_ns);
  EXPECT_EQ(b.r().parent, 1U);
}

// Binds reach each piece of a space in two pieces, but not the hole between nor a range over it.
TEST(WindowUnit, BindsIntoOnePieceOfASpace) {
  bench b;
  b.entries[region_index].kind = HCA_MRC_ADDRESS_SPACE;
  b.entries[region_index].qpn = HCA_QPN_ANY;
  b.entries[region_index].extent_count = 1;
  window_request hole = b.bind(2, 9 * page, page);
  window_request across = b.bind(2, 8 * page, 3 * page);
  window_request inside = b.bind(2, 10 * page + 5, page - 5);
  b.local.send(hole, 0_ns);
  b.local.send(across, 100_ns);
  b.local.send(inside, 200_ns);
  testing::run_until_idle();
  EXPECT_EQ(hole.fault, window_fault::out_of_range);
  EXPECT_EQ(across.fault, window_fault::out_of_range);
  EXPECT_EQ(inside.fault, window_fault::none);
  EXPECT_EQ(b.local.answers.at(2).at, 213_ns) << "one cycle for the line of extents";
}

// The firmware writes the entry of a space that allows no binding without reading it: a bind that is refused must not have it
// written back. That of a region is counted at, and uncounted, before the rights are looked at.
TEST(WindowUnit, LeavesTheEntryOfASpaceWithoutBindingAlone) {
  bench b;
  bool dirtied = false;
  const auto serve = b.mrcs.serve;
  b.mrcs.serve = [&](context_request& c, tlm::tlm_phase phase, ps t) {
    serve(c, phase, t);
    dirtied = dirtied || (c.index == region_index && c.dirty);
  };
  b.entries[region_index].access &= ~static_cast<std::uint32_t>(HCA_ACCESS_MW_BIND);
  window_request at_region = b.bind(2);
  b.local.send(at_region, 0_ns);
  testing::run_until_idle();
  EXPECT_NE(at_region.fault, window_fault::none);
  EXPECT_TRUE(std::exchange(dirtied, false));
  b.entries[region_index].kind = HCA_MRC_ADDRESS_SPACE;
  b.entries[region_index].qpn = HCA_QPN_ANY;
  window_request at_space = b.bind(2);
  b.local.send(at_space, 100_ns);
  testing::run_until_idle();
  EXPECT_EQ(at_space.fault, at_region.fault);
  EXPECT_FALSE(dirtied);
}

// With type 2A the QP counts its windows, so that it cannot go before them.
TEST(WindowUnit, CountsTheWindowsOfAQp) {
  bench b(window_association::qp);
  window_request r = b.bind(2);
  window_request close = b.order(window_op::close, hca_key_make(window_index, 3));
  b.local.send(r, 0_ns);
  testing::run_for(50_ns);
  EXPECT_EQ(b.qpc.bound_windows, 1U);
  b.control.send(close, 100_ns);
  testing::run_until_idle();
  EXPECT_EQ(b.qpc.bound_windows, 0U);
  EXPECT_EQ(b.w().state, HCA_MRC_INVALID);
  EXPECT_EQ(b.w().key_byte, 3) << "the next owner gets another one";
  EXPECT_EQ(b.r().parent, 0U);
}

// Its region goes: the window is as if it had never been bound, but only if it is bound to that region.
TEST(WindowUnit, UnbindsAWindowOfARegion) {
  bench b(window_association::qp);
  window_request r = b.bind(2);
  b.local.send(r, 0_ns);
  testing::run_for(50_ns);
  const hca_mrc bound = b.w();
  window_request other = b.order(window_op::unbind, hca_key_make(window_index, 3));
  other.region_key = bound.parent + 0x100;
  b.control.send(other, 100_ns);
  testing::run_for(100_ns);
  EXPECT_EQ(b.control.answers.size(), 1U);
  EXPECT_EQ(b.w().state, HCA_MRC_VALID);
  EXPECT_EQ(b.w().parent, bound.parent);
  EXPECT_EQ(b.r().parent, 1U);
  EXPECT_EQ(b.qpc.bound_windows, 1U);
  window_request unbind = b.order(window_op::unbind, hca_key_make(window_index, 3));
  unbind.region_key = bound.parent;
  b.control.send(unbind, 300_ns);
  testing::run_until_idle();
  EXPECT_EQ(b.w().kind, bound.kind);
  EXPECT_EQ(b.w().state, HCA_MRC_FREE) << "a type 2 window waits for its next bind";
  EXPECT_EQ(b.w().key_byte, bound.key_byte);
  EXPECT_EQ(b.w().pd, bound.pd);
  EXPECT_EQ(b.w().flags, bound.flags);
  EXPECT_EQ(b.w().parent, 0U);
  EXPECT_EQ(b.w().length, 0U);
  EXPECT_EQ(b.r().parent, 0U);
  EXPECT_EQ(b.qpc.bound_windows, 0U);
}

// A fast-register region loses its translations when it is invalidated: its next pages may lie at the same addresses.
TEST(WindowUnit, AFastRegisterRegionLosesItsTranslations) {
  bench b;
  hca_mrc& f = b.entries[7];
  f.kind = HCA_MRC_FAST;
  f.state = HCA_MRC_FREE;
  f.flags = HCA_MRC_REMOTE_INVALIDATE;
  f.pd = 3;
  f.extent_count = 2;
  window_request reg = b.order(window_op::fast_register, hca_key_make(7, 9));
  reg.privileged = true;
  reg.page_shift = 12;
  reg.va = 100;
  reg.length = 2 * page - 100;
  reg.list = 0x4000;
  window_request inv = b.order(window_op::invalidate, hca_key_make(7, 9));
  b.local.send(reg, 0_ns);
  b.local.send(inv, 100_ns);
  testing::run_until_idle();
  EXPECT_EQ(reg.fault, window_fault::none);
  EXPECT_EQ(inv.fault, window_fault::none);
  EXPECT_EQ(f.table, 0x4000U);
  EXPECT_EQ(f.state, HCA_MRC_FREE);
  ASSERT_EQ(b.walker.requests.size(), 1U);
}

}  // namespace
}  // namespace hcasim
