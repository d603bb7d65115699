// Buffers swapped under a stream, in each way: several by one command, over a distance, with keys that cost their holders time.
#include <gtest/gtest.h>

#include "testbenches/kit/world.h"
#include "testbenches/scenarios/rkey_reuse.h"
#include "tlm/base/random.h"

namespace hcasim::kit {
namespace {

const std::vector<reuse_mode> every_way = {reuse_mode::kept_extend, reuse_mode::kept_remap, reuse_mode::whole,
                                           reuse_mode::reregister,  reuse_mode::deregister, reuse_mode::rebind,
                                           reuse_mode::fixed,       reuse_mode::kept_tcp};

system_config two_nodes() {
  system_config config = world::two_nodes();
  for (node_config& n : config.nodes) n.driver.rereg_key = driver::rereg_key_policy::renew;
  return config;
}

std::vector<reuse_outcome> stream(const system_config& config, const reuse_options& o, std::uint64_t length,
                                  const std::vector<reuse_mode>& ways = every_way) {
  world w(config);
  std::vector<std::uint8_t> bytes(length);
  random_stream random(9, "stream");
  for (auto& b : bytes) b = static_cast<std::uint8_t>(random.next());
  std::vector<reuse_outcome> outcomes;
  start_reuse(w.sys(), o, bytes, ways, outcomes);
  sc_core::sc_start();
  for (std::size_t i = 0; i < ways.size(); ++i) EXPECT_TRUE(outcomes[i].ok) << name_of(ways[i]) << ": " << outcomes[i].problem;
  return outcomes;
}

// 101 buffers and a part of one, in batches of four: the last batch is not whole.
constexpr std::uint64_t odd_length = 101 * 4_KiB + 100;

TEST(rkey_reuse, one_command_changes_several_buffers) {
  const reuse_options o{.buffer = 4_KiB, .buffers = 8, .batch = 4, .message = 2_KiB, .quiet_swaps = 3};
  const auto r = stream(two_nodes(), o, odd_length);
  EXPECT_EQ(r[0].swaps, 24U) << "26 batches, of which the first two were there";
  EXPECT_EQ(r[0].commands, 24U) << "an exchange each, while the stream runs";
  EXPECT_EQ(r[0].key_updates, 1U);
  EXPECT_EQ(r[1].swaps, 25U) << "told each time where the next ones lie";
  EXPECT_EQ(r[2].commands, 25U);
  EXPECT_EQ(r[2].key_updates, 26U);
  EXPECT_EQ(r[3].commands, 102U - 8U) << "a region for each buffer: a command for each";
  EXPECT_EQ(r[5].commands, 0U);
  EXPECT_EQ(r[7].swaps, 25U);
  EXPECT_EQ(r[7].key_updates, 1U);
}

TEST(rkey_reuse, batches_are_filled_by_several_targets_in_any_order) {
  const reuse_options o{.buffer = 4_KiB, .buffers = 12, .batch = 4, .message = 1_KiB, .targets = 3, .quiet_swaps = 2};
  const auto r = stream(two_nodes(), o, odd_length);
  EXPECT_EQ(r[0].key_updates, 3U) << "each target is told the key once";
  EXPECT_EQ(r[2].key_updates, 3 * 26U);
  EXPECT_EQ(r[7].key_updates, 3U);
}

// One command for each buffer is what both ways take without batches, and they are within a tenth of each other then.
TEST(rkey_reuse, a_batch_costs_less_than_its_buffers_one_by_one) {
  const reuse_options o{.buffer = 4_KiB, .buffers = 16, .batch = 8, .message = 4_KiB, .quiet_swaps = 4};
  const auto r = stream(two_nodes(), o, 2_MiB, {reuse_mode::kept_extend, reuse_mode::reregister});
  EXPECT_GT(r[0].gigabits_per_second(), 2 * r[1].gigabits_per_second());
  EXPECT_LT(r[0].first_byte, 2 * r[1].first_byte);
}

// The credits of a link are a window over its round trip; with enough of them distance costs what is under way.
const std::vector<reuse_mode> over_a_distance = {reuse_mode::kept_extend, reuse_mode::rebind, reuse_mode::fixed};

TEST(rkey_reuse, over_a_distance_the_credits_of_the_link_bind_every_way) {
  system_config config = two_nodes();
  config.link.propagation = 50_us;
  const double packets = 7;  // 32 KiB in blocks of 64 B; a packet of 4 KiB takes 65 of them
  const double bound = packets * 4096 * 8 / (100'000 + 333);
  for (const reuse_outcome& r : stream(config, {.quiet_swaps = 0}, 4_MiB, over_a_distance)) {
    EXPECT_LT(r.gigabits_per_second(), bound);
    EXPECT_GT(r.gigabits_per_second(), 0.95 * bound);
  }
}

TEST(rkey_reuse, over_a_distance_with_credits_what_is_under_way_binds) {
  system_config config = two_nodes();
  config.link.propagation = 50_us;
  config.link.buffer = 0;
  const double under_way = 16 * 16384 * 8 / 100'000.0;
  const auto r = stream(config, {.quiet_swaps = 2}, 16_MiB, over_a_distance);
  for (const reuse_outcome& way : r) {
    EXPECT_LT(way.gigabits_per_second(), under_way);
    EXPECT_GT(way.gigabits_per_second(), 0.9 * under_way) << "a swap of 13 us hides in the round trip";
  }
  EXPECT_NEAR(to_us(r[1].first_byte), 100 + 3.8, 1) << "to the target and back";
}

// Sequence numbers wrap, packets are lost, buffers are small: each byte lands where its sequence number says.
TEST(rkey_reuse, tcp_segments_find_their_window_on_a_lossy_link) {
  system_config config = two_nodes();
  config.link.loss = 0.003;
  const reuse_options o{.buffer = 4_KiB, .buffers = 12, .batch = 2, .message = 1460, .targets = 3, .quiet_swaps = 2};
  const auto r = stream(config, o, 301 * 4_KiB + 77, {reuse_mode::kept_tcp});
  EXPECT_EQ(r[0].key_updates, 3U);
  EXPECT_EQ(r[0].swaps, 50U + 50U + 49U) << "51, 51 and 50 batches, the last of which need no acknowledgement";
}

// The target waits for what TCP says, and for nothing else: told only once of a key, whatever that costs it.
TEST(rkey_reuse, a_tcp_window_is_as_quick_as_being_told_of_each_buffer) {
  const reuse_options o{.target_key_cost = 50_us, .quiet_swaps = 4};
  const auto r = stream(two_nodes(), o, 4_MiB, {reuse_mode::kept_extend, reuse_mode::kept_tcp});
  EXPECT_NEAR(r[1].gigabits_per_second() / r[0].gigabits_per_second(), 1, 0.06);
  EXPECT_NEAR(to_us(r[1].first_byte), to_us(r[0].first_byte), 0.1);
  EXPECT_EQ(r[1].commands, r[0].commands);
}

// Without a cost the ways that change a key are within 1 us of the one that keeps it.
TEST(rkey_reuse, a_key_that_costs_time_delays_the_first_byte_by_that_time) {
  const reuse_options o{.target_key_cost = 30_us, .quiet_swaps = 4};
  const auto r = stream(two_nodes(), o, 1_MiB, {reuse_mode::kept_extend, reuse_mode::reregister, reuse_mode::rebind});
  EXPECT_NEAR(to_us(r[0].first_byte), 13, 1) << "the key that it has";
  EXPECT_NEAR(to_us(r[1].first_byte - r[0].first_byte), 30.5, 0.5);
  EXPECT_NEAR(to_us(r[2].first_byte), 30 + 3.8, 0.5);
}

}  // namespace
}  // namespace hcasim::kit
