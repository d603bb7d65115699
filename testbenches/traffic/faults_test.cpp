// Traffic where other features meet: memory of GPUs with faults, phases with hosts that are lost, a run always ends with a
// report.
#include <fstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "testbenches/program/places/places.h"
#include "testbenches/program/testing/own_folder.h"
#include "testbenches/program/testing/run_program.h"

namespace hcasim {
namespace {

namespace fs = std::filesystem;

class traffic_faults : public test_in_own_folder {
 protected:
  static outcome run(const std::string& machine, const std::string& fault, const std::string& traffic) {
    std::ofstream("t.yaml") << "testbench: traffic\npreset: generic_100g\ntopology: switch\n"
                            << machine << "faults:\n  - {" << fault << "}\ntraffic:\n"
                            << traffic << "  measure: never\n  warm_up: 0 ps\n";
    return run_program(places::program, "run t.yaml --no-trace --force -o out");
  }
  static void fails_with(const outcome& o, const std::string& part) {
    EXPECT_EQ(o.status, 1) << o.text;
    EXPECT_NE(o.text.find(part), std::string::npos) << o.text;
    EXPECT_TRUE(fs::exists("out/result.json"));
  }
};

TEST_F(traffic_faults, memory_of_a_gpu_meets_faults_and_resets) {
  const std::string gpus = "node*: {peer0: {kind: gpu}}\n";
  const std::string flow =
      "  groups: {a: 0, b: 1}\n  flows:\n"
      "    w: {from: a, to: b, write: 1, read: 1, memory: gpu, source_memory: gpu, messages: 600}\n";
  fails_with(run(gpus, "at: 200 us, where: node1.pcie, what: poisoned_read", flow), "flow w: a message failed");
  fails_with(run(gpus, "at: 200 us, where: node1.pcie, what: function_reset", flow), "transport retry counter exceeded");
  fails_with(run(gpus, "at: 200 us, where: node1.pcie, what: surprise_removal", flow), "transport retry counter exceeded");
  const outcome corrected = run(gpus, "at: 200 us, where: node1.pcie, what: receiver_error", flow);
  EXPECT_EQ(corrected.status, 0) << corrected.text;
}

// The host is lost in the first phase, between the phases (no message is under way to it), or in the second.
TEST_F(traffic_faults, a_host_lost_between_phases_fails_the_run) {
  const std::string flows =
      "  groups: {root: 0, all: 1-3}\n  flows:\n"
      "    scatter: {from: root, to: all, pattern: outcast, write: 1, messages: 300}\n"
      "    gather: {from: all, to: root, pattern: incast, read: 1, messages: 300, phase: 2, start: 400 us}\n";
  for (const int at : {200, 500, 760}) {
    for (const char* what : {"function_reset", "surprise_removal"}) {
      fails_with(run("", fmt::format("at: {} us, where: node1.pcie, what: {}", at, what), flows), "failed: flow ");
    }
  }
}

// A run that ends before its fault begins says nothing about the fault.
TEST_F(traffic_faults, that_have_not_begun_fail_the_run) {
  const std::string flow = "  groups: {a: 0, b: 1}\n  flows:\n    w: {from: a, to: b, write: 1, messages: 100}\n";
  for (const char* when : {"at: 10 ms", "at: 10 ms, every: 1 ms"}) {
    fails_with(run("", fmt::format("{}, where: link1, what: loss_burst", when), flow),
               "failed: faults, entry 1: link1 loss_burst at 10 ms has not begun, because the run ended at ");
  }
  const outcome begun = run("", "every: 100 us, where: link1, what: loss_burst", flow);
  EXPECT_EQ(begun.status, 0) << begun.text;
}

TEST_F(traffic_faults, keys_that_a_fault_does_not_have_are_refused) {
  const std::string flow = "  groups: {a: 0, b: 1}\n  flows:\n    w: {from: a, to: b, write: 1, messages: 100}\n";
  const auto refused = [&](const std::string& fault, const std::string& why) {
    const outcome o = run("", "at: 100 us, where: " + fault, flow);
    EXPECT_EQ(o.status, 2) << o.text;
    EXPECT_NE(o.text.find("faults, entry 1: " + why), std::string::npos) << o.text;
  };
  refused("node0.pcie, what: function_reset, count: 2", "function_reset has no count; remove it");
  refused("node0.pcie, what: poisoned_read, length: 3 us", "poisoned_read has no length; remove it");
  refused("link0, what: loss_burst, length: 3 us", "loss_burst has no length; remove it");
  refused("link0, what: link_down, count: 3", "link_down has no count; remove it");
}

// Too few operations for a fault fail the run, too.
TEST_F(traffic_faults, that_have_met_too_few_operations_fail_the_run) {
  const std::string flow = "  groups: {a: 0, b: 1}\n  flows:\n    w: {from: a, to: b, write: 1, messages: 100}\n";
  fails_with(
      run("", "at: 100 us, where: node1.hca.extent_cache, what: tag_bit", flow),
      "faults, entry 1: node1.hca.extent_cache tag_bit at 100 us has met 0 of 1 (count: operations to be affected), because");
  fails_with(run("", "at: 100 us, where: node1.hca.completion, what: lost_interrupt, count: 2", flow),
             "node1.hca.completion lost_interrupt at 100 us has met 0 of 2 (");
  const std::string replay = "where: node1.pcie, what: receiver_error";
  fails_with(run("", "at: 100 us, " + replay + "}\n  - {at: 110 us, count: 100000, " + replay, flow), " of 100001 (count: ");
  const outcome again = run("", "every: 20 us, count: 3, " + replay, flow);
  EXPECT_EQ(again.status, 0) << again.text;
}

TEST_F(traffic_faults, are_named_with_the_place_of_the_failure) {
  const std::string flow = "  groups: {a: 0, b: 1}\n  flows:\n    w: {from: a, to: b, write: 1, messages: 6000, timeout: 6}\n";
  const outcome down = run("", "at: 200 us, where: link1, what: link_down, length: 100 ms", flow);
  fails_with(down, "failed: flow w: a message failed: transport retry counter exceeded; from node0 to node1, QP ");
  fails_with(down, "packets were lost to faults, 0 by chance (link.loss), and 0 corrupted");
  fails_with(down, "failed: the description made link1 fail by link_down at 200 us");
  const std::string machine = "node*.driver: {command_timeout: 500 us, health_period: 50 us}\n";
  const outcome removed = run(machine, "at: 20 us, where: node1.pcie, what: surprise_removal, length: 1 ms", flow);
  fails_with(removed, "Input/output error; the device has failed; on node1 at ");
  fails_with(removed, "failed: node1: the device failed at ");
  fails_with(removed, "us: it is gone");
  fails_with(removed, "failed: the description made node1.pcie fail by surprise_removal at ");
  EXPECT_EQ(removed.text.find("command_timeout"), std::string::npos) << removed.text;
}

// A list on the command line may be written as in a file.
TEST_F(traffic_faults, are_read_in_both_forms) {
  const std::string first = "at: 3 us, where: link0, what: loss_burst";
  const std::string second = "at: 9 us, where: link0, what: loss_burst, count: 2";
  const auto lost = [](const std::string& faults) {
    const outcome o = run_program(places::program, "run message_rate --set 'faults=" + faults + "' --no-trace --force -o out");
    EXPECT_EQ(o.status, 0) << faults << o.text;
    return file_content("out/result.json");
  };
  const std::string both = lost(first + "; " + second);
  EXPECT_NE(both.find("loss_burst"), std::string::npos);
  for (const std::string& form : {"[{" + first + "}, {" + second + "}]", "[{" + first + "},{" + second + "}]"}) {
    const std::string as_list = lost(form);
    const auto statistics = [](const std::string& result) { return result.substr(result.find("\"statistics\"")); };
    EXPECT_EQ(statistics(as_list), statistics(both)) << form;
  }
  EXPECT_NE(lost(first), both);
}

}  // namespace
}  // namespace hcasim
