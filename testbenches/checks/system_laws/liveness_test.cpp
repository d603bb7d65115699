// Cycles formed on purpose: requests and responses in both directions and in loopback want the same receive buffers, egress
// places, response buffers and read tags. Whatever is outstanding, and however few of them there are, everything ends well.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "testbenches/checks/system_laws/workloads.h"

namespace hcasim::metamorphic {
namespace {

void many_reads(setup& s, std::uint64_t size, std::uint32_t qps) {
  s.config.nodes.resize(2);
  s.traffic.mix = {op::read};
  s.traffic.bytes = size;
  s.traffic.qps = qps;
  s.traffic.window = 16;
  s.traffic.region = std::max<std::uint64_t>(size, 64_KiB);
  s.traffic.messages = std::uint64_t{qps} * 48;
}
void loopback(setup& s) {
  many_reads(s, 64_KiB, 1);
  s.traffic.flows = {{0, 0}};
}
void crossing(setup& s) {
  many_reads(s, 16_KiB, 40);
  s.traffic.flows = {{0, 1}, {1, 0}};
}
void everything(setup& s) {
  many_reads(s, 16_KiB, 8);
  s.traffic.mix = {op::read, op::write, op::send};
  s.traffic.flows = {{0, 1}, {1, 0}, {0, 0}, {1, 1}};
}

constexpr workload cycles[] = {{"loopback", loopback}, {"crossing", crossing}, {"everything", everything}};

class liveness : public ::testing::TestWithParam<workload> {};

TEST_P(liveness, ends_well_with_the_smallest_buffers) {
  const workload w = GetParam();
  const std::vector<std::vector<setting>> scarce{
      {},
      {{"node*.hca.responder.buffers", "1"}},
      {{"node*.hca.requester.buffers", "1"}},
      {{"node*.hca.port.egress_packets", "1"}},
      {{"link.buffer", "2 KiB"}},
      {{"node*.hca.dma_engine.read_tags", "1"}},
      {{"node*.hca.dma_engine.write_buffer", "64 B"}},
      {{"node*.hca.responder.buffers", "1"},
       {"node*.hca.requester.buffers", "1"},
       {"node*.hca.port.egress_packets", "1"},
       {"link.buffer", "2 KiB"},
       {"node*.hca.dma_engine.read_tags", "4"}},
  };
  std::vector<experiment> list;
  for (const auto& few : scarce) list.push_back({.of = &w, .settings = few});
  const std::vector<outcome> o = run_all(list);
  for (std::size_t i = 0; i < o.size(); ++i) {
    std::string with;
    for (const setting& s : scarce[i]) with += fmt::format(" {}={}", s.knob, s.value);
    EXPECT_TRUE(o[i].ran()) << w.name << with << ": " << o[i].problem << o[i].refused;
    EXPECT_TRUE(o[i].leak_check.empty()) << w.name << with << ": " << o[i].leak_check.front();
  }
}
INSTANTIATE_TEST_SUITE_P(cycles, liveness, ::testing::ValuesIn(cycles), [](const auto& i) { return i.param.name; });

}  // namespace
}  // namespace hcasim::metamorphic
