#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <vector>

#include "models/adapter/protection/extents.h"
#include "models/adapter/protection/judge.h"
#include "models/adapter/protection/testing/extent_tree.h"

namespace hcasim {
namespace {

const std::uint32_t key = hca_key_make(7, 0x5a);

hca_mrc region() {
  hca_mrc m{};
  m.kind = HCA_MRC_REGION;
  m.state = HCA_MRC_VALID;
  m.key_byte = 0x5a;
  m.page_shift = 12;
  m.levels = 1;
  m.access = HCA_ACCESS_LOCAL_WRITE | HCA_ACCESS_REMOTE_READ;
  m.pd = 3;
  m.qpn = HCA_QPN_ANY;
  m.start = 0x1f00;
  m.length = 0x300;
  m.table = 0x10000;
  m.table_va = 0x1000;
  return m;
}

access_request remote_read() {
  access_request a;
  a.key = key;
  a.rights = HCA_ACCESS_REMOTE_READ;
  a.pd = 3;
  a.qpn = 21;
  a.va = 0x1f00;
  a.length = 0x300;
  a.remote = true;
  return a;
}

TEST(Judge, GrantsTheBaseCase) {
  EXPECT_EQ(judge(region(), remote_read()), verdict::granted);
}

TEST(Judge, IndexZeroIsNeverValid) {
  access_request a = remote_read();
  a.key = 0x5a;
  EXPECT_EQ(judge(region(), a), verdict::bad_index);
}

TEST(Judge, EmptyOrUnknownEntryIsBadIndex) {
  for (int kind : {int(HCA_MRC_NONE), int(HCA_MRC_KINDS), 255}) {
    hca_mrc m = region();
    m.kind = static_cast<std::uint8_t>(kind);
    EXPECT_EQ(judge(m, remote_read()), verdict::bad_index) << kind;
  }
  hca_mrc m = region();
  m.state = HCA_MRC_INVALID;
  EXPECT_EQ(judge(m, remote_read()), verdict::bad_index);
}

TEST(Judge, ExactlyOneKeyByteOf256Matches) {
  unsigned granted = 0;
  for (std::uint32_t b = 0; b < 256; ++b) {
    access_request a = remote_read();
    a.key = hca_key_make(7, static_cast<std::uint8_t>(b));
    const verdict v = judge(region(), a);
    EXPECT_EQ(v, b == 0x5a ? verdict::granted : verdict::bad_key);
    granted += v == verdict::granted;
  }
  EXPECT_EQ(granted, 1U);
}

TEST(Judge, OnlyValidMayBeUsed) {
  hca_mrc m = region();
  m.state = HCA_MRC_FREE;
  EXPECT_EQ(judge(m, remote_read()), verdict::bad_state);
  m.state = 3;
  EXPECT_EQ(judge(m, remote_read()), verdict::bad_state);
}

// kind x (PD equal) x (QPN equal) x (entry open to any QP) x (2A or 2B), against the table of [C.1].
TEST(Judge, AssociationOfEveryKind) {
  for (std::uint8_t kind = HCA_MRC_REGION; kind <= HCA_MRC_WINDOW_2; ++kind) {
    for (int bits = 0; bits < 16; ++bits) {
      const bool pd_equal = bits & 1;
      const bool qpn_equal = bits & 2;
      const bool any_qp = bits & 4;
      const bool type_2b = bits & 8;
      hca_mrc m = region();
      m.kind = kind;
      m.access |= HCA_ACCESS_REMOTE_READ;
      m.pd = pd_equal ? 3 : 4;
      m.qpn = any_qp ? std::uint32_t(HCA_QPN_ANY) : qpn_equal ? 21 : 22;
      access_request a = remote_read();
      a.type2 = type_2b ? window_association::qp_and_pd : window_association::qp;
      bool expected = pd_equal;
      if (kind == HCA_MRC_WINDOW_2) expected = !any_qp && qpn_equal && (pd_equal || !type_2b);
      if (kind == HCA_MRC_ADDRESS_SPACE) expected = pd_equal && (any_qp || qpn_equal);
      EXPECT_EQ(rules::associated(m, a), expected) << int(kind) << " " << bits;
      const verdict v = judge(m, a);
      EXPECT_EQ(v == verdict::bad_association, !expected);
    }
  }
}

// Every set of rights held against every set needed, for both sides and every kind.
TEST(Judge, RightsExhaustively) {
  for (std::uint8_t kind = HCA_MRC_REGION; kind <= HCA_MRC_WINDOW_2; ++kind) {
    for (std::uint32_t held = 0; held < 16; ++held) {
      for (std::uint32_t needed = 0; needed < 16; ++needed) {
        for (bool remote : {false, true}) {
          hca_mrc m = region();
          m.kind = kind;
          m.access = held;
          m.qpn = 21;
          access_request a = remote_read();
          a.remote = remote;
          a.rights = needed;
          bool expected = (needed & held) == needed;
          if (remote && needed == 0) expected = false;
          if (!remote && kind >= HCA_MRC_WINDOW_1) expected = false;
          EXPECT_EQ(judge(m, a), expected ? verdict::granted : verdict::bad_rights)
              << int(kind) << " " << held << " " << needed;
        }
      }
    }
  }
}

TEST(Judge, EveryEdgeByteOfARegion) {
  hca_mrc m = region();
  access_request a = remote_read();
  for (std::uint64_t va = m.start - 8; va < m.start + m.length + 8; ++va) {
    a.va = va;
    a.length = 1;
    const bool inside = va >= m.start && va < m.start + m.length;
    EXPECT_EQ(judge(m, a), inside ? verdict::granted : verdict::bad_bounds) << va;
  }
}

// 128-bit arithmetic knows no overflow.
TEST(Judge, BoundsAreOverflowSafe) {
  EXPECT_TRUE(rc::check([](std::uint64_t start, std::uint64_t length, std::uint64_t va, std::uint64_t n) {
    // Pull the numbers towards each other and towards the ends now and then.
    if (*rc::gen::arbitrary<bool>()) va = start + va % 8 - 4;
    if (*rc::gen::arbitrary<bool>()) n = length + n % 8 - 4;
    if (*rc::gen::arbitrary<bool>()) start = ~start % 16 - 8;
    hca_mrc m = region();
    m.start = start;
    m.length = length;
    access_request a = remote_read();
    a.va = va;
    a.length = n;
    __extension__ typedef unsigned __int128 wide;
    const bool inside = va >= start && wide(va) + n <= wide(start) + length;
    RC_ASSERT((judge(m, a) == verdict::granted) == inside);
  }));
}

TEST(Judge, ZeroBasedWindowIsAddressedFromZero) {
  hca_mrc m = region();
  m.kind = HCA_MRC_WINDOW_2;
  m.qpn = 21;
  m.access = HCA_ACCESS_REMOTE_READ | HCA_ACCESS_ZERO_BASED;
  m.parent = hca_key_make(9, 1);
  access_request a = remote_read();
  EXPECT_EQ(judge(m, a), verdict::bad_bounds);
  a.va = 0;
  EXPECT_EQ(judge(m, a), verdict::granted);
  a.va = 1;
  EXPECT_EQ(judge(m, a), verdict::bad_bounds);
  const mapping r = mapping_of(m, key);
  EXPECT_EQ(r.va_offset, m.start);
  EXPECT_EQ(r.map.index, 9U);
}

// With several faults at once the earliest rule decides, whatever the later ones say.
TEST(Judge, FirstFaultWins) {
  for (unsigned faults = 0; faults < 64; ++faults) {
    hca_mrc m = region();
    access_request a = remote_read();
    if (faults & 1) m.kind = HCA_MRC_NONE;
    if (faults & 2) m.key_byte ^= 1;
    if (faults & 4) m.state = HCA_MRC_FREE;
    if (faults & 8) a.pd ^= 1;
    if (faults & 16) a.rights = HCA_ACCESS_REMOTE_WRITE;
    if (faults & 32) a.va += 1;
    const auto expected = faults ? static_cast<verdict>(1 + std::countr_zero(faults)) : verdict::granted;
    EXPECT_EQ(judge(m, a), expected) << faults;
  }
}

TEST(Judge, ImpossibleTableIsAnError) {
  for (int levels : {0, 5, 255}) {
    hca_mrc m = region();
    m.levels = static_cast<std::uint8_t>(levels);
    EXPECT_EQ(judge(m, remote_read()), verdict::table_error) << levels;
  }
  hca_mrc m = region();
  m.page_shift = 13;
  EXPECT_EQ(judge(m, remote_read()), verdict::table_error);
  m.kind = HCA_MRC_PHYSICAL;
  EXPECT_EQ(judge(m, remote_read()), verdict::granted);
}

TEST(Mapping, OfEachKind) {
  hca_mrc m = region();
  mapping r = mapping_of(m, key);
  EXPECT_EQ(r.map.index, 7U);
  EXPECT_EQ(r.map.levels, 1);
  EXPECT_EQ(r.map.page_shift, 12);
  EXPECT_EQ(r.map.table, m.table);
  EXPECT_EQ(r.map.table_va, m.table_va);
  EXPECT_FALSE(r.map.null);
  EXPECT_EQ(r.va_offset, 0U);
  m.kind = HCA_MRC_PHYSICAL;
  EXPECT_EQ(mapping_of(m, key).map.levels, 0);
  m.kind = HCA_MRC_NULL;
  EXPECT_TRUE(mapping_of(m, key).map.null);
}

// Against a linear look at every extent, whatever the shape of the tree; and no more lines than it has levels.
TEST(Extents, SearchEqualsLinearScan) {
  EXPECT_TRUE(rc::check([] {
    const auto count = *rc::gen::inRange<std::uint32_t>(1, 70);
    const auto first = *rc::gen::inRange<std::uint32_t>(0, 5);
    const auto before = *rc::gen::inRange<std::uint64_t>(0, 20);
    std::vector<hca_extent> all;
    std::uint64_t at = before;
    for (std::uint32_t i = 0; i < count; ++i) {
      at += *rc::gen::inRange<std::uint64_t>(1, 6);
      all.push_back({at, *rc::gen::inRange<std::uint64_t>(1, 6)});
      at += all.back().length;
    }
    const testing::extent_tree tree(
        all, [](std::size_t room) { return *rc::gen::inRange<std::size_t>(1, room + 1); },
        [&](std::size_t n) { return static_cast<std::uint32_t>(first + n); });
    hca_mrc m = region();
    m.kind = HCA_MRC_ADDRESS_SPACE;
    m.table_va = 0x7000;
    m.extent = static_cast<std::uint32_t>(first + tree.lines.size() - 1) * HCA_EXTENTS_PER_LINE;
    m.extent_count = tree.levels;
    RC_ASSERT(needs_extents(m));
    for (std::uint64_t va = 0; va < at + 5; ++va) {
      for (std::uint64_t n = 1; n < 8; ++n) {
        bool expected = false;
        for (const hca_extent& e : all) expected |= va >= e.start && va + n <= e.start + e.length;
        extent_search s(m, m.table_va + va, n);
        unsigned looked = 0;
        extent_search::result r;
        do {
          RC_ASSERT(s.line() >= first && s.line() < first + tree.lines.size());
          r = s.look(tree.lines[s.line() - first].data());
          ++looked;
        } while (r == extent_search::more);
        RC_ASSERT(r == (expected ? extent_search::inside : extent_search::outside));
        RC_ASSERT(looked == tree.levels);
      }
    }
  }));
}

extent_search::result look_at_extents(const std::array<hca_extent, 4>& line, std::uint64_t va = 16, std::uint64_t n = 1) {
  hca_mrc m{};
  m.extent_count = 1;
  return extent_search(m, va, n).look(reinterpret_cast<const std::byte*>(line.data()));
}
extent_search::result look_at_node(const hca_extent_node& node, std::uint64_t va = 16) {
  hca_mrc m{};
  m.extent_count = 2;
  return extent_search(m, va, 1).look(reinterpret_cast<const std::byte*>(&node));
}
constexpr std::uint64_t none = HCA_EXTENT_NONE;

TEST(Extents, AtTheEndOfTheAddressSpace) {
  const std::array<hca_extent, 4> line{{{0, 16}, {~0ULL - 16, 16}, {}, {}}};
  EXPECT_EQ(look_at_extents(line, ~0ULL - 1, 1), extent_search::inside);
  EXPECT_EQ(look_at_extents(line, ~0ULL - 1, 2), extent_search::outside);
  EXPECT_EQ(look_at_extents(line, ~0ULL, 0), extent_search::outside);
  EXPECT_EQ(look_at_extents(line, ~0ULL - 16, 16), extent_search::inside);
  EXPECT_EQ(look_at_extents(line, ~0ULL - 17, 2), extent_search::outside);
  EXPECT_EQ(look_at_node({{5, none, none, none, none}, {1, 2}}, ~0ULL), extent_search::more);
}

// A line that no firmware can have written is not believed [E11].
TEST(Extents, DamagedLines) {
  EXPECT_EQ(look_at_extents({{{16, 4}, {24, 4}, {}, {}}}), extent_search::inside);
  EXPECT_EQ(look_at_extents({{{}, {}, {}, {}}}), extent_search::damaged) << "empty";
  EXPECT_EQ(look_at_extents({{{}, {16, 4}, {}, {}}}), extent_search::damaged) << "a gap";
  EXPECT_EQ(look_at_extents({{{16, 4}, {}, {24, 4}, {}}}), extent_search::damaged) << "a gap";
  EXPECT_EQ(look_at_extents({{{16, 4}, {8, 4}, {}, {}}}), extent_search::damaged) << "order";
  EXPECT_EQ(look_at_extents({{{16, 4}, {18, 4}, {}, {}}}), extent_search::damaged) << "overlap";
  EXPECT_EQ(look_at_extents({{{16, 4}, {20, 4}, {}, {}}}), extent_search::damaged) << "adjacent";
  EXPECT_EQ(look_at_extents({{{16, 4}, {24, 0}, {}, {}}}), extent_search::damaged) << "of no length";
  EXPECT_EQ(look_at_extents({{{16, ~0ULL}, {}, {}, {}}}), extent_search::damaged) << "beyond the end";
  EXPECT_EQ(look_at_node({{16, 24, none, none, none}, {1, 2, 3}}), extent_search::more);
  EXPECT_EQ(look_at_node({{none, none, none, none, none}, {1}}), extent_search::damaged) << "a single child";
  EXPECT_EQ(look_at_node({{16, 8, none, none, none}, {1, 2, 3}}), extent_search::damaged) << "order";
  EXPECT_EQ(look_at_node({{16, 16, none, none, none}, {1, 2, 3}}), extent_search::damaged) << "order";
  EXPECT_EQ(look_at_node({{16, none, 24, none, none}, {1, 2, 3}}), extent_search::damaged) << "a gap";
}

// A line that is its own child.
TEST(Extents, ACircleEnds) {
  const hca_extent_node n{{16, none, none, none, none}, {7, 7}};
  hca_mrc m{};
  m.extent = 28;
  m.extent_count = HCA_EXTENT_LEVELS;
  extent_search s(m, 0, 1);
  unsigned looked = 1;
  for (; s.look(reinterpret_cast<const std::byte*>(&n)) == extent_search::more; ++looked) EXPECT_EQ(s.line(), 7U);
  EXPECT_EQ(looked, unsigned{HCA_EXTENT_LEVELS});
}

TEST(Extents, ATreeThatIsTooHigh) {
  hca_mrc m = region();
  m.kind = HCA_MRC_ADDRESS_SPACE;
  m.extent_count = HCA_EXTENT_LEVELS;
  EXPECT_EQ(judge(m, remote_read()), verdict::granted);
  ++m.extent_count;
  EXPECT_EQ(judge(m, remote_read()), verdict::table_error);
}

// The plain function must not limit a simulation; a hundredth of the goal of 50 M/s fails even an unoptimised build.
TEST(Judge, IsFast) {
  std::vector<hca_mrc> table(64, region());
  access_request a = remote_read();
  std::uint64_t granted = 0;
  constexpr unsigned n = 20'000'000;
  const auto begin = std::chrono::steady_clock::now();
  for (unsigned i = 0; i < n; ++i) {
    a.va = 0x1f00 + (i & 1);
    granted += judge(table[i % 64], a) == verdict::granted;
  }
  const std::chrono::duration<double> s = std::chrono::steady_clock::now() - begin;
  RecordProperty("million_verdicts_per_second", int(n / s.count() / 1e6));
  std::printf("%.0f M verdicts/s\n", n / s.count() / 1e6);
  EXPECT_EQ(granted, n / 2);
  EXPECT_GT(n / s.count(), 0.5e6);
}

}  // namespace
}  // namespace hcasim
