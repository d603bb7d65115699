// Runs in which one resource is visited twice by each operation, or by two roles of a unit: where serving in the order of calls
// once made more of a resource several times slower.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "testbenches/checks/system_laws/workloads.h"

namespace hcasim::metamorphic {
namespace {

std::string with_rates(const char* law, const workload& w, const std::string& knob, const std::vector<std::string>& values,
                       const std::vector<outcome>& o) {
  std::string text = fmt::format("{}, {}: {}", law, w.name, knob);
  for (std::size_t i = 0; i < values.size(); ++i) {
    text += fmt::format("{} {}: {:.4f}{}", i ? "," : ":", values[i], o[i].rate / 1e6, o[i].problem);
  }
  return text + " M/s";
}

// For each value, the mean of so many interleavings.
std::vector<outcome> runs(const workload& w, const std::string& knob, const std::vector<std::string>& values,
                          unsigned interleavings = 1) {
  std::vector<experiment> list;
  for (const std::string& v : values) list.push_back({.of = &w, .settings = {{knob, v}}});
  return means_of(list, interleavings);
}

void never_falls(const workload& w, const std::string& knob, const std::vector<std::string>& values) {
  const auto o = runs(w, knob, values);
  double best = 0;
  for (const outcome& one : o) {
    EXPECT_TRUE(one.ran() && one.rate >= 0.99 * best) << with_rates("contention", w, knob, values, o);
    best = std::max(best, one.rate);
  }
}

TEST(contention, reads_with_more_response_buffers) {
  never_falls(workload_named("small_reads"), "node*.hca.responder.buffers", {"32", "64", "128", "256"});
}
TEST(contention, writes_with_more_read_tags) {
  never_falls(workload_named("costly_software"), "node*.hca.dma_engine.read_tags", {"4", "16", "64"});
}
TEST(contention, reads_with_a_longer_way_through_the_responder) {
  const workload& w = workload_named("all_to_all");
  const std::vector<std::string> values{"0 cycles", "20 cycles", "60 cycles"};
  const auto o = runs(w, "node*.hca.responder.packet_latency", values);
  for (const outcome& one : o) {
    EXPECT_TRUE(one.ran() && std::abs(one.rate / o[0].rate - 1) <= 0.02)
        << with_rates("contention", w, "node*.hca.responder.packet_latency", values, o);
  }
}
// The WQEs of the next messages come in time, however many messages' payload has been asked for.
TEST(contention, writes_with_more_send_queue_units) {
  never_falls(workload_named("small_writes"), "node*.hca.send_queue.units", {"4", "16", "64"});
}
// A small cache of translations makes this traffic go by fits and starts: means tell.
TEST(contention, bursts_with_longer_look_ups_of_their_translations) {
  const workload& w = workload_named("own_translations");
  const std::vector<std::string> values{"2 cycles", "8 cycles", "32 cycles"};
  const auto o = runs(w, "node*.hca.atc.hit_latency", values, 16);
  for (const outcome& one : o) {
    EXPECT_TRUE(one.ran() && std::abs(one.rate / o[0].rate - 1) <= 0.03)
        << with_rates("contention", w, "node*.hca.atc.hit_latency", values, o);
  }
}
TEST(contention, atomics_with_more_read_tags) {
  never_falls(workload_named("atomics"), "node*.hca.dma_engine.read_tags", {"16", "32", "64", "128", "256"});
}
TEST(contention, atomics_with_more_locks) {
  never_falls(workload_named("atomics"), "node*.hca.dma_engine.atomic_buckets", {"64", "256", "1024", "4096"});
}

}  // namespace
}  // namespace hcasim::metamorphic
