// Invalidations at every step: after the completion nothing moves at the old place.
#include <random>

#include <gtest/gtest.h>

#include "models/adapter/atc/atc_bench.h"

namespace hcasim {
namespace {

using testing::atc_bench;
using testing::atc_link;
using testing::run_for;
using testing::run_until_idle;
using testing::without_pages;
using kind = atc_link::event::kind;

// Moves a page from A to B under one write and one read, at every step of both. After the completion of the invalidation
// nothing moves at A; later bursts are at B.
void invalidate_at_every_step(bool warm) {
  atc_bench b;
  constexpr std::uint64_t place_a = 0x100000;
  constexpr std::uint64_t place_b = 0x200000;
  for (int step = 0; step < 70; ++step) {
    const std::uint64_t page = 0x1000000 + static_cast<std::uint64_t>(step) * 0x10000;
    b.link.map(page, place_a);
    if (warm) {
      b.engine.send(true, page, now() + 10_ns);
      run_until_idle();
    }
    b.link.log.clear();
    const ps begin = now() + 1_us;
    auto& write = b.engine.send(true, page + 64, begin);
    auto& read = b.engine.send(false, page + 128, begin);
    b.engine.at(begin + 20_ns * step, [&] {
      b.link.map(page, place_b);
      b.link.invalidate(ats_entry(page, 12), static_cast<std::uint16_t>(step % 32));
    });
    run_until_idle();
    auto& later = b.engine.send(false, page + 192, now() + 1_us);
    run_until_idle();
    const auto done = b.link.messages(pcie_message::invalidate_done);
    ASSERT_EQ(done.size(), 1U) << step;
    EXPECT_EQ(done[0].tag, step % 32);
    EXPECT_TRUE(write.ok() && read.ok() && later.ok());
    for (const auto& e : b.link.log) {
      if ((e.what != kind::read && e.what != kind::write) || e.address >= place_b) continue;
      EXPECT_LE(e.at, done[0].at) << "step " << step << ": moved at the old place after the completion";
      if (e.what == kind::read) {
        EXPECT_LE(e.sent + 500_ns, done[0].sent) << "step " << step << ": a read was under way";
      }
    }
    EXPECT_GE(b.link.of(kind::read).back().address, place_b);
    ASSERT_TRUE(b.dut.idle());
  }
  EXPECT_GT(b.value("drained"), 5);
  EXPECT_GT(b.value("dropped_entries"), 5);
  EXPECT_EQ(b.value("stale_answers") > 5, !warm);
}

TEST(atc, an_invalidation_at_every_step_of_a_miss) {
  invalidate_at_every_step(false);
}

TEST(atc, an_invalidation_at_every_step_of_a_hit) {
  invalidate_at_every_step(true);
}

// A burst in order whose translation is invalidated is translated anew before it leaves.
TEST(atc, a_burst_that_has_not_left_loses_its_translation) {
  atc_bench b;
  b.link.map(0x5000, 0x75000);
  b.link.map(0x6000, 0x76000);
  b.engine.send(true, 0x6000, 1_us);
  run_for(3_us);
  const ps begin = now() + 1_us;
  b.engine.send(true, 0x5000, begin);
  auto& behind = b.engine.send(true, 0x6000, begin + 5_ns);
  b.engine.at(begin + 100_ns, [&] {
    b.link.map(0x6000, 0x99000);
    b.link.invalidate(ats_entry(0x6000, 12), 3);
  });
  run_until_idle();
  EXPECT_EQ(b.value("retranslated"), 1);
  EXPECT_TRUE(behind.ok());
  EXPECT_EQ(b.link.of(kind::write).back().address, 0x99000U);
}

TEST(atc, invalidations_name_ranges) {
  atc_bench b;
  for (std::uint64_t p = 0; p < 64; ++p) {
    b.link.map(0x400000 + p * 4096, 0x900000 + p * 4096);
    b.engine.send(false, 0x400000 + p * 4096, 1_us + 1_us * static_cast<int>(p));
  }
  run_until_idle();
  b.link.invalidate(ats_entry(0x404000, 14), 1);  // four pages
  run_until_idle();
  EXPECT_EQ(b.value("dropped_entries"), 4);
  b.link.invalidate(ats_entry(0, 48), 2);
  run_until_idle();
  EXPECT_EQ(b.value("dropped_entries"), 64);
  EXPECT_EQ(b.link.messages(pcie_message::invalidate_done).size(), 2U);
}

TEST(atc, a_relaxed_write_is_waited_for) {
  atc_bench b;
  b.link.map(0x5000, 0x75000);
  b.engine.send(false, 0x5000, 1_us);
  run_for(3_us);
  const ps begin = now() + 1_us;
  b.link.write_latency = 3_us;
  b.engine.send(true, 0x5000, begin, 64, true);
  b.engine.at(begin + 50_ns, [&] { b.link.invalidate(ats_entry(0x5000, 12), 1); });
  run_until_idle();
  EXPECT_GE(b.link.messages(pcie_message::invalidate_done).at(0).sent, begin + 2_ns + 3_us);
}

// Random bursts, pages that move, appear and go; with a cache of two entries and two translation requests at once. After an
// invalidation has completed, no burst moves at its old place.
TEST(atc, random_traffic_never_uses_an_invalidated_translation) {
  atc_config c;
  c.entries = c.ways = 2;
  c.requests = 2;
  c.page_requests = 0;
  atc_bench b(c);
  std::mt19937 random(5);
  struct place {
    std::uint64_t page;
    std::uint16_t tag;
    ps asked;
    std::uint64_t frame;
  };
  std::vector<place> taken;
  std::uint64_t frame = 0x100000;
  for (std::uint64_t p = 1; p <= 4; ++p) b.link.map(p << 12, frame += 0x1000);
  std::uint16_t tag = 0;
  for (int round = 0; round < 400; ++round) {
    const ps begin = now() + 100_ns;
    for (int i = 0; i < 4; ++i) {
      const bool write = random() % 2 == 0;
      const std::uint64_t address = ((1 + random() % 4) << 12) + random() % 60 * 64;
      b.engine.send(write, address, begin + ps(random() % 900'000));
    }
    const std::uint64_t page = (1 + random() % 4) << 12;
    b.engine.at(begin + ps(random() % 900'000), [&, page] {
      const auto it = b.link.table.find(page);
      if (it != b.link.table.end()) taken.push_back({page, tag, now(), ats_base(it->second)});
      if (it == b.link.table.end() || random() % 4 != 0) {
        b.link.map(page, frame += 0x1000);
      } else {
        b.link.table.erase(page);
      }
      b.link.invalidate(ats_entry(page, 12), tag);
      tag = static_cast<std::uint16_t>((tag + 1) % 32);
    });
    run_for(1'500_ns);
  }
  run_for(3_us);
  const auto done = b.link.messages(pcie_message::invalidate_done);
  ASSERT_EQ(done.size(), 400U);
  ASSERT_GT(taken.size(), 250U);
  std::uint64_t looked_at = 0;
  for (const place& x : taken) {
    ps completed = never;
    for (const auto& d : done) {
      if (d.tag == x.tag && d.at >= x.asked) completed = std::min(completed, d.at);
    }
    for (const auto& e : b.link.log) {
      if ((e.what != kind::read && e.what != kind::write) || (e.address & ~0xfffULL) != x.frame) continue;
      ++looked_at;
      ASSERT_LE(e.at, completed);
    }
  }
  EXPECT_GT(looked_at, 300U);
  for (const auto& x : b.engine.bursts) ASSERT_TRUE(x.done());
  EXPECT_TRUE(b.dut.idle());
  EXPECT_GT(b.value("stale_answers"), 5);
  EXPECT_GT(b.value("refused"), 5);
}

}  // namespace
}  // namespace hcasim
