// RTL that copies by TLPs against a TLM memory: its bytes over widths, limits, alignments and stalls, its errors and its
// resets.
#include "tlm/rtl/tlp/tlp_master.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "rtl/tlp_copy_128_design.h"
#include "rtl/tlp_copy_256_design.h"
#include "rtl/tlp_copy_512_design.h"
#include "rtl/tlp_copy_64_design.h"
#include "tlm/rtl/testing/tlp_memory.h"
#include "tlm/rtl/testing/untimed.h"
#include "tlm/testing/simulate.h"

namespace hcasim::rtl {
namespace {

constexpr std::uint16_t requester = 0x1a5;
constexpr design_factory widths[] = {make_tlp_copy_64_design, make_tlp_copy_128_design, make_tlp_copy_256_design,
                                     make_tlp_copy_512_design};

unsigned log2_of(unsigned power) {
  unsigned n = 0;
  while (power >> (n + 1)) ++n;
  return n;
}

class copier : public shell {
 public:
  tlp_master bus;
  std::vector<unsigned> done;
  ps done_at{0};
  std::vector<std::string> violations;

  copier(design_factory make, const shell_options& o, const tlp_master_options& limits)
      : shell("copy", clock_400, make, o),
        bus("bus", *this, limits),
        limits_(limits),
        cmd_(into("cmd", 153)),
        done_(out_of("done", 4)) {
    strap("requester", requester);
    done_.on_transfer = [this](const payload& p, std::uint64_t, ps t) {
      owe(-1);
      done.push_back(static_cast<unsigned>(p.get(0, 4)));
      done_at = t;
    };
    on_violation = [this](const std::string& what) { violations.push_back(untimed(what)); };
  }
  void copy(std::uint64_t from, std::uint64_t to, unsigned bytes) {
    payload p;
    writer(p)
        .put(from, 64)
        .put(to, 64)
        .put(bytes, 13)
        .put(log2_of(limits_.max_payload), 4)
        .put(log2_of(limits_.max_read_request), 4)
        .put(log2_of(limits_.completion_boundary), 4);
    owe(1);
    push(cmd_, p, now());
  }
  using shell::reset_again;

 private:
  const tlp_master_options limits_;
  stream& cmd_;
  stream& done_;
};

class tlp_copies : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(tlp_copies, put_every_byte_where_it_belongs) {
  const std::uint64_t seed = GetParam();
  random_stream r(seed, "copies");
  shell_options o;
  o.seed = seed;
  o.stall = r.chance(0.5) ? 0 : 0.1 * static_cast<double>(r.below(7));
  o.storms = r.chance(0.3);
  o.check_x = r.chance(0.2);
  tlp_master_options limits;
  limits.max_payload = 128U << r.below(6);
  limits.max_read_request = 128U << r.below(6);
  limits.completion_boundary = 64U << r.below(2);
  limits.split_anywhere = r.chance(0.5);
  limits.interleave = r.chance(0.5);
  limits.requester = requester;
  tlp_memory memory("memory", static_cast<unsigned>(r.below(3) * 40), seed);
  copier c(widths[r.below(4)], o, limits);
  c.bus.memory.bind(memory.in);
  for (auto& b : memory.bytes) b = static_cast<unsigned char>(r.next());
  std::vector<unsigned char> wanted = memory.bytes;
  const unsigned copies = 60;
  for (unsigned i = 0; i < copies; ++i) {
    const auto bytes = static_cast<unsigned>(1 + (r.chance(0.5) ? r.below(20) : r.below(4096)));
    const auto place = [&] { return (r.chance(0.3) ? tlp_short_addresses : 0) + r.below(tlp_memory::half - bytes + 1); };
    const std::uint64_t from = place();
    const std::uint64_t to = place();
    std::vector<unsigned char> moved;
    for (unsigned n = 0; n < bytes; ++n) moved.push_back(wanted[tlp_memory::place_of(from + n)]);
    for (unsigned n = 0; n < bytes; ++n) wanted[tlp_memory::place_of(to + n)] = moved[n];
    c.copy(from, to, bytes);
  }
  testing::run_until_idle();
  EXPECT_EQ(c.violations, std::vector<std::string>{});
  EXPECT_EQ(c.done, std::vector<unsigned>(copies, 0));
  EXPECT_TRUE(memory.bytes == wanted);
  EXPECT_EQ(c.bus.requests(), memory.accesses.size());
  for (const auto& a : memory.accesses) {
    EXPECT_EQ(a.requester, requester);
    EXPECT_LE(a.bytes, a.write ? limits.max_payload : limits.max_read_request);
    EXPECT_EQ(a.address / 4096, (a.address + a.bytes - 1) / 4096);
  }
}
INSTANTIATE_TEST_SUITE_P(seeds, tlp_copies, ::testing::Range<std::uint64_t>(1, 101));

// CMD in cycle 0, the read in the next, its 8 beats from 5 cycles later on, a cycle to see that all have come, 8 beats, DONE.
TEST(tlp_master, a_copy_takes_its_beats) {
  tlp_memory memory("memory", 1, 1);
  copier c(make_tlp_copy_64_design, {}, {});
  c.bus.memory.bind(memory.in);
  c.copy(64, 1024, 64);
  testing::run_until_idle();
  EXPECT_EQ(c.done_at, clock_400.cycles(1 + 1 + 8 + 1 + 8));
}

TEST(tlp_master, errors_of_the_memory_reach_the_requester) {
  tlp_memory memory("memory", 5, 1);
  copier c(make_tlp_copy_64_design, {}, {});
  c.bus.memory.bind(memory.in);
  c.copy(tlp_memory::refused, 64, 16);
  c.copy(tlp_memory::broken, 64, 16);
  c.copy(64, tlp_memory::refused, 16);  // posted
  c.copy(64, 128, 16);
  testing::run_until_idle();
  EXPECT_EQ(c.violations, std::vector<std::string>{});
  EXPECT_EQ(c.done, (std::vector<unsigned>{1, 4, 0, 0}));
}

// Wherever it comes, a reset leaves nothing behind: what comes after it copies as before.
class tlp_resets : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(tlp_resets, leave_nothing_behind) {
  const std::uint64_t seed = GetParam();
  random_stream r(seed, "resets");
  shell_options o;
  o.seed = seed;
  o.stall = 0.2;
  tlp_memory memory("memory", 60, seed);
  copier c(widths[r.below(4)], o, {.interleave = true});
  c.bus.memory.bind(memory.in);
  for (auto& b : memory.bytes) b = static_cast<unsigned char>(r.next());
  unsigned resets = 0;
  c.on_reset = [&](const std::vector<lost>&) { ++resets; };
  for (unsigned i = 0; i < 10; ++i) {
    for (unsigned n = 0; n < 4; ++n) c.copy(0, 0x8000, 4096);
    testing::run_for(clock_400.cycles(static_cast<double>(r.below(3000))));
    c.reset_again();
    testing::run_for(clock_400.cycles(200));
    c.done.clear();
    c.copy(0x4001, 0xc003, 1000);
    testing::run_until_idle();
    EXPECT_EQ(c.done, std::vector<unsigned>{0});
    EXPECT_TRUE(std::equal(memory.bytes.begin() + 0x4001, memory.bytes.begin() + 0x4001 + 1000, memory.bytes.begin() + 0xc003));
  }
  EXPECT_EQ(c.violations, std::vector<std::string>{});
  EXPECT_EQ(resets, 10U);
}
INSTANTIATE_TEST_SUITE_P(seeds, tlp_resets, ::testing::Range<std::uint64_t>(1, 11));

}  // namespace
}  // namespace hcasim::rtl
