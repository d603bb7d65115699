// The host's cost of RTL in a whole system, in numbers that are the same on every host and in every build. Time is measured by
// hcasim_bench (w1_rtl).
#include <gtest/gtest.h>

#include <cstdio>
#include <string_view>
#include <vector>

#include "testbenches/scenarios/message_rate.h"
#include "tlm/rtl/shell.h"

namespace hcasim {
namespace {

struct spent {
  double looks = 0;
  double settled = 0;
  double risen = 0;
  double cycles = 0;
  double transfers = 0;
  double events = 0;  // events of all units
};

spent spent_so_far(const std::vector<rtl::shell*>& shells) {
  spent s;
  for (const rtl::shell* of : shells) {
    s.looks += static_cast<double>(of->effort().looks);
    s.settled += static_cast<double>(of->effort().settled);
    s.risen += static_cast<double>(of->effort().risen);
    s.cycles += static_cast<double>(of->cycles());
    for (const rtl::stream& each : of->streams()) s.transfers += static_cast<double>(each.transfers());
  }
  s.events = static_cast<double>(event_queue::instance().hand_overs());
  return s;
}

// Returns the cost of each WRITE of 64 B between two nodes, when the caches are warm.
spent per_message(bool read, std::uint32_t window) {
  system_config c;
  c.nodes.resize(2);
  c.link.rate = {100e9};
  c.link.propagation = 1_us;
  for (node_config& n : c.nodes) n.hca.key_check.implementation = n.hca.page_walker.implementation = implementation::rtl;
  hcasim::system s("system", c);
  std::vector<rtl::shell*> shells;
  for (const char* name : {"system.node0.hca.key_check", "system.node0.hca.page_walker", "system.node1.hca.key_check",
                           "system.node1.hca.page_walker"}) {
    shells.push_back(dynamic_cast<rtl::shell*>(sc_core::sc_find_object(name)));
    EXPECT_NE(shells.back(), nullptr) << name;
    if (!shells.back()) return {};
  }
  std::vector<spent> marks;
  const auto mark = [&] { marks.push_back(spent_so_far(shells)); };
  kit::stream_options o;
  o.messages = 2000;
  o.warm_up = 200;
  o.window = window;
  o.read = read;
  o.parts = {[mark](const std::string&) { mark(); }, mark};
  kit::stream_result r;
  kit::start_stream(s, o, r);
  run_simulation();
  EXPECT_TRUE(r.ok);
  EXPECT_EQ(marks.size(), 2U);
  if (marks.size() != 2) return {};
  const auto each = [&](double spent::*what) { return (marks[1].*what - marks[0].*what) / static_cast<double>(o.messages); };
  const spent m{each(&spent::looks),  each(&spent::settled),   each(&spent::risen),
                each(&spent::cycles), each(&spent::transfers), each(&spent::events)};
  std::printf("each message: %.3f looks, %.3f settled, %.3f risen, %.3f cycles, %.3f transfers, %.3f events\n", m.looks,
              m.settled, m.risen, m.cycles, m.transfers, m.events);
  return m;
}

struct bound {
  bool read;
  std::uint32_t window;
  spent most;
};

class rtl_effort : public ::testing::TestWithParam<bound> {};

TEST_P(rtl_effort, of_a_message_is_no_more_than_it_was) {
  const bound& b = GetParam();
  const spent m = per_message(b.read, b.window);
  EXPECT_LE(m.looks, b.most.looks);
  // A Verilator without proven steps evaluates the whole design in each look.
  const bool steps = std::string_view(HCASIM_VERILATOR) == "5.006";
  EXPECT_LE(m.settled, steps ? b.most.settled : b.most.looks);
  EXPECT_LE(m.risen, b.most.risen);
  EXPECT_LE(m.events, b.most.events);
  // The simulated cycles are no fewer than before.
  EXPECT_GE(m.cycles, b.most.cycles);
  EXPECT_GE(m.transfers, b.most.transfers);
}
INSTANTIATE_TEST_SUITE_P(streams, rtl_effort,
                         ::testing::Values(bound{false, 16, {31.2, 10.9, 25.4, 31.1, 16.4, 59.4}},
                                           bound{false, 1, {39.1, 11.1, 30.1, 39, 16, 72.1}},
                                           bound{true, 16, {40.4, 13.3, 33.2, 40.3, 21.7, 73.7}}));

}  // namespace
}  // namespace hcasim
