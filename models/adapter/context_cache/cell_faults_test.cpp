// Entries whose cells have gone wrong: a clean one is read anew from ICM, a dirty one is lost.
#include "models/adapter/context_cache/context_cache_bench.h"

namespace hcasim {
namespace {

using testing::run_until_idle;
using testing::small_cache;

struct spoiled_bench : testing::context_cache_bench {
  explicit spoiled_bench(icm_check check, std::uint32_t ways = 2)
      : testing::context_cache_bench(small_cache(1, ways), 1 << 16, {.check = check}) {}
  void spoil(std::size_t kind, std::uint64_t draw = 3) { cache.inject(kind, {.count = 1, .length = 0_ps, .draw = draw}); }
  context_request& get(std::uint32_t index) {
    context_request& r = fetch(index, now() + 50_ns);
    run_until_idle();
    return r;
  }
  void write(std::uint32_t index, std::uint64_t value) {
    context_request& r = get(index);
    r.as<std::uint64_t>() = value;
    release(r, true);
  }
};

TEST(CellFaults, SecdedPutsOneBitRight) {
  spoiled_bench b(icm_check::secded);
  b.write(5, 99);
  b.spoil(0);
  context_request& r = b.get(5);
  EXPECT_FALSE(r.failed);
  EXPECT_EQ(r.as<std::uint64_t>(), 99U);
  EXPECT_EQ(b.memory.reads, 1U);
  EXPECT_EQ(b.stat("cell_corrected"), 1);
  b.release(r);
}

TEST(CellFaults, ACleanEntryIsReadAnew) {
  spoiled_bench b(icm_check::parity);
  b.touch(5);
  b.spoil(0);
  const ps at = now() + 50_ns;
  context_request& r = b.get(5);
  EXPECT_FALSE(r.failed);
  EXPECT_EQ(r.as<std::uint64_t>(), 35U);
  EXPECT_EQ(b.memory.reads, 2U);
  EXPECT_EQ(b.answered(r), at + 2_ns + 500_ns) << "a miss that begins when the look-up has ended";
  EXPECT_EQ(b.stat("cell_detected"), 1);
  b.release(r);
}

TEST(CellFaults, ADirtyEntryIsRuined) {
  spoiled_bench b(icm_check::secded);
  b.write(5, 99);
  b.spoil(1);
  context_request& r = b.get(5);
  EXPECT_TRUE(r.failed);
  EXPECT_EQ(r.entry, nullptr);
  EXPECT_TRUE(b.get(5).failed) << "and stays so";
  EXPECT_EQ(b.memory.writes, 0U);
  b.drop(5, now() + 50_ns);
  run_until_idle();
  EXPECT_EQ(b.memory.writes, 1U);
  EXPECT_EQ(b.memory.ruined, 1U) << "what ICM gets is known to be wrong";
}

TEST(CellFaults, ARuinedEntryMakesRoom) {
  spoiled_bench b(icm_check::secded, 1);
  b.write(5, 99);
  b.spoil(1);
  EXPECT_TRUE(b.get(5).failed);
  b.touch(6);
  EXPECT_EQ(b.memory.writes, 1U);
  EXPECT_EQ(b.memory.ruined, 1U);
  b.write(6, 1);
  b.touch(7);
  EXPECT_EQ(b.memory.writes, 2U);
  EXPECT_EQ(b.memory.ruined, 1U) << "the next one is right again";
}

TEST(CellFaults, ADamagedEntryIsFoundWhenNoRequestHoldsIt) {
  spoiled_bench b(icm_check::parity);
  context_request& first = b.get(5);
  b.spoil(0);
  context_request& second = b.get(5);
  EXPECT_EQ(second.entry, first.entry);
  b.release(first);
  b.release(second);
  b.touch(5);
  EXPECT_EQ(b.memory.reads, 2U) << "found when no request holds it";
}

TEST(CellFaults, WithoutACodeADamagedEntryIsBelieved) {
  spoiled_bench b(icm_check::none);
  b.touch(5);
  b.spoil(0, 3);
  context_request& r = b.get(5);
  EXPECT_FALSE(r.failed);
  EXPECT_EQ(r.as<std::uint64_t>(), 35U ^ 8U);
  b.release(r);
}

constexpr std::size_t tag_bit = 2;
constexpr std::size_t tag_two_bits = 3;

TEST(TagFaults, SecdedPutsOneBitRight) {
  spoiled_bench b(icm_check::secded);
  b.write(5, 99);
  b.spoil(tag_bit);
  context_request& r = b.get(5);
  EXPECT_EQ(r.as<std::uint64_t>(), 99U);
  EXPECT_EQ(b.memory.reads, 1U);
  EXPECT_EQ(b.stat("cell_corrected"), 1);
  b.release(r);
}

TEST(TagFaults, ACleanEntryIsReadAnew) {
  spoiled_bench b(icm_check::parity);
  b.touch(5);
  b.spoil(tag_bit);
  context_request& r = b.get(5);
  EXPECT_EQ(r.as<std::uint64_t>(), 35U);
  EXPECT_EQ(b.memory.reads, 2U);
  EXPECT_EQ(b.stat("cell_detected"), 1);
  b.release(r);
}

// ICM has an older copy under an unknown index, so no entry of ICM is trusted.
TEST(TagFaults, ADirtyEntryWithoutATagStopsTheCache) {
  spoiled_bench b(icm_check::secded, 3);
  b.touch(6);
  b.write(5, 99);
  b.spoil(tag_two_bits);
  EXPECT_TRUE(b.get(5).failed);
  EXPECT_TRUE(b.get(7).failed) << "it might be that one";
  context_request& there = b.get(6);
  EXPECT_FALSE(there.failed) << "that one it is not";
  b.release(there);
  context_request& drop = b.drop(6, now() + 50_ns);
  run_until_idle();
  EXPECT_TRUE(drop.failed) << "software hears of it";
  EXPECT_EQ(b.memory.writes, 0U);
  context_request& area = b.make(context_op::set_area, 0);
  area.area_base = testing::area_base;
  area.area_entries = 1 << 16;
  b.client.send(area, now() + 50_ns);
  run_until_idle();
  context_request& r = b.get(7);
  EXPECT_FALSE(r.failed);
  b.release(r);
}

TEST(TagFaults, WithoutACodeADamagedTagNamesAnotherEntry) {
  spoiled_bench b(icm_check::none);
  b.write(5, 99);
  b.spoil(tag_bit, 3);
  context_request& own = b.get(5);
  EXPECT_EQ(own.as<std::uint64_t>(), 35U) << "as ICM has it";
  b.release(own);
  context_request& other = b.get(5 ^ 8);
  EXPECT_EQ(other.as<std::uint64_t>(), 99U);
  b.release(other);
  b.drop(5 ^ 8, now() + 50_ns);
  run_until_idle();
  EXPECT_EQ(b.memory.get(5 ^ 8), 99U);
}

// The wrong tag is beyond the area, or already in the set: no true tag can be either.
TEST(TagFaults, AnImpossibleTagIsNotBelieved) {
  spoiled_bench b(icm_check::none, 3);
  b.touch(5);
  b.spoil(tag_bit, 30);
  b.touch(5);
  EXPECT_EQ(b.memory.reads, 2U);
  b.touch(5 ^ 8);
  b.spoil(tag_bit, 3);
  b.touch(5);
  EXPECT_EQ(b.memory.reads, 4U);
  b.touch(5 ^ 8);
  EXPECT_EQ(b.memory.reads, 4U) << "it was there all the while";
}

}  // namespace
}  // namespace hcasim
