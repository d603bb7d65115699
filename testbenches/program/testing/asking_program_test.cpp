// Cost of a configuration, metrics of cost, breakdown and series, and the warm-up of message_rate, through the program.
#include <cmath>
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "testbenches/program/places/places.h"
#include "testbenches/program/study/results.h"
#include "testbenches/program/testing/own_folder.h"
#include "testbenches/program/testing/run_program.h"

namespace hcasim {
namespace {

using nlohmann::json;

class asking_program : public test_in_own_folder {
 protected:
  static outcome hcasim(const std::string& arguments) { return run_program(places::program, arguments); }
  static json result_of(const std::string& arguments) {
    const outcome o = hcasim(fmt::format("run {} -o out --force --no-trace --json", arguments));
    EXPECT_EQ(o.status, 0) << o.text;
    return json::parse(o.text, nullptr, false);
  }
  // Returns the units of the cost.
  static json cost_of(const std::string& settings) { return result_of("ping --cost " + settings)["cost"]["units"]; }
  static json memory(const json& units, const std::string& unit, const std::string& name) {
    for (const json& m : units[unit]["memories"]) {
      if (m["name"] == name) return m;
    }
    return nullptr;
  }
};

TEST_F(asking_program, cost_is_entries_times_width) {
  const json units = cost_of("");
  const json entries = memory(units, "node1.hca.mrc_cache", "entries");
  EXPECT_EQ(entries["bits"], 64 * 4 * 64 * 8) << "256 contexts of 64 bytes";
  const json tags = memory(units, "node1.hca.mrc_cache", "tags");
  EXPECT_EQ(tags["entry_bits"], 22 - 6) << "2^22 keys, 64 sets";
  EXPECT_EQ(tags["kind"], "tag");
  EXPECT_EQ(memory(units, "node1.hca.mrc_cache", "replacement")["bits"], 64 * 4 * 2);
  EXPECT_EQ(memory(units, "node1.hca.qpc_cache", "entries")["entry_bits"], 256 * 8);
  EXPECT_EQ(memory(units, "node0.hca.page_walker", "leaves")["bits"], 256 * 4 * 64 * 8);
  EXPECT_EQ(memory(units, "node0.hca.requester", "buffers")["bits"], 256 * 4096 * 8);
  EXPECT_EQ(memory(units, "node0.hca.doorbell", "fifo_numbers")["kind"], "CAM");
  EXPECT_FALSE(units.contains("node0.hca.atc")) << "it is not there";
  std::uint64_t sum = 0;
  for (const json& m : units["node1.hca.mrc_cache"]["memories"]) sum += m["bits"].get<std::uint64_t>();
  EXPECT_EQ(units["node1.hca.mrc_cache"]["bits"], sum);

  const json other = cost_of(
      "--set 'node1.hca.mrc_cache.sets=1' --set 'node1.hca.mrc_cache.policy=plru' "
      "--set 'node*.hca.icm.check=secded' --set 'node*.hca.doorbell.coalesce=false'");
  EXPECT_EQ(memory(other, "node1.hca.mrc_cache", "entries")["entry_bits"], 64 * 8 / 32 * 39)
      << "seven bits for each word of 32";
  EXPECT_EQ(memory(other, "node1.hca.mrc_cache", "tags")["kind"], "CAM") << "one set is searched as a whole";
  EXPECT_EQ(memory(other, "node1.hca.mrc_cache", "tags")["entry_bits"], 22);
  EXPECT_EQ(memory(other, "node1.hca.mrc_cache", "replacement")["bits"], 3);
  EXPECT_EQ(memory(other, "node0.hca.doorbell", "fifo_numbers")["kind"], "data");

  const std::string text = hcasim("run ping --cost -o out --force --no-trace").text;
  EXPECT_NE(text.find("  node*.hca.mrc_cache "), std::string::npos) << text;
  EXPECT_EQ(text.find("  node1.hca.mrc_cache "), std::string::npos) << "nodes that are alike are one";
}

TEST_F(asking_program, cost_breakdown_and_series_are_metrics) {
  const auto study = [](const std::string& metrics, const std::string& base = "") {
    std::ofstream("s.yaml") << "base: {testbench: message_rate, parameters: {messages: 500}" + base +
                                   "}\naxes:\n  sets: {knob: node1.hca.mrc_cache.sets, values: [32, 64]}\nmetrics:\n" + metrics;
  };
  study(
      "  bits: {cost: node1.hca.mrc_cache}\n  all: {cost: total}\n  whole: {explain: RC WRITE}\n"
      "  fetch: {explain: RC WRITE, step: 'send_queue, WQE fetch', kind: PCIe}\n"
      "  busiest: {series: node1.hca.mrc_cache.hits, of: max}\n  hits: {series: node1.hca.mrc_cache.hits, of: last}\n",
      ", statistics.interval: 20 us");
  const outcome o = hcasim("sweep s.yaml -o study");
  ASSERT_EQ(o.status, 0) << o.text;
  const json run = result_of("message_rate --messages 500 --cost --explain");
  result_file f = result_file::open("study/results.sqlite", false);
  std::vector<std::vector<std::string>> rows;
  f.query("SELECT bits, \"all\", whole, fetch, busiest, hits FROM results ORDER BY id",
          [&](const auto& row) { rows.push_back(row); });
  EXPECT_LT(std::stoull(rows[0][0]), std::stoull(rows[1][0]));
  EXPECT_EQ(std::stoull(rows[1][0]), run["cost"]["units"]["node1.hca.mrc_cache"]["bits"].get<std::uint64_t>());
  EXPECT_EQ(std::stoull(rows[1][1]), run["cost"]["total_bits"].get<std::uint64_t>());
  const json write = run["explain"]["waterfalls"][0];
  EXPECT_NEAR(std::stod(rows[1][2]), write["total_ns"].get<double>(), 1e-6) << "a series does not change the run";
  double fetch = 0;
  for (const json& s : write["steps"]) fetch += s["unit"] == "send_queue, WQE fetch" ? s["ns"].get<double>() : 0;
  EXPECT_NEAR(std::stod(rows[1][3]), fetch, 1e-6);
  EXPECT_GT(std::stod(rows[1][4]), 0);
  EXPECT_GE(std::stod(rows[1][4]), std::stod(rows[1][5]));

  const auto refused = [&](const std::string& metric, const std::string& message) {
    study("  x: {" + metric + "}\n");
    const outcome r = hcasim("sweep s.yaml -o refused");
    EXPECT_EQ(r.status, 2);
    EXPECT_NE(r.text.find(message), std::string::npos) << r.text;
  };
  refused("cost: node1.hca.mrc_cahce", "did you mean 'node1.hca.mrc_cache'?");
  refused("explain: RC WRIET", "did you mean 'RC WRITE'?");
  refused("explain: RC WRITE, step: 'send_queue, WQE fecth'", "did you mean 'send_queue, WQE fetch'?");
  refused("series: node1.hca.mrc_cache.hits",
          "a series needs its interval; write in the base for example statistics.interval: 10 us");
  refused("explain: RC WRITE, kind: PCIe", "metrics.x.kind: a kind is one of a step; add 'step: UNIT'");
  study("  x: {series: node1.hca.mrc_cache.htis}\n", ", statistics.interval: 20 us");
  EXPECT_NE(hcasim("sweep s.yaml -o refused").text.find("did you mean"), std::string::npos);
}

TEST_F(asking_program, a_node_that_a_point_does_not_have_leaves_its_metrics_empty) {
  const auto sweep = [](const std::string& nodes, const std::string& metric) {
    std::ofstream("s.yaml")
        << "base: {testbench: schedule, parameters: {size: 64 KiB}}\naxes:\n  hosts: {knob: nodes, values: " + nodes +
               "}\nmetrics:\n  time: {figure: operation_time}\n  x: " + metric + "\n";
    std::filesystem::remove_all("study");
    return hcasim("sweep s.yaml -o study");
  };
  for (const char* const metric : {"{statistic: node2.hca.port.ingress_bytes}", "{cost: node2.hca.mrc_cache}",
                                   "{resource: node2.pcie.device0_up_utilisation}"}) {
    for (const char* const nodes : {"[2, 3]", "[3, 2]"}) {
      const outcome o = sweep(nodes, metric);
      EXPECT_EQ(o.status, 0) << o.text;
      result_file f = result_file::open("study/results.sqlite", false);
      std::vector<std::string> values;
      f.query("SELECT x FROM results ORDER BY hosts", [&](const auto& row) { values.push_back(row[0]); });
      ASSERT_EQ(values.size(), 2U);
      EXPECT_EQ(values[0], "");
      EXPECT_NE(values[1], "");
    }
  }
  const outcome o = sweep("[2, 3]", "{statistic: node3.hca.port.ingress_bytes}");
  EXPECT_EQ(o.status, 2) << o.text;
  EXPECT_NE(o.text.find("s.yaml:6:3: metrics.x: no point has a node3; the first node is node0"), std::string::npos) << o.text;
}

TEST_F(asking_program, a_cold_cache_is_marked_and_warm_up_auto_fills_it) {
  const std::string run =
      "message_rate --messages 2000 --order random --regions 2000 --set node1.hca.mrc_cache.ways={} --warm_up {}";
  const auto hit_ratio = [](const json& r) {
    return r["statistics"]["system.node1.hca.mrc_cache"]["hit_ratio"]["value"].get<double>();
  };
  const json cold = result_of(fmt::format(fmt::runtime(run), 64, 300));
  ASSERT_TRUE(cold.contains("filling")) << "4096 places for 2000 keys, of which 300 messages have met a part";
  EXPECT_NE(cold["filling"].dump().find("\"node1.hca.mrc_cache\""), std::string::npos);
  EXPECT_LT(hit_ratio(cold), 0.9);
  const json warm = result_of(fmt::format(fmt::runtime(run), 64, "auto"));
  EXPECT_FALSE(warm.contains("filling")) << warm["filling"].dump();
  EXPECT_EQ(warm["figures"]["steady"]["value"], 1);
  EXPECT_GE(warm["figures"]["warm_up"]["value"], 2000 * std::log(100)) << "until 1 % of the keys are new";
  EXPECT_GT(hit_ratio(warm), 0.985);
  // A small cache is full at once, and its ratio is that of a random stream: entries over keys.
  const json small = result_of(fmt::format(fmt::runtime(run), 2, "auto"));
  EXPECT_EQ(small["figures"]["steady"]["value"], 1);
  EXPECT_LT(small["figures"]["warm_up"]["value"], warm["figures"]["warm_up"]["value"]);
  EXPECT_NEAR(hit_ratio(small), 128.0 / 2000, 0.03);
  const outcome text = hcasim("run " + fmt::format(fmt::runtime(run), 64, 300) + " -o out --force --no-trace");
  EXPECT_NE(text.text.find("filling     node1.hca.mrc_cache: "), std::string::npos) << text.text;
  std::ofstream("s.yaml")
      << "base: {testbench: message_rate, parameters: {messages: 2000, order: random, regions: 2000, warm_up: 300}}\n"
         "axes:\n  ways: {knob: node1.hca.mrc_cache.ways, values: [2, 64]}\nmetrics:\n  r: {figure: message_rate}\n";
  EXPECT_NE(hcasim("sweep s.yaml -o study").text.find(" points measured a cache that was still filling, point "),
            std::string::npos);
  ASSERT_EQ(hcasim("report study --html page.html").status, 0);
  EXPECT_NE(file_content("page.html").find("<h2>Cold caches</h2>"), std::string::npos);
  const outcome bad = hcasim("run message_rate -o bad --warm_up soon");
  EXPECT_EQ(bad.status, 2);
  EXPECT_NE(bad.text.find("parameters.warm_up: 'soon' is no number of messages"), std::string::npos) << bad.text;
  EXPECT_NE(bad.text.find(", or auto"), std::string::npos) << bad.text;
}

// The interval holds the rate of a run that is many times as long, with every way in which messages follow one another.
TEST_F(asking_program, a_rate_is_measured_until_it_is_known) {
  for (const char* const stream :
       {"", "--qps 8 --window 32 --order random --regions 512 --warm_up auto", "--outstanding 64 --qps 16 --size '1 KiB'",
        "--batch 4 --window 32 --param starts=1 --param operation=read"}) {
    const json whole = result_of(fmt::format("message_rate --messages 60000 {}", stream));
    const json part = result_of(fmt::format("message_rate --messages 60000 --param until=steady --precision 0.02 {}", stream));
    const auto rate = [](const json& r) { return r["figures"]["message_rate"]["value"].get<double>(); };
    EXPECT_EQ(part["passed"], true) << stream;
    EXPECT_LE(part["figures"]["known_to"]["value"].get<double>(), 2) << stream;
    EXPECT_LT(part["figures"]["measured"]["value"].get<double>(), 15000) << stream;
    EXPECT_NEAR(rate(part), rate(whole), 0.03 * rate(whole)) << stream;
    // Statistics are those of the measured messages.
    const double sent = part["statistics"]["system.node0.hca.requester"]["packets"]["value"].get<double>();
    EXPECT_GE(sent, part["figures"]["measured"]["value"].get<double>()) << stream;
  }
}

TEST_F(asking_program, a_rate_that_is_not_known_fails_the_run) {
  const outcome o = hcasim(
      "run message_rate --no-trace -o out --qps 8 --window 32 --order random --regions 4096 --messages 4000 --param "
      "until=steady "
      "--precision 0.001");
  EXPECT_EQ(o.status, 1);
  EXPECT_NE(o.text.find("the message rate is not steady within 0.1 % after 4"), std::string::npos) << o.text;
  const auto refused = [&](const std::string& options, const std::string& message) {
    const outcome r = hcasim("run message_rate --no-trace -o refused " + options);
    EXPECT_EQ(r.status, 2) << options;
    EXPECT_NE(r.text.find(message), std::string::npos) << r.text;
  };
  refused("--precision 0.02", "parameters.precision: has no effect without until: steady");
  refused("--param until=steady --starts 2", "parameters.starts: until: steady measures one part");
  refused("--param until=steady --messages 767", "parameters.messages: until: steady needs 768 messages or more");
}

}  // namespace
}  // namespace hcasim
