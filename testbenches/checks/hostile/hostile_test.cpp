// The hostile peer against systems of any size: 100 000 packets. A few thousand go against a system with the least resources
// and a bad cable.
#include <gtest/gtest.h>

#include <sstream>

#include "testbenches/checks/hostile/hostile.h"
#include "testbenches/checks/hostile/shadow.h"
#include "testbenches/kit/leak_check.h"
#include "testbenches/kit/minimal_config.h"
#include "testbenches/kit/packet_injector.h"
#include "testbenches/kit/world.h"

namespace hcasim::kit {
namespace {

hostile_outcome attack_on(const system_config& config, std::uint64_t packets, std::uint64_t seed) {
  hcasim::system s("system", config);
  hostile_options o;
  o.packets = packets;
  hostile_outcome r;
  start_hostile(s, o, seed, r);
  run_simulation();
  EXPECT_EQ(r.problem, "");
  EXPECT_TRUE(r.ok) << s.watch().stalled();
  EXPECT_EQ(r.outside + r.wrongly_shown + r.misused, 0U);
  EXPECT_EQ(r.good.problem, "");
  EXPECT_TRUE(r.good.ok);
  EXPECT_EQ(r.good.received, r.good.done[2]);
  std::ostringstream left;
  for (const std::string& what : leak_check(s)) left << what << '\n';
  EXPECT_EQ(left.str(), "");
  for (const std::uint64_t n : r.sent) EXPECT_GT(n, packets / 50);
  return r;
}

// Packets are sent until each kind of event has happened.
TEST(hostile, every_byte_stays_within_its_grant) {
  const hostile_outcome r = attack_on(world::two_nodes(), 100'000, 1);
  EXPECT_GT(r.lives, 100U);
  EXPECT_GT(r.changes, 500U);
  EXPECT_GT(r.completions, 1000U);
  EXPECT_GT(r.moved, 100'000U);
  EXPECT_GT(r.shown, 100'000U);
}

class hostile_seeds : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(hostile_seeds, of_a_roomy_system) {
  attack_on(world::two_nodes(), 10'000, GetParam());
}
TEST_P(hostile_seeds, of_a_minimal_system) {
  attack_on(minimal_config(world::two_nodes(), 0.005), 5'000, GetParam());
}

INSTANTIATE_TEST_SUITE_P(any, hostile_seeds, ::testing::Range<std::uint64_t>(100, 106));

// The judge itself: it finds every kind of violation.
TEST(shadow, sees_every_access_without_a_grant) {
  EXPECT_EQ(run_forged(world::two_nodes(),
                       [](cpu& c, node& n, packet_injector&) {
                         process_context p(c, n);
                         shadow s(p, 4 * 4096);
                         s.check();
                         EXPECT_EQ(s.violations(), 0U);
                         const std::uint64_t at = s.begin() + 100;
                         std::vector<std::byte> bytes(8);
                         p.memory.read(at, bytes);
                         EXPECT_FALSE(s.may_show(at, bytes)) << "private bytes";
                         s.grant(at, 8, shadow::read);
                         EXPECT_FALSE(s.may_show(at, bytes)) << "what was there before the grant";
                         p.memory.read(at, bytes);
                         EXPECT_TRUE(s.may_show(at, bytes));
                         EXPECT_FALSE(s.may_show(at + 1, bytes)) << "of another place";
                         p.memory.write(at, std::vector<std::byte>(8, std::byte{0xe0}));
                         s.check();
                         EXPECT_EQ(s.violations(), 8U) << "it was granted for reading";
                         EXPECT_NE(s.violation(), "");
                       }),
            "");
}

TEST(packet_injector, finds_its_payload_again) {
  std::vector<std::byte> page(4096, std::byte{0xe0});
  EXPECT_EQ(packet_injector::payload_in(page), 0U);
  for (std::size_t i = 0; i < 40; ++i) page[100 + i] = static_cast<std::byte>(0x80 | ((37 * i + 7) & 0x7f));
  EXPECT_EQ(packet_injector::payload_in(page), 40U);
}

}  // namespace
}  // namespace hcasim::kit
