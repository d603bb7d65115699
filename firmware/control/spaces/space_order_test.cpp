// The steps of a change: accesses under way see no mixture between them [S11].
#include "firmware/control/spaces/space_bench.h"

using namespace hcasim::testing;

namespace {

// Accesses lose a removed segment before its pages' entries go; the entries are gone before the answer.
TEST_F(space, removal_in_order) {
  add_at(0x10000, 4, 0x100000);
  b.h.logging = true;
  ASSERT_EQ(b.x_remove(key, 0, 0x12000, 0x2000), HCA_OK);
  using op = hal::op;
  const std::uint32_t index = hca_key_index(key);
  const auto find = [&](const hal::call& c) { return std::find(b.h.log.begin(), b.h.log.end(), c) - b.h.log.begin(); };
  const hca_mrc m = b.mrc(key);
  const long entry = find({op::write, b.mrc_address(key), 64});
  const long drain = find({op::drain, index});
  const long clear = find({op::write, m.table + 0x12 * 8, 16});
  const long drop = find({op::translation_drop, index, 0x12000, 0x13fff});
  const long size = static_cast<long>(b.h.log.size());
  EXPECT_LT(entry, drain);
  EXPECT_LT(drain, clear);
  EXPECT_LT(clear, drop);
  EXPECT_LT(drop, size - 1);
  EXPECT_LT(find({op::write, b.out, sizeof(hca_space)}), entry) << "an answer that cannot be given changes nothing";
  EXPECT_EQ(b.h.log.front(), (hal::call{op::lock, index}));
  EXPECT_EQ(b.h.log.back(), (hal::call{op::unlock, index}));
}

// A counted window that is bound nowhere has just been invalidated: its accesses may lie in the removed segment. The firmware
// cannot tell which window was counted.
TEST_F(space, removal_waits_for_accesses_through_windows_that_leave) {
  rights |= HCA_ACCESS_MW_BIND;
  add_at(0x10000, 2, 0x100000);
  add_at(0x20000, 2, 0x200000);
  const auto window = [&] {
    EXPECT_EQ(b.run(HCA_CMD_ALLOC_MW, 5, 2), HCA_OK);
    return b.command.result[0];
  };
  const std::uint32_t invalidated = window();
  const std::uint32_t bound = window();
  hca_mrc w = b.mrc(bound);
  w.parent = key;
  w.start = 0x20000;
  w.length = page;
  b.h.put(b.mrc_address(bound), w);
  using op = hal::op;
  const auto drained = [&](std::uint32_t windows, std::uint64_t removed, auto change) {
    hca_mrc m = b.mrc(key);
    m.parent = windows;
    b.h.put(b.mrc_address(key), m);
    b.h.log.clear();
    b.h.logging = true;
    EXPECT_EQ(change(), HCA_OK);
    b.h.logging = false;
    std::vector<std::uint64_t> indices;
    bool cleared = false;
    for (const hal::call& c : b.h.log) {
      cleared = cleared || (c.what == op::translation_drop && c.b <= removed && removed <= c.c);
      if (c.what != op::drain) continue;
      indices.push_back(c.a);
      EXPECT_FALSE(cleared) << "what is cached of the segment goes when no access is under way";
    }
    EXPECT_TRUE(cleared);
    return indices;
  };
  const std::vector<std::uint64_t> space_alone{hca_key_index(key)};
  const std::vector<std::uint64_t> all{hca_key_index(key), hca_key_index(invalidated), hca_key_index(bound)};
  EXPECT_EQ(drained(1, 0x10000, [&] { return b.x_remove(key, 0, 0x10000, page); }), space_alone) << "every window was found";
  EXPECT_EQ(drained(2, 0x11000, [&] { return b.x_remove(key, 0, 0x11000, page); }), all);
  add_at(0x30000, 2, 0x300000);
  hca_region r = any(2);
  r.leaving = b.space.handle;
  EXPECT_EQ(drained(2, 0x30000, [&] { return b.x_reregister(key, r, memory(0x400000, 2)); }), all) << "by an exchange";
}

// One switch of the MRC takes one segment out and another in: no step shows both or neither.
TEST_F(space, exchange_is_one_step) {
  ASSERT_EQ(b.x_register(any(2), memory(0x100000, 2)), HCA_OK);
  key = b.space.key;
  const hca_space first = b.space;
  ASSERT_EQ(b.x_reregister(key, any(2), memory(0x200000, 2)), HCA_OK);
  const hca_space second = b.space;
  hca_region r = any(2);
  r.leaving = first.handle;
  b.h.observer = [&](const hal::call&) {
    EXPECT_NE(at(first.start).has_value(), at(second.end).has_value());
    EXPECT_EQ(at(second.added), 0x200000U);
  };
  ASSERT_EQ(b.x_reregister(key, r, memory(0x300000, 2)), HCA_OK);
  b.h.observer = nullptr;
  EXPECT_EQ(b.space.key, key);
  EXPECT_EQ(b.space.start, second.added);
  EXPECT_EQ(b.space.added, second.end);
  EXPECT_EQ(b.space.segments, 2U);
  EXPECT_FALSE(at(first.start));
  EXPECT_EQ(at(b.space.added + page), 0x301000U);
}

// Other pages come under the same VAs, in a leaf shared with neighbours. Every step shows all of the old pages or all of the
// new ones. The old nodes stay until no access can walk them.
TEST_F(space, exchange_in_place_is_one_step) {
  ASSERT_EQ(b.x_register(any(2), memory(0x100000, 2)), HCA_OK);
  key = b.space.key;
  ASSERT_EQ(b.x_reregister(key, any(600), memory(0x1000000, 600)), HCA_OK);
  const hca_space middle = b.space;
  ASSERT_EQ(b.x_reregister(key, any(2), memory(0x300000, 2)), HCA_OK);
  const hca_space last = b.space;
  const fw_usage before = b.usage();
  const hca_mrc old = b.mrc(key);
  hca_region r = region(middle.added, 600 * page, rw);
  r.leaving = middle.handle;
  bool changed = false;
  bool drained = false;
  b.h.observer = [&](const hal::call& c) {
    const hca_mrc m = b.mrc(key);
    changed = changed || m.table != old.table;
    drained = drained || (changed && c.what == hal::op::drain);
    for (const std::uint64_t i : {0U, 1U, 300U, 599U}) {
      EXPECT_EQ(b.translate(m, middle.added + i * page), (changed ? 0x8000000U : 0x1000000U) + i * page);
      if (!drained) {
        EXPECT_EQ(b.translate(old, middle.added + i * page), 0x1000000U + i * page);
      }
    }
    EXPECT_EQ(b.translate(m, middle.added - page), 0x101000U);
    EXPECT_EQ(b.translate(m, last.added), 0x300000U);
  };
  b.h.log.clear();
  b.h.logging = true;
  ASSERT_EQ(b.x_reregister(key, r, memory(0x8000000, 600)), HCA_OK);
  b.h.logging = false;
  b.h.observer = nullptr;
  EXPECT_TRUE(drained);
  EXPECT_EQ(b.space.key, key);
  EXPECT_EQ(b.space.added, middle.added);
  EXPECT_EQ(b.space.segments, 3U);
  EXPECT_EQ(b.usage().table_bytes, before.table_bytes);
  const std::uint32_t index = hca_key_index(key);
  const auto find = [&](const hal::call& c) { return std::find(b.h.log.begin(), b.h.log.end(), c) - b.h.log.begin(); };
  EXPECT_LT(find({hal::op::drain, index}), find({hal::op::translation_drop, index, 0, ~0ULL}));
  EXPECT_LT(find({hal::op::translation_drop, index, 0, ~0ULL}), static_cast<long>(b.h.log.size()));
  EXPECT_EQ(b.x_remove(key, middle.handle), HCA_BAD_OBJECT) << "its handle has gone";
  ASSERT_EQ(b.x_remove(key, b.space.handle), HCA_OK);
  EXPECT_FALSE(at(middle.added));
  EXPECT_EQ(at(last.added), 0x300000U);
}

TEST_F(space, exchange_that_is_refused_changes_nothing) {
  hca_region bindable = any(2);
  bindable.access |= HCA_ACCESS_MW_BIND;
  ASSERT_EQ(b.x_register(bindable, memory(0x100000, 2)), HCA_OK);
  key = b.space.key;
  const hca_space first = b.space;
  const fw_usage before = b.usage();
  hca_region r = any(2);
  r.leaving = first.handle + 1;
  EXPECT_EQ(b.x_reregister(key, r, memory(0x300000, 2)), HCA_BAD_OBJECT) << "no such handle";
  r.leaving = first.handle;
  r.va = first.start + page;
  EXPECT_EQ(b.x_reregister(key, r, memory(0x300000, 2)), HCA_BAD_PARAMETER)
      << "the place of the segment that leaves is not free yet";
  hca_mrc m = b.mrc(key);
  m.parent = 1;  // a window is bound
  b.h.put(b.mrc_address(key), m);
  r.va = HCA_VA_ANY;
  EXPECT_EQ(b.x_reregister(key, r, memory(0x300000, 2)), HCA_BUSY) << "a window holds the segment";
  EXPECT_EQ(at(first.start), 0x100000U);
  EXPECT_FALSE(at(first.end));
  EXPECT_EQ(b.usage().segments, before.segments);
  EXPECT_EQ(b.usage().table_bytes, before.table_bytes);
  EXPECT_EQ(b.x_register(r, memory(0x400000, 2)), HCA_BAD_PARAMETER) << "a new object has nothing that could leave";
}

// Every entry gets a new number when the table grows downwards, so accesses change over to the larger table first. Nothing is
// cached under an old number when the new segment appears.
TEST_F(space, growth_below_changes_over_in_two_steps) {
  add_at(0x40200000, 1, 0x100000);
  const hca_mrc old = b.mrc(key);
  bool dropped = false;
  int stage = 0;
  b.h.observer = [&](const hal::call& c) {
    const hca_mrc m = b.mrc(key);
    if (c == hal::call{hal::op::translation_drop, hca_key_index(key), 0, ~0ULL}) dropped = true;
    if (m.table_va == old.table_va) return;
    if (m.start == old.start) {
      stage = 1;
      EXPECT_EQ(m.length, old.length);
      EXPECT_EQ(b.translate(m, 0x40200000), 0x100000U);
      EXPECT_EQ(b.translate(m, 0x1000), std::nullopt);
    } else {
      EXPECT_EQ(stage, 1);
      EXPECT_TRUE(dropped);
    }
  };
  add_at(0x1000, 1, 0x200000);
  b.h.observer = nullptr;
  EXPECT_EQ(stage, 1);
  EXPECT_EQ(b.mrc(key).table_va, 0U);
  EXPECT_EQ(at(0x1000), 0x200000U);
  EXPECT_EQ(at(0x40200000), 0x100000U);
}

}  // namespace
