// With enough requests outstanding, a latency does not limit the rate. A resource with an interval or a rate reaches this rate,
// but never more.
#include <gtest/gtest.h>

#include <cmath>

#include <fmt/format.h>

#include "testbenches/checks/system_laws/sweep.h"
#include "testbenches/checks/system_laws/workloads.h"
#include "testbenches/program/description/names.h"

namespace hcasim::metamorphic {
namespace {

class saturated : public ::testing::TestWithParam<workload> {};

// Returns the change of the means of 16 interleavings, when one run each does not tell a change from chance.
double change_of_means(const experiment& from, const experiment& to) {
  const auto means = means_of({from, to}, 16);
  const bool ran = means[0].ran() && means[1].ran();
  return ran ? means[1].rate / means[0].rate - 1 : -1;
}

TEST_P(saturated, a_doubled_latency_changes_no_rate) {
  const workload& w = GetParam();
  const auto latencies = doubled_latencies(w, make_ample);
  std::vector<experiment> list{{.of = &w, .adjust = make_ample}};
  for (std::size_t i = 0; i < latencies.size(); ++i) {
    const changed_knob& k = latencies[i];
    if (!full() && !has_its_turn(k.knob, w)) continue;
    list.push_back({.of = &w, .settings = {{k.knob, k.to}}, .adjust = make_ample});
  }
  const auto outcomes = run_all(list);
  ASSERT_TRUE(outcomes[0].ran()) << outcomes[0].problem << outcomes[0].refused;
  for (std::size_t i = 1; i < list.size(); ++i) {
    const outcome& o = outcomes[i];
    if (!o.refused.empty()) continue;
    double change = o.rate / outcomes[0].rate - 1;
    if (o.ran() && std::abs(change) > 0.02) change = change_of_means(list[0], list[i]);
    EXPECT_TRUE(o.ran() && std::abs(change) <= 0.02)
        << "a_doubled_latency_changes_no_rate, " << w.name << ": " << list[i].settings[0].knob << " to "
        << list[i].settings[0].value
        << fmt::format(": {:.4f} to {:.4f} M/s ({:+.1f} %) {}", outcomes[0].rate / 1e6, o.rate / 1e6, change * 100, o.problem);
  }
}

TEST_P(saturated, nothing_is_busy_for_longer_than_there_is_time) {
  const workload& w = GetParam();
  const auto outcomes = run_all({{.of = &w}, {.of = &w, .adjust = make_ample}});
  for (const outcome& o : outcomes) {
    ASSERT_TRUE(o.ran()) << o.problem << o.refused;
    for (const auto& [name, share] : o.busy) {
      EXPECT_LE(share, 1 + 1e-6) << fmt::format("nothing_is_busy_for_longer_than_there_is_time, {}: {} is {:.4f}", w.name, name,
                                                share);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(law, saturated, ::testing::ValuesIn(workloads().begin(), workloads().end()),
                         [](const auto& i) { return std::string(i.param.name); });

// A unit that alone binds, since its knob is slower than anything else.
struct bound {
  const char* name;
  const char* workload_name;
  const char* knob;
  const char* value;
  ps interval;                    // from one to the next
  std::vector<const char*> what;  // the counters of the unit's operations
  std::vector<setting> also = {};
};
void PrintTo(const bound& b, std::ostream* out) {  // NOLINT(readability-identifier-naming): GoogleTest's
  *out << b.name;
}

constexpr ps period{2500};

const std::vector<bound>& bounds() {
  static const std::vector<bound> list = {
      {"doorbells",
       "doorbells",
       "node*.hca.doorbell.interval",
       "80 cycles",
       period * 80,
       {"node0.hca.doorbell.*_doorbells"},
       {{"node*.hca.doorbell.coalesce", "false"},
        {"node*.driver.blueflame", "never"},
        {"node*.hca.doorbell.fifo_depth", "4096"}}},
      {"wqes", "small_writes", "node*.hca.send_queue.issue_interval", "80 cycles", period * 80, {"node0.hca.send_queue.wqes"}},
      {"messages",
       "small_writes",
       "node*.hca.requester.message_interval",
       "80 cycles",
       period * 80,
       {"node0.hca.requester.operations"}},
      {"request_packets",
       "small_writes",
       "node*.hca.requester.packet_interval",
       "80 cycles",
       period * 80,
       {"node0.hca.requester.packets"}},
      {"responder_packets",
       "small_writes",
       "node*.hca.responder.packet_interval",
       "80 cycles",
       period * 80,
       {"node1.hca.responder.packets"}},
      {"responder_reads",
       "small_reads",
       "node*.hca.responder.packet_interval",
       "40 cycles",
       period * 80,
       {"node1.hca.responder.packets"}},
      {"checks",
       "small_writes",
       "node*.hca.key_check.interval",
       "80 cycles",
       period * 80,
       {"node0.hca.key_check.local_*", "node0.hca.key_check.remote_*"}},
      {"changes", "binds", "node*.hca.window_unit.interval", "160 cycles", period * 160, {"node0.hca.window_unit.bind*"}},
      {"translations",
       "small_writes",
       "node*.hca.page_walker.issue_interval",
       "80 cycles",
       period * 80,
       {"node0.hca.page_walker.hits", "node0.hca.page_walker.misses", "node0.hca.page_walker.merged",
        "node0.hca.page_walker.physical"}},
      {"bursts",
       "small_writes",
       "node*.hca.dma_engine.issue_interval",
       "80 cycles",
       period * 80,
       {"node0.hca.dma_engine.read_bursts", "node0.hca.dma_engine.write_bursts"}},
      {"completions",
       "small_writes",
       "node*.hca.completion.cqe_interval",
       "80 cycles",
       period * 80,
       {"node0.hca.completion.cqes"}},
      {"packets_out",
       "small_writes",
       "node*.hca.port.egress_interval",
       "80 cycles",
       period * 80,
       {"node0.hca.port.egress_packets"}},
      {"packets_in",
       "small_writes",
       "node*.hca.port.ingress_interval",
       "80 cycles",
       period * 80,
       {"node1.hca.port.ingress_packets"}},
      {"qp_contexts",
       "small_writes",
       "node*.hca.qpc_cache.issue_interval",
       "80 cycles",
       period * 80,
       {"node0.hca.qpc_cache.hits", "node0.hca.qpc_cache.misses", "node0.hca.qpc_cache.merged"}},
      {"cq_contexts",
       "small_writes",
       "node*.hca.cqc_cache.issue_interval",
       "80 cycles",
       period * 80,
       {"node0.hca.cqc_cache.hits", "node0.hca.cqc_cache.misses", "node0.hca.cqc_cache.merged"}},
      {"key_contexts",
       "small_writes",
       "node*.hca.mrc_cache.issue_interval",
       "80 cycles",
       period * 80,
       {"node0.hca.mrc_cache.hits", "node0.hca.mrc_cache.misses", "node0.hca.mrc_cache.merged"}},
      {"io_translations", "behind_iommu", "node*.iommu.issue_interval", "100 ns", ps(100'000), {"node0.iommu.bursts"}},
      {"own_translations",
       "own_translations",
       "node*.hca.atc.issue_interval",
       "40 cycles",
       period * 40,
       {"node0.hca.atc.bursts"}},
      {"blueflame_lines",
       "doorbells",
       "node*.hca.doorbell.blueflame_lines",
       "5 MHz",
       ps(200'000),
       {"node0.hca.doorbell.blueflame_lines"},
       {{"node*.hca.doorbell.blueflame_stall", "true"}}},
  };
  return list;
}

class reaches_its_rate : public ::testing::TestWithParam<bound> {};

TEST_P(reaches_its_rate, as_the_only_bottleneck) {
  const bound& b = GetParam();
  experiment e{.of = &workload_named(b.workload_name), .settings = b.also, .adjust = make_ample, .with_counts = true};
  e.settings.push_back({b.knob, b.value});
  const outcome o = run_all({e})[0];
  ASSERT_TRUE(o.ran()) << o.problem << o.refused;
  double served = 0;
  for (const auto& [name, n] : o.counts) {
    for (const char* pattern : b.what) served += glob_match(pattern, name) ? n : 0;
  }
  const double each = served / static_cast<double>(o.messages);
  const double share = o.rate * each * to_seconds(b.interval);
  const std::string line = fmt::format("reaches_its_rate, {}, {} = {}: {:.4f} M/s with {:.3f} each are {:.2f} % of what it can",
                                       b.workload_name, b.knob, b.value, o.rate / 1e6, each, share * 100);
  EXPECT_GE(share, 0.95) << line;
  EXPECT_LE(share, 1.01) << line;  // the slope tells the rate within 1 %
}

INSTANTIATE_TEST_SUITE_P(law, reaches_its_rate, ::testing::ValuesIn(bounds()),
                         [](const auto& i) { return std::string(i.param.name); });

// A rate as a bound: the share of the time that its transfers took.
struct bound_rate {
  const char* name;
  const char* workload_name;
  setting slow;
  const char* busy;
};
void PrintTo(const bound_rate& b, std::ostream* out) {  // NOLINT(readability-identifier-naming): GoogleTest's
  *out << b.name;
}
class fills_its_rate : public ::testing::TestWithParam<bound_rate> {};

TEST_P(fills_its_rate, as_the_only_bottleneck) {
  const bound_rate& b = GetParam();
  const outcome o = run_all({{.of = &workload_named(b.workload_name), .settings = {b.slow}, .adjust = make_ample}})[0];
  ASSERT_TRUE(o.ran()) << o.problem << o.refused;
  ASSERT_TRUE(o.busy.contains(b.busy)) << b.busy;
  const double share = o.busy.at(b.busy);
  const std::string line =
      fmt::format("fills_its_rate, {}, {} = {}: {} is {:.4f}", b.workload_name, b.slow.knob, b.slow.value, b.busy, share);
  EXPECT_GE(share, 0.95) << line;
  EXPECT_LE(share, 1 + 1e-6) << line;
}

const bound_rate rates[] = {
    {"link", "bulk_writes", {"link.rate", "20 Gb/s"}, "link0.end0_utilisation"},
    {"small_packets", "small_writes", {"link.rate", "10 Gb/s"}, "link0.end0_utilisation"},
    {"pcie_writes", "bulk_writes", {"node*.pcie.lanes", "4"}, "node1.pcie.device0_up_utilisation"},
    {"pcie_reads", "bulk_writes", {"node*.pcie.lanes", "4"}, "node0.pcie.device0_down_utilisation"},
    {"memory", "bulk_writes", {"node*.host.memory_bandwidth", "20 Gb/s"}, "node1.host.memory_busy"},
    {"peer_reads", "peer_memory", {"node*.peer0.read_rate", "8 Gb/s"}, "node1.peer0.read_busy"},
    {"peer_writes", "peer_memory", {"node*.peer0.write_rate", "8 Gb/s"}, "node1.peer0.write_busy"},
};

INSTANTIATE_TEST_SUITE_P(law, fills_its_rate, ::testing::ValuesIn(rates),
                         [](const auto& i) { return std::string(i.param.name); });

}  // namespace
}  // namespace hcasim::metamorphic
