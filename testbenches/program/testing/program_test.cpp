// The built program with the real system: presets, system files, checks between knobs, and waveforms of every unit.
#include <map>
#include <set>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "testbenches/program/places/places.h"
#include "testbenches/program/testing/own_folder.h"
#include "testbenches/program/testing/run_program.h"
#include "testbenches/program/testing/whole_run.h"

namespace hcasim {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class program : public test_in_own_folder {
 protected:
  static outcome hcasim(const std::string& arguments) { return run_program(places::program, arguments); }
};

TEST_F(program, every_preset_runs) {
  std::size_t presets = 0;
  for (const auto& e : fs::directory_iterator(fs::path(places::source) / "testbenches/studies/presets")) {
    const std::string name = e.path().stem();
    const outcome o = hcasim(fmt::format("run ping -o {0} --no-trace --set preset={0}", name));
    EXPECT_EQ(o.status, 0) << o.text;
    const json r = json::parse(file_content(fs::path(name) / "result.json"));
    EXPECT_EQ(r["presets"]["node0"], name);
    EXPECT_EQ(r["presets"]["node1"], name);
    ++presets;
  }
  EXPECT_GE(presets, 2U);
  const json r = json::parse(file_content("connectx3_fdr/result.json"));
  EXPECT_EQ(r["description"]["node1"]["hca"]["clock"], "350 MHz");
  EXPECT_EQ(r["description"]["link"]["rate"], "54.5 Gb/s");
}

// A run ends completely, or with status 1 and the cause. A program must not wait for ever for a peer that has given up.
class fabric : public program, public ::testing::WithParamInterface<const char*> {};

TEST_P(fabric, ends_every_run) {
  if (std::string_view(GetParam()) == "link.corruption=0.3" && !std::getenv("HCASIM_FULL"))
    GTEST_SKIP() << "as a loss for the programs; HCASIM_FULL=1 runs it";
  const std::map<std::string, std::string> parameters{{"lockstep", "--requests 100"},
                                                      {"hostile", "--forged 3000"},
                                                      {"applications", "--program0.run true"},  // others poll for seconds
                                                      {"gateway", "--program0.run true --listen " + own_listening_address()}};
  const json benches = json::parse(hcasim("list --json").text);
  for (const auto& bench : benches) {
    const std::string name = bench["name"];
    const auto with = parameters.find(name);
    const outcome o = run_program("timeout 60", fmt::format("{} run {} --no-trace --set {} -o out --force {}", places::program,
                                                            name, GetParam(), with == parameters.end() ? "" : with->second));
    EXPECT_TRUE(o.status == 0 || o.status == 1) << name << ": status " << o.status << "\n" << o.text;
    const bool told = o.text.find("failed: on the way") != std::string::npos;
    EXPECT_EQ(told, o.status == 1) << name << "\n" << o.text;
  }
  EXPECT_GT(benches.size(), 10U);
}

INSTANTIATE_TEST_SUITE_P(any, fabric, ::testing::Values("link.loss=0.3", "link.loss=1", "link.corruption=0.3"));

// Published points of pcie-bench: mean error at most 5 %, the knee within half an octave.
TEST_F(program, iommu_latency_against_window_is_that_of_the_measurement) {
  const outcome o = hcasim("run iommu_window -o out --no-trace --set preset=nfp6000");
  ASSERT_EQ(o.status, 0) << o.text;
  const json r = json::parse(file_content("out/result.json"));
  const auto figure = [&r](const char* name) { return r["figures"][name]["value"].get<double>(); };
  EXPECT_LE(figure("MAPE"), 5) << o.text;
  EXPECT_LE(figure("knee"), 0.5) << o.text;
  EXPECT_NEAR(figure("without the IOMMU"), 546.67, 20);
}

// With an IOMMU in front of the adapters every testbench runs unchanged.
TEST_F(program, every_testbench_runs_behind_an_iommu) {
  for (const char* run : {"ping", "random_traffic --operations 300", "key_storm --changes 300",
                          "key_lifecycle --most_keys 1 --changes 8", "message_rate --messages 2000", "rkey_reuse",
                          "on_demand --pages 32 --takes 20", "peer_direct --times 20 --largest '64 KiB' --bytes '512 KiB'"}) {
    const outcome o = hcasim(fmt::format("run {} -o out --force --no-trace --set node*.iommu.enabled=true", run));
    EXPECT_EQ(o.status, 0) << run << "\n" << o.text;
  }
}

// Every testbench runs with adapters that translate by themselves, also pages of on-demand regions.
TEST_F(program, testbenches_run_with_translation_caches_in_the_adapters) {
  for (const char* run : {"ping", "key_storm --changes 300", "on_demand --pages 32 --takes 20",
                          "peer_direct --times 20 --largest '64 KiB' --bytes '512 KiB'"}) {
    const outcome o =
        hcasim(fmt::format("run {} -o out --force --no-trace --set node*.iommu.enabled=true --set "
                           "node*.hca.atc.enabled=true --set node*.driver.on_demand=iommu",
                           run));
    EXPECT_EQ(o.status, 0) << run << "\n" << o.text;
  }
  std::ifstream peers("out/node1/memory_peers/gpu0/num_free_callbacks");
  std::uint64_t callbacks = 0;
  peers >> callbacks;
  EXPECT_GE(callbacks, 20U) << "what the clients did is among the results";
  const outcome o = hcasim("run ping -o out --force --no-trace --set node0.hca.atc.enabled=true");
  EXPECT_NE(o.status, 0);
  EXPECT_NE(o.text.find("need an IOMMU"), std::string::npos) << o.text;
}

TEST_F(program, every_system_file_is_read) {
  for (const auto& e : fs::directory_iterator(fs::path(places::source) / "testbenches/studies/systems")) {
    // The testbench takes any number of hosts.
    std::ofstream("run.yaml") << "testbench: applications\nparameters: {program0: {run: 'true'}}\ninclude: "
                              << e.path().stem().string() << "\n";
    const outcome o = hcasim("run run.yaml -o out --force --no-trace");
    EXPECT_EQ(o.status, 0) << o.text;
  }
}

TEST_F(program, a_campaign_without_what_it_needs_is_bad_input) {
  const outcome peer = hcasim("run fault_campaign -o out --force --no-trace --memory peer");
  EXPECT_EQ(peer.status, 2);
  EXPECT_EQ(peer.text, "hcasim: parameters.memory: node 1 has no peer device; write node1.peer0.kind: gpu\n");
  EXPECT_EQ(hcasim("run fault_campaign -o out --force --no-trace --where nowhere").status, 2);
}

TEST_F(program, knobs_are_found_by_words_of_their_meaning) {
  const outcome o = hcasim("params replacement mrc");
  ASSERT_EQ(o.status, 0) << o.text;
  EXPECT_NE(o.text.find("\nnode*.hca.mrc_cache.policy"), std::string::npos) << o.text;
  const outcome size = hcasim("params cache size");
  EXPECT_EQ(size.status, 0) << size.text;
  const outcome of_testbench = hcasim("params moderation");
  EXPECT_EQ(of_testbench.status, 0);
  EXPECT_NE(of_testbench.text.find("traffic.flows.writes.moderation_count"), std::string::npos) << of_testbench.text;
  const outcome plain = hcasim("params");
  EXPECT_EQ(plain.text.find(".rtl.stall"), std::string::npos);
  EXPECT_NE(plain.text.find("knobs of RTL are left out: hcasim params .rtl."), std::string::npos);
  EXPECT_NE(hcasim("params .rtl.").text.find("key_check.rtl.stall"), std::string::npos);
}

// The end of a line is completed with what this machine and its testbenches have.
TEST_F(program, completes_knobs_values_and_signals) {
  const auto words = [](const char* line) { return hcasim(fmt::format("completion bash --line \"{}\"", line)).text; };
  EXPECT_EQ(words("hcasim run ping --set node0.hca.mrc_cache.policy="),
            "node0.hca.mrc_cache.policy=lru\nnode0.hca.mrc_cache.policy=plru\nnode0.hca.mrc_cache.policy=random\n");
  EXPECT_EQ(words("hcasim run ping --set node*.hca.key_"), "node*.hca.key_check.\n");
  EXPECT_NE(words("hcasim run ping --trace node1.hca.key_check.").find("node1.hca.key_check.verdict\n"), std::string::npos);
  EXPECT_EQ(words("hcasim run rkey_reuse --way re"), "remap\nreregister\nregister\nrebind\n");
  EXPECT_EQ(words("hcasim params node*.pcie.la"), "node*.pcie.lanes\n");
}

TEST_F(program, values_that_do_not_go_together_are_bad_input) {
  const std::map<std::string, std::string> cases{
      {"--set node1.pcie.mps='384 B'", "hcasim: node1.pcie.mps: 384 B is not a power of two; write 256 B or 512 B\n"},
      {"--spans=3", "hcasim: --spans takes no value; see 'hcasim run --help'\n"},
      {"--set node1.pcie.lanes=3", "hcasim: node1.pcie.lanes: no link has 3 lanes; write 1, 2, 4, 8, 12 or 16\n"},
      {"--set mrc_cache.ways=4",
       "hcasim: --set mrc_cache.ways=4: mrc_cache: unknown key 'mrc_cache'; did you mean 'node*.hca.mrc_cache.ways'?\n"},
      {"--set nodes=3 --set topology=direct",
       "hcasim: topology: one cable joins two nodes, but there are 3; write topology: switch or nodes: 2\n"},
      {"--set node0.pcie.posted_data=1",
       "hcasim: the description does not fit together: pcie: data credits must hold one TLP of mps; see 'hcasim params' and "
       "docs/units\n"},
      {"--set nodes=1", "hcasim: nodes: ping needs 2 hosts, and there are 1; write nodes: 2\n"},
      {"--set nodes=64",
       "hcasim: nodes: there are 64 hosts, but ping would drive only 2; write nodes: 2, and topology: switch for a switch "
       "between them\n"},
      {"--set nodes=0", "hcasim: --set nodes=0: nodes: 0 is out of range; allowed is 1 to 1024\n"},
      {"--set node0.hca.port.lid=3",
       "hcasim: --set node0.hca.port.lid=3: node0.hca.port.lid: unknown key 'lid'; keys here are: count, link_layer, mtu, "
       "egress_latency, egress_interval, egress_packets, ingress_latency, ingress_interval\n"}};
  for (const auto& [arguments, message] : cases) {
    const outcome o = hcasim("run ping -o out " + arguments);
    EXPECT_EQ(o.status, 2) << arguments;
    EXPECT_EQ(o.text, message);
    EXPECT_TRUE(fs::is_empty(folder())) << arguments;
  }
}

// Software without a response from the adapter, and software beyond the limits: the run ends, and says why.
TEST_F(program, an_object_that_cannot_be_made_is_named_with_its_limit) {
  const outcome dead = hcasim("run random_traffic --no-trace -o dead --set 'node*.driver.command_timeout=3us'");
  EXPECT_EQ(dead.status, 1) << dead.text;
  EXPECT_NE(dead.text.find("Connection timed out; a command was not answered within driver.command_timeout"), std::string::npos)
      << dead.text;
  const outcome many = hcasim("run message_rate --no-trace -o many --qps 40 --messages 40 --set 'node*.driver.log_qps=5'");
  EXPECT_EQ(many.status, 1) << many.text;
  EXPECT_NE(many.text.find("cannot make a QP: Cannot allocate memory; their number is limited by driver.log_qps"),
            std::string::npos)
      << many.text;
  const std::string not_open = "node0: the driver cannot open its adapter: ";
  const std::string not_connected =
      "cannot connect a QP: Invalid argument; its MTU may be that of hca.port.mtu and link.buffer, its";
  const std::map<std::string, std::string> told{
      {"node*.hca.completion.event_queues=1", not_open + "Cannot allocate memory, when it was making event queues (driver."},
      {"node*.driver.command_timeout=1us",
       not_open + "Connection timed out, when it was its first commands (driver.command_timeout"},
      {"node*.hca.port.mtu=256B", not_connected},
      {"node*.hca.command_unit.max_read_depth=1", not_connected},
      {"node*.hca.command_unit.max_sge=1", "cannot make a QP: Invalid argument; its limits are in hca.command_unit"}};
  for (const auto& [setting, words] : told) {
    const outcome o = hcasim(fmt::format("run ping --no-trace -o told --force --set '{}'", setting));
    EXPECT_EQ(o.status, 1) << setting;
    EXPECT_NE(o.text.find(words), std::string::npos) << setting << "\n" << o.text;
  }
}

TEST_F(program, paging_by_the_iommu_needs_page_requests) {
  const std::string run = "run on_demand --no-trace --pages 8 -o out --set 'node*.driver.on_demand=iommu'";
  const std::string iommu = run + " --set 'node*.iommu.enabled=true'";
  const std::string atc = iommu + " --set 'node*.hca.atc.enabled=true'";
  for (const std::string& lacking : {run, iommu, atc + " --set node1.hca.atc.page_requests=0"}) {
    const outcome o = hcasim(lacking);
    EXPECT_EQ(o.status, 2) << lacking << o.text;
    EXPECT_NE(o.text.find(".driver.on_demand: iommu needs page requests; write node"), std::string::npos) << o.text;
  }
  EXPECT_EQ(hcasim(atc).status, 0);
}

// The driver's table of QPs has room for those of the testbench, unless the description says how large the table is.
TEST_F(program, tables_grow_with_the_testbench_unless_they_are_set) {
  const std::string run =
      "run message_rate --no-trace --force -o out --qps 65536 --regions 1048576 --set 'node*.hca.command_unit.log_qps=4'";
  const auto resolved = [&](const std::string& more) {
    EXPECT_EQ(hcasim(run + more).status, 1) << more;  // the adapter's own table is too small for all
    return file_content("out/resolved.yaml");
  };
  const std::string grown = resolved("");
  EXPECT_NE(grown.find("log_qps: 17\n"), std::string::npos);
  EXPECT_NE(grown.find("log_mrs: 21\n"), std::string::npos);
  const std::string set = resolved(" --set 'node*.driver.log_qps=9'");
  EXPECT_NE(set.find("log_qps: 9\n"), std::string::npos);
  EXPECT_EQ(set.find("log_qps: 17\n"), std::string::npos);
}

// Each end of the range of each knob: the run ends well, or is refused with the unfit value. Only some knobs may make it fail,
// with a message. HCASIM_FULL runs all knobs, otherwise some.
TEST_F(program, every_bound_of_every_knob_is_run_or_named) {
  const std::set<std::string> may_fail{"link.loss",
                                       "link.corruption",
                                       "system.stall_limit",
                                       "system.stall_events",
                                       "node*.hca.port.mtu",
                                       "node*.driver.log_qps",
                                       "node*.hca.completion.event_queues",
                                       "node*.driver.command_timeout",
                                       "node*.hca.command_unit.max_sge",
                                       "node*.hca.command_unit.max_read_depth"};
  const bool full = std::getenv("HCASIM_FULL") != nullptr;
  std::vector<std::string> runs{"ping"};
  if (full) {
    runs.insert(runs.end(), {"random_traffic --operations 100", "message_rate --messages 200", "transports",
                             "rkey_reuse --length '512 KiB'", "send_fallback --messages 40"});
  }
  const std::size_t step = full ? 1 : 11;
  std::size_t number = 0;
  for (const json& k : json::parse(hcasim("params --json").text)) {
    const std::string range = k["range"].is_string() ? k["range"].get<std::string>() : "";
    const std::size_t cut = range.find(" to ");
    if (cut == std::string::npos || ++number % step != 0) continue;
    const std::string knob = k["path"];
    for (const std::string& bound : {range.substr(0, cut), range.substr(cut + 4)}) {
      for (const std::string& run : runs) {
        const std::string what = fmt::format("run {} --set '{}={}'", run, knob, bound);
        const outcome o = run_program("timeout 300", fmt::format("{} {} --no-trace -o bound --force", places::program, what));
        EXPECT_TRUE(o.status >= 0 && o.status <= 2) << what << ": status " << o.status << "\n" << o.text;
        EXPECT_TRUE(o.status != 1 || run != "ping" || may_fail.contains(knob)) << what << "\n" << o.text;
        EXPECT_EQ(o.status == 1, o.text.find("\nfailed: ") != std::string::npos) << what << "\n" << o.text;
        for (const char* inside : {"std::", "vector::", "Assertion", "terminate called"})
          EXPECT_EQ(o.text.find(inside), std::string::npos) << what << "\n" << o.text;
      }
    }
  }
  EXPECT_GT(number, 250U);
}

TEST_F(program, files_without_an_end_and_places_without_room) {
  std::ofstream("endless.yaml") << "testbench: ping\ninclude: /dev/zero\n";
  const outcome endless = hcasim("run endless.yaml -o endless");
  EXPECT_EQ(endless.status, 2) << endless.text;
  EXPECT_NE(endless.text.find("cannot read '/dev/zero': it is not an ordinary file; name a YAML file"), std::string::npos)
      << endless.text;
  const outcome full =
      run_program("sh", fmt::format("-c '{} run ping --no-trace -o full --json > /dev/full'", places::program));
  EXPECT_EQ(full.status, 2) << full.text;
  EXPECT_NE(full.text.find("not all of standard output could be written"), std::string::npos) << full.text;
}

// RTL and the library for programs are built apart from the program, which names what is missing and leaves nothing behind.
TEST_F(program, a_part_that_is_not_built_is_named) {
  fs::copy_file(places::program, "hcasim_alone");
  const auto alone = [](const char* words) { return run_program("./hcasim_alone", words); };
  EXPECT_EQ(alone("run ping --no-trace -o out").status, 0);
  fs::remove_all("out");
  struct missing {
    const char *words, *part, *target;
  };
  for (const auto& [words, part, target] :
       {missing{"run ping --no-trace -o out --set node0.hca.key_check.implementation=rtl", "the RTL design key_check_design",
                "parts"},
        missing{"run lockstep --no-trace -o out --unit doorbell", "the RTL design doorbell_design", "parts"},
        missing{"run lockstep --no-trace -o out --unit doorbell --fault 1", "the RTL design doorbell_faulty", "parts"},
        missing{
            "run ping --no-trace -o out --set node0.hca.key_check.implementation=rtl --set node0.hca.key_check.rtl.coverage=c",
            "the RTL design key_check_covered", "covered"},
        missing{"run lockstep --no-trace -o out --unit doorbell --coverage true", "the RTL design doorbell_covered", "covered"},
        missing{"exec --no-trace -o out -- true", "the library that stands in for libibverbs", "parts"}}) {
    const outcome o = alone(words);
    EXPECT_EQ(o.status, 3) << o.text;
    EXPECT_NE(o.text.find(fmt::format("{} is not there: ", part)), std::string::npos) << o.text;
    EXPECT_NE(o.text.find(fmt::format("`./dev build {}`", target)), std::string::npos) << o.text;
    EXPECT_FALSE(fs::exists("out")) << words;
  }
  const outcome both = hcasim("run lockstep --no-trace -o out --unit doorbell --fault 1 --coverage true");
  EXPECT_EQ(both.status, 2) << both.text;
  EXPECT_NE(both.text.find("leave out coverage or fault"), std::string::npos) << both.text;
  for (const char* other : {"--accuracy true", "--stream none.stream"}) {
    const outcome o = hcasim(fmt::format("run lockstep --no-trace -o out --unit doorbell --coverage true {}", other));
    EXPECT_EQ(o.status, 2) << o.text;
    EXPECT_NE(o.text.find("leave out coverage, or accuracy and stream"), std::string::npos) << o.text;
  }
}

TEST_F(program, same_seed_same_bytes) {
  for (const char* folder : {"a", "b"}) {
    const outcome o = hcasim(fmt::format("run random_traffic -o {} --operations 200 --seed 5", folder));
    ASSERT_EQ(o.status, 0) << o.text;
  }
  for (const char* name : {"result.json", "statistics.txt", "resolved.yaml", "waves.vcd"}) {
    EXPECT_GT(fs::file_size(fs::path("a") / name), 1000U) << name;
    EXPECT_EQ(file_content(fs::path("a") / name), file_content(fs::path("b") / name)) << name;
  }
}

TEST_F(program, every_unit_moves_in_the_waveform) {
  const outcome o = hcasim("run rkey_reuse -o out --length '1 MiB'");
  ASSERT_EQ(o.status, 0) << o.text;
  std::ifstream vcd("out/waves.vcd");
  std::vector<std::string> scope;
  std::map<std::string, std::string> unit_of;  // key: id
  std::map<std::string, std::size_t> changes;  // key: unit
  std::string word;
  bool dumping = false;
  std::int64_t time = -1;
  while (vcd >> word) {
    if (word == "$scope") {
      vcd >> word >> word;
      scope.push_back(word);
    } else if (word == "$upscope") {
      scope.pop_back();
    } else if (word == "$var") {
      std::string id;
      vcd >> word >> word >> id;
      std::string path;
      for (const std::string& s : scope) path += fmt::format("{}{}", path.empty() ? "" : ".", s);
      unit_of[id] = path;
      changes.try_emplace(path, 0);
    } else if (word == "$dumpvars") {
      dumping = true;
    } else if (word == "$end") {
      dumping = false;
    } else if (dumping) {  // initial values: their ids may look like times
      continue;
    } else if (word[0] == '#') {
      const std::int64_t t = std::stoll(word.substr(1));
      ASSERT_GE(t, time);
      time = t;
    } else if (!dumping && (word[0] == 'b' || word[0] == '0' || word[0] == '1')) {
      std::string id = word.substr(1);
      if (word[0] == 'b') vcd >> id;
      if (const auto u = unit_of.find(id); u != unit_of.end()) ++changes[u->second];
    }
  }
  for (const char* unit : {"doorbell", "send_queue", "requester", "responder", "key_check", "page_walker", "dma_engine",
                           "completion", "command_unit", "port", "qpc_cache", "cqc_cache", "mrc_cache"}) {
    for (const char* node : {"node0", "node1"}) {
      EXPECT_GT(changes[fmt::format("system.{}.hca.{}", node, unit)], 10U) << node << " " << unit;
    }
  }
  EXPECT_GT(changes["system.node0.host"], 10U);
  EXPECT_GT(changes["system.node0.pcie"], 10U);
  EXPECT_GT(changes["system.link0"], 10U);
}

TEST_F(program, reports_the_speed_of_the_host) {
  ASSERT_EQ(hcasim("run message_rate -o out --messages 1000 --no-trace").status, 0);
  const json host = json::parse(file_content("out/host.json"));
  EXPECT_GE(host["operations"], 1000);
  EXPECT_GT(host["packets"], 1000) << "each WRITE, and acknowledges, of which one may answer several";
  EXPECT_GT(host["operations_per_second"], 100);
}

TEST_F(program, messages_outstanding_over_all_qps) {
  const auto rate = [](const std::string& arguments) {
    const outcome o = hcasim("run message_rate -o out --force --no-trace --messages 400 --warm_up 16 " + arguments);
    EXPECT_EQ(o.status, 0) << o.text;
    return json::parse(file_content("out/result.json"))["figures"]["message_rate"]["value"].get<double>();
  };
  EXPECT_NEAR(rate("--qps 4 --outstanding 1") / rate("--qps 1 --window 1"), 1, 0.01) << "one at a time, wherever";
  EXPECT_NEAR(rate("--qps 4 --outstanding 4") / rate("--qps 4 --window 1"), 1, 0.01);
  EXPECT_GT(rate("--qps 3 --outstanding 12"), 2 * rate("--qps 3 --outstanding 3"));
  const std::string reads = "--operation read --window 32 --read_depth ";
  EXPECT_NEAR(rate(reads + "8") / rate(reads + "4"), 2, 0.1);
  const outcome deep = hcasim("run message_rate -o none --operation read --read_depth 17");
  EXPECT_EQ(deep.status, 2);
  EXPECT_NE(deep.text.find("parameters.read_depth: the adapters allow 16; lower it, or raise"), std::string::npos) << deep.text;
  const outcome none = hcasim("run message_rate -o none --read_depth 4");
  EXPECT_NE(none.text.find("parameters.read_depth: WRITEs have no such limit; leave it out"), std::string::npos) << none.text;
  const outcome window = hcasim("run message_rate -o none --outstanding 4 --window 2");
  EXPECT_EQ(window.status, 2);
  EXPECT_NE(window.text.find("parameters.window: outstanding counts the messages of all QPs instead"), std::string::npos)
      << window.text;
  const outcome both = hcasim("run message_rate -o none --outstanding 4 --batch 2");
  EXPECT_EQ(both.status, 2);
  EXPECT_NE(both.text.find("parameters.batch: with outstanding, a message is a post of its own"), std::string::npos)
      << both.text;
}

TEST_F(program, explain_adds_up_and_names_the_busiest_resource) {
  const outcome ping = hcasim("run ping -o ping --no-trace --explain");
  ASSERT_EQ(ping.status, 0) << ping.text;
  const json figures = json::parse(file_content("ping/result.json"))["figures"];
  for (const char* operation : {"WRITE", "READ", "SEND"}) {
    std::size_t at = ping.text.find(fmt::format("{} of 64 B: where the time went\n", operation));
    ASSERT_NE(at, std::string::npos);
    double sum = 0;
    double total = 0;
    std::istringstream lines(ping.text.substr(at));
    std::string line;
    std::getline(lines, line);
    std::getline(lines, line);
    while (std::getline(lines, line) && !line.empty()) {
      const std::size_t point = line.find('.');  // times have three digits behind it
      ASSERT_NE(point, std::string::npos) << line;
      const double time = std::stod(line.substr(line.rfind(' ', point) + 1));
      (line.find("total") != std::string::npos ? total : sum) += time;
    }
    EXPECT_NEAR(sum, total, 0.01) << operation;
    EXPECT_NEAR(total, figures[operation]["value"].get<double>(), 0.001) << operation;
  }
  const outcome walk = hcasim(
      "run message_rate -o walk --no-trace --explain --messages 3000 --qps 32 --order random --region '1 GiB' --page '4 KiB' "
      "--set "
      "node1.hca.page_walker.walkers=1");
  EXPECT_NE(walk.text.find("busiest     node1.hca.page_walker walkers_busy, 100 % busy; "), std::string::npos) << walk.text;
}

// READs beyond the READ depth wait for earlier READs, not for fetches of other WQEs.
TEST_F(program, explain_tells_what_holds_a_wqe_back) {
  const auto steps = [](const std::string& arguments) {
    std::map<std::string, double> out;
    const outcome o =
        hcasim("run message_rate -o out --force --no-trace --explain --json --messages 2000 --window 64 " + arguments);
    EXPECT_EQ(o.status, 0) << o.text;
    const json result = json::parse(o.text);
    for (const json& s : result["explain"]["waterfalls"][0]["steps"]) out[s["unit"]] += s["ns"].get<double>();
    return out;
  };
  auto reads = steps("--operation read");
  EXPECT_GT(reads["send_queue, READs under way"], 1000);
  const outcome warm = hcasim("run message_rate -o out --force --no-trace --explain --messages 200 --warm_up 300");
  EXPECT_NE(warm.text.find("mean of 200 (64 B each)"), std::string::npos) << "the warm-up is left out\n" << warm.text;
  auto deep = steps("--operation read --set node*.hca.command_unit.max_read_depth=64");
  EXPECT_EQ(deep.count("send_queue, READs under way"), 0U);
  auto writes = steps("--set node*.hca.send_queue.max_outstanding=8");
  EXPECT_GT(writes["send_queue, requests under way"], 1000);
}

// Operations under way at once are told apart: each has its own lookups, like one that is alone. No lookup waits for the port.
TEST_F(program, explain_tells_operations_of_one_queue_apart) {
  std::map<std::string, double> steps[2];
  const std::size_t windows[2] = {1, 16};
  for (std::size_t i = 0; i < 2; ++i) {
    const outcome o = hcasim(
        fmt::format("run message_rate -o apart{0} --no-trace --explain --json --messages 2000 --warm_up 100 --window {0} "
                    "--set 'node*.hca.page_walker.issue_interval=0 cycles'",
                    windows[i]));
    ASSERT_EQ(o.status, 0) << o.text.substr(0, 1000);
    const json result = json::parse(o.text);
    for (const json& w : result["explain"]["waterfalls"]) {
      if (!w["title"].get<std::string>().starts_with("RC WRITE")) continue;
      for (const json& step : w["steps"]) {
        steps[i][step["unit"].get<std::string>() + ", " + step["kind"].get<std::string>()] = step["ns"];
      }
    }
  }
  for (const char* step : {"requester, queueing, service", "requester, qpc_cache, service", "requester, page_walker, service",
                           "responder, qpc_cache, service", "responder, page_walker, service"}) {
    EXPECT_GT(steps[0][step], 0) << step;
    EXPECT_NEAR(steps[1][step], steps[0][step], 0.01 * steps[0][step]) << step;
  }
}

// Waterfalls of any testbench; their sums agree with the adapter's own histograms.
TEST_F(program, explains_the_operations_of_every_testbench) {
  const std::string pingpong = "--set nodes=2 --program0.run ibv_rc_pingpong --program1.run 'ibv_rc_pingpong node0'";
  const std::map<std::string, std::string> shorter{{"message_rate", "--messages 3000"},
                                                   {"random_traffic", "--operations 300"},
                                                   {"applications", pingpong},
                                                   {"gateway", pingpong + " --listen " + own_listening_address()},
                                                   {"fault_campaign", "--faults 10"},
                                                   {"key_lifecycle", "--most_keys 64 --changes 20"},
                                                   {"key_storm", "--changes 500"},
                                                   {"lockstep", "--requests 100"},
                                                   {"peer_direct", "--times 20 --largest '64 KiB' --bytes '512 KiB'"}};
  std::vector<std::string> names;
  for (const auto& bench : json::parse(hcasim("list --json").text)) names.push_back(bench["name"]);
  ASSERT_GE(names.size(), 7U);
  const auto all_of = [](const json& result, const std::string& unit, const std::string& name) {
    return in_whole_run(result, "system.node0.hca." + unit, name) + in_whole_run(result, "system.node1.hca." + unit, name);
  };
  const auto count = [](const json& waterfall) {
    const std::string title = waterfall["title"];
    return std::stod(title.substr(title.find("mean of ") + 8));
  };
  for (const std::string& name : names) {
    const auto options = shorter.find(name);
    const outcome o = hcasim(
        fmt::format("run {0} -o {0} --no-trace --explain --json {1}", name, options == shorter.end() ? "" : options->second));
    ASSERT_EQ(o.status, 0) << name << o.text.substr(0, 1000);
    const json r = json::parse(o.text.substr(o.text.find('{')));  // notes on standard error come first
    EXPECT_FALSE(r["explain"]["busiest"].get<std::string>().empty());
    EXPECT_TRUE(r["explain"]["binding"].is_null()) << "nothing was tried out";
    if (!r["statistics"].contains("system.node0.hca.requester")) continue;  // units alone, without an adapter
    double commands = 0;
    double adapter = 0;
    std::size_t waterfalls = 0;
    std::map<std::string, double> steps;
    for (const json& w : r["explain"]["waterfalls"]) {
      ++waterfalls;
      double sum = 0;
      double own = 0;
      for (const json& step : w["steps"]) {
        ASSERT_GT(step["ns"].get<double>(), 0) << name << w["title"];
        sum += step["ns"].get<double>();
        steps[step["unit"].get<std::string>() + ", " + step["kind"].get<std::string>()] += step["ns"].get<double>();
        const std::string unit = step["unit"];
        if (!unit.starts_with("send_queue") && !unit.starts_with("completion") && !unit.starts_with("command queue") &&
            unit != "answer") {
          own += step["ns"].get<double>();
        }
      }
      EXPECT_NEAR(sum, w["total_ns"].get<double>(), 1e-6 * sum) << name;
      const std::string title = w["title"];
      EXPECT_EQ(title.find("0x"), std::string::npos) << title;
      if (title.starts_with("command ")) {
        commands += own * count(w);
      } else if (name == "message_rate") {
        adapter += own * count(w);
      }
    }
    EXPECT_GE(waterfalls, 2U) << name;
    // key_storm reuses numbers of QPs; doorbells of the earlier QPs must not count.
    if (name == "key_storm") {
      EXPECT_LT(steps["send_queue, queueing, service"], 1000);
    }
    // on_demand waits for pages, and nothing is lost on its link.
    if (name == "on_demand") {
      EXPECT_GT(steps["responder, receiver not ready"], 1000 * steps["link, lost, sent again"]);
      EXPECT_GT(steps["requester, page not there"], 0);
    }
    // Operations that a reset ends are in no histogram.
    if (name == "recovery" || name == "fault_campaign") continue;
    const double command_time = all_of(r, "command_unit", "command_time");
    EXPECT_NEAR(commands, command_time, 0.01 * command_time) << name;
    if (name != "message_rate") continue;
    const double latency = all_of(r, "requester", "latency");
    EXPECT_NEAR(adapter, latency, 0.01 * latency) << "from the hand-over to the last answer";
    EXPECT_EQ(json::parse(file_content("message_rate/result.json")).contains("explain"), false) << "the run is not changed";
  }
}

}  // namespace
}  // namespace hcasim
