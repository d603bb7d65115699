// The command line through a built program: its output, files and status; bad input leaves nothing behind.
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <sstream>
#include <thread>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "testbenches/program/places/places.h"
#include "testbenches/program/selftest/read_waves.h"
#include "testbenches/program/selftest/selftest_program.h"
#include "testbenches/program/testing/run_program.h"
#include "tlm/base/send_signal.h"

namespace hcasim {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

class cli : public selftest_program {
 protected:
  // A run into 'out' that does not end, from the moment on when its folder is there.
  pid_t hanging_run() {
    const pid_t child = ::fork();
    if (child == 0) {
      std::freopen("printed.txt", "w", stdout);
      ::execl(places::selftest, "hcasim", "run", "count_ticks", "-o", "out", "--hang", "true", nullptr);
      ::_exit(99);
    }
    const auto hangs = [this] { return content("printed.txt") == "hangs\n"; };
    for (int i = 0; i < 6000 && !hangs(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_TRUE(hangs());
    EXPECT_TRUE(fs::exists(folder() / ".out.partial/resolved.yaml")) << "the temporary folder";
    fs::remove("printed.txt");
    return child;
  }
};

TEST_F(cli, list_version_and_help) {
  EXPECT_EQ(hcasim("list").text, "count_ticks  count some ticks\n");
  EXPECT_EQ(ordered_json::parse(hcasim("list --json").text)[0]["name"], "count_ticks");
  EXPECT_NE(hcasim("list count_ticks").text.find("tick_period"), std::string::npos);
  EXPECT_EQ(hcasim("version").text.substr(0, 7), "hcasim ");
  EXPECT_EQ(hcasim("--version").status, 0);
  for (const char* command : {"--help", "list --help", "run --help", "params --help", "version --help"}) {
    const outcome o = hcasim(command);
    EXPECT_EQ(o.status, 0) << command;
    EXPECT_NE(o.text.find("Usage:"), std::string::npos) << command;
  }
}

TEST_F(cli, params) {
  const std::string all = hcasim("params").text;
  EXPECT_NE(all.find("node*.hca.mrc_cache.ways    count   4         1 to 64                entries of a set\n"),
            std::string::npos)
      << all;
  EXPECT_EQ(all.find("node1"), std::string::npos) << "equal nodes are listed once";
  const std::string some = hcasim("params mrc_cache").text;
  EXPECT_EQ(std::count(some.begin(), some.end(), '\n'), 4) << some;
  const auto list = ordered_json::parse(hcasim("params --json 'node*.pcie.latency'").text);
  ASSERT_EQ(list.size(), 1U);
  EXPECT_EQ(list[0], ordered_json::parse(R"({"path": "node*.pcie.latency", "kind": "time", "default": "200 ns",
      "range": "0 ns to 1 ms", "help": "round trip of a read"})"));
  EXPECT_EQ(hcasim("params node0.pcie").text, hcasim("params 'node*.pcie'").text);
  EXPECT_NE(hcasim("params --testbench count_ticks").text.find("parameters.ticks"), std::string::npos);
  EXPECT_EQ(hcasim("params 'mrc_cache size'").text, hcasim("params mrc_cache size").text);
  refused("params latnecy",
          "no knob matches 'latnecy'; knobs are: nodes, node*.hca.mrc_cache.ways, node*.hca.mrc_cache.size, "
          "node*.hca.mrc_cache.policy, node*.hca.qpc_cache.ways, node*.hca.qpc_cache.size, node*.hca.qpc_cache.policy, "
          "node*.hca.clock, node*.hca.depth, node*.pcie.latency, node*.pcie.enabled, link.rate, link.loss, link.comment, "
          "statistics.interval, statistics.series");
  refused("params --testbench count_tikcs", "there is no testbench 'count_tikcs'; did you mean 'count_ticks'?");
}

TEST_F(cli, a_run_writes_its_results) {
  const outcome o = hcasim("run count_ticks -o out --ticks 100 --tick-period '7 ns' --set node1.hca.mrc_cache.ways=16");
  ASSERT_EQ(o.status, 0) << o.text;
  EXPECT_EQ(files(), std::vector<std::string>{"out"});
  EXPECT_NE(o.text.find("count_ticks: passed (seed 1, "), std::string::npos);
  EXPECT_NE(o.text.find("  ticks    100      ticks asked for\n  latency  200  ns  as configured\n"), std::string::npos)
      << o.text;
  EXPECT_NE(o.text.find("ways of the nodes\n  node   ways [entries]\n  node0               4\n  node1              16\n"),
            std::string::npos)
      << o.text;
  EXPECT_NE(o.text.find("operations/s"), std::string::npos);
  EXPECT_NE(o.text.find(fmt::format("results in  {}/out\n", folder().string())), std::string::npos);

  const auto r = ordered_json::parse(content("out/result.json"));
  EXPECT_EQ(r["testbench"], "count_ticks");
  EXPECT_EQ(r["seed"], 1);
  EXPECT_EQ(r["passed"], true);
  EXPECT_EQ(r["figures"]["ticks"]["value"], 100);
  EXPECT_EQ(r["description"]["node1"]["hca"]["mrc_cache"]["ways"], 16);
  EXPECT_EQ(r["description"]["parameters"]["tick_period"], "7 ns");
  EXPECT_EQ(r["tables"][0]["rows"][1][1], 16);
  const auto& s = r["statistics"]["node0.key_check"];
  EXPECT_EQ(s["operations"]["value"], 100);
  EXPECT_EQ(s["gap"]["unit"], "ns");
  EXPECT_EQ(s["gap"]["count"], 100);
  EXPECT_GE(s["gap"]["min"].get<double>(), 7.0);
  EXPECT_LT(s["gap"]["max"].get<double>(), 8.0);
  EXPECT_GE(s["gap"]["p99"].get<double>(), s["gap"]["p50"].get<double>());
  EXPECT_EQ(s["fill"]["peak"], 3);
  EXPECT_NE(content("out/statistics.txt").find("node0.key_check\n  operations  100 "), std::string::npos);
  const auto host = ordered_json::parse(content("out/host.json"));
  EXPECT_EQ(host["operations"], 100);
  EXPECT_EQ(host["queue_activations"], 100);
  EXPECT_GT(host["peak_memory_mib"].get<double>(), 1);
  EXPECT_NE(content("out/waves.vcd").find("$var wire 8 ! count [7:0] $end"), std::string::npos);
  EXPECT_NE(content("out/waves.gtkw").find(fmt::format("[dumpfile] \"{}/out/waves.vcd\"", folder().string())),
            std::string::npos);
  EXPECT_EQ(content("out/gtkwave/state_0.txt"), "0 idle\n1 busy\n2 done\n");
}

TEST_F(cli, same_seed_same_bytes_and_the_resolved_description_repeats_the_run) {
  ASSERT_EQ(hcasim("run count_ticks -o a --ticks 500 --seed 7 --set node*.pcie.latency='1.5 us'").status, 0);
  ASSERT_EQ(hcasim("run count_ticks -o b --ticks 500 --seed 7 --set node*.pcie.latency='1.5 us'").status, 0);
  ASSERT_EQ(hcasim("run a/resolved.yaml -o c").status, 0);
  ASSERT_EQ(hcasim("run count_ticks -o d --ticks 500 --seed 8 --set node*.pcie.latency='1.5 us'").status, 0);
  for (const char* name : {"result.json", "statistics.txt", "resolved.yaml", "waves.vcd"}) {
    EXPECT_EQ(content(fs::path("a") / name), content(fs::path("b") / name)) << name;
    EXPECT_EQ(content(fs::path("a") / name), content(fs::path("c") / name)) << name;
    EXPECT_NE(content(fs::path("a") / name), content(fs::path("d") / name)) << name;
  }
}

TEST_F(cli, description_files_and_json) {
  file("exp.yaml", "testbench: count_ticks\nseed: 3\nnodes: 3\nnode*: {hca: {mrc_cache: {ways: 2}}}\nparameters: {ticks: 5}\n");
  const outcome o = hcasim("run exp.yaml -o out --json --param ticks=6");
  ASSERT_EQ(o.status, 0) << o.text;
  const auto r = ordered_json::parse(o.text);
  EXPECT_EQ(r["seed"], 3);
  EXPECT_EQ(r["figures"]["ticks"]["value"], 6);
  EXPECT_EQ(r["tables"][0]["rows"].size(), 3U);
  EXPECT_EQ(o.text, content("out/result.json"));
}

TEST_F(cli, waveforms_on_demand) {
  ASSERT_EQ(hcasim("run count_ticks -o none --no-trace").status, 0);
  EXPECT_FALSE(fs::exists("none/waves.vcd"));
  ASSERT_EQ(hcasim("run count_ticks -o some --trace '*.valid' --trace key_check.state").status, 0);
  const std::string vcd = content("some/waves.vcd");
  EXPECT_NE(vcd.find("valid"), std::string::npos);
  EXPECT_NE(vcd.find("state"), std::string::npos);
  EXPECT_EQ(vcd.find("count"), std::string::npos);
  const outcome limited = hcasim("run count_ticks -o limited --ticks 200000 --trace-limit '64 KiB'");
  EXPECT_LT(fs::file_size("limited/waves.vcd"), 65'700U);
  EXPECT_NE(limited.text.find("it reached --trace-limit"), std::string::npos);
}

TEST_F(cli, waveforms_as_fst_and_of_a_part) {
  ASSERT_EQ(hcasim("run count_ticks -o vcd --ticks 3000").status, 0);
  ASSERT_EQ(hcasim("run count_ticks -o fst --ticks 3000 --waves fst").status, 0);
  ASSERT_EQ(hcasim("run count_ticks -o again --ticks 3000 --waves fst").status, 0);
  EXPECT_FALSE(fs::exists("fst/waves.vcd"));
  EXPECT_EQ(content("fst/waves.fst"), content("again/waves.fst"));
  EXPECT_NE(content("fst/waves.gtkw").find(fmt::format("[dumpfile] \"{}/fst/waves.fst\"", folder().string())),
            std::string::npos);
  EXPECT_EQ(changes_by_name(parse_fst("fst/waves.fst")), changes_by_name(parse_vcd("vcd/waves.vcd")));
  EXPECT_EQ(content("fst/result.json"), content("vcd/result.json"));

  ASSERT_EQ(hcasim("run count_ticks -o part --ticks 3000 --waves fst --from '1 us' --until '2 us'").status, 0);
  const parsed part = parse_fst("part/waves.fst");
  EXPECT_EQ(part.begin, 1'000'000);
  EXPECT_EQ(part.end, 2'000'000);
  ASSERT_EQ(hcasim("run count_ticks -o none --waves none").status, 0);
  EXPECT_FALSE(fs::exists("none/waves.gtkw"));
  EXPECT_EQ(hcasim("run count_ticks -o bad --waves png").status, 2);
}

TEST_F(cli, failed_runs_have_status_1_and_keep_their_results) {
  const outcome check = hcasim("run count_ticks -o check --check-fails true");
  EXPECT_EQ(check.status, 1);
  EXPECT_NE(check.text.find("count_ticks: FAILED"), std::string::npos);
  EXPECT_NE(check.text.find("failed: the check failed\n"), std::string::npos);
  EXPECT_EQ(ordered_json::parse(content("check/result.json"))["passed"], false);
  EXPECT_EQ(ordered_json::parse(content("check/result.json"))["failures"][0], "the check failed");
  const outcome broken = hcasim("run count_ticks -o broken --break_off true");
  EXPECT_EQ(broken.status, 1);
  EXPECT_NE(broken.text.find("failed: the run was aborted: it broke\n"), std::string::npos);
  EXPECT_TRUE(fs::exists("broken/waves.vcd"));
}

TEST_F(cli, an_earlier_result_is_replaced_only_when_asked) {
  ASSERT_EQ(hcasim("run count_ticks -o out --ticks 5").status, 0);
  const std::string first = content("out/result.json");
  refused("run count_ticks -o out --ticks 6",
          fmt::format("'{}/out' already holds a result; add --force to replace it or choose "
                      "another folder with -o",
                      folder().string()));
  EXPECT_EQ(content("out/result.json"), first);
  ASSERT_EQ(hcasim("run count_ticks -o out --ticks 6 --force").status, 0);
  EXPECT_NE(content("out/result.json"), first);
  EXPECT_EQ(files(), std::vector<std::string>{"out"});

  fs::create_directories("mine");
  file("mine/thesis.txt", "years of work");
  refused("run count_ticks -o mine --force",
          fmt::format("'{}/mine' exists and is not a result of hcasim, so it is not replaced; "
                      "choose another folder with -o",
                      folder().string()));
  EXPECT_EQ(content("mine/thesis.txt"), "years of work");
  fs::create_directories("empty");
  EXPECT_EQ(hcasim("run count_ticks -o empty/").status, 0);
}

TEST_F(cli, without_a_folder_results_are_numbered) {
  for (int i = 0; i < 2; ++i) ASSERT_EQ(hcasim("run count_ticks --no-trace").status, 0);
  EXPECT_EQ(files(), std::vector<std::string>{"hcasim-out"});
  EXPECT_TRUE(fs::exists("hcasim-out/count_ticks-001/result.json"));
  EXPECT_TRUE(fs::exists("hcasim-out/count_ticks-002/result.json"));

  fs::remove_all("hcasim-out/count_ticks-001");
  fs::create_directories("hcasim-out/count_ticks-of_mine");
  const fs::path partial = folder() / "hcasim-out/.count_ticks-003.partial";
  const pid_t other = ::fork();
  if (other == 0) {
    std::freopen("/dev/null", "w", stdout);
    ::execl(places::selftest, "hcasim", "run", "count_ticks", "--hang", "true", nullptr);
    ::_exit(99);
  }
  for (int i = 0; i < 500 && !fs::exists(partial / "resolved.yaml"); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(hcasim("run count_ticks --no-trace").status, 0) << "while another run has the number";
  EXPECT_TRUE(fs::exists("hcasim-out/count_ticks-004/result.json"));
  signal_process(other, SIGKILL);
  ::waitpid(other, nullptr, 0);
  EXPECT_EQ(hcasim("run count_ticks --no-trace").status, 0);
  EXPECT_TRUE(fs::exists("hcasim-out/count_ticks-005/result.json"));
}

TEST_F(cli, bad_commands) {
  refused("rnu count_ticks", "there is no command 'rnu'; did you mean 'run'?");
  refused("run", "testbench is required; see 'hcasim run --help'");
  refused("", "A subcommand is required; see 'hcasim --help'");
  refused("run count_tick -o out", "hcasim run: there is no testbench 'count_tick'; did you mean 'count_ticks'?");
  refused("run count_ticks --outptu x", "unknown option '--outptu'; did you mean '--output'?");
  refused("run count_ticks -o out --tikcs 5", "unknown option '--tikcs'; did you mean '--ticks'?");
  refused("run count_ticks twice -o out", "unexpected argument 'twice'; see 'hcasim run --help'");
  refused("run count_ticks -o out --ticks 5 --ticks 5", "--ticks is given 2 times; leave one");
  refused("run count_ticks -o out --ticks 5 -o other", "--output is given 2 times; leave one");
  refused("run count_ticks -o out --tick_period 4 us",
          "unexpected argument 'us'; write a value and its unit as one word, '4 us' or 4us");
  refused("run count_ticks --packets -o out", "--packets needs a value, and '-o' is an option; see 'hcasim run --help'");
  refused("run count_ticks -o --set node0.hca.mrc_cache.ways=8",
          "-o needs a value, and '--set' is an option; see 'hcasim run --help'");
  refused("run count_ticks -o out --param tikcs=5",
          "--param tikcs=5: parameters.tikcs: unknown key 'tikcs'; did you mean 'ticks'?");
  refused("run count_ticks -o out --seed many", "--seed: seed: 'many' is not a number; a count is written like '8'");
  refused("run count_ticks -o out --ticks many",
          "--ticks: parameters.ticks: 'many' is not a number; a count is written like '8'");
  refused("run count_ticks -o out --trace nothing", "--trace nothing: no signal has such a name; units are: node0.key_check");
  refused("run count_ticks -o out --trace-limit '-5 B'", "--trace-limit: -5 B is out of range; allowed is 0 B to 4194304 TiB");
  refused("run count_ticks -o out --trace-limit '1e300 B'",
          "--trace-limit: 1e300 B is out of range; allowed is 0 B to 4194304 TiB");
  refused("run count_ticks -o out --from '-1 ns'", "--from: -1 ns is out of range; allowed is 0 ns to never");
  refused("run count_ticks -o out --until '1e300 s'", "--until: 1e300 s is out of range; allowed is 0 ns to never");
  refused("sweep s.yaml -o out --time-limit '-1 s'", "--time-limit: -1 s is out of range; allowed is 1 ps to never");
  refused("run count_ticks -o out --trace-limit 5",
          "--trace-limit: '5' has no unit; a size is in B, KiB, MiB, GiB or TiB: write for example '5 B'");
}

TEST_F(cli, bad_descriptions) {
  refused("run no.yaml -o out",
          "no.yaml: cannot read 'no.yaml': No such file or directory; check the path and its permissions");
  file("a.yaml", "testbench: count_ticks\nnode0:\n  hca:\n    mrc_cache:\n      ways: 8 B\n");
  refused("run a.yaml -o out",
          "a.yaml:5:13: node0.hca.mrc_cache.ways: '8 B' has a unit, but a count is a number alone; write for example 8");
  file("b.yaml", "nodes: 2\n");
  refused("run b.yaml -o out", "b.yaml: the description names no testbench; add a line 'testbench: NAME' ('hcasim list')");
  file("c.yaml", "testbench: count_tikcs\n");
  refused("run c.yaml -o out", "c.yaml:1:12: there is no testbench 'count_tikcs'; did you mean 'count_ticks'?");
  file("d.yaml", "testbench: count_ticks\nparameters:\n  tick_period: 5\n");
  refused("run d.yaml -o out",
          "d.yaml:3:16: parameters.tick_period: '5' has no unit; a time is in ps, ns, us, ms or s: write for example '5 ns'");
  file("e.yaml", "testbench: count_ticks\n nodes: 2\n");
  EXPECT_EQ(hcasim("run e.yaml -o out").status, 2);
  refused("run count_ticks -o out --set link.loss=1", "link.loss: with every packet lost nothing ever ends; write less than 1");
}

TEST_F(cli, unreadable_input_and_unwritable_output) {
  refused("run count_ticks -o out --input missing.csv", "parameters.input: cannot read 'missing.csv'; check the path");
  refused("run count_ticks -o deep/er/out --input missing.csv", "parameters.input: cannot read 'missing.csv'; check the path");
  file("plain", "");
  refused("run count_ticks -o plain", fmt::format("'{}/plain' is not a folder; choose another with -o", folder().string()));
  refused("run count_ticks -o plain/out",
          fmt::format("cannot write into '{}/plain': Not a directory; choose another folder with -o", folder().string()));
  const outcome o = hcasim("run count_ticks -o /proc/out");
  EXPECT_EQ(o.status, 2);
  EXPECT_NE(o.text.find("cannot write into '/proc': "), std::string::npos) << o.text;
}

TEST_F(cli, an_interrupt_leaves_nothing_behind) {
  const pid_t child = hanging_run();
  signal_process(child, SIGINT);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 130);
  EXPECT_TRUE(files().empty());
}

TEST_F(cli, two_runs_do_not_share_a_folder) {
  const pid_t child = hanging_run();
  const std::string taken =
      fmt::format("another run is writing '{}/out'; wait for its end or choose another folder with -o", folder().string());
  refused("run count_ticks -o out", taken);
  refused("run count_ticks -o out --force", taken);
  EXPECT_EQ(hcasim("run count_ticks -o other").status, 0);
  ASSERT_EQ(files().size(), 2U) << "what the first has made so far is still there";
  signal_process(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(hcasim("run count_ticks -o out").status, 0);
  EXPECT_EQ(files(), (std::vector<std::string>{"other", "out"})) << "what the killed one left is gone";
}

TEST_F(cli, diff_names_what_changed) {
  ASSERT_EQ(hcasim("run count_ticks -o a --ticks 100").status, 0);
  ASSERT_EQ(hcasim("run count_ticks -o b --ticks 100").status, 0);
  ASSERT_EQ(hcasim("run count_ticks -o c --ticks 120 --set node1.hca.mrc_cache.ways=8").status, 0);
  const outcome same = hcasim("diff a b");
  EXPECT_EQ(same.status, 0);
  EXPECT_EQ(same.text, "the same description and the same results\n");
  const outcome other = hcasim("diff a c");
  EXPECT_EQ(other.status, 1);
  for (const char* line :
       {"  node1.hca.mrc_cache.ways    4    8  +100.00 %\n", "  parameters.ticks          100  120   +20.00 %\n",
        "figures\n  ticks  100  120  +20.00 %\n", "tables differ\n", "node0.key_check.operations"}) {
    EXPECT_NE(other.text.find(line), std::string::npos) << line << other.text;
  }
  EXPECT_NE(hcasim("diff a c --threshold 0.5").text.find("statistics changed by less than 50 %"), std::string::npos);
  const auto j = ordered_json::parse(hcasim("diff a/result.json c --json").text);
  EXPECT_EQ(j["same"], false);
  EXPECT_EQ(j["description"].size(), 2U);
  EXPECT_EQ(j["description"][0], ordered_json::parse(R"({"name": "node1.hca.mrc_cache.ways", "a": 4, "b": 8})"));
  refused("diff a nowhere", "'nowhere' holds no result; name a folder that 'hcasim run -o' wrote");
  file("broken.json", "{\"hcasim\": ");
  refused("diff a broken.json", "'broken.json' is not a result of hcasim, or it is damaged");
}

TEST_F(cli, diff_of_runs_with_other_nodes_can_be_read) {
  ASSERT_EQ(hcasim("run count_ticks -o a").status, 0);
  ASSERT_EQ(hcasim("run count_ticks -o b --set nodes=4").status, 0);
  const outcome o = hcasim("diff a b");
  EXPECT_EQ(o.status, 1);
  EXPECT_NE(o.text.find(" values"), std::string::npos) << "a node that one run has is told by its size\n" << o.text;
  std::istringstream lines(o.text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 160U) << line;
}

TEST_F(cli, a_quiet_run_prints_failures_alone) {
  EXPECT_EQ(hcasim("run count_ticks -o a -q").text, "");
  EXPECT_TRUE(fs::exists("a/result.json"));
  const outcome o = hcasim("run count_ticks -o b --quiet --check-fails true");
  EXPECT_EQ(o.status, 1);
  EXPECT_TRUE(o.text.starts_with("count_ticks: failed: ")) << o.text;
  EXPECT_EQ(std::count(o.text.begin(), o.text.end(), '\n'), 1) << o.text;
  EXPECT_EQ(hcasim("run count_ticks -o c -q --json").status, 2);
}

TEST_F(cli, explain_names_what_is_busiest) {
  const outcome o = hcasim("run count_ticks -o out --explain");
  EXPECT_EQ(o.status, 0);
  EXPECT_NE(o.text.find("how busy the resources were\n"), std::string::npos) << o.text;
  EXPECT_NE(o.text.find("busiest     nothing was busy; --what-if finds the bottleneck\n"), std::string::npos) << o.text;
}

TEST_F(cli, completion_and_manual_know_every_command) {
  file("complete.sh",
       fmt::format("eval \"$({0} completion bash)\"\nhcasim() {{ {0} \"$@\"; }}\n"
                   "ask() {{ COMP_LINE=\"hcasim $*\"; COMP_POINT=${{#COMP_LINE}}; COMPREPLY=(); _hcasim; echo "
                   "\"${{COMPREPLY[@]}}\"; }}\n"
                   "ask s; ask run co; ask run count_ticks --see; ask sweep x --re; ask diff a b --js\n"
                   "ask run count_ticks --ti; ask run count_ticks --check-fails ''; ask run count_ticks --set \"'node*.h\"\n"
                   "ask run count_ticks --set node0.hca.mrc_cache.w; ask run count_ticks --set link.loss=\n",
                   places::selftest));
  EXPECT_EQ(run_program("bash", "complete.sh").text,
            "sweep show\ncount_ticks\n--seed\n--resume --retry\n--json\n--ticks --tick-period\ntrue false\nnode*.hca.\n"
            "node0.hca.mrc_cache.ways=\n0\n");
  EXPECT_NE(hcasim("completion zsh").text.find("bashcompinit"), std::string::npos);
  EXPECT_NE(hcasim("completion fish").text.find("complete -c hcasim -n '__fish_seen_subcommand_from run' -l seed"),
            std::string::npos);
  EXPECT_EQ(hcasim("completion tcsh").status, 2);

  const std::string manual = hcasim("man").text;
  const std::string help = hcasim("--help").text;
  for (const char* command :
       {"list", "run", "sweep", "report", "params", "faults", "diff", "trace", "completion", "man", "version"}) {
    EXPECT_NE(help.find(fmt::format("  {}", command)), std::string::npos) << command;
    EXPECT_NE(manual.find(fmt::format(".SS hcasim {}\n", command)), std::string::npos) << command;
  }
  EXPECT_NE(manual.find("\\fB\\-\\-seed\\fR \\fIN\\fR\nSeed of all random streams"), std::string::npos);
  EXPECT_NE(manual.find(".SH EXIT STATUS\n.TP\n0\nDone; "), std::string::npos);
  // Examples name commands and options that there are.
  const std::size_t begin = manual.find(".SH EXAMPLES\n");
  ASSERT_NE(begin, std::string::npos);
  std::istringstream examples(manual.substr(begin, manual.find(".SH EXIT STATUS") - begin));
  unsigned found = 0;
  for (std::string line; std::getline(examples, line);) {
    if (!line.starts_with(".B hcasim ")) continue;
    ++found;
    std::istringstream words(line.substr(10));
    std::string command;
    words >> command;
    const std::size_t section = manual.find(fmt::format(".SS hcasim {}\n", command));
    ASSERT_NE(section, std::string::npos) << line;
    const std::string of_command = manual.substr(section, manual.find(".SS ", section + 4) - section);
    for (std::string word; words >> word && word != "\\-\\-";) {
      if (!word.starts_with("\\-")) continue;
      EXPECT_NE(of_command.find(fmt::format("\\fB{}\\fR", word)), std::string::npos) << line << ": " << word;
    }
  }
  EXPECT_GE(found, 6U);
  EXPECT_EQ(manual.find("tick"), std::string::npos) << "parameters of testbenches are not options of the program";
}

TEST_F(cli, every_command_speaks_json) {
  const auto json = [&](const std::string& arguments, int status = 0) {
    const outcome o = hcasim(arguments);
    EXPECT_EQ(o.status, status) << arguments;
    const auto j = ordered_json::parse(o.text, nullptr, false);
    EXPECT_FALSE(j.is_discarded()) << arguments << ": " << o.text;
    return j;
  };
  EXPECT_EQ(json("list --json")[0]["name"], "count_ticks");
  EXPECT_FALSE(json("params --json").empty());
  EXPECT_EQ(json("run count_ticks -o a --json")["testbench"], "count_ticks");
  EXPECT_EQ(json("run count_ticks -o b --json --seed 2")["seed"], 2);
  EXPECT_EQ(json("diff a b --json", 1)["same"], false);
  const auto trace = json("trace a/waves.vcd part.fst --trace '*.valid' --until '20 ns' --json");
  EXPECT_EQ(trace["format"], "fst");
  EXPECT_EQ(trace["signals"], 1);
  EXPECT_EQ(trace["until_ns"], 20);
  EXPECT_EQ(json("version --json")["hcasim"], json("man --json")["hcasim"]);
  EXPECT_EQ(json("completion bash --json")["script"], hcasim("completion bash").text);
  file("s.yaml", "base: {testbench: count_ticks}\naxes: {n: {knob: seed, values: [1, 2]}}\nmetrics: {t: {figure: ticks}}\n");
  auto plan = json("sweep s.yaml --dry-run --json");
  EXPECT_EQ(plan["trial"]["status"], "passed");
  EXPECT_GT(plan["estimate"]["MiB"].get<double>(), 1);
  plan.erase("trial");
  plan.erase("estimate");
  EXPECT_EQ(plan, ordered_json::parse(R"({"study": "s", "points": 2, "axes": {"n": ["1", "2"]}})"));
  EXPECT_EQ(json("sweep s.yaml -o study --json")["passed"], 2);
  const auto report = json("report study --svg pictures --json");
  EXPECT_TRUE(report["page"].is_null());
  EXPECT_EQ(report["pictures"][0], fmt::format("{}/pictures/s_1.svg", folder().string()));
  // The manual knows the option, the status and the choice everywhere.
  const auto manual = json("man --json");
  for (const auto& command : manual["commands"]) {
    EXPECT_NE(command.dump().find("\"--json\""), std::string::npos) << command["name"];
  }
  EXPECT_EQ(manual["exit_status"].size(), 5U);
  // Errors are there too.
  const outcome error = hcasim("run count_tick --json");
  EXPECT_EQ(error.status, 2);
  EXPECT_EQ(ordered_json::parse(error.text.substr(error.text.find('{'))),
            ordered_json::parse(
                R"({"error": "hcasim run: there is no testbench 'count_tick'; did you mean 'count_ticks'?", "status": 2})"));
}

}  // namespace
}  // namespace hcasim
