#include "models/machine/pcie/pcie_rules.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>
#include <set>

#include "tlm/pcie.h"

namespace hcasim {
namespace {

// TLP by TLP, as a port would cut: the reference for the closed forms.
struct reference {
  std::uint64_t tlps = 0;
  std::uint64_t payload = 0;
  std::uint64_t units = 0;
};

void widen(std::uint64_t& a, std::uint64_t& n) {
  const std::uint64_t end = std::max((a + n + 3) / 4 * 4, a / 4 * 4 + 4);
  a = a / 4 * 4;
  n = end - a;
}

reference cut(std::uint64_t a, std::uint64_t n, std::uint64_t most) {
  widen(a, n);
  reference r;
  while (n) {
    const std::uint64_t take = std::min({n, most, 4096 - a % 4096});
    ++r.tlps;
    r.payload += take;
    r.units += (take + 15) / 16;
    a += take;
    n -= take;
  }
  return r;
}

reference cut_completions(std::uint64_t a, std::uint64_t n, std::uint64_t mrrs, std::uint64_t rcb, std::uint64_t most) {
  widen(a, n);
  reference r;
  while (n) {
    std::uint64_t request = std::min({n, mrrs, 4096 - a % 4096});
    n -= request;
    while (request) {
      std::uint64_t take = std::min(request, most);
      if (take < request) take = (a + take) / rcb * rcb - a;
      ++r.tlps;
      r.payload += take;
      a += take;
      request -= take;
    }
  }
  return r;
}

TEST(pcie_split, writes_and_reads_match_a_splitter_for_every_size_and_alignment) {
  for (std::uint64_t most : {128U, 256U, 512U, 1024U, 4096U}) {
    for (std::uint64_t offset = 0; offset < 4096; offset += offset < 80 ? 1 : 61) {
      for (std::uint64_t bytes = 0; bytes <= 9000; bytes += bytes < 600 ? 7 : 251) {
        const reference r = cut(0x10000 + offset, bytes, most);
        const tlp_shape w = split_write(0x10000 + offset, bytes, most);
        ASSERT_EQ(w.tlps, r.tlps) << offset << " " << bytes << " " << most;
        ASSERT_EQ(w.payload, r.payload) << offset << " " << bytes << " " << most;
        ASSERT_EQ(w.units, r.units) << offset << " " << bytes << " " << most;
        const tlp_shape q = split_read(0x10000 + offset, bytes, most);
        ASSERT_EQ(q.tlps, r.tlps);
        ASSERT_EQ(q.payload, 0u);
      }
    }
  }
}

TEST(pcie_split, completions_match_a_splitter_for_every_size_and_alignment) {
  for (std::uint64_t rcb : {64U, 128U}) {
    for (std::uint64_t most : {64U, 128U, 256U, 1024U}) {
      if (most < rcb) continue;
      for (std::uint64_t mrrs : {128U, 512U, 4096U}) {
        for (std::uint64_t offset = 0; offset < 4096; offset += offset < 130 ? 3 : 67) {
          for (std::uint64_t bytes = 0; bytes <= 8500; bytes += bytes < 600 ? 11 : 257) {
            const reference r = cut_completions(offset, bytes, mrrs, rcb, most);
            const tlp_shape c = split_completions(offset, bytes, mrrs, rcb, most);
            ASSERT_EQ(c.tlps, r.tlps) << offset << " " << bytes << " " << mrrs << " " << rcb << " " << most;
            ASSERT_EQ(c.payload, r.payload);
          }
        }
      }
    }
  }
}

TEST(pcie_split, known_shapes) {
  EXPECT_EQ(split_write(0, 256, 256).tlps, 1u);
  EXPECT_EQ(split_write(0, 257, 256).tlps, 2u);
  EXPECT_EQ(split_write(0xffc, 8, 256).tlps, 2u);  // crosses 4 KiB
  EXPECT_EQ(split_write(3, 1, 256).payload, 4u);   // a byte costs a doubleword
  EXPECT_EQ(split_write(3, 2, 256).payload, 8u);
  EXPECT_EQ(split_read(0, 4096, 512).tlps, 8u);
  EXPECT_EQ(split_completions(0x20, 512, 512, 64, 256).tlps, 3u);   // 224, 256, 32
  EXPECT_EQ(split_completions(0x20, 512, 512, 128, 256).tlps, 3u);  // 224, 256, 32
  EXPECT_EQ(split_completions(0x40, 512, 512, 128, 256).tlps, 3u);  // 192, 256, 64
  EXPECT_EQ(split_completions(0x40, 512, 512, 64, 256).tlps, 2u);
}

TEST(pcie_rate, published_rates) {
  EXPECT_NEAR(pcie_rate(1, 1).gbps(), 2.0, 1e-9);
  EXPECT_NEAR(pcie_rate(2, 8).gbps(), 32.0, 1e-9);
  EXPECT_NEAR(pcie_rate(3, 8).gbps(), 63.015, 1e-3);
  EXPECT_NEAR(pcie_rate(3, 16).gbps(), 126.031, 1e-3);
  EXPECT_NEAR(pcie_rate(4, 16).gbps(), 252.062, 1e-3);
  EXPECT_NEAR(pcie_rate(5, 16).gbps(), 504.123, 1e-3);
  EXPECT_NEAR(pcie_rate(6, 16).gbps(), 968.0, 1e-3);
}

// The reference books picosecond by picosecond.
TEST(link_schedule, equals_a_map_of_single_picoseconds) {
  rc::check("work-conserving, never double-booked", [] {
    link_schedule link;
    std::set<int> taken;
    int current = 0;
    long total = 0;
    const auto jobs = *rc::gen::container<std::vector<std::tuple<int, int, int>>>(
        rc::gen::tuple(rc::gen::inRange(0, 8), rc::gen::inRange(0, 120), rc::gen::inRange(1, 30)));
    for (const auto& [advance, ahead, work] : jobs) {
      current += advance;
      total += work;
      int at = current + ahead;
      int begin = -1;
      for (int left = work; left > 0; ++at) {
        if (!taken.insert(at).second) continue;
        if (begin < 0) begin = at;
        --left;
      }
      const link_schedule::span s = link.book(ps(current + ahead), ps(work), ps(current));
      RC_ASSERT(s.begin == ps(begin));
      RC_ASSERT(s.end == ps(at));
    }
    RC_ASSERT(link.busy() == ps(total));
  });
}

TEST(link_schedule, a_busy_link_is_one_span) {
  link_schedule link;
  for (int i = 0; i < 1000; ++i) link.book(ps(i), 10_ps, 0_ps);
  EXPECT_EQ(link.spans(), 1u);
  EXPECT_EQ(link.book(0_ps, 1_ps, 0_ps).end, 10'001_ps);
}

TEST(credit_loop, starts_at_once_while_credits_last_and_then_with_the_returns) {
  credit_loop c(4);
  auto g = c.take(0_ps, 3, 1, 10_ps);
  EXPECT_EQ(g.start, 0_ps);
  EXPECT_EQ(g.tlps, 3u);
  c.give(100_ps, 10_ps, 3, 1);  // back at 100, 110, 120
  g = c.take(5_ps, 1, 1, 10_ps);
  EXPECT_EQ(g.start, 5_ps);
  c.give(140_ps, 10_ps, 1, 1);
  g = c.take(6_ps, 2, 1, 10_ps);  // needs those of 100 and 110, which come as fast as they are used
  EXPECT_EQ(g.start, 100_ps);
  c.give(200_ps, 10_ps, 2, 1);
  g = c.take(7_ps, 2, 1, 5_ps);  // 120 and 140: the second 5 after the start
  EXPECT_EQ(g.start, 135_ps);
  c.give(300_ps, 5_ps, 2, 1);
  EXPECT_EQ(c.owned(), 4u);
  EXPECT_EQ(c.free_at(199_ps), 0u);
  EXPECT_EQ(c.free_at(200_ps), 1u);
  EXPECT_EQ(c.free_at(1000_ps), 4u);
}

TEST(credit_loop, a_burst_beyond_the_total_is_granted_what_there_is) {
  credit_loop c(8);
  const auto g = c.take(0_ps, 20, 2, 10_ps);
  EXPECT_EQ(g.start, 0_ps);
  EXPECT_EQ(g.tlps, 4u);
  c.give(50_ps, 10_ps, g.tlps, 2);
  EXPECT_EQ(c.owned(), 8u);
}

// Uniform TLPs: the start must be the first at which a TLP-by-TLP simulation never waits in the middle.
TEST(credit_loop, equals_a_simulation_of_single_credits) {
  rc::check("closed form = credit by credit", [] {
    const int total = *rc::gen::inRange(1, 12);
    credit_loop c(static_cast<std::uint64_t>(total));
    std::vector<int> back(static_cast<std::size_t>(total), 0);  // when each credit is there, in order of use
    std::size_t used = 0;
    int t = 0;
    const auto bursts =
        *rc::gen::container<std::vector<std::pair<int, int>>>(rc::gen::pair(rc::gen::inRange(0, 60), rc::gen::inRange(1, 12)));
    for (const auto& [gap, wanted] : bursts) {
      t += gap;
      const int n = std::min(wanted, total);
      const int interval = 7;
      const int loop = 40;
      int start = t;
      for (int i = 0; i < n; ++i) start = std::max(start, back[used + static_cast<std::size_t>(i)] - i * interval);
      const auto g = c.take(ps(t), static_cast<std::uint64_t>(n), 1, ps(interval));
      RC_ASSERT(g.start == ps(start));
      RC_ASSERT(g.tlps == static_cast<std::uint64_t>(n));
      used += static_cast<std::size_t>(n);
      // Returns must not overtake each other, as on a link.
      int first = start + loop;
      if (!back.empty()) first = std::max(first, back.back() + 1);
      for (int i = 0; i < n; ++i) back.push_back(first + i * interval);
      c.give(ps(first), ps(interval), static_cast<std::uint64_t>(n), 1);
      RC_ASSERT(c.owned() == static_cast<std::uint64_t>(total));
      t = start;
    }
  });
}

TEST(pcie_address_map, routes) {
  pcie_address_map m(0);
  EXPECT_TRUE(m.add(0, 0xe0000000, 0x1000000, 0));
  EXPECT_TRUE(m.add(1, 0xe1000000, 0x1000, 0x100));
  EXPECT_FALSE(m.add(1, 0xe0ffffff, 2, 0));
  EXPECT_FALSE(m.add(1, 0xdfffffff, 0x2000000, 0));
  EXPECT_FALSE(m.add(1, 0, 0, 0));
  EXPECT_FALSE(m.add(1, ~0ULL, 2, 0));

  EXPECT_EQ(m.of_device(0x1000, 4096, true).place, pcie_place::memory);
  EXPECT_EQ(m.of_device(~0ULL - 63, 64, false).place, pcie_place::memory);
  EXPECT_EQ(m.of_device(~0ULL, 2, false).place, pcie_place::nowhere);
  EXPECT_EQ(m.of_device(0xe0000010, 8, true).place, pcie_place::device);
  EXPECT_EQ(m.of_device(0xe1000010, 8, true).device, 1u);
  EXPECT_EQ(m.of_device(0xe1000010, 8, true).offset, 0x110u);
  EXPECT_EQ(m.of_device(0xe1000ffc, 8, true).place, pcie_place::nowhere);
  EXPECT_EQ(m.of_device(0xdffffffc, 8, true).place, pcie_place::nowhere);
  EXPECT_EQ(m.of_device(msi_window, 4, true).place, pcie_place::interrupts);
  EXPECT_EQ(m.of_device(msi_window, 4, false).place, pcie_place::nowhere);
  EXPECT_EQ(m.of_device(msi_window, 8, true).place, pcie_place::nowhere);
  EXPECT_EQ(m.of_device(msi_window - 2, 4, true).place, pcie_place::nowhere);
  EXPECT_EQ(m.of_device(msi_window - 4, 4, true).place, pcie_place::memory);
  EXPECT_EQ(m.of_device(msi_window + msi_window_bytes, 4, true).place, pcie_place::memory);
  EXPECT_EQ(m.of_cpu(0xe0000000, 4).place, pcie_place::device);
  EXPECT_EQ(m.of_cpu(0x1000, 4).place, pcie_place::nowhere);

  pcie_address_map top(0x100000);
  EXPECT_EQ(top.of_device(0xfff00, 256, true).place, pcie_place::memory);
  EXPECT_EQ(top.of_device(0xfff00, 257, true).place, pcie_place::nowhere);
}

}  // namespace
}  // namespace hcasim
