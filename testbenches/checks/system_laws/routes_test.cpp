// A GRH costs its bytes on the link, and nothing else anywhere.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "testbenches/checks/system_laws/workloads.h"

namespace hcasim::metamorphic {
namespace {

// Returns the packets or bytes that ports have sent since the traffic began.
double sent(const outcome& o, const char* counter) {
  double sum = 0;
  for (const auto& [name, v] : o.counts) {
    if (name.ends_with(std::string("hca.port.") + counter)) sum += v;
  }
  return sum;
}

class global_routes : public ::testing::TestWithParam<const char*> {};

TEST_P(global_routes, cost_their_bytes_on_the_link) {
  const workload& w = workload_named(GetParam());
  const auto wide = [](setup& s) {  // the link never binds
    s.config.link.rate = bit_rate{1.6e12};
    s.config.link.buffer *= 16;
  };
  const auto global = [](setup& s) { s.traffic.global_routes = true; };
  const auto both = [&](setup& s) {
    wide(s);
    global(s);
  };
  const auto o = run_all({{.of = &w, .adjust = wide, .with_counts = true},
                          {.of = &w, .adjust = both, .with_counts = true},
                          {.of = &w},
                          {.of = &w, .adjust = global}});
  for (const outcome& one : o) ASSERT_TRUE(one.ran()) << w.name << ": " << one.problem << one.refused;
  EXPECT_EQ(o[0].bytes, o[1].bytes) << "what is in memory differs";
  EXPECT_NEAR(o[1].rate / o[0].rate, 1, 0.01)
      << fmt::format("{}: {:.4f} and {:.4f} M/s", w.name, o[0].rate / 1e6, o[1].rate / 1e6);
  EXPECT_LT(o[3].rate, o[2].rate * 1.01) << fmt::format("{}: {:.4f} and {:.4f} M/s", w.name, o[2].rate / 1e6, o[3].rate / 1e6);
  // Acknowledges come together as they may; a request's packets do not.
  const double packets = sent(o[1], "egress_packets");
  const double without = sent(o[0], "egress_bytes") / sent(o[0], "egress_packets");
  EXPECT_NEAR(packets / sent(o[0], "egress_packets"), 1, 0.02);
  EXPECT_NEAR(sent(o[1], "egress_bytes") / packets - without, HCA_GRH_BYTES, 0.02 * without);
}

INSTANTIATE_TEST_SUITE_P(law, global_routes,
                         ::testing::Values("small_writes", "small_reads", "sends", "atomics", "mixed", "both_ways", "windows"),
                         [](const auto& i) { return std::string(i.param); });

}  // namespace
}  // namespace hcasim::metamorphic
