// Settings without effect are refused, with the knob that would make use of them.
#include <fstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "testbenches/program/places/places.h"
#include "testbenches/program/testing/own_folder.h"
#include "testbenches/program/testing/run_program.h"

namespace hcasim {
namespace {

namespace fs = std::filesystem;

class idle_knobs : public test_in_own_folder {
 protected:
  static outcome run(const std::string& arguments) {
    return run_program(places::program, "run ping --no-trace --force -o out " + arguments);
  }
  static void refused(const std::string& arguments, const std::string& part) {
    const outcome o = run(arguments);
    EXPECT_EQ(o.status, 2) << arguments << o.text;
    EXPECT_NE(o.text.find(part), std::string::npos) << o.text;
    EXPECT_FALSE(fs::exists("out")) << arguments;
  }
  static void taken(const std::string& arguments) {
    const outcome o = run(arguments);
    EXPECT_EQ(o.status, 0) << arguments << o.text;
    fs::remove_all("out");
  }
  static outcome sweep(const std::string& base, const std::string& axes) {
    fs::remove_all("swept");
    std::ofstream("s.yaml") << "study: s\nbase: {testbench: ping" << base << "}\naxes: {" << axes
                            << "}\nmetrics: {t: {figure: WRITE}}\n";
    return run_program(places::program, "sweep s.yaml -j 1 -o swept");
  }
};

TEST_F(idle_knobs, are_refused_with_the_knob_that_makes_use_of_them) {
  refused("--set 'switch.latency=1 us'", "switch.latency: has no effect without a switch; write topology: switch");
  refused("--set node*.peer0.memory='1 GiB'", "has no effect while node0.peer0.kind is none");
  refused("--set node1.hca.atc.entries=64",
          "has no effect while node1.hca.atc.enabled is false; write node1.hca.atc.enabled: true");
  refused("--set node*.iommu.entries=64", "iommu");
  refused("--set node0.hca.key_check.rtl.stall=0.1", "key_check");
  refused("--set node*.hca.processing_units.wqe='10 cycles'", "while node0.hca.processing_units.units is 0");
  refused("--set node*.host.llc_ways=8", "has no effect while node0.host.llc_size is 0 B");
  refused("--set node1.hca.icm.map_ways=8", "has no effect while node1.hca.icm.map_sets is 0; write another");
  refused("--set node1.beside=node0 --set node1.host.copy_rate='8 Gb/s'",
          "has no effect at an adapter in the host of node0; write it for that node");
  refused("--set 'link.max_delay=3 us'", "link.max_delay: has no effect while link.delay is 0; write another link.delay");
  refused("--set 'node*.pcie.switch_latency=3 ns'", "while node0.pcie.has_switch is false; write node0.pcie.has_switch: true");
  refused("--set node0.hca.command_unit.key_seed=3", "while node0.hca.command_unit.key_byte is counter");
  refused("--set node0.hca.mrc_cache.seed=3",
          "while node0.hca.mrc_cache.policy is lru; write node0.hca.mrc_cache.policy: random");
  refused("--set node*.hca.doorbell.blueflame_max='0 B' --set node*.hca.doorbell.blueflame_buffer=3",
          "while node0.hca.doorbell.blueflame_max is 0 B; write another");
  refused("--from '1 us'", "--from: nothing is recorded");
}

TEST_F(idle_knobs, are_taken_when_they_matter_somewhere) {
  taken("--set topology=switch --set 'switch.latency=1 us'");
  taken("--set node*.peer0.memory='1 GiB' --set node1.peer0.kind=gpu");
  taken("--set node*.iommu.enabled=false");
  taken("--set node1.host.llc_size='1 MiB' --set node*.host.llc_ways=8");
  taken("--set node0.hca.icm.map_sets=16 --set node0.hca.icm.map_ways=2");
  taken("--set node1.beside=node0 --set 'node*.host.copy_rate=8 Gb/s'");
  taken("--set preset=connectx4");
  taken("--set link.delay=0.01 --set 'link.max_delay=3 us'");
  taken("--set node1.hca.mrc_cache.policy=random --set 'node*.hca.mrc_cache.seed=3'");
}

TEST_F(idle_knobs, a_resolved_description_runs_again) {
  ASSERT_EQ(run("--set preset=connectx4").status, 0);
  fs::rename("out", "first");
  const outcome o = run_program(places::program, "run first/resolved.yaml --no-trace -o second");
  EXPECT_EQ(o.status, 0) << o.text;
}

TEST_F(idle_knobs, of_a_study_are_refused_when_no_axis_sets_the_switch) {
  const std::string latency = "l: {knob: switch.latency, values: [100 ns, 200 ns]}";
  const outcome idle = sweep("", latency);
  EXPECT_EQ(idle.status, 2) << idle.text;
  EXPECT_NE(idle.text.find("write topology: switch"), std::string::npos) << idle.text;
  const outcome by_axis = sweep("", latency + ", f: {knob: topology, values: [direct, switch]}");
  EXPECT_EQ(by_axis.status, 0) << by_axis.text;
  const outcome by_base = sweep(", topology: switch", latency);
  EXPECT_EQ(by_base.status, 0) << by_base.text;
}

}  // namespace
}  // namespace hcasim
