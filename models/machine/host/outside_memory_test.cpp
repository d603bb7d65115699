// Pages whose bytes are somewhere else, as frames of a host.
#include "models/machine/host/outside_memory.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <set>

#include "models/machine/host/host.h"

namespace hcasim {
namespace {

constexpr std::uint64_t page = 4096;

// An address space of pages that come and go.
class fake_space : public outside_memory {
 public:
  struct content {
    std::array<std::byte, page> bytes{};
    bool writable = true;
  };
  std::map<std::uint64_t, content> pages;  // by number

  bool read(std::uint64_t va, std::span<std::byte> to) const override {
    for (std::byte& b : to) {
      const auto p = pages.find(va / page);
      if (p == pages.end()) return false;
      b = p->second.bytes[va++ % page];
    }
    return true;
  }
  bool write(std::uint64_t va, std::span<const std::byte> from) override {
    for (const std::byte b : from) {
      const auto p = pages.find(va / page);
      if (p == pages.end()) return false;
      p->second.bytes[va++ % page] = b;
    }
    return true;
  }
  [[nodiscard]] std::vector<piece> mapped(std::uint64_t va, std::uint64_t bytes) const override {
    std::vector<piece> out;
    for (auto p = pages.lower_bound(va / page); p != pages.end() && p->first * page <= va + (bytes - 1); ++p) {
      out.push_back({p->first * page, page, p->second.writable});
    }
    return out;
  }
};

using runs = std::vector<virtual_memory::frame_run>;

TEST(outside_memory, a_frame_is_read_and_written_where_its_owner_has_it) {
  physical_memory m;
  fake_space space;
  space.pages[5];
  const std::uint64_t frame = m.reserve_outside(4 * page);
  ASSERT_TRUE(physical_memory::is_outside(frame));
  m.adopt(frame, space, 5 * page);
  m.put<std::uint64_t>(frame + 8, 42);
  std::uint64_t there = 0;
  ASSERT_TRUE(space.read(5 * page + 8, std::as_writable_bytes(std::span(&there, 1))));
  EXPECT_EQ(there, 42u);
  EXPECT_EQ(m.get<std::uint64_t>(frame + 8), 42u);
  EXPECT_EQ(m.resident_bytes(), 0u);
  EXPECT_EQ(m.outside().lost, 0u);
}

TEST(outside_memory, a_page_that_is_gone_reads_zero_and_takes_nothing) {
  physical_memory m;
  fake_space space;
  space.pages[5];
  const std::uint64_t frame = m.reserve_outside(2 * page);
  m.adopt(frame, space, 5 * page);
  m.put<std::uint64_t>(frame, 7);
  m.release(frame);
  m.put<std::uint64_t>(frame, 8);  // lost
  EXPECT_EQ(m.get<std::uint64_t>(frame), 0u);
  std::uint64_t there = 0;
  space.read(5 * page, std::as_writable_bytes(std::span(&there, 1)));
  EXPECT_EQ(there, 7u);
  EXPECT_EQ(m.outside().lost, 2u);
  m.adopt(frame, space, 6 * page);  // not mapped
  EXPECT_EQ(m.get<std::uint64_t>(frame), 0u);
  EXPECT_EQ(m.get<std::uint64_t>(physical_memory::outside_address + physical_memory::outside_bytes - 8),
            0u);  // without an owner
  EXPECT_EQ(m.outside().lost, 4u);
}

TEST(outside_memory, pins_have_the_rights_of_the_source) {
  physical_memory m;
  fake_space space;
  virtual_memory v(m, 1);
  v.set_source(space);
  space.pages[16];
  space.pages[17];
  space.pages[18].writable = false;
  runs r;
  EXPECT_EQ(v.pin(16 * page, 3 * page, false, r), 0);
  EXPECT_EQ(v.pin(16 * page, 2 * page, true, r), 0);
  EXPECT_EQ(v.pin(16 * page, 3 * page, true, r), EFAULT);
  EXPECT_EQ(v.pin(17 * page, 3 * page, false, r), EFAULT);  // the last is not mapped
  EXPECT_EQ(v.pin(15 * page, 3 * page, false, r), EFAULT);  // nor is the first
  space.pages.erase(17);
  EXPECT_EQ(v.pin(16 * page, 2 * page, false, r), EFAULT);  // although it has a frame
  EXPECT_FALSE(v.writable(18 * page));
  EXPECT_TRUE(v.writable(16 * page));
  EXPECT_FALSE(v.writable(17 * page));
  EXPECT_EQ(v.allocate(page), 0u);
}

TEST(outside_memory, a_page_keeps_its_frame_until_it_is_lost) {
  physical_memory m;
  fake_space space;
  host h("host", host_config{}, 1);
  virtual_memory v(m, 1);
  v.set_source(space);
  for (std::uint64_t p = 16; p < 24; ++p) space.pages[p];
  h.run("program", [&](cpu& c) {
    runs r;
    ASSERT_EQ(v.pin(16 * page, 8 * page, true, r), 0);
    const std::uint64_t kept = v.touch(16 * page);
    const std::uint64_t lost = v.touch(18 * page);
    EXPECT_EQ(v.touch(18 * page), lost);
    v.lose(c, 18 * page, page);
    m.put<std::uint64_t>(lost, 5);
    std::uint64_t there = 0;
    space.read(18 * page, std::as_writable_bytes(std::span(&there, 1)));
    EXPECT_EQ(there, 0u);                 // the grant was for what is gone
    EXPECT_NE(v.touch(18 * page), lost);  // another page at that address
    m.put<std::uint64_t>(kept, 6);        // and the rest of the pin goes on
    space.read(16 * page, std::as_writable_bytes(std::span(&there, 1)));
    EXPECT_EQ(there, 6u);
    v.unpin(16 * page, 8 * page);
    EXPECT_EQ(v.pinned_bytes(), 0u);
    v.lose(c, 0, ~std::uint64_t{0});
    v.lose(c, ~std::uint64_t{0} - 3, 100);
  });
  sc_core::sc_start();
}

// Whatever is mapped, pinned and lost in whatever order: what goes through a pinned frame reaches the page that was pinned, or
// nothing.
TEST(outside_memory, a_pinned_frame_never_reaches_another_page) {
  host h("host", host_config{}, 1);
  h.run("program", [&](cpu& c) {
    rc::check("frames", [&c] {
      physical_memory m;
      fake_space space;
      virtual_memory v(m, 9);
      v.set_source(space);
      struct pin {
        std::uint64_t va, pages;
        runs frames;
        std::vector<int> generation;
      };
      std::vector<pin> pins;
      std::map<std::uint64_t, int> generation;  // of what is mapped at a page
      constexpr std::uint64_t pages = 12;
      const int steps = *rc::gen::inRange(1, 60);
      for (int i = 0; i < steps; ++i) {
        const auto first = *rc::gen::inRange<std::uint64_t>(1, pages);
        const auto n = *rc::gen::inRange<std::uint64_t>(1, pages - first + 1);
        switch (*rc::gen::inRange(0, 4)) {
          case 0:
            for (std::uint64_t p = first; p < first + n; ++p) space.pages.try_emplace(p);
            break;
          case 1:
            v.lose(c, first * page, n * page);
            for (std::uint64_t p = first; p < first + n; ++p) space.pages.erase(p), ++generation[p];
            break;
          case 2: {
            pin x{first, n, {}, {}};
            if (v.pin(first * page, n * page, true, x.frames) != 0) break;
            for (std::uint64_t p = first; p < first + n; ++p) x.generation.push_back(generation[p]);
            pins.push_back(std::move(x));
            break;
          }
          default:
            if (pins.empty()) break;
            v.unpin(pins.back().va * page, pins.back().pages * page);
            pins.pop_back();
            break;
        }
        for (const pin& x : pins) {
          std::uint64_t p = x.va;
          for (const auto& run : x.frames) {
            for (std::uint64_t o = 0; o < run.bytes; o += page, ++p) {
              const bool same = x.generation[p - x.va] == generation[p] && space.pages.contains(p);
              auto before = space.pages;
              m.put<std::uint64_t>(run.physical + o, 0x1111u + static_cast<std::uint64_t>(i));
              for (auto& [number, content] : before) {
                const bool changed = std::memcmp(&content.bytes, &space.pages[number].bytes, 8) != 0;
                RC_ASSERT(!changed || (number == p && same));
              }
              if (same) RC_ASSERT(m.get<std::uint64_t>(run.physical + o) == 0x1111u + static_cast<std::uint64_t>(i));
            }
          }
        }
      }
    });
  });
  sc_core::sc_start();
}

}  // namespace
}  // namespace hcasim
