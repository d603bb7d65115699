// Wrong cells in lines of the leaf cache and in entries of upper levels: memory has both, so they are read anew.
#include "models/adapter/page_walker/page_walker_bench.h"

namespace hcasim {
namespace {

using namespace testing;

struct found {
  translate_status status;
  std::uint64_t physical;
  std::size_t reads;  // of the second look
};

// A page is looked up, spoiled, and looked up again.
found spoiled(icm_check check, std::size_t kind, std::uint64_t draw) {
  page_walker_bench b({}, {.check = check, .kind = icm_entry::pte});
  const translation m = table(1, 1);
  b.memory.map(m, 0, 0x1000);
  b.walk_page(m, 0, 1_us);
  run_until_idle();
  const std::size_t before = b.reads();
  b.walker.inject(kind, {.count = 1, .length = 0_ps, .draw = draw});
  const translate_request& r = b.walk_page(m, 0, now() + 1_us);
  run_until_idle();
  return {r.status, r.physical, b.reads() - before};
}

TEST(WalkerCells, SecdedPutsOneBitRight) {
  const found f = spoiled(icm_check::secded, 0, 12);
  EXPECT_EQ(f.physical, 0x1000U);
  EXPECT_EQ(f.reads, 0U);
}

TEST(WalkerCells, ADetectedFaultIsWalkedAgain) {
  const found f = spoiled(icm_check::parity, 0, 12);
  EXPECT_EQ(f.physical, 0x1000U);
  EXPECT_EQ(f.reads, 1U);
}

TEST(WalkerCells, SecdedWalksAgainForTwoWrongBits) {
  const found f = spoiled(icm_check::secded, 1, 12);
  EXPECT_EQ(f.physical, 0x1000U);
  EXPECT_EQ(f.reads, 1U);
}

TEST(WalkerCells, AnImpossibleEntryIsNotBelieved) {
  const found f = spoiled(icm_check::none, 0, 5);  // an unknown flag
  EXPECT_EQ(f.physical, 0x1000U);
  EXPECT_EQ(f.reads, 1U);
}

TEST(WalkerCells, WithoutACodeADamagedEntryLeadsToAnotherPage) {
  const found f = spoiled(icm_check::none, 0, 13);
  EXPECT_EQ(f.status, translate_status::ok);
  EXPECT_EQ(f.physical, 0x3000U);
}

TEST(WalkerTags, SecdedPutsOneBitRight) {
  const found f = spoiled(icm_check::secded, 2, 3);
  EXPECT_EQ(f.physical, 0x1000U);
  EXPECT_EQ(f.reads, 0U);
}

TEST(WalkerTags, ADetectedFaultIsWalkedAgain) {
  const found f = spoiled(icm_check::parity, 2, 3);
  EXPECT_EQ(f.physical, 0x1000U);
  EXPECT_EQ(f.reads, 1U);
}

// The line of one key is found for another.
TEST(WalkerTags, WithoutACodeADamagedTagNamesAnotherKey) {
  page_walker_bench b({}, {.check = icm_check::none, .kind = icm_entry::pte});
  const translation m = table(1, 1);
  b.memory.map(m, 0, 0x1000);
  b.walk_page(m, 0, 1_us);
  run_until_idle();
  b.walker.inject(2, {.count = 1, .length = 0_ps, .draw = 3});
  b.walk_page(m, 0, now() + 1_us);
  run_until_idle();
  const std::size_t before = b.reads();
  translation other = m;
  other.index ^= 8;
  const translate_request& r = b.walk_page(other, 0, now() + 1_us);
  run_until_idle();
  EXPECT_EQ(b.reads(), before) << "nothing was walked for";
  EXPECT_EQ(r.physical, 0x1000U);
}

// A lookup of a second line under a cached node: the spoiled entry, and the line read through it.
found spoiled_node(icm_check check, std::size_t kind, std::uint64_t draw) {
  page_walker_bench b({}, {.check = check, .kind = icm_entry::pte});
  const translation m = table(1, 2);
  b.memory.map(m, 0, 0x1000);
  b.memory.map(m, 8, 0x2000);
  b.walk_page(m, 0, 1_us);
  run_until_idle();
  const std::size_t before = b.reads();
  b.walker.inject(kind, {.count = 1, .length = 0_ps, .draw = draw});
  const translate_request& r = b.walk_page(m, 8, now() + 1_us);
  run_until_idle();
  return {r.status, r.physical, b.reads() - before};
}

// Faults of a node's data, or of its tag.
class WalkerNode : public ::testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(cells, WalkerNode, ::testing::Values(0, 2));

TEST_P(WalkerNode, SecdedPutsOneBitRight) {
  const found f = spoiled_node(icm_check::secded, GetParam(), 12);
  EXPECT_EQ(f.physical, 0x2000U);
  EXPECT_EQ(f.reads, 1U);
}

TEST_P(WalkerNode, ADetectedFaultIsReadAgain) {
  const found f = spoiled_node(icm_check::parity, GetParam(), 12);
  EXPECT_EQ(f.physical, 0x2000U);
  EXPECT_EQ(f.reads, 2U);
}

TEST_P(WalkerNode, SecdedReadsAgainForTwoWrongBits) {
  const found f = spoiled_node(icm_check::secded, GetParam() + 1, 12);
  EXPECT_EQ(f.physical, 0x2000U);
  EXPECT_EQ(f.reads, 2U);
}

TEST(WalkerNodes, AnImpossibleNodeIsNotBelieved) {
  const found f = spoiled_node(icm_check::none, 0, 0);  // not present
  EXPECT_EQ(f.physical, 0x2000U);
  EXPECT_EQ(f.reads, 2U);
}

TEST(WalkerNodes, WithoutACodeADamagedNodeLeadsToAnotherNode) {
  const found f = spoiled_node(icm_check::none, 0, 13);
  EXPECT_EQ(f.status, translate_status::not_present);
  EXPECT_EQ(f.reads, 1U);
}

}  // namespace
}  // namespace hcasim
