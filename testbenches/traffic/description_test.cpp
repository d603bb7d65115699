// Descriptions of traffic, read and run by the program.
#include <algorithm>
#include <cmath>
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "testbenches/program/places/places.h"
#include "testbenches/program/testing/own_folder.h"
#include "testbenches/program/testing/run_program.h"

namespace hcasim {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class traffic_description : public test_in_own_folder {
 protected:
  static outcome run(const std::string& arguments) {
    return run_program(places::program, "run " + arguments + " -o out --force --no-trace");
  }
  static void file(const std::string& flows) {
    std::ofstream("t.yaml") << "testbench: traffic\ntraffic:\n  groups: {clients: 0-2, servers: 3}\n  flows:\n"
                            << flows << "  measure: 20 us\n";
  }
  static json result() { return json::parse(file_content("out/result.json")); }
};

const json& table_of(const json& result, const std::string& title) {
  for (const json& t : result["tables"]) {
    if (t["title"] == title) return t["rows"];
  }
  ADD_FAILURE() << "there is no table " << title;
  return result["tables"][0]["rows"];
}

constexpr const char* mixed = "    mixed: {from: clients, to: servers, pattern: incast, read: 3, write: 1, size: 1 KiB}\n";

TEST_F(traffic_description, a_result_is_the_same_again_and_from_its_resolved_description) {
  file(mixed);
  ASSERT_EQ(run("t.yaml").status, 0);
  const std::string once = file_content("out/result.json");
  const std::string rates = file_content("out/rates.csv");
  ASSERT_EQ(run("t.yaml").status, 0);
  EXPECT_EQ(file_content("out/result.json"), once);
  EXPECT_EQ(file_content("out/rates.csv"), rates);
  fs::copy_file("out/resolved.yaml", "again.yaml");
  const outcome again = run("again.yaml");
  ASSERT_EQ(again.status, 0) << again.text;
  EXPECT_EQ(file_content("out/result.json"), once);
  ASSERT_EQ(run("t.yaml --seed 2").status, 0);
  EXPECT_NE(file_content("out/result.json"), once);
}

TEST_F(traffic_description, nodes_follow_from_the_groups_and_flows_take_overrides) {
  file(mixed);
  ASSERT_EQ(run("t.yaml --set 'traffic.flows.mixed.size=64 B' --set node3.hca.mrc_cache.ways=2").status, 0);
  const json r = result();
  EXPECT_EQ(r["description"]["nodes"], 4);
  EXPECT_EQ(r["description"]["traffic"]["flows"]["mixed"]["size"], "64 B");
  EXPECT_FALSE(r["description"]["traffic"]["flows"].contains("writes")) << "the example makes room for named flows";
  ASSERT_EQ(run("t.yaml --set traffic.groups.servers=3-5 --set traffic.flows.mixed.pattern=all_to_all").status, 0);
  EXPECT_EQ(result()["description"]["nodes"], 6);
}

TEST_F(traffic_description, errors_name_file_line_and_mend) {
  const auto refused = [](const std::string& arguments, const std::string& text) {
    const outcome o = run(arguments);
    EXPECT_EQ(o.status, 2) << o.text;
    EXPECT_EQ(o.text, "hcasim: " + text + "\n");
    EXPECT_FALSE(fs::exists("out"));
  };
  file("    reads: {from: clients, to: server, pattern: incast, read: 1}\n");
  refused("t.yaml", "t.yaml:5:32: traffic.flows.reads.to: there is no group 'server'; did you mean 'servers'?");
  file("    reads: {from: clients, pattern: incast, read: 1}\n");
  refused("t.yaml", "t.yaml:5:5: traffic.flows.reads.to: is missing; write to: GROUP, one of clients, servers");
  file("    reads: {from: clients, to: servers, pattern: incast, raed: 1}\n");
  refused("t.yaml", "t.yaml:5:64: traffic.flows.reads.raed: unknown key 'raed'; did you mean 'read'?");
  file("    2nd: {from: clients, to: servers, pattern: incast, read: 1}\n");
  refused("t.yaml", "t.yaml:5:5: traffic.flows.2nd: '2nd' is no name; write letters, digits and _, a letter first");
  file(mixed);
  refused("t.yaml --set traffic.flows.mixd.size=64B",
          "--set traffic.flows.mixd.size=64B: traffic.flows.mixd: unknown key 'mixd'; did you mean 'mixed'?");
  refused("t.yaml --set nodes=9", "nodes: there are 9 hosts, but traffic would drive only 4; write nodes: 4");
  refused("t.yaml --set nodes=3", "nodes: traffic needs 4 hosts, and there are 3; write nodes: 4");
  std::ofstream("t.yaml") << "testbench: traffic\ntraffic: {groups: {a: 0-1}}\n";
  refused("t.yaml",
          "t.yaml:2:1: traffic.flows: there is none; write for example flows: {writes: {from: clients, to: servers, "
          "write: 1}}");
}

// Regions in the cache of key contexts: 16 sets of 32 ways, 2 000 regions.
class hits_of_the_mrc : public traffic_description {
 protected:
  static constexpr int regions = 2000;
  static constexpr int sets = 16;
  static constexpr int ways = 32;

  static double ratio(const std::string& order) {
    std::ofstream("t.yaml")
        << "testbench: traffic\n"
           "node*.driver: {post_call: 0 ns, post_wqe: 0 ns, post_segment: 0 ns, poll_call: 0 ns, poll_cqe: 0 ns}\n"
           "node1.hca.mrc_cache: {sets: 16, ways: 32}\n"
           "traffic:\n  groups: {a: 0, b: 1}\n  flows:\n    writes: {from: a, to: b, write: 1, size: 64 B, qps: 4, "
           "regions: 2000, region: 4 KiB, order: "
        << order << "}\n  warm_up: 500 us\n  measure: 2 ms\n";
    const outcome o = run("t.yaml");
    EXPECT_EQ(o.status, 0) << o.text;
    const json cache = result()["statistics"]["system.node1.hca.mrc_cache"];
    const auto count = [&](const char* name) { return cache[name]["value"].get<double>(); };
    EXPECT_GT(count("misses"), 4000);
    return count("hits") / (count("hits") + count("misses") + count("merged"));
  }
};

TEST_F(hits_of_the_mrc, at_random_are_the_cached_share) {
  constexpr double misses = 1 - sets * ways / static_cast<double>(regions);
  EXPECT_NEAR(1 - ratio("random"), misses, 0.02 * misses);
}

// Che's approximation for LRU, set by set: a region is in its set if it was used within the set's characteristic time.
TEST_F(hits_of_the_mrc, under_a_zipf_law_are_those_of_che) {
  double all = 0;
  for (int k = 1; k <= regions; ++k) all += 1.0 / k;
  double hits = 0;
  for (int set = 0; set < sets; ++set) {
    const auto sum = [&](double t, bool weighted) {
      double s = 0;
      for (int k = 1 + set; k <= regions; k += sets) s += (weighted ? 1 / (k * all) : 1) * -std::expm1(-t / (k * all));
      return s;
    };
    double low = 0;
    double high = 1e9;
    for (int i = 0; i < 200; ++i) (sum((low + high) / 2, false) < ways ? low : high) = (low + high) / 2;
    hits += sum(low, true);
  }
  EXPECT_NEAR(1 - ratio("zipf 1"), 1 - hits, 0.02 * (1 - hits));
}

// WRITEs to 16 384 pages at random; the leaf cache has 16 sets of 4 lines, each of 8 pages. A walk is one DMA read of a line.
TEST_F(traffic_description, the_walkers_bound_the_rate) {
  constexpr double cycle = 2.5;                             // ns
  constexpr double byte = 1.05 * 130 / 128 / 16;            // ns: sixteen lanes of 8 GT/s, and 5 % of DLLPs
  constexpr double walk = (4 + 4) * cycle                   // request and response in the DMA engine
                          + 2 * 80 + (26 + 22 + 64) * byte  // the link, both ways
                          + 120 + 80;                       // root complex and memory
  constexpr double missing = 1 - 16 * 4 * 8 / 16384.0;
  for (const int walkers : {1, 2, 4}) {
    std::ofstream("t.yaml") << "testbench: traffic\nnode1.hca.page_walker: {walkers: " << walkers
                            << ", mshrs: 64, leaf_sets: 16}\ntraffic:\n  groups: {a: 0, b: 1}\n  flows:\n"
                               "    writes: {from: a, to: b, write: 1, size: 64 B, qps: 16, window: 16, regions: 1, "
                               "region: 64 MiB, order: random}\n  warm_up: 200 us\n  measure: 1 ms\n";
    const outcome o = run("t.yaml");
    ASSERT_EQ(o.status, 0) << o.text;
    const double rate = result()["figures"]["message_rate"]["value"].get<double>();
    const double bound = walkers / (walk * missing) * 1e3;
    EXPECT_NEAR(rate, bound, 0.02 * bound) << walkers;
  }
}

// WRITEs in lines of write-combining stores fill the link into the adapter. Without a limit on the way, threads run ahead of
// it, and the data of a DMA read waits behind all their lines.
TEST_F(traffic_description, cores_stall_when_their_combining_buffers_are_full) {
  file(
      "    w: {from: clients, to: servers, pattern: incast, write: 1, size: 200 B, inline: true, qps: 14, threads: 14, window: "
      "64, "
      "batch: 1, transport: uc}\n");
  const auto read_time = [](const std::string& more) {
    const outcome o =
        run("t.yaml --set 'traffic.warm_up=0 us' --set 'traffic.measure=200 us' --set node*.pcie.lanes=4 " + more);
    EXPECT_EQ(o.status, 0) << o.text;
    return result()["statistics"]["system.node0.pcie"]["device0_read_time"]["max"].get<double>();
  };
  EXPECT_GT(read_time(""), 3 * read_time("--set node*.host.combining_buffers=10"));
}

// The driver's tables have room for the regions of all flows; the adapter's own table is too small here.
TEST_F(traffic_description, tables_grow_with_the_regions_of_all_flows) {
  const std::string flow = "{from: clients, to: servers, pattern: incast, write: 1, regions: 600000}\n";
  file("    first: " + flow + "    second: " + flow);
  EXPECT_EQ(run("t.yaml --set node*.hca.command_unit.log_mrs=4").status, 1);
  EXPECT_NE(file_content("out/resolved.yaml").find("log_mrs: 21\n"), std::string::npos);
}

// Messages without a receive come again after the RNR timer of 10 us.
TEST_F(traffic_description, few_receives_make_senders_wait) {
  file("    s: {from: clients, to: servers, pattern: incast, send: 1, size: 64 B, window: 8}\n");
  const auto rate_of = [](const std::string& more) {
    const outcome o = run("t.yaml --set 'traffic.measure=400 us' " + more);
    EXPECT_EQ(o.status, 0) << o.text;
    return result()["figures"]["message_rate"]["value"].get<double>();
  };
  const double plenty = rate_of("");
  const double few = rate_of("--set traffic.flows.s.receives=1");
  EXPECT_LT(few, 0.5 * plenty);
  EXPECT_GT(few, 3 / 12.0) << "three senders, each at least once in a wait";
  EXPECT_NEAR(rate_of("--set traffic.flows.s.receives=16"), plenty, 1e-9) << "as without";
}

TEST_F(traffic_description, a_flow_without_a_message_fails_the_run) {
  const std::string often = "    often: {from: clients, to: servers, pattern: incast, write: 1}\n";
  const auto told = [&](const std::string& flow, const std::string& mend) {
    file(often + flow);
    const outcome o = run("t.yaml");
    EXPECT_EQ(o.status, 1) << o.text;
    EXPECT_NE(
        o.text.find("flow rare: none of its messages completed in the measured time, so its figures say nothing; " + mend),
        std::string::npos)
        << o.text;
  };
  told("    rare: {from: clients, to: servers, pattern: incast, write: 1, rate: 1}\n", "raise measure or its rate");
  told("    rare: {from: clients, to: servers, pattern: incast, write: 1, messages: 1}\n", "raise measure, or lower warm_up");
}

// Two bulk flows fill the output queue of a switch. A small message waits behind them, or passes them in a lane of its own.
TEST_F(traffic_description, a_lane_of_its_own_lets_small_messages_pass) {
  std::ofstream("t.yaml") << "testbench: traffic\ntopology: switch\nlink.virtual_lanes: 2\ntraffic:\n"
                             "  groups: {bulk: 0-1, quick: 2, server: 3}\n  flows:\n"
                             "    bulk: {from: bulk, to: server, pattern: incast, write: 1, size: 64 KiB, window: 8}\n"
                             "    small: {from: quick, to: server, write: 1, size: 64 B, window: 1}\n"
                             "  warm_up: 50 us\n  measure: 500 us\n";
  const auto slowest = [](const std::string& more) {
    const outcome o = run("t.yaml " + more);
    EXPECT_EQ(o.status, 0) << o.text;
    const json all = result();
    for (const json& row : table_of(all, "latency")) {
      if (row[0] == "small") return row.back().get<double>();
    }
    return 0.0;
  };
  const double alone = slowest("--set 'traffic.flows.bulk.rate=5000'");
  const double shared = slowest("");
  const double own = slowest("--set traffic.flows.small.service_level=1");
  EXPECT_GT(shared, 5 * alone);
  EXPECT_LT(own, 1.5 * alone);
}

// Datagrams come as fast as their source sends, and the software of three receivers in one thread cannot keep up.
TEST_F(traffic_description, datagrams_that_find_no_receive_are_told) {
  file("    d: {from: clients, to: servers, pattern: incast, send: 1, size: 64 B, transport: ud, members: 3}\n");
  ASSERT_EQ(run("t.yaml").status, 0);
  EXPECT_LT(result()["figures"]["delivered"]["value"].get<double>(), 0.5);
  ASSERT_EQ(run("t.yaml --set traffic.flows.d.rate=1e6 --set 'traffic.measure=200 us'").status, 0);
  EXPECT_GT(result()["figures"]["delivered"]["value"].get<double>(), 0.99);
  file("    w: {from: clients, to: servers, pattern: incast, write: 1}\n");
  ASSERT_EQ(run("t.yaml").status, 0);
  EXPECT_FALSE(result()["figures"].contains("delivered"));
}

TEST_F(traffic_description, objects_that_the_adapter_has_no_room_for_fail_the_run_with_their_knobs) {
  file("    w: {from: clients, to: servers, pattern: incast, write: 1, qps: 4}\n");
  const outcome o = run("t.yaml --set node*.driver.log_qps=3");
  EXPECT_EQ(o.status, 1) << o.text;
  EXPECT_NE(o.text.find("failed: the run was aborted: cannot make a QP: "), std::string::npos) << o.text;
  EXPECT_NE(o.text.find("driver.log_qps"), std::string::npos) << o.text;
  EXPECT_EQ(o.text.find("ended by exit()"), std::string::npos) << o.text;
}

TEST_F(traffic_description, a_buffer_without_room_for_a_packet_is_refused) {
  file("    w: {from: clients, to: servers, pattern: incast, write: 1}\n");
  const outcome o = run("t.yaml --set link.buffer=100B");
  EXPECT_EQ(o.status, 2) << o.text;
  EXPECT_NE(o.text.find("link.buffer: 100 B hold no packet"), std::string::npos) << o.text;
}

// A thread sleeps once for each event, and moderation makes the events fewer.
TEST_F(traffic_description, a_thread_sleeps_once_for_each_event) {
  std::ofstream("t.yaml")
      << "testbench: traffic\nlink.rate: 20 Gb/s\ntraffic:\n  groups: {a: 0, b: 1}\n  flows:\n"
         "    writes: {from: a, to: b, write: 1, size: 16 KiB, window: 64, wait: events}\n  measure: 2 ms\n";
  const auto run_with = [](const std::string& more) {
    const outcome o = run("t.yaml " + more);
    EXPECT_EQ(o.status, 0) << o.text;
    const json& all = result();
    const auto host = all["statistics"]["system.node0.host"];
    const double messages = all["figures"]["message_rate"]["value"].get<double>() * 2000;
    return host["system_calls"]["value"].get<double>() / messages;
  };
  // A message takes 6.7 us, so the thread is asleep when each one completes.
  EXPECT_NEAR(run_with(""), 1, 0.05);
  const std::string moderated =
      "--set traffic.flows.writes.moderation_count=16 --set traffic.flows.writes.moderation_time=1000";
  EXPECT_NEAR(run_with(moderated), 1.0 / 16, 0.02);
  // A message takes 0.34 us, and waking takes 3 us: about nine messages complete meanwhile.
  EXPECT_LT(run_with("--set 'traffic.flows.writes.size=4 KiB' --set 'link.rate=100 Gb/s'"), 0.2);
}

// Messages of one packet, so the adapter writes whole messages.
TEST_F(traffic_description, a_host_has_received_what_has_arrived) {
  const auto received = [](const std::string& flow) {
    file("    f: {from: clients, to: servers, pattern: incast, size: 1 KiB, window: 4, messages: 200, " + flow + "}\n");
    const outcome o = run("t.yaml --set link.loss=0.1 --set traffic.warm_up=0ns --set traffic.measure=500ms");
    EXPECT_EQ(o.status, 0) << o.text;
    const json r = result();
    const json& server = table_of(r, "groups and hosts").at(1);
    EXPECT_EQ(server[0], "servers");
    if (!server[2].is_number()) return std::string("unknown");
    const double written = r["statistics"]["system.node3.hca.responder"]["payload_written"]["value"].get<double>();
    EXPECT_NEAR(server[2].get<double>() * 0.5 / 8 * 1e9, written, 1);
    return std::string(written < 200 * 1024 ? "some" : "all");
  };
  EXPECT_EQ(received("send: 1, transport: uc"), "some");
  EXPECT_EQ(received("send: 1, transport: ud"), "some");
  EXPECT_EQ(received("write: 1, transport: uc"), "unknown");
  EXPECT_EQ(received("write: 1, timeout: 8"), "all");
}

TEST_F(traffic_description, operations_of_xrc_are_called_so) {
  file("    f: {from: clients, to: servers, pattern: incast, write: 1, read: 1, transport: xrc, messages: 20}\n");
  const outcome o = run("t.yaml --explain --spans --set 'traffic.warm_up=0 us'");
  EXPECT_EQ(o.status, 0) << o.text;
  EXPECT_NE(o.text.find("XRC READ"), std::string::npos) << o.text;
  EXPECT_EQ(o.text.find("UC "), std::string::npos) << o.text;
}

// A thread of an open loop that sleeps for events posts at the times of its arrivals, and learns of completions later.
TEST_F(traffic_description, a_thread_with_arrivals_may_sleep_for_events) {
  file("    f: {from: clients, to: servers, pattern: incast, write: 1, size: 64 B, rate: 3e5, arrivals: periodic}\n");
  const auto median = [](const std::string& wait) {
    const outcome o = run("t.yaml --set traffic.measure=400us --set traffic.flows.f.wait=" + wait);
    EXPECT_EQ(o.status, 0) << o.text;
    const json r = result();
    EXPECT_NEAR(r["figures"]["message_rate"]["value"].get<double>(), 0.3, 0.02);
    EXPECT_EQ(r["statistics"]["system.node0.host"]["system_calls"]["value"].get<double>() > 50, wait == "events");
    return r["figures"]["p50"]["value"].get<double>();
  };
  EXPECT_GT(median("events"), median("polling") + 1);
}

TEST_F(traffic_description, a_phase_begins_when_all_flows_before_have_ended) {
  std::ofstream("t.yaml") << "testbench: traffic\ntraffic:\n  groups: {a: 0-1, b: 2}\n  flows:\n"
                             "    scatter: {from: b, to: a, pattern: outcast, write: 1, size: 4 KiB, messages: 300}\n"
                             "    gather: {from: a, to: b, pattern: incast, read: 1, messages: 200, phase: 2}\n"
                             "    others: {from: a, to: a, pattern: ring, send: 1, messages: 40, phase: 2, start: 2 us}\n"
                             "  warm_up: 0 us\n  measure: never\n";
  ASSERT_EQ(run("t.yaml").status, 0);
  const json phases = table_of(result(), "phases");
  ASSERT_EQ(phases.size(), 2U);
  EXPECT_EQ(phases[0][1], 0);
  EXPECT_GE(phases[1][1], phases[0][2]) << "the last completion of phase 1 begins phase 2";
  EXPECT_LT(phases[1][1].get<double>(), phases[0][2].get<double>() + 0.1);
  EXPECT_EQ(phases[0][4], 300);
  EXPECT_EQ(phases[1][4], 240);
  EXPECT_GT(result()["figures"]["overlap"]["value"], 0.5);
  const outcome early = run("t.yaml --set traffic.measure=20us");
  EXPECT_EQ(early.status, 1);
  EXPECT_NE(
      early.text.find("flow gather: the measured time ended before phase 2 began; raise measure, or write measure: never"),
      std::string::npos)
      << early.text;
}

// The latencies of a group are its hosts'. A host without posts has no latency.
TEST_F(traffic_description, groups_and_hosts_have_latencies_of_their_own) {
  file(
      "    near: {from: clients, to: servers, pattern: incast, write: 1, size: 64 B}\n"
      "    back: {from: servers, to: clients, pattern: outcast, read: 1, size: 16 KiB}\n");
  ASSERT_EQ(run("t.yaml --set 'traffic.measure=100 us'").status, 0);
  const json all = result();
  const json flows = table_of(all, "latency");
  const json groups = table_of(all, "groups and hosts");
  ASSERT_EQ(groups.size(), 6U);
  for (std::size_t i = 0; i < 2; ++i) {
    for (std::size_t k = 0; k < 6; ++k) EXPECT_EQ(groups[i][5 + k], flows[i][3 + k]) << groups[i] << flows[i];
  }
  EXPECT_EQ(groups[5][0], "node3");
  EXPECT_EQ(groups[5][8], groups[1][8]) << "the group servers has one host";
  EXPECT_LE(groups[2][10], groups[0][10]) << "no message of a host is later than the latest of its group";
}

// Twenty times the messages take no more host memory, but for the noise of the heap; with HCASIM_FULL=1 a hundred times.
TEST_F(traffic_description, messages_cost_no_memory) {
  std::ofstream("t.yaml") << "testbench: traffic\ntraffic:\n  groups: {all: 0-3}\n  flows:\n"
                             "    exchange: {from: all, to: all, pattern: all_to_all, write: 1, size: 64 B, window: 2}\n"
                             "  warm_up: 0 us\n  measure: never\n";
  const auto mebibytes = [](const char* messages) {
    const outcome o = run(fmt::format("t.yaml --set traffic.flows.exchange.messages={}", messages));
    EXPECT_EQ(o.status, 0) << o.text;
    const std::size_t end = o.text.find(" MiB\n");
    return end == std::string::npos ? 0 : std::stod(o.text.substr(o.text.rfind(' ', end - 1)));
  };
  const double few = mebibytes(std::getenv("HCASIM_FULL") ? "10000" : "4000");
  EXPECT_GT(few, 10);
  EXPECT_LE(mebibytes(std::getenv("HCASIM_FULL") ? "1000000" : "80000"), 1.1 * few);
}

class steady_traffic : public traffic_description {
 protected:
  static void file(const std::string& flows, const std::string& measure = "40 ms") {
    std::ofstream("t.yaml") << "testbench: traffic\ntraffic:\n  groups: {clients: 0-2, servers: 3}\n  flows:\n"
                            << flows << "  warm_up: 40 us\n  measure: " << measure << "\n  until: steady\n";
  }
  static double figure(const char* name) { return result()["figures"][name]["value"]; }
};

// Arrivals at random, in an open loop at 60 % of the link: the rate is the description's, and the latency that of a long run.
TEST_F(steady_traffic, a_run_ends_when_its_figures_are_known) {
  file("    w: {from: clients, to: servers, pattern: incast, write: 1, size: 1 KiB, rate: 7e6}\n");
  const outcome o = run("t.yaml --set traffic.precision=0.02");
  ASSERT_EQ(o.status, 0) << o.text;
  const json known = table_of(result(), "known to");
  ASSERT_EQ(known.size(), 2U);
  for (const json& row : known) {
    EXPECT_LE(row[4].get<double>(), 2) << row;
    EXPECT_LE(row[7].get<double>(), 0.2) << row;
  }
  EXPECT_NEAR(known[0][2].get<double>(), 7, 3 * 0.02 * 7);
  EXPECT_LT(result()["simulated_ns"].get<double>(), 12e6) << "of 40 ms";
  const double latency = known[1][2];
  ASSERT_EQ(run("t.yaml --set traffic.until=time --set 'traffic.measure=20 ms'").status, 0);
  const double long_run = table_of(result(), "latency")[0][3];
  EXPECT_NEAR(latency, long_run, 3 * 0.02 * long_run);
}

TEST_F(steady_traffic, figures_that_are_not_known_in_time_fail_the_run) {
  file("    w: {from: clients, to: servers, pattern: incast, write: 1, size: 1 KiB, rate: 5e6}\n", "100 us");
  const outcome o = run("t.yaml --set traffic.precision=0.001");
  EXPECT_EQ(o.status, 1);
  EXPECT_NE(o.text.find("the figures are not steady within 0.1 % after 100 us: the "), std::string::npos) << o.text;
  EXPECT_NE(o.text.find("raise measure, warm_up or precision"), std::string::npos) << o.text;
  const outcome idle = run("t.yaml --set traffic.flows.w.rate=1");
  EXPECT_EQ(idle.status, 1);
  EXPECT_NE(idle.text.find("flow w completed no message in 100 us"), std::string::npos) << idle.text;
}

TEST_F(steady_traffic, two_runs_give_the_same_bytes) {
  file(mixed);
  ASSERT_EQ(run("t.yaml").status, 0);
  const std::string once = file_content("out/result.json");
  ASSERT_EQ(run("t.yaml").status, 0);
  EXPECT_EQ(file_content("out/result.json"), once);
}

TEST_F(traffic_description, every_question_is_a_study) {
  for (const char* name : {"mrc_ways", "pcie_mix", "incast_keys", "moderation", "exchange"}) {
    const fs::path study = fs::path(places::source) / "testbenches/studies" / (std::string(name) + ".yaml");
    const outcome o = run_program(places::program, "sweep " + study.string() + " -o out --dry-run");
    EXPECT_EQ(o.status, 0) << o.text;
    const std::string text = file_content(study);
    EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 30) << name;
  }
}

TEST_F(traffic_description, a_histogram_lies_beside_its_description) {
  fs::create_directory("deep");
  std::ofstream("deep/sizes.csv") << "64 B,1\n1 KiB,1\n";
  file("    mixed: {from: clients, to: servers, pattern: incast, write: 1, size: histogram sizes.csv}\n");
  fs::rename("t.yaml", "deep/t.yaml");
  ASSERT_EQ(run("deep/t.yaml").status, 0);
  EXPECT_EQ(result()["description"]["traffic"]["flows"]["mixed"]["size"],
            "histogram " + (fs::canonical(folder()) / "deep/sizes.csv").string());
}

}  // namespace
}  // namespace hcasim
