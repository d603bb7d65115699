// Recording and replay through the program: runs of flows, a program under exec, sweeps, and bad input.
#include <fstream>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "testbenches/program/places/places.h"
#include "testbenches/program/testing/own_folder.h"
#include "testbenches/program/testing/run_program.h"

namespace hcasim {
namespace {

class replayed_traffic : public test_in_own_folder {
 protected:
  static outcome hcasim(const std::string& arguments) { return run_program(places::program, arguments); }
  static void write(const std::string& name, const std::string& text) { std::ofstream(name) << text; }
  static nlohmann::json result(const std::string& of) {
    std::ifstream in(of + "/result.json");
    return nlohmann::json::parse(in);
  }
  static double figure(const std::string& of, const std::string& name) {
    const nlohmann::json r = result(of);
    return r.at("figures").at(name).at("value").get<double>();
  }

  // Records a traffic of these flows, and replays it with `more` options.
  void same_time(const std::string& flows, const std::string& machine, double within) {
    write("t.yaml", "testbench: traffic\npreset: generic_100g\ntopology: switch\n" + machine +
                        "traffic:\n  groups: {a: 0-3, b: 4}\n  flows:\n" + flows + "  measure: never\n  warm_up: 0 ps\n");
    const outcome recorded = hcasim("run t.yaml --no-trace -o recorded --force --record-traffic t.traffic");
    ASSERT_EQ(recorded.status, 0) << recorded.text;
    write("r.yaml",
          "testbench: traffic\npreset: generic_100g\ntopology: switch\n" + machine + "traffic: {replay: t.traffic}\n");
    for (const std::string more : {"", "--set traffic.replay_times=original"}) {
      const outcome again = hcasim("run r.yaml --no-trace -o again --force " + more);
      ASSERT_EQ(again.status, 0) << flows << more << again.text;
      const double before = figure("again", "recorded_time");
      EXPECT_NEAR(figure("again", "completion_time"), before, within * before) << flows << more;
    }
  }

  void same_time_as_exec(const std::string& programs, const std::string& machine) {
    const outcome o = hcasim("exec --no-trace --force -o recorded --record-traffic p.traffic " + programs);
    ASSERT_EQ(o.status, 0) << o.text;
    for (const std::string times : {"dependencies", "original"}) {
      const outcome again = hcasim("run traffic --force --no-trace -o again " + machine +
                                   "--set traffic.replay=p.traffic --set traffic.replay_times=" + times);
      ASSERT_EQ(again.status, 0) << again.text;
      const double before = figure("again", "recorded_time");
      EXPECT_NEAR(figure("again", "completion_time"), before, 0.03 * before) << times;
    }
  }
};

TEST_F(replayed_traffic, takes_the_time_of_the_recorded_run) {
  same_time(
      "    f: {from: a, to: b, pattern: incast, read: 3, write: 1, qps: 2, messages: 400}\n"
      "    g: {from: b, to: a, pattern: outcast, send: 1, size: 64 B, window: 4, inline: true, messages: 400}\n",
      "", 0.02);
  same_time(
      "    f: {from: a, to: a, pattern: all_to_all, send: 1, write_imm: 1, shared_receives: true, wait: events,"
      " messages: 600}\n"
      "    g: {from: a, to: b, pattern: incast, fetch_add: 1, cmp_swap: 1, signal_every: 4, messages: 400}\n",
      "", 0.03);
  same_time(
      "    f: {from: a, to: b, pattern: incast, send: 1, transport: ud, size: 512 B, messages: 400}\n"
      "    g: {from: b, to: a, pattern: outcast, write: 1, transport: uc, messages: 400}\n",
      "", 0.03);
}

// WRITEs and READs take no receive, and their SRQ judges their keys.
TEST_F(replayed_traffic, names_the_shared_queue_of_each_xrc_request) {
  const std::string flow = "    f: {from: a, to: b, pattern: incast, transport: xrc, size: 2 KiB, messages: 400, ";
  same_time(flow + "write: 1}\n", "", 0.02);
  same_time(flow + "read: 1, qps: 2}\n", "", 0.02);
  same_time(flow +
                "write: 1, read: 1, send: 1, srqs: 2, qps: 2}\n"
                "    g: {from: b, to: a, pattern: outcast, bind_write: 1, messages: 200}\n",
            "", 0.02);
}

// On the same machine a replay differs only by the order of requests that meet at one time.
TEST_F(replayed_traffic, repeats_the_run_on_the_same_machine) {
  const std::string flow = "    f: {from: a, to: b, pattern: all_to_all, size: 2 KiB, window: 4, messages: 1000, ";
  for (const std::string rest :
       {"fast_write: 1}", "fast_write: 1, threads: 2, qps: 4}", "bind_write: 1, qps: 2, wait: events}",
        "send: 1, wait: events, threads: 2, qps: 4, shared_receives: true, srqs: 2}",
        "write: 1, wait: events, threads: 2, qps: 4}", "send: 1, signal_every: 4}", "send: 1, threads: 2, qps: 4}",
        "write: 1, read: 1, send: 1, transport: xrc, wait: events, srqs: 2, qps: 2}"})
    same_time(flow + rest + "\n", "", 0.002);
}

// The replay has the bytes of GRHs, and the load of each port.
TEST_F(replayed_traffic, takes_the_ways_of_the_record) {
  const std::string flows =
      "    f: {from: a, to: b, pattern: incast, send: 1, write: 1, size: 256 B, qps: 2, messages: 400, global_routes: true}\n"
      "    g: {from: b, to: a, pattern: outcast, send: 1, transport: ud, size: 256 B, qps: 2, messages: 400, global_routes: "
      "true}\n";
  const std::string second = "    h: {from: a, to: b, pattern: incast, write: 1, qps: 2, messages: 400, ports: both}\n";
  const std::string third =
      "    i: {from: b, to: a, pattern: outcast, send: 1, transport: ud, size: 512 B, messages: 200, ports: second}\n"
      "    j: {from: a, to: b, pattern: incast, send: 1, read: 1, transport: xrc, messages: 200, ports: second}\n"
      "    k: {from: b, to: a, pattern: outcast, send: 1, transport: ud, size: 512 B, members: 2, messages: 100, ports: "
      "second}\n";
  same_time(flows, "", 0.01);
  const auto uses = [](const std::string& words) { return run_program("grep", "-c '" + words + "' t.traffic").status == 0; };
  EXPECT_TRUE(uses("^qp .* grh$"));
  EXPECT_TRUE(uses("^post .* to qp [0-9]* grh$"));
  same_time(flows + second + third, "node*: {hca.port.count: 2}\n", 0.02);
  EXPECT_TRUE(uses("^qp .* port 2"));
  const outcome o = hcasim("run traffic --no-trace -o bad --set topology=switch --set traffic.replay=t.traffic");
  EXPECT_EQ(o.status, 2) << o.text;
  EXPECT_NE(o.text.find("hca.port.count: 2"), std::string::npos) << o.text;
}

TEST_F(replayed_traffic, meets_translation_and_memory_of_devices) {
  same_time(
      "    f: {from: a, to: b, pattern: incast, read: 1, write: 1, memory: gpu, messages: 200}\n"
      "    g: {from: b, to: a, pattern: outcast, write: 1, memory: device, regions: 2, messages: 200}\n",
      "node*: {peer0: {kind: gpu}, hca.device_memory.size: 1 MiB, iommu.enabled: true, hca.atc.enabled: true}\n", 0.03);
}

TEST_F(replayed_traffic, makes_and_ends_keys_as_the_record) {
  same_time(
      "    f: {from: a, to: b, pattern: incast, bind_write: 1, size: 4 KiB, qps: 2, messages: 200}\n"
      "    g: {from: b, to: a, pattern: outcast, fast_write: 1, size: 16 KiB, messages: 100}\n",
      "", 0.02);
  same_time("    f: {from: a, to: b, pattern: incast, bind_write: 1, memory: gpu, messages: 200}\n",
            "node*: {peer0: {kind: gpu}, iommu.enabled: true}\n", 0.03);
}

// Windows bound again for each buffer, regions registered anew, and a kept key.
TEST_F(replayed_traffic, takes_a_key_through_its_life) {
  for (const std::string way : {"rebind", "register", "whole", "extend"}) {
    const outcome o = hcasim("run rkey_reuse --way " + way + " --no-trace --force -o recorded --record-traffic w.traffic");
    ASSERT_EQ(o.status, 0) << o.text;
    const outcome again = hcasim("run traffic --set traffic.replay=w.traffic --no-trace --force -o again");
    ASSERT_EQ(again.status, 0) << way << again.text;
    const double before = figure("again", "recorded_time");
    EXPECT_NEAR(figure("again", "completion_time"), before, 0.03 * before) << way;
  }
}

TEST_F(replayed_traffic, is_a_load_for_a_sweep) {
  write("t.yaml",
        "testbench: traffic\npreset: generic_100g\ntopology: switch\ntraffic:\n  groups: {a: 0, b: 1}\n  flows:\n"
        "    f: {from: a, to: b, write: 1, size: 64 KiB, messages: 100}\n  measure: never\n  warm_up: 0 ps\n");
  ASSERT_EQ(hcasim("run t.yaml --no-trace -o recorded --record-traffic t.traffic").status, 0);
  write("s.yaml",
        "study: s\nbase: {testbench: traffic, preset: generic_100g, topology: switch, traffic: {replay: t.traffic}}\n"
        "axes:\n  rate: {knob: link.rate, values: [50 Gb/s, 100 Gb/s]}\nmetrics:\n  time: {figure: completion_time}\n");
  const outcome sweep = hcasim("sweep s.yaml -o swept -j 1");
  ASSERT_EQ(sweep.status, 0) << sweep.text;
  const outcome rows = run_program("sqlite3", "swept/results.sqlite 'SELECT min(time) * 1.8 < max(time) FROM results'");
  ASSERT_EQ(rows.status, 0) << rows.text;
  EXPECT_EQ(rows.text.substr(0, 1), "1") << rows.text;
}

TEST_F(replayed_traffic, runs_again_from_its_resolved_description) {
  ASSERT_EQ(hcasim("run ping --no-trace -o recorded --record-traffic t.traffic").status, 0);
  ASSERT_EQ(hcasim("run traffic --no-trace -o first --set traffic.replay=t.traffic").status, 0);
  const outcome again = hcasim("run first/resolved.yaml --no-trace -o second");
  ASSERT_EQ(again.status, 0) << again.text;
  nlohmann::json before = result("first");
  before.erase("presets");  // the resolved description names values, and no preset
  EXPECT_EQ(result("second"), before);
}

TEST_F(replayed_traffic, bad_input_is_refused_with_place_and_mend) {
  const auto refused = [](const std::string& arguments, const std::string& part) {
    const outcome o = hcasim("run traffic --no-trace -o bad " + arguments);
    EXPECT_EQ(o.status, 2) << o.text;
    EXPECT_NE(o.text.find(part), std::string::npos) << o.text;
  };
  refused("--set traffic.replay=missing", "No such file");
  refused("--set traffic.replay=.", "is a folder");
  write("old", "hcasim traffic 0\n");
  refused("--set traffic.replay=old", "old:1: version '0' is unknown");
  write("cut", "hcasim traffic 1\nnodes 2\npost 0 0");
  refused("--set traffic.replay=cut", "cut:3: the line is cut off");
  write("five", "hcasim traffic 1\nnodes 5\n");
  refused("--set traffic.replay=five --set nodes=2", "needs 5 hosts, and there are 2; write nodes: 5");
  refused("--set traffic.replay_times=original", "has no effect without replay");
  refused("--set traffic.replay=cut --set 'traffic.measure=1 ms'", "say nothing of a recorded traffic");
  const outcome o = hcasim("run ping --no-trace -o bad --record-traffic missing/file");
  EXPECT_EQ(o.status, 2) << o.text;
}

TEST_F(replayed_traffic, a_program_under_exec_is_recorded) {
  if (run_program("which", "ibv_rc_pingpong").status != 0) GTEST_SKIP() << "no ibv_rc_pingpong";
  same_time_as_exec("-- ibv_rc_pingpong -n 200 -- ibv_rc_pingpong -n 200 node0", "");
}

TEST_F(replayed_traffic, programs_of_other_transports_are_recorded) {
  if (run_program("which", "ib_send_bw").status != 0) GTEST_SKIP() << "no perftest";
  same_time_as_exec("-- ib_send_bw -c XRC -n 100 -s 4096 -- ib_send_bw -c XRC -n 100 -s 4096 node0", "");
  same_time_as_exec("-- ib_write_bw --odp -n 100 -- ib_write_bw --odp -n 100 node0", "");
  if (run_program("which", "mckey").status != 0) GTEST_SKIP() << "no mckey";
  same_time_as_exec("-- mckey -b node0 -m 239.1.1.1 -C 5 -- mckey -b node1 -m 239.1.1.1 -s -C 5", "");
}

// Each rank's two threads share its QPs of datagrams and their queues.
TEST_F(replayed_traffic, eight_ranks_of_mpi_take_their_recorded_time) {
  const auto ranks = std::filesystem::path(places::program).parent_path() / "hcasim_mpi_collectives";
  if (!std::filesystem::exists(ranks)) GTEST_SKIP() << "no MPI";
  same_time_as_exec(
      "--set nodes=8 --param program0.node=rank -- env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "
      "UCX_TLS=rc_v,ud_v,self UCX_NET_DEVICES=hcasim0:1 mpirun -n 8 --oversubscribe --mca pml ucx --mca pml_ucx_tls any "
      "--mca pml_ucx_devices any --mca osc ^ucx --mca btl self " +
          ranks.string(),
      "--set nodes=8 --set topology=switch ");
}

}  // namespace
}  // namespace hcasim
