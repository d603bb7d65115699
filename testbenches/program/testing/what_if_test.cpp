// hcasim run --what-if names the one thing of which a machine has too little.
#include <algorithm>
#include <map>
#include <regex>
#include <set>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "testbenches/program/places/places.h"
#include "testbenches/program/testing/own_folder.h"
#include "testbenches/program/testing/run_program.h"

namespace hcasim {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

outcome real_hcasim(const std::string& arguments) {
  return run_program(places::program, arguments);
}
json result_of(const std::string& arguments) {
  const outcome o = real_hcasim(fmt::format("run {} --no-trace --json", arguments));
  EXPECT_EQ(o.status, 0) << o.text;
  return json::parse(o.text, nullptr, false);
}

struct shortage {
  const char* name;
  const char* arguments;  // arguments of message_rate
  const char* knob;       // or the unit, where two of its knobs do the same
};

std::ostream& operator<<(std::ostream& out, const shortage& s) {
  return out << s.name;
}

class what_if_finds : public test_in_own_folder, public ::testing::WithParamInterface<shortage> {};

TEST_P(what_if_finds, the_planted_bottleneck) {
  const json r = result_of(fmt::format("message_rate -o out --what-if {}", GetParam().arguments));
  const json& w = r["what_if"];
  const std::string found = w["binding"];
  EXPECT_TRUE(found.starts_with(GetParam().knob)) << w.dump(1);
  EXPECT_EQ(w["gains"][0]["relieved"], found);
  EXPECT_GT(w["gains"][0]["gain"].get<double>(), 0.4);
  for (std::size_t i = 1; i < w["gains"].size(); ++i) {
    if (!w["gains"][i].contains("gain")) continue;
    EXPECT_LE(w["gains"][i]["gain"].get<double>(), w["gains"][i - 1]["gain"].get<double>() + 0.001);
  }
}

INSTANTIATE_TEST_SUITE_P(
    shortages, what_if_finds,
    ::testing::Values(
        shortage{"link_rate", "--messages 60 --size 4KiB --set link.rate=1Gb/s", "link.rate"},
        shortage{"read_depth", "--messages 1000 --operation read --window 128 --set node*.hca.command_unit.max_read_depth=4",
                 "node*.hca.command_unit.max_read_depth"},
        shortage{"one_walker",
                 "--messages 500 --qps 32 --order random --region 128MiB --page 4KiB --set node1.hca.page_walker.walkers=1",
                 "node*.hca.page_walker.walkers"},
        shortage{"two_read_tags", "--messages 500 --qps 16 --set node0.hca.dma_engine.read_tags=2",
                 "node*.hca.dma_engine.read_tags"},
        shortage{"pcie_gen1_x1", "--messages 100 --size 4KiB --set node*.pcie.generation=1 --set node*.pcie.lanes=1",
                 "node*.pcie."},
        shortage{"responder_interval", "--messages 200 --set node1.hca.responder.packet_interval=200cycles",
                 "node*.hca.responder.packet_interval"},
        shortage{"link_credits", "--messages 100 --size 1KiB --window 32 --set link.propagation=2us --set link.buffer=2KiB",
                 "link.buffer"},
        shortage{"wqe_cache",
                 "--messages 600 --qps 4 --window 64 --set node0.hca.send_queue.wqe_cache=64 --set link.propagation=5us",
                 "node*.hca.send_queue.wqe_cache"},
        shortage{"cqe_interval", "--messages 200 --set node0.hca.completion.cqe_interval=200cycles",
                 "node*.hca.completion.cqe_interval"},
        shortage{"key_check_interval", "--messages 200 --set node1.hca.key_check.interval=200cycles",
                 "node*.hca.key_check.interval"},
        shortage{"host_memory", "--messages 60 --size 4KiB --set node1.host.memory_bandwidth=1Gb/s",
                 "node*.host.memory_bandwidth"},
        shortage{"requester_interval", "--messages 200 --set node0.hca.requester.packet_interval=200cycles",
                 "node*.hca.requester.packet_interval"},
        shortage{"software", "--messages 200 --set node0.driver.post_wqe=2us", "node*.driver.post_wqe"}),
    [](const auto& of) { return std::string(of.param.name); });

class what_if_program : public test_in_own_folder {};

TEST_F(what_if_program, the_bottleneck_is_printed_only_after_a_trial) {
  const std::string run =
      "run message_rate -o out --force --no-trace --messages 200 --set node1.hca.responder.packet_interval=200cycles ";
  const outcome plain = real_hcasim(run + "--explain");
  EXPECT_EQ(plain.text.find("binding"), std::string::npos) << plain.text;
  EXPECT_NE(plain.text.find("busiest     node1.hca.responder engine_busy, "), std::string::npos) << plain.text;
  EXPECT_NE(plain.text.find("; --what-if finds the bottleneck\n"), std::string::npos) << plain.text;
  const outcome tried = real_hcasim(run + "--explain --what-if");
  EXPECT_NE(tried.text.find("binding     node*.hca.responder.packet_interval, each halved: message_rate "), std::string::npos)
      << tried.text;
  EXPECT_NE(tried.text.find("where the time went"), std::string::npos) << tried.text;
  EXPECT_EQ(real_hcasim(run + "--what-if").text.find("where the time went"), std::string::npos);
  // Relieving a busy but not binding resource gains nothing, and the program says so.
  const outcome other = real_hcasim(run + "--what-if mrc_cache");
  EXPECT_NE(other.text.find("binding     none of the tried changes: no gain reaches 1 %"), std::string::npos) << other.text;
}

TEST_F(what_if_program, leaves_the_run_as_it_is_and_nothing_else_behind) {
  const std::string run = "message_rate --messages 300 --set node0.hca.dma_engine.read_tags=2 ";
  json plain = result_of(run + "-o plain");
  json first = result_of(run + "-o first --what-if dma_engine");
  const json second = result_of(run + "-o second --what-if dma_engine");
  EXPECT_EQ(first, second);
  EXPECT_EQ(first, json::parse(file_content("first/result.json")));
  EXPECT_EQ(first["what_if"]["headlines"][0]["value"], plain["figures"]["message_rate"]["value"]);
  first.erase("what_if");
  EXPECT_EQ(first, plain);
  for (const auto& e : fs::recursive_directory_iterator(fs::current_path())) {
    EXPECT_EQ(e.path().filename().string().find("what-if"), std::string::npos) << e.path();
    EXPECT_EQ(e.path().filename().string().find("partial"), std::string::npos) << e.path();
  }
}

TEST_F(what_if_program, a_pattern_or_a_resource_chooses_what_is_tried) {
  const auto tried = [](const std::string& pattern) {
    std::vector<std::string> names;
    const json r = result_of(fmt::format("ping -o out --force --what-if '{}'", pattern));
    for (const auto& g : r["what_if"]["gains"]) names.push_back(g["relieved"]);
    for (const auto& g : r["what_if"]["latencies"]["gains"]) names.push_back(g["relieved"]);
    std::sort(names.begin(), names.end());
    return names;
  };
  using list = std::vector<std::string>;
  EXPECT_EQ(tried("read_tags"), list{"node*.hca.dma_engine.read_tags"});
  EXPECT_EQ(tried("node1.hca.page_walker walkers_busy"), list{"node1.hca.page_walker.walkers"});
  EXPECT_EQ(tried("link0.end0_utilisation"), (list{"link.buffer", "link.propagation", "link.rate"}));
  EXPECT_EQ(tried("link.*"), (list{"link.buffer", "link.propagation", "link.rate"}));
  EXPECT_EQ(tried("node0.hca.requester").size(), 7U);
}

TEST_F(what_if_program, tries_every_knob) {
  const json w = result_of("ping -o out --what-if '*'")["what_if"];
  std::set<std::string> tried;
  for (const auto& g : w["gains"]) tried.insert(g["relieved"].get<std::string>());
  for (const auto& g : w["latencies"]["gains"]) {
    const std::string name = g["relieved"];
    EXPECT_TRUE(tried.insert(name).second) << name << " is in both lists";
    EXPECT_FALSE(name.ends_with("interval")) << name;
  }
  EXPECT_GT(tried.size(), 120U);
  for (const auto& g : w["gains"]) EXPECT_FALSE(g["relieved"].get<std::string>().ends_with("latency")) << g["relieved"];
  EXPECT_TRUE(tried.contains("node*.hca.clock"));
  EXPECT_TRUE(tried.contains("switch.latency"));
  // Every interval, latency, cost and rate that is not at its limit takes part: none is forgotten by its name.
  const json knobs = json::parse(real_hcasim("params --json").text);
  for (const auto& k : knobs) {
    const std::string path = k["path"];
    const std::string value = k["default"];
    const bool timing =
        path.ends_with("interval") || path.ends_with("latency") || path.ends_with("_cost") || path.ends_with("rate");
    const bool least = value == k["range"].get<std::string>().substr(0, k["range"].get<std::string>().find(" to "));
    const bool of_machine = !path.starts_with("statistics.");  // observers are not relieved
    if (timing && of_machine && !least && value.front() != '0') {
      EXPECT_TRUE(tried.contains(path)) << path << " " << value;
    }
  }
}

TEST_F(what_if_program, a_point_of_a_study_and_a_run_without_a_headline) {
  std::ofstream("s.yaml") << "base: {testbench: message_rate, parameters: {messages: 100}}\n"
                             "axes: {interval: {knob: node1.hca.responder.packet_interval, values: [3 cycles, 300 cycles]}}\n"
                             "metrics: {rate: {figure: message_rate}}\n";
  const json w = result_of("s.yaml --point 2 -o out --what-if responder")["what_if"];
  EXPECT_EQ(w["binding"], "node*.hca.responder.packet_interval");
  const json t =
      result_of("random_traffic --operations 100 -o out2 --what-if link.propagation --set link.propagation=5us")["what_if"];
  EXPECT_EQ(t["headlines"][0]["name"], "simulated time");
  EXPECT_EQ(t["headlines"][0]["better"], "low");
  EXPECT_TRUE(t["gains"].empty());
  EXPECT_EQ(t["latencies"]["gains"][0]["relieved"], "link.propagation");
  EXPECT_GT(t["latencies"]["gains"][0]["gain"].get<double>(), 0);
}

TEST_F(what_if_program, the_report_of_a_study_that_asks_for_it_shows_it) {
  std::ofstream("s.yaml") << "base: {testbench: message_rate, parameters: {messages: 100}}\n"
                             "axes: {interval: {knob: node1.hca.responder.packet_interval, values: [3 cycles, 300 cycles]}}\n"
                             "metrics: {rate: {figure: message_rate}}\nwhat_if: packet_interval\n";
  const outcome sweep = real_hcasim("sweep s.yaml -o out");
  ASSERT_EQ(sweep.status, 0) << sweep.text;
  static const std::regex bound(
      R"(interval +rate +binding *\n +3 cycles +[0-9.]+ +- *\n +300 cycles +[0-9.]+ +node\*\.hca\.responder\.packet_interval *\n)");
  EXPECT_TRUE(std::regex_search(sweep.text, bound)) << sweep.text;
  const json report = json::parse(real_hcasim("report out --json").text);
  ASSERT_EQ(report["what_if"].size(), 2U);
  EXPECT_TRUE(report["what_if"][0]["binding"].is_null());
  EXPECT_EQ(report["what_if"][1]["axes"]["interval"], "300 cycles");
  EXPECT_EQ(report["what_if"][1]["binding"], "node*.hca.responder.packet_interval");
  const std::string page = file_content("out/report.html");
  EXPECT_NE(page.find("<h2>What relieving each resource gains</h2>"), std::string::npos);
  EXPECT_NE(page.find("<td>3 cycles</td><td>no tried change gains 1 %</td>"), std::string::npos);
  EXPECT_NE(page.find("<td>300 cycles</td><td>node*.hca.responder.packet_interval</td><td>each halved</td>"),
            std::string::npos);
  // A run of the point alone says the same.
  const json alone = result_of("s.yaml --point 2 -o alone --what-if packet_interval");
  EXPECT_EQ(report["what_if"][1]["gains"], alone["what_if"]["gains"]);
  std::ofstream("wrong.yaml") << file_content("s.yaml").replace(file_content("s.yaml").find("what_if: "), 24,
                                                                "what_if: pakcet_interval");
  const outcome wrong = real_hcasim("sweep wrong.yaml -o out2");
  EXPECT_EQ(wrong.status, 2);
  EXPECT_NE(wrong.text.find("wrong.yaml:4:10: what_if: --what-if 'pakcet_interval': "), std::string::npos) << wrong.text;
}

TEST_F(what_if_program, a_long_way_does_not_hide_the_resource) {
  const std::string run =
      "message_rate -o out --force --messages 300 --order random --regions 300 --set node*.hca.mrc_cache.sets=16 --what-if ";
  const json all = result_of(run)["what_if"];
  EXPECT_EQ(all["binding"], "node*.hca.mrc_cache.ways") << all.dump(1);
  EXPECT_EQ(all["latencies"]["binding"], "node*.pcie.link_latency");
  EXPECT_GT(all["latencies"]["gains"][0]["gain"], all["gains"][0]["gain"]) << "it would hide the cache";
  const json way = result_of(run + "node*.pcie.link_latency")["what_if"];
  EXPECT_TRUE(way["binding"].is_null());
  EXPECT_TRUE(way["gains"].empty());
  EXPECT_EQ(way["latencies"]["binding"], "node*.pcie.link_latency");
}

// Words and their order; a figure is that of another day.
std::string without_figures(const std::string& text) {
  std::string out = std::regex_replace(text, std::regex(R"([+-]?\d+(\.\d+)?)"), "N");
  return std::regex_replace(out, std::regex(" +"), " ");
}

TEST_F(what_if_program, the_documentation_shows_what_is_printed) {
  const std::string page = file_content(fs::path(places::source) / "docs/explain.md");
  const std::size_t command = page.find("$ hcasim ") + 9;
  const std::string printed = real_hcasim(page.substr(command, page.find('\n', command) - command) + " -o out").text;
  const std::size_t begin = page.find("what more of each resource would gain\n");
  const std::string example = page.substr(begin, page.find("```", begin) - begin);
  EXPECT_NE(without_figures(printed).find(without_figures(example)), std::string::npos) << printed;
}

TEST_F(what_if_program, the_documentation_says_what_each_run_is_judged_by) {
  const std::map<std::string, std::string> shorter{{"message_rate", "--messages 50"},
                                                   {"key_lifecycle", "--most_keys 1 --changes 4"},
                                                   {"key_storm", "--changes 50"},
                                                   {"on_demand", "--pages 16 --takes 4"},
                                                   {"peer_direct --part takings", "--times 3"},
                                                   {"rkey_reuse", "--length '512 KiB'"},
                                                   {"schedule", "--size '64 KiB'"},
                                                   {"send_fallback", "--messages 40"}};
  const std::string page = file_content(fs::path(places::source) / "docs/explain.md");
  std::istringstream lines(page.substr(page.find("### What a run is judged by")));
  const std::regex row(R"(\| `(.*?)` \| (.*) \|)");
  std::size_t rows = 0;
  for (std::string line; std::getline(lines, line);) {
    std::smatch m;
    if (!std::regex_match(line, m, row)) continue;
    ++rows;
    const auto options = shorter.find(m[1]);
    const json r = result_of(
        fmt::format("{} -o out --force --what-if link.rate {}", m[1].str(), options == shorter.end() ? "" : options->second));
    std::string names;
    for (const auto& h : r["what_if"]["headlines"])
      names += fmt::format("{}`{}`", names.empty() ? "" : ", ", h["name"].get<std::string>());
    EXPECT_EQ(names, m[2].str()) << m[1];
  }
  EXPECT_EQ(rows, 12U);
}

TEST_F(what_if_program, refuses_knobs_that_cannot_be_relieved) {
  const auto refused = [](const std::string& options, const std::string& words) {
    const outcome o = real_hcasim("run message_rate -o out --no-trace --messages 10 " + options);
    EXPECT_EQ(o.status, 2) << options;
    EXPECT_NE(o.text.find(words), std::string::npos) << o.text;
    EXPECT_FALSE(fs::exists("out"));
  };
  refused("--what-if raed_tags",
          "--what-if 'raed_tags': no such knob, and no resource that has one; did you mean 'read_tags'?");
  refused("--what-if 'node*.hca.page_walker.wlakers'", "did you mean 'walkers'?");
  refused("--what-if 'node0.hca.page_wlaker'", "did you mean 'node*.hca.page_walker'?");
  refused("--what-if 'node0.host software'", "no resource that has one; the knobs of node*.host are: ");
  refused("--what-if 'node0.hca.gpu pipe_busy'", "this resource has no knob; ");
  refused("--what-if key_check.blocking_miss",
          "node*.hca.key_check.blocking_miss is a flag, which cannot be doubled or halved");
  refused("--what-if iommu.seed", "node*.iommu.seed is not a resource that can limit a run");
  refused("--what-if node0.hca.send_queue.turn_interval --set node0.hca.send_queue.turn_interval=1cycle",
          "node*.hca.send_queue.turn_interval = 1 cycle cannot be relieved further; allowed is 1 cycle to 1000 cycles");
}

TEST_F(what_if_program, no_resource_is_more_than_busy) {
  const json r = result_of("message_rate -o out --messages 1000 --qps 64 --set node*.host.memory_bandwidth=1Gb/s");
  EXPECT_GT(r["resources"][0]["utilisation"].get<double>(), 0.99);
  for (const auto& u : r["resources"]) EXPECT_LE(u["utilisation"].get<double>(), 1.0) << u.dump();
}

}  // namespace
}  // namespace hcasim
