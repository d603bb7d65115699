// The IOMMU alone: lookups against a reference, exact times, order, faults, invalidation.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <random>

#include "models/machine/iommu/iommu_bench.h"

namespace hcasim {
namespace {

using testing::iommu_bench;
using testing::run_for;
using testing::run_until_idle;

// ---- the cache

TEST(page_cache, agrees_with_a_map_when_nothing_is_evicted) {
  rc::check("find, put and drop", [] {
    page_cache t(64, 64, {12, 21, 30}, replacement_policy::lru, 1);
    std::map<std::pair<std::uint32_t, std::uint64_t>, std::uint64_t> reference;  // (source, page) -> value
    for (int i = 0; i < 60; ++i) {
      const auto source = *rc::gen::inRange<std::uint32_t>(0, 3);
      const auto page = *rc::gen::inRange<std::uint64_t>(0, 40);
      switch (*rc::gen::inRange(0, 3)) {
        case 0:
          RC_ASSERT(!t.put(source, page << 12, 12, page * 7 + source, 3));
          reference[{source, page}] = page * 7 + source;
          break;
        case 1: {
          const auto last = page + *rc::gen::inRange<std::uint64_t>(0, 8);
          std::uint64_t gone = 0;
          for (std::uint64_t p = page; p <= last; ++p) gone += reference.erase({source, p});
          RC_ASSERT(t.drop(source, (page << 12) + 100, (last << 12) + 5) == gone);
          break;
        }
        default: {
          const page_cache::entry* e = t.find(source, (page << 12) + 77);
          const auto wanted = reference.find({source, page});
          RC_ASSERT((e != nullptr) == (wanted != reference.end()));
          if (e) RC_ASSERT(e->value == wanted->second);
        }
      }
      RC_ASSERT(t.held() == reference.size());
    }
  });
}

TEST(page_cache, the_least_recently_used_of_a_set_goes) {
  page_cache t(8, 2, {12}, replacement_policy::lru, 1);  // 4 sets
  for (const std::uint64_t page : {0U, 4U}) EXPECT_FALSE(t.put(0, page << 12, 12, page, 3));
  EXPECT_NE(t.find(0, 0), nullptr);
  EXPECT_TRUE(t.put(0, 8ULL << 12, 12, 8, 3));
  EXPECT_NE(t.find(0, 0), nullptr);
  EXPECT_EQ(t.find(0, 4ULL << 12), nullptr);
  EXPECT_THROW(page_cache(9, 2, {12}, replacement_policy::lru, 1), std::invalid_argument);
}

TEST(page_cache, pages_of_different_sizes_side_by_side) {
  page_cache t(16, 4, {12, 21, 30}, replacement_policy::plru, 1);
  t.put(0, 0, 21, 0xa00000, 3);
  t.put(0, 0x40000000, 30, 0xc0000000, 1);
  t.put(0, 0x200000, 12, 0x7000, 3);
  EXPECT_EQ(t.find(0, 0x1fffff)->value, 0xa00000U);
  EXPECT_EQ(t.find(0, 0x7fffffff)->value, 0xc0000000U);
  EXPECT_EQ(t.find(0, 0x200fff)->value, 0x7000U);
  EXPECT_EQ(t.find(0, 0x201000), nullptr);
  EXPECT_EQ(t.drop(0, 0x1000, 0x1fff), 1U) << "one byte of a large page takes all of it";
}

// ---- time: a hit takes hit_latency; a cold walk four reads, one after the other, behind the read of the context

TEST(iommu, exact_times_of_a_hit_and_of_a_walk) {
  iommu_bench b;
  b.map(0x5000, 0x77000);
  const ps begin = 1_us;
  auto& cold = b.device.send(true, 0x5010, begin);
  auto& warm = b.device.send(false, 0x5020, begin + 1_us);
  auto& neighbour = b.device.send(false, 0x6000, begin + 2_us);  // not mapped, but its node is known
  run_until_idle();
  // Context, four levels, then the write itself.
  EXPECT_EQ(cold.answered, begin + 8_ns + 5 * 80_ns + 80_ns);
  EXPECT_EQ(warm.answered, begin + 1_us + 8_ns + 80_ns);
  EXPECT_EQ(b.memory.log[5].address, 0x77010U);
  EXPECT_EQ(b.memory.log[6].address, 0x77020U);
  EXPECT_EQ(b.memory.log[6].at, begin + 1_us + 8_ns);
  EXPECT_EQ(neighbour.answered, begin + 2_us + 8_ns + 80_ns) << "one read of a leaf, and an answer without memory";
  EXPECT_FALSE(neighbour.ok());
  EXPECT_EQ(cold.get_address(), 0x77010U);
  EXPECT_TRUE(b.dut.idle());
}

TEST(iommu, without_node_caches_every_walk_reads_all_levels) {
  iommu_config c;
  c.node_entries = 0;
  iommu_bench b(c);
  b.map(0x5000, 0x77000);
  b.map(0x6000, 0x78000);
  b.device.send(false, 0x5000, 1_us);
  auto& second = b.device.send(false, 0x6000, 2_us);
  run_until_idle();
  EXPECT_EQ(second.answered, 2_us + 8_ns + 4 * 80_ns + 80_ns);
}

TEST(iommu, node_caches_save_the_upper_reads) {
  iommu_config c;
  c.node_entries = 4;
  iommu_bench b(c);
  b.map(0x5000, 0x77000);
  b.map(0x6000, 0x78000);
  b.map(std::uint64_t{1} << 39, 0x79000);
  b.device.send(false, 0x5000, 1_us);
  auto& second = b.device.send(false, 0x6000, 2_us);
  auto& far = b.device.send(false, std::uint64_t{1} << 39, 3_us);
  run_until_idle();
  EXPECT_EQ(second.answered, 2_us + 8_ns + 80_ns + 80_ns);
  EXPECT_EQ(far.answered, 3_us + 8_ns + 4 * 80_ns + 80_ns) << "nothing of another 512 GiB is known";
}

TEST(iommu, large_pages_end_the_walk) {
  iommu_bench b;
  b.map(0x40000000, 0x80000000, 30);
  b.map(0x200000, 0xa00000, 21);
  auto& giga = b.device.send(false, 0x40000000 + 0x123450, 1_us);
  auto& mega = b.device.send(false, 0x200000 + 0x1ffff8, 2_us);
  auto& again = b.device.send(false, 0x40000000 + 0x3ffffff8, 3_us);
  run_until_idle();
  EXPECT_EQ(giga.get_address(), 0x80000000U + 0x123450);
  EXPECT_EQ(giga.answered, 1_us + 8_ns + 80_ns + 2 * 80_ns + 80_ns);
  EXPECT_EQ(mega.get_address(), 0xa00000U + 0x1ffff8);
  EXPECT_EQ(again.get_address(), 0x80000000U + 0x3ffffff8);
  EXPECT_EQ(again.answered, 3_us + 8_ns + 80_ns);
}

TEST(iommu, walks_share_and_wait_for_walkers) {
  iommu_config c;
  c.walkers = 1;
  c.node_entries = 0;
  iommu_bench b(c);
  for (std::uint64_t p = 5; p < 9; ++p) b.map(p << 12, 0x70000 + (p << 12));
  b.device.send(false, 0x8000, 500_ns);  // the context
  auto& first = b.device.send(false, 0x5000, 2_us);
  auto& joined = b.device.send(false, 0x5008, 2_us);
  auto& behind = b.device.send(false, 0x6000, 2_us);
  run_until_idle();
  EXPECT_EQ(first.answered, 2_us + 8_ns + 4 * 80_ns + 80_ns);
  EXPECT_EQ(joined.answered, first.answered);
  EXPECT_EQ(behind.answered, 2_us + 8_ns + 8 * 80_ns + 80_ns);
  EXPECT_EQ(b.value("merged"), 1);
  EXPECT_EQ(b.value("walks"), 3);
}

// ---- order

TEST(iommu, writes_messages_and_reads_stay_behind_a_write_that_waits) {
  iommu_bench b;
  b.map(0x5000, 0x77000);
  b.map(0x9000, 0x99000);
  b.device.send(false, 0x9000, 500_ns);  // known from here on
  run_until_idle();
  b.memory.log.clear();
  auto& slow = b.device.send(true, 0x5000, 2_us);
  auto& quick = b.device.send(true, 0x9000, 2_us + 10_ns);
  auto& read = b.device.send(false, 0x9008, 2_us + 20_ns);
  auto& relaxed = b.device.send(true, 0x9010, 2_us + 30_ns, 0, 8, true);
  b.interrupting.send(true, 0xfee00000, 2_us + 40_ns, 0, 4);
  run_until_idle();
  std::vector<std::uint64_t> bursts;
  for (const auto& a : b.memory.log) {
    if (a.address >= 0x77000 && a.address < 0x100000) bursts.push_back(a.address);
  }
  EXPECT_EQ(bursts, (std::vector<std::uint64_t>{0x99010, 0x77000, 0x99000, 0x99008}));
  ASSERT_EQ(b.memory.raised.size(), 1U);
  EXPECT_GE(b.memory.raised[0], slow.answered - 80_ns);
  EXPECT_EQ(relaxed.answered, 2_us + 30_ns + 8_ns + 80_ns);
  EXPECT_GE(read.answered, quick.answered);
  EXPECT_EQ(b.value("order_waits"), 3);
}

TEST(iommu, a_read_that_waits_stalls_no_other) {
  iommu_bench b;
  b.map(0x5000, 0x77000);
  b.map(0x9000, 0x99000);
  b.device.send(false, 0x9000, 500_ns);
  auto& slow = b.device.send(false, 0x5000, 2_us);
  auto& write = b.device.send(true, 0x9000, 2_us + 10_ns);
  auto& read = b.device.send(false, 0x9008, 2_us + 20_ns);
  run_until_idle();
  EXPECT_EQ(write.answered, 2_us + 10_ns + 8_ns + 80_ns);
  EXPECT_EQ(read.answered, 2_us + 20_ns + 8_ns + 80_ns);
  EXPECT_GT(slow.answered, read.answered);
}

// Random bursts over few pages: each requester's writes land in order, and every answer is the right page.
TEST(iommu, keeps_the_order_of_random_traffic) {
  iommu_config c;
  c.entries = 4;
  c.ways = 2;
  c.walkers = 2;
  c.node_entries = 2;
  iommu_bench b(c);
  b.attach(1);
  for (std::uint64_t p = 0; p < 16; ++p) {
    b.map(p << 21, 0x10000000 + (p << 12));
    b.map(p << 21, 0x20000000 + (p << 12), 12, 3, 1);
  }
  std::mt19937_64 random(7);
  ps t = 1_us;
  std::vector<testing::iommu_device::burst*> sent;
  for (int i = 0; i < 2000; ++i) {
    t += ps(static_cast<std::int64_t>(random() % 60'000));
    sent.push_back(&b.device.send(random() % 2 == 0, ((random() % 16) << 21) + random() % 500 * 8, t, random() % 2));
  }
  run_until_idle();
  ps last[2]{};
  for (const auto* s : sent) {
    ASSERT_TRUE(s->ok());
    const std::uint64_t base = s->extension.requester == 0 ? 0x10000000 : 0x20000000;
    ASSERT_EQ(s->get_address() >> 16, base >> 16);
    if (!s->is_write()) {
      ASSERT_GE(s->answered, last[s->extension.requester]) << "a read passed an older write";
      continue;
    }
    ASSERT_GE(s->answered, last[s->extension.requester]) << "writes of one requester in order";
    last[s->extension.requester] = s->answered;
  }
  EXPECT_GT(b.value("evictions"), 100);
  EXPECT_TRUE(b.dut.idle());
}

// ---- faults

TEST(iommu, faults_move_no_byte_and_are_recorded) {
  iommu_bench b;
  b.map(0x5000, 0x77000, 12, IOMMU_PTE_READ);
  auto& missing = b.device.send(true, 0xabc000, 1_us);
  auto& read_only = b.device.send(true, 0x5008, 2_us);
  auto& allowed = b.device.send(false, 0x5008, 3_us);
  auto& crossing = b.device.send(false, 0x5ffc, 4_us);
  auto& stranger = b.device.send(false, 0x5000, 5_us, 9);
  auto& wide = b.device.send(false, std::uint64_t{1} << 48, 6_us);
  run_until_idle();
  for (const auto* refused : {&missing, &read_only, &crossing, &stranger, &wide}) {
    EXPECT_EQ(refused->get_response_status(), tlm::TLM_ADDRESS_ERROR_RESPONSE);
    EXPECT_NE(refused->answered, never);
  }
  EXPECT_TRUE(allowed.ok());
  for (const auto& a : b.memory.log) EXPECT_FALSE(a.write);
  EXPECT_EQ(b.value("faults"), 5);
  EXPECT_EQ(b.value("faults_not_mapped"), 2);
  EXPECT_EQ(b.value("faults_not_writable"), 1);
  EXPECT_EQ(b.value("faults_crosses"), 1);
  EXPECT_EQ(b.value("faults_context"), 1);
  EXPECT_EQ(b.get(IOMMU_REG_FAULTS), 5U);
  EXPECT_EQ(b.get(IOMMU_REG_FAULT_ADDRESS), std::uint64_t{1} << 48);
  EXPECT_EQ(b.get(IOMMU_REG_FAULT_INFO), std::uint64_t{IOMMU_FAULT_NOT_MAPPED} << 16);
}

TEST(iommu, a_large_entry_in_the_root_is_no_table) {
  iommu_bench b;
  b.memory.word(b.roots[0]) = 0x1000 | 3 | IOMMU_PTE_LARGE;
  auto& x = b.device.send(false, 0x1000, 1_us);
  run_until_idle();
  EXPECT_FALSE(x.ok());
  EXPECT_EQ(b.value("faults_table"), 1);
}

TEST(iommu, untranslated_accesses_pass) {
  iommu_bench b;
  b.attach(3, IOMMU_CONTEXT_PRESENT | IOMMU_CONTEXT_PASS);
  auto& first = b.device.send(true, 0xdead000, 1_us, 3);
  auto& second = b.device.send(false, 0xdead000, 2_us, 3);
  run_until_idle();
  EXPECT_EQ(first.get_address(), 0xdead000U);
  EXPECT_EQ(second.answered, 2_us + 8_ns + 80_ns);
  b.set(IOMMU_REG_CONTROL, 0);
  auto& off = b.device.send(false, 0xbeef000, now() + 1_us);
  run_until_idle();
  EXPECT_EQ(off.answered, off.sent + 80_ns) << "switched off it costs nothing";
}

// ---- software

TEST(iommu, registers_and_what_lies_beyond) {
  iommu_bench b;
  EXPECT_EQ(b.get(IOMMU_REG_ID), std::uint64_t{IOMMU_ID});
  EXPECT_EQ(b.get(IOMMU_REG_CONTEXTS), iommu_bench::contexts);
  EXPECT_EQ(b.get(0x800), 0U);
  b.set(IOMMU_REG_TAIL, 1000);  // a wild value
  auto& x = b.core.send(true, iommu_bench::registers + IOMMU_REGISTERS, now() + 1_us);
  run_until_idle();
  EXPECT_TRUE(x.ok());
  EXPECT_EQ(b.beyond.log.size(), 1U);
  EXPECT_EQ(b.value("commands"), 0);
}

TEST(iommu, an_invalidated_page_is_looked_up_anew) {
  iommu_bench b;
  b.map(0x5000, 0x77000);
  b.device.send(false, 0x5000, 1_us);
  run_for(2_us);
  b.unmap(0x5000);
  auto& stale = b.device.send(false, 0x5000, now());
  run_for(1_us);
  EXPECT_TRUE(stale.ok()) << "the IOTLB was not told";
  b.command(IOMMU_CMD_INVALIDATE, 0x5000, 0x1000);
  b.command(IOMMU_CMD_WAIT, iommu_bench::status, 0, 17);
  b.ring();
  run_until_idle();
  EXPECT_EQ(b.memory.word(iommu_bench::status), 17U);
  auto& gone = b.device.send(false, 0x5000, now());
  run_until_idle();
  EXPECT_FALSE(gone.ok());
  EXPECT_EQ(b.value("invalidations"), 1);
  EXPECT_GE(b.value("dropped_entries"), 1);
}

// A burst translated before the invalidation of its page still lands at its old place, and WAIT is answered after the burst.
// The walk under way leaves nothing behind, at every one of its steps.
TEST(iommu, wait_comes_after_the_bursts_before_it) {
  iommu_bench b;
  b.map(0x9000, 0x99000);
  b.device.send(false, 0x9000, 100_ns);
  run_until_idle();
  for (int step = 0; step < 24; ++step) {
    const std::uint64_t address = 0x5000 + (static_cast<std::uint64_t>(step) << 30);
    b.map(address, 0x200000 + static_cast<std::uint64_t>(step) * 0x1000);
    b.memory.word(iommu_bench::status) = 0;
    b.memory.log.clear();
    const ps begin = now() + 1_us;
    auto& x = b.device.send(true, address, begin);
    run_for(begin - now() + ps(step * 20'000));
    b.unmap(address);
    b.command(IOMMU_CMD_INVALIDATE, address, 0x1000);
    b.command(IOMMU_CMD_WAIT, iommu_bench::status, 0, static_cast<std::uint32_t>(step + 1));
    b.ring();
    run_until_idle();
    ASSERT_EQ(b.memory.word(iommu_bench::status), static_cast<std::uint64_t>(step + 1)) << step;
    ps landed = -1_ns;
    ps told{0};
    for (const auto& a : b.memory.log) {
      if (a.write && a.address >= 0x200000) landed = a.at;
      if (a.write && a.address == iommu_bench::status) told = a.at;
    }
    ASSERT_LE(landed, told) << step;
    ASSERT_EQ(x.ok(), landed >= 0_ps) << step;
    auto& later = b.device.send(false, address, now() + 1_us);
    run_until_idle();
    ASSERT_FALSE(later.ok()) << "a walk of before left its entry behind, step " << step;
  }
}

TEST(iommu, a_context_can_be_changed) {
  iommu_bench b;
  b.map(0x5000, 0x77000);
  auto& before = b.device.send(false, 0x5000, 1_us);
  run_for(3_us);
  b.memory.word(iommu_bench::contexts + 8) = 0;
  b.command(IOMMU_CMD_INVALIDATE_CONTEXT, 0);
  b.ring();
  run_for(1_us);
  auto& without = b.device.send(false, 0x5000, now());
  run_until_idle();
  EXPECT_TRUE(before.ok());
  EXPECT_FALSE(without.ok());
  EXPECT_EQ(b.value("contexts_read"), 2);
}

TEST(iommu, untimed_access_translates_too) {
  iommu_bench b;
  b.map(0x5000, 0x77000);
  b.device.send(false, 0x5000, 1_us);
  run_until_idle();
  b.memory.word(0x77008) = 0x1234;
  std::uint64_t v = 0;
  tlm::tlm_generic_payload p;
  p.set_command(tlm::TLM_READ_COMMAND);
  p.set_address(0x5008);
  p.set_data_ptr(reinterpret_cast<unsigned char*>(&v));
  p.set_data_length(8);
  EXPECT_EQ(b.device.out->transport_dbg(p), 8U);
  EXPECT_EQ(v, 0x1234U);
  EXPECT_EQ(p.get_address(), 0x5008U);
  p.set_address(0x7000);
  EXPECT_EQ(b.device.out->transport_dbg(p), 0U);
}

}  // namespace
}  // namespace hcasim
