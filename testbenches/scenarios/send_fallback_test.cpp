// [SUN5] as traffic: WRITEs aborted under a stream of packets, each delivered by SEND and copied, every byte compared.
#include "testbenches/scenarios/send_fallback.h"

#include <gtest/gtest.h>

#include "testbenches/kit/world.h"

namespace hcasim::kit {
namespace {

fallback_result packets(const system_config& config, const fallback_options& o) {
  world w(config);
  fallback_result r;
  start_fallback(w.sys(), o, r);
  sc_core::sc_start();
  EXPECT_EQ(r.problem, "");
  EXPECT_TRUE(r.ok);
  EXPECT_EQ(r.outcomes.size(), 4U);
  return r;
}
const fallback_outcome& of(const fallback_result& r, fallback_way w) {
  return r.outcomes.at(static_cast<std::size_t>(w));
}

TEST(send_fallback, each_aborted_packet_arrives_by_send) {
  const fallback_result r = packets(world::two_nodes(), {.messages = 100, .every = 20});
  EXPECT_EQ(of(r, fallback_way::write).sent, 0U);
  EXPECT_EQ(of(r, fallback_way::send).sent, 100U);
  for (const fallback_way w : {fallback_way::spare, fallback_way::same}) {
    EXPECT_EQ(of(r, w).sent, 5U);
    EXPECT_EQ(of(r, w).written, 95U);
  }
  const ps write = of(r, fallback_way::write).write_time;
  const ps send = of(r, fallback_way::send).send_time;
  EXPECT_GT(of(r, fallback_way::spare).send_time, write + send) << "the aborted WRITE comes first";
  EXPECT_GT(of(r, fallback_way::same).send_time, of(r, fallback_way::spare).send_time + 20_us)
      << "a connection is set up again, and the other side says so, before the packet goes";
}

// A SEND is copied at the rate of the host's software, and that is in its time and in its CPU time.
TEST(send_fallback, the_copy_is_timed) {
  system_config config = world::two_nodes();
  config.nodes[0].host.copy_rate = {40e9};
  const std::uint64_t size = 4_KiB;
  const fallback_result r = packets(config, {.messages = 60, .size = size, .every = 6});
  const ps copy = config.nodes[0].host.copy_rate.time_for(size);
  EXPECT_NEAR(to_ns(of(r, fallback_way::send).send_time - of(r, fallback_way::write).write_time), to_ns(copy), 50);
  EXPECT_NEAR(to_ns(of(r, fallback_way::send).host_cpu - of(r, fallback_way::write).host_cpu), to_ns(copy), 50);
}

// A host that is late with taking a buffer away finds it written; nothing is lost, whichever comes first.
TEST(send_fallback, every_packet_arrives_when_each_second_one_may_be_aborted) {
  const fallback_result r = packets(world::two_nodes(), {.messages = 101, .size = 4_KiB, .every = 2});
  for (const fallback_way w : {fallback_way::spare, fallback_way::same}) {
    EXPECT_EQ(of(r, w).sent + of(r, w).written, 101U);
    EXPECT_EQ(of(r, w).sent, 50U);
  }
}

}  // namespace
}  // namespace hcasim::kit
