// Devices of a user's own, by AXI and by TLPs, behind an IOMMU whose pages have all rights, some or none. Whatever copy they
// are told to make, no byte moves unless the page of its source lets it out and that of its target lets it in. If all pages
// allow it, all of the copy moves.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "testbenches/checks/whole_system/testing/io_pages.h"
#include "testbenches/kit/world.h"
#include "tlm/base/random.h"

namespace hcasim {
namespace {

using kit::world;
using testing::io_pages;

constexpr std::uint64_t page = io_pages::page;
constexpr std::size_t pages = 24;
constexpr std::size_t frames = 32;

template <class T>
void tell(cpu& c, node& n, std::uint64_t offset, T v) {
  c.mmio_write(n.device_bar(0) + offset, std::as_bytes(std::span(&v, 1)));
}
std::uint32_t state_of(cpu& c, node& n, std::uint64_t offset) {
  std::uint32_t state = 1;
  while ((state & 1) != 0) c.mmio_read(n.device_bar(0) + offset, std::as_writable_bytes(std::span(&state, 1)));
  return state;
}

// Whether the engine says that all has been copied.
bool copied_by_example(cpu& c, node& n, std::uint64_t from, std::uint64_t to, std::uint32_t bytes) {
  tell(c, n, 0x00, from);
  tell(c, n, 0x08, to);
  tell(c, n, 0x10, std::uint64_t{0});
  tell(c, n, 0x18, bytes);
  return state_of(c, n, 0x1c) == 0;
}
bool copied_by_lite_and_tlps(cpu& c, node& n, std::uint64_t from, std::uint64_t to, std::uint32_t bytes) {
  tell(c, n, 0x00, from);
  tell(c, n, 0x08, to);
  tell(c, n, 0x10, bytes);
  return state_of(c, n, 0x14) == 0;
}

struct order {
  std::uint64_t from;
  std::uint64_t to;
  std::uint32_t bytes;
};

// The pages of a device: each is one of the frames, with rights; the same of a seed for both devices.
struct scene {
  explicit scene(std::uint64_t seed) : r(seed, "pages") {
    for (std::size_t f = 0; f < frames; ++f) frame_of.push_back(f);
    for (std::size_t f = frames; f > 1; --f) std::swap(frame_of[f - 1], frame_of[r.below(f)]);
    for (std::size_t p = 0; p < pages; ++p)
      rights.push_back(r.chance(0.6) ? io_pages::both : static_cast<unsigned>(r.below(3)));
    for (std::size_t i = 0; i < frames * page; ++i) memory.push_back(static_cast<std::byte>(r.below(256)));
  }
  // Within the pages, and not over itself; what each engine can: words of 32 bytes.
  order next() {
    constexpr std::uint64_t words = pages * page / 32;
    const std::uint64_t bytes = 1 + r.below(r.chance(0.5) ? 128 : 4);
    for (;;) {
      const std::uint64_t from = r.below(words - bytes);
      const std::uint64_t to = r.below(words - bytes);
      if (from + bytes <= to || to + bytes <= from) return {from * 32, to * 32, static_cast<std::uint32_t>(bytes * 32)};
    }
  }
  [[nodiscard]] bool may(std::uint64_t at, unsigned right) const { return (rights[at / page] & right) != 0; }
  [[nodiscard]] bool may_all(std::uint64_t at, std::uint64_t bytes, unsigned right) const {
    for (std::uint64_t p = at / page; p <= (at + bytes - 1) / page; ++p) {
      if (!may(p * page, right)) return false;
    }
    return true;
  }
  [[nodiscard]] std::size_t place(std::uint64_t at) const { return frame_of[at / page] * page + at % page; }

  random_stream r;
  std::vector<std::size_t> frame_of;
  std::vector<unsigned> rights;
  std::vector<std::byte> memory;
};

// All or, where a page does not let it, a part of what is allowed: what is wrong with `now`, if anything.
std::optional<std::uint64_t> strayed(scene& s, const order& c, bool whole, const std::vector<std::byte>& now) {
  std::vector<std::byte> all = s.memory;
  std::vector<bool> open(s.memory.size());
  for (std::uint64_t i = 0; i < c.bytes; ++i) {
    if (!s.may(c.from + i, IOMMU_PTE_READ) || !s.may(c.to + i, IOMMU_PTE_WRITE)) continue;
    all[s.place(c.to + i)] = s.memory[s.place(c.from + i)];
    open[s.place(c.to + i)] = true;
  }
  for (std::size_t i = 0; i < now.size(); ++i) {
    const bool stays = now[i] == s.memory[i];
    if (now[i] != all[i] && (whole || !open[i] || !stays)) return i;
  }
  s.memory = now;
  return std::nullopt;
}

struct engine {
  const char* name;
  bool by_axi;
  bool (*copied)(cpu& c, node& n, std::uint64_t from, std::uint64_t to, std::uint32_t bytes);
};
// Registered by the tests of each beside this one.
constexpr engine copiers[] = {
    {"my_dma", true, copied_by_example}, {"my_tlp_dma", false, copied_by_example}, {"tlp_dma", false, copied_by_lite_and_tlps}};

void copies_of(const engine& e, std::uint64_t seed, bool all_allowed) {
  system_config config = world::two_nodes();
  node_config& node0 = config.nodes[0];
  node0.iommu.enabled = true;
  node0.device[0].implementation.name = e.name;
  node0.device[0].of_rtl.stall = seed % 3 == 0 ? 0.3 : 0;
  node0.pcie.mrrs = 512U << seed % 4;
  node0.pcie.rcb = 64U << seed / 2 % 2;
  world w(config);
  scene s(seed);
  if (all_allowed) s.rights.assign(pages, io_pages::both);
  int refused = 0;
  const auto program = [&](cpu& c, node& n) {
    const std::uint64_t memory = n.host.reserve_physical(frames * page, page);
    n.host.memory_bytes().write(memory, s.memory);
    io_pages window(n, 0);
    for (std::size_t p = 0; p < pages; ++p) window.map(p, memory + s.frame_of[p] * page, s.rights[p]);
    window.enable(c);
    std::vector<std::byte> now(s.memory.size());
    for (int i = 0; i < 40; ++i) {
      const order next = s.next();
      const bool read = s.may_all(next.from, next.bytes, IOMMU_PTE_READ);
      const bool whole = read && s.may_all(next.to, next.bytes, IOMMU_PTE_WRITE);
      refused += !whole;
      const bool said = e.copied(c, n, io_pages::window + next.from, io_pages::window + next.to, next.bytes);
      n.host.memory_bytes().read(memory, now);
      const auto wrong = strayed(s, next, whole, now);
      ASSERT_FALSE(wrong) << e.name << ", copy " << i << " of seed " << seed << ": byte " << *wrong;
      // A write by TLPs is posted and gets no answer.
      EXPECT_EQ(said, e.by_axi ? whole : read) << e.name << ", copy " << i << " of seed " << seed;
    }
  };
  EXPECT_TRUE(w.run({program}));
  EXPECT_EQ(refused > 0, !all_allowed);
}

class device_pages : public ::testing::TestWithParam<std::tuple<std::size_t, std::uint64_t>> {};

TEST_P(device_pages, let_move_what_they_allow) {
  copies_of(copiers[std::get<0>(GetParam())], std::get<1>(GetParam()), false);
}
TEST_P(device_pages, with_all_rights_let_all_move) {
  copies_of(copiers[std::get<0>(GetParam())], std::get<1>(GetParam()), true);
}
INSTANTIATE_TEST_SUITE_P(seeds, device_pages,
                         ::testing::Combine(::testing::Range<std::size_t>(0, std::size(copiers)),
                                            ::testing::Range<std::uint64_t>(1, 13)),
                         [](const auto& of) {
                           return copiers[std::get<0>(of.param)].name + ("_" + std::to_string(std::get<1>(of.param)));
                         });

}  // namespace
}  // namespace hcasim
