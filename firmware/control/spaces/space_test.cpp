// The extended verbs: one key over a changing set of segments [S1..S13].
#include "firmware/control/spaces/space_bench.h"

using namespace hcasim::testing;

namespace {

TEST_F(space, entry_of_a_new_object) {
  ASSERT_EQ(b.x_register(any(4), memory(0x100000, 4)), HCA_OK);
  const hca_space s = b.space;
  EXPECT_NE(hca_key_index(s.key), 0U);
  EXPECT_NE(s.handle, 0U);
  EXPECT_EQ(s.length, 4 * page);
  EXPECT_EQ(s.end, s.start + 4 * page);
  EXPECT_EQ(s.segments, 1U);
  EXPECT_EQ(s.added, s.start);
  EXPECT_EQ(b.command.result[0], s.key);
  EXPECT_EQ(b.command.result[1], s.handle);
  const hca_mrc m = b.mrc(s.key);
  EXPECT_EQ(m.kind, HCA_MRC_ADDRESS_SPACE);
  EXPECT_EQ(m.state, HCA_MRC_VALID);
  EXPECT_EQ(m.page_shift, 12);
  EXPECT_EQ(m.access, rw);
  EXPECT_EQ(m.pd, 5U);
  EXPECT_EQ(m.qpn, static_cast<std::uint32_t>(HCA_QPN_ANY));
  EXPECT_EQ(m.extent_count, 0U);
  EXPECT_EQ(b.translate(s.key, s.start + 2 * page + 1), 0x102001U);
}

// [SUN6, SUN7, SUN8]: the space grows at its end; an access may cross the seam.
TEST_F(space, grows_with_the_same_key) {
  ASSERT_EQ(b.x_register(any(2), memory(0x100000, 2)), HCA_OK);
  key = b.space.key;
  const std::uint64_t start = b.space.start;
  for (std::uint64_t i = 1; i < 12; i++) {
    const std::uint32_t last = b.space.handle;
    ASSERT_EQ(b.x_reregister(key, any(2), memory(0x100000 + i * 0x10000, 2)), HCA_OK);
    EXPECT_EQ(b.space.key, key);
    EXPECT_NE(b.space.handle, last);
    EXPECT_EQ(b.space.start, start);
    EXPECT_EQ(b.space.length, (i + 1) * 2 * page);
    EXPECT_EQ(b.space.added, start + i * 2 * page);
    EXPECT_EQ(b.mrc(key).extent_count, 0U);
    for (std::uint64_t j = 0; j <= i; j++) EXPECT_EQ(at(start + j * 2 * page + page), 0x100000 + j * 0x10000 + page);
  }
}

// [SUN1, SUN11, SUN12]: a portion goes, the key stays; by handle and by range alike.
TEST_F(space, removes_a_middle_segment) {
  for (const bool by_handle : {true, false}) {
    key = 0;
    add_at(0x10000, 2, 0x100000);
    add_at(0x12000, 2, 0x200000);
    const std::uint32_t middle = b.space.handle;
    add_at(0x14000, 2, 0x300000);
    ASSERT_EQ(by_handle ? b.x_remove(key, middle) : b.x_remove(key, 0, 0x12000, 0x2000), HCA_OK);
    EXPECT_EQ(b.space.key, key);
    EXPECT_EQ(b.space.handle, 0U);
    EXPECT_EQ(b.space.start, 0x10000U);
    EXPECT_EQ(b.space.length, 0x4000U);
    EXPECT_EQ(b.space.end, 0x16000U);
    EXPECT_EQ(b.space.segments, 2U);
    EXPECT_EQ(b.mrc(key).extent_count, 1U);
    EXPECT_EQ(at(0x11fff), 0x101fffU);
    EXPECT_EQ(at(0x12000), std::nullopt);
    EXPECT_EQ(at(0x13fff), std::nullopt);
    EXPECT_EQ(at(0x14000), 0x300000U);
    EXPECT_EQ(b.x_remove(key, middle), HCA_BAD_OBJECT) << "nothing is left of it";
    EXPECT_EQ(b.x_remove(key, 0, 0x12000, 0x2000), HCA_BAD_PARAMETER);
    ASSERT_EQ(b.x_teardown(key), HCA_OK);
    expect_nothing_left();
  }
}

TEST_F(space, a_segment_is_split) {
  add_at(0x10000, 8, 0x100000);
  const std::uint32_t handle = b.space.handle;
  ASSERT_EQ(b.x_remove(key, 0, 0x12000, 0x2000), HCA_OK);
  EXPECT_EQ(b.space.segments, 2U);
  EXPECT_EQ(at(0x11fff), 0x101fffU);
  EXPECT_EQ(at(0x12000), std::nullopt);
  EXPECT_EQ(at(0x14000), 0x104000U);
  EXPECT_EQ(b.x_remove(key, 0, 0x14800, 0x1000), HCA_BAD_PARAMETER) << "not on a page";
  EXPECT_EQ(b.x_remove(key, 0, 0x11000, 0x2000), HCA_BAD_PARAMETER) << "runs into the hole";
  EXPECT_EQ(b.x_remove(key, 0, 0x15000, 0x1000, HCA_X_NO_SPLIT), HCA_BAD_PARAMETER);
  EXPECT_EQ(b.usage().segments, 2U);
  ASSERT_EQ(b.x_remove(key, 0, 0x14000, 0x4000, HCA_X_NO_SPLIT), HCA_OK) << "a whole piece";
  ASSERT_EQ(b.x_remove(key, handle), HCA_OK) << "what is left of it";
  EXPECT_EQ(b.space.length, 0U);
  expect_nothing_left();
}

// [SUN15]: the key goes with the last segment; the next owner of the index gets another byte.
TEST_F(space, retires_with_its_last_segment) {
  add_at(0x10000, 2, 0x100000);
  ASSERT_EQ(b.x_remove(key, b.space.handle), HCA_OK);
  EXPECT_EQ(b.space.key, key);
  EXPECT_EQ(b.space.length, 0U);
  EXPECT_EQ(b.space.segments, 0U);
  expect_nothing_left();
  EXPECT_EQ(b.mrc(key).state, HCA_MRC_INVALID);
  EXPECT_EQ(b.mrc(key).key_byte, hca_key_byte(key));
  EXPECT_EQ(b.x_reregister(key, any(1), memory(0x100000, 1)), HCA_BAD_OBJECT);
  EXPECT_EQ(b.x_remove(key, 1), HCA_BAD_OBJECT);
  EXPECT_EQ(b.x_teardown(key), HCA_BAD_OBJECT);
  ASSERT_EQ(b.x_register(any(1), memory(0x100000, 1)), HCA_OK);
  EXPECT_NE(b.space.key, key);
}

// [SUN9]: segments far apart in both directions; the table grows at its root.
TEST_F(space, segments_far_apart) {
  const std::uint64_t vas[] = {0x7f1234567000, 0x7f1234568000, 0x7f1234767000, 0x7f1274567000,
                               0x7f1214567000, 0x7e0000000000, 0x1000,         0x555500000000};
  std::uint64_t physical = 0x100000;
  for (const std::uint64_t va : vas) {
    add_at(va, 1, physical += 0x10000);
    std::uint64_t expected = 0x100000;
    for (const std::uint64_t earlier : vas) {
      EXPECT_EQ(at(earlier + 7), (expected += 0x10000) + 7);
      if (earlier == va) break;
    }
  }
  EXPECT_EQ(b.mrc(key).levels, 4);
  EXPECT_EQ(b.mrc(key).extent_count, 2U);
  EXPECT_EQ(b.mrc(key).extent % 4, 0U);
  EXPECT_LE(b.usage().extent_lines, 4U);
  EXPECT_EQ(b.x_reregister(key, region(1ULL << 48, page, rw), memory(0x100000, 1)), HCA_NO_RESOURCES) << "beyond four levels";
  ASSERT_EQ(b.x_teardown(key), HCA_OK);
  expect_nothing_left();
}

TEST_F(space, overlap_is_refused) {
  add_at(0x10000, 4, 0x100000);
  const hca_mrc before = b.mrc(key);
  for (const auto& [va, pages] :
       {std::pair{0x10000ULL, 4ULL}, {0xf000ULL, 2ULL}, {0x13000ULL, 2ULL}, {0x11000ULL, 1ULL}, {0xf000ULL, 9ULL}}) {
    EXPECT_EQ(b.x_reregister(key, region(va, pages * page, rw), memory(0x500000, pages)), HCA_BAD_PARAMETER);
  }
  const hca_mrc now = b.mrc(key);
  EXPECT_EQ(std::memcmp(&before, &now, sizeof now), 0);
  EXPECT_EQ(b.usage().segments, 1U);
}

// [S4, SUN10].
TEST_F(space, page_alignment_is_a_switch) {
  EXPECT_EQ(b.x_register(region(0x10800, 0x800, rw), memory(0x100000, 1), HCA_X_PAGE_ALIGNED), HCA_BAD_PARAMETER);
  EXPECT_EQ(b.x_register(region(0x10000, 0x800, rw), memory(0x100000, 1), HCA_X_PAGE_ALIGNED), HCA_BAD_PARAMETER);
  expect_nothing_left();
  ASSERT_EQ(b.x_register(region(0x10800, 0x900, rw), memory(0x100000, 2)), HCA_OK);
  key = b.space.key;
  EXPECT_EQ(b.x_reregister(key, region(0x11100, 0x100, rw), memory(0x101000, 1), HCA_X_PAGE_ALIGNED), HCA_BAD_PARAMETER);
  EXPECT_EQ(b.x_reregister(key, region(0x11100, 0x100, rw), memory(0x700000, 1)), HCA_BAD_PARAMETER) << "one page, two frames";
  ASSERT_EQ(b.x_reregister(key, region(0x11100, 0x100, rw), memory(0x101000, 1)), HCA_OK);
  const std::uint32_t second = b.space.handle;
  EXPECT_EQ(at(0x111ff), 0x1011ffU);
  EXPECT_EQ(at(0x11200), std::nullopt);
  ASSERT_EQ(b.x_remove(key, 0, 0x10800, 0x900), HCA_OK) << "whole, so it need not be on a page";
  EXPECT_EQ(at(0x11100), 0x101100U) << "the shared page stays";
  EXPECT_EQ(at(0x110ff), std::nullopt);
  ASSERT_EQ(b.x_remove(key, second), HCA_OK);
  expect_nothing_left();
}

// [S5, SUN13]: every change moves the whole space to fresh VAs.
TEST_F(space, remap) {
  ASSERT_EQ(b.x_register(any(2), memory(0x100000, 2), HCA_X_REMAP), HCA_OK);
  key = b.space.key;
  std::vector<std::uint64_t> starts{b.space.start};
  std::vector<std::uint32_t> handles{b.space.handle};
  for (std::uint64_t i = 1; i < 6; i++) {
    ASSERT_EQ(b.x_reregister(key, any(2), memory(0x100000 + i * 0x10000, 2)), HCA_OK);
    EXPECT_EQ(b.space.key, key);
    for (const std::uint64_t s : starts) {
      EXPECT_GE(b.space.start, s + i * 2 * page);
      EXPECT_EQ(at(s), std::nullopt) << "an old VA is dead";
    }
    starts.push_back(b.space.start);
    handles.push_back(b.space.handle);
    EXPECT_EQ(b.space.added, b.space.start + i * 2 * page);
    for (std::uint64_t j = 0; j <= i; j++) EXPECT_EQ(at(b.space.start + j * 2 * page), 0x100000 + j * 0x10000);
  }
  ASSERT_EQ(b.x_remove(key, handles[1]), HCA_OK);
  EXPECT_GT(b.space.start, starts.back());
  EXPECT_EQ(b.space.length, 10 * page);
  EXPECT_EQ(at(b.space.start), 0x100000U);
  EXPECT_EQ(at(b.space.start + 2 * page), std::nullopt);
  EXPECT_EQ(at(b.space.start + 4 * page), 0x120000U);
  ASSERT_EQ(b.x_teardown(key), HCA_OK);
  expect_nothing_left();
}

// [SUN2]: tied to a queue pair, and gone with it.
TEST_F(space, belongs_to_a_queue_pair) {
  ASSERT_EQ(b.create_eq(), 0U);
  const std::uint32_t qpn = b.create_qp(b.create_cq());
  const std::uint64_t lists = b.usage().table_bytes;
  hca_region r = any(2);
  r.qpn = qpn + 1;
  EXPECT_EQ(b.x_register(r, memory(0x100000, 2)), HCA_BAD_OBJECT);
  r.qpn = qpn;
  r.access |= HCA_ACCESS_MW_BIND;
  ASSERT_EQ(b.x_register(r, memory(0x100000, 2)), HCA_OK);
  key = b.space.key;
  EXPECT_EQ(b.mrc(key).qpn, qpn);
  EXPECT_GT(b.usage().table_bytes, lists);
  ASSERT_EQ(b.run(HCA_CMD_ALLOC_MW, 5, 1), HCA_OK);
  const std::uint32_t window = b.command.result[0];
  hca_mrc w = b.mrc(window);
  w.parent = key;
  b.h.put(b.mrc_address(window), w);
  hca_mrc m = b.mrc(key);
  m.parent = 1;
  b.h.put(b.mrc_address(key), m);
  EXPECT_EQ(b.run(HCA_CMD_DESTROY_QP, qpn), HCA_BUSY) << "a window that does not go";
  EXPECT_EQ(b.mrc(key).state, HCA_MRC_FREE) << "no more of them come";
  EXPECT_EQ(b.usage().spaces, 1U);
  b.h.unbind = [&](std::uint32_t index, std::uint32_t of) {
    EXPECT_EQ(of, key);
    EXPECT_EQ(index, hca_key_index(window));
    EXPECT_NE(b.mrc(key).table, 0U) << "it translates through the table";
    m = b.mrc(key);
    m.parent = 0;
    b.h.put(b.mrc_address(key), m);
  };
  EXPECT_EQ(b.run(HCA_CMD_DESTROY_QP, qpn), HCA_OK) << "trying again is right";
  b.h.unbind = nullptr;
  EXPECT_EQ(b.run(HCA_CMD_FREE_MW, window), HCA_OK);
  EXPECT_EQ(b.mrc(key).state, HCA_MRC_INVALID);
  EXPECT_EQ(b.usage().spaces, 0U);
  EXPECT_EQ(b.usage().mrs, 0U);
}

// The queue pair runs until its spaces are gone: no bind comes between the check of its windows and their end.
TEST_F(space, takes_no_window_while_its_queue_pair_is_destroyed) {
  ASSERT_EQ(b.create_eq(), 0U);
  const std::uint32_t qpn = b.create_qp(b.create_cq());
  hca_region r = any(2);
  r.qpn = qpn;
  r.access |= HCA_ACCESS_MW_BIND;
  ASSERT_EQ(b.x_register(r, memory(0x100000, 2)), HCA_OK);
  key = b.space.key;
  int unlocked = 0;
  b.h.observer = [&](const hal::call& c) {
    if (c.what != hal::op::unlock || c.a != hca_key_index(key)) return;
    ++unlocked;
    EXPECT_NE(b.mrc(key).state, HCA_MRC_VALID);
  };
  EXPECT_EQ(b.run(HCA_CMD_DESTROY_QP, qpn), HCA_OK);
  EXPECT_EQ(unlocked, 2);
}

// [S13]: a bound window keeps the segments of the space; adding is still allowed and keeps the count.
TEST_F(space, bound_windows_hold_segments) {
  rights |= HCA_ACCESS_MW_BIND;
  add_at(0x10000, 2, 0x100000);
  hca_mrc m = b.mrc(key);
  m.parent = 3;
  b.h.put(b.mrc_address(key), m);
  EXPECT_EQ(b.x_remove(key, 1), HCA_BUSY);
  EXPECT_EQ(b.x_teardown(key), HCA_BUSY);
  EXPECT_EQ(b.x_reregister(key, any(1), memory(0x900000, 1), HCA_X_REMAP), HCA_BUSY);
  ASSERT_EQ(b.x_reregister(key, any(1), memory(0x900000, 1)), HCA_OK);
  EXPECT_EQ(b.mrc(key).parent, 3U);
}

TEST_F(space, refusals) {
  const auto refused = [&](const hca_region& r, const std::vector<hca_chunk>& c) {
    const int status = b.x_register(r, c);
    expect_nothing_left();
    return status;
  };
  EXPECT_EQ(b.x_register(any(1), memory(0x1000, 1), 8), HCA_BAD_PARAMETER);
  EXPECT_EQ(refused(any(0), {}), HCA_BAD_PARAMETER);
  EXPECT_EQ(refused(any(2), memory(0x1000, 1)), HCA_BAD_PARAMETER);
  EXPECT_EQ(refused(any(1), memory(0x1001, 1)), HCA_BAD_PARAMETER);
  EXPECT_EQ(refused(region(~0ULL << 12, page, rw), memory(0x1000, 1)), HCA_BAD_PARAMETER);
  EXPECT_EQ(refused(region(0, page, HCA_ACCESS_ZERO_BASED), memory(0x1000, 1)), HCA_BAD_PARAMETER);
  EXPECT_EQ(refused(region(0, page, HCA_ACCESS_REMOTE_WRITE), memory(0x1000, 1)), HCA_BAD_PARAMETER);
  hca_region r = any(1);
  r.pd = 1 << 24;
  EXPECT_EQ(refused(r, memory(0x1000, 1)), HCA_BAD_PARAMETER);
  r = any(1);
  r.qpn = 1 << 24;
  EXPECT_EQ(refused(r, memory(0x1000, 1)), HCA_BAD_PARAMETER);
  r = region(0x10000, page, rw);
  r.first_offset = 8;
  EXPECT_EQ(refused(r, memory(0x1000, 2)), HCA_BAD_PARAMETER);
  b.h.hole = b.out;
  b.h.hole_bytes = 4096;
  EXPECT_EQ(refused(any(1), memory(0x1000, 1)), HCA_MEMORY_FAULT) << "nowhere to put the answer";
  b.h.hole_bytes = 0;
  EXPECT_EQ(b.x_remove(0, 1), HCA_BAD_OBJECT);
  add_at(0x10000, 1, 0x100000);
  EXPECT_EQ(b.x_remove(key, 77), HCA_BAD_OBJECT);
  EXPECT_EQ(b.x_remove(key ^ 1, 1), HCA_BAD_OBJECT);
  EXPECT_EQ(b.x_remove(key, 0, 0x10000, 0), HCA_BAD_PARAMETER);
  EXPECT_EQ(b.x_remove(key, 0, ~0ULL << 12, page), HCA_BAD_PARAMETER);
  EXPECT_EQ(b.x_remove(key, 1, 0, 0, 8), HCA_BAD_PARAMETER);
  EXPECT_EQ(b.deregister(key), HCA_BAD_OBJECT) << "not a region";
  EXPECT_EQ(b.reregister(key, HCA_REREG_PD, region(0, 0)), HCA_BAD_OBJECT);
  ASSERT_EQ(b.register_region(region(0, page), memory(0x1000, 1)), HCA_OK);
  EXPECT_EQ(b.x_teardown(b.command.result[0]), HCA_BAD_OBJECT) << "not an address space";
}

TEST_F(space, out_of_resources) {
  fw_limits l = small_limits();
  l.max_spaces = 2;
  l.max_segments = 6;
  l.max_extent_lines = 2;
  l.max_table_bytes = 6 * page;
  firmware_bench s(l);
  ASSERT_EQ(s.x_register(any(1), memory(0x1000, 1)), HCA_OK);
  const std::uint32_t k = s.space.key;
  const std::uint64_t start = s.space.start;
  for (std::uint64_t i = 1; i < 4; i++)
    ASSERT_EQ(s.x_reregister(k, region(start + 2 * i * page, page, rw), memory(0x1000, 1)), HCA_OK);
  EXPECT_EQ(s.usage().extent_lines, 1U);
  const hca_mrc before = s.mrc(k);
  EXPECT_EQ(s.x_reregister(k, region(start + 20 * page, page, rw), memory(0x1000, 1)), HCA_NO_RESOURCES)
      << "no room for a list beside";
  EXPECT_EQ(s.translate(before, start + 20 * page), std::nullopt);
  EXPECT_EQ(s.x_reregister(k, region(start + GiB * 600, page, rw), memory(0x1000, 1)), HCA_NO_RESOURCES)
      << "no nodes for four levels";
  EXPECT_EQ(s.usage().segments, 4U);
  const hca_mrc now = s.mrc(k);
  EXPECT_EQ(std::memcmp(&before, &now, sizeof now), 0);
  ASSERT_EQ(s.x_register(any(1), memory(0x1000, 1)), HCA_OK);
  EXPECT_EQ(s.x_register(any(1), memory(0x1000, 1)), HCA_NO_RESOURCES) << "no third object";
  EXPECT_EQ(s.usage().mrs, 2U);
  EXPECT_EQ(s.x_remove(k, 0, start, 4 * page), HCA_BAD_PARAMETER);
  ASSERT_EQ(s.x_teardown(k), HCA_OK);
  ASSERT_EQ(s.x_register(any(8), memory(0x8000, 8)), HCA_OK);
  const std::uint32_t second = s.space.key;
  ASSERT_EQ(s.x_remove(second, 0, s.space.start + page, page), HCA_OK);
  ASSERT_EQ(s.x_remove(second, 0, s.space.start + 3 * page, page), HCA_OK);
  EXPECT_EQ(s.usage().segments, 4U);
}

// [SUN16]: a window slides over a thousand buffers; the table does not grow with the distance.
TEST_F(space, sliding_window) {
  ASSERT_EQ(b.x_register(any(4), memory(0x100000, 4)), HCA_OK);
  key = b.space.key;
  std::vector<std::uint32_t> handles{b.space.handle};
  for (std::uint64_t i = 1; i < 3000; i++) {
    ASSERT_EQ(b.x_reregister(key, any(4), memory(0x100000 + i * 0x8000, 4)), HCA_OK);
    ASSERT_EQ(b.space.key, key);
    handles.push_back(b.space.handle);
    if (i >= 8) {
      const std::uint64_t before = b.space.start;
      ASSERT_EQ(b.x_remove(key, handles[i - 8]), HCA_OK);
      ASSERT_EQ(b.space.start, before + 4 * page);
      ASSERT_EQ(b.space.length, 8 * 4 * page);
    }
    ASSERT_EQ(at(b.space.end - 1), 0x100000 + i * 0x8000 + 4 * page - 1);
  }
  EXPECT_LE(b.usage().table_bytes, 4 * page);
  ASSERT_EQ(b.x_teardown(key), HCA_OK);
  expect_nothing_left();
}

}  // namespace
